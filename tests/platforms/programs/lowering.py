"""Lowering and compiling without a GPU. Started without TRITON_INTERPRET."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import triton.language as tl
from harness import run
from submission_text import NAME, line_of, load

from kgb_env.errors import InfrastructureError
from kgb_env.platforms import interpreter, lowering
from kgb_env.platforms.launch_description import Launch, describe, parameters
from kgb_env.platforms.lowering import KernelError
from kgb_env.platforms.registry import JitRegistry, install_registry

lowering.check()
registry = JitRegistry()
install_registry(registry)
registry.begin_submission(NAME)
space = load()


def launch_of(kernel: Any, *args: Any, **kwargs: Any) -> Launch:
    params = parameters(kernel, {})
    bound = dict(zip([p.name for p in params], args, strict=False)) | kwargs
    bound |= {p.name: p.default for p in params if p.name not in bound and p.has_default}
    return describe(kernel, params, bound, kwargs, (1, 1, 1), registry)


def refused(kernel: Any, *args: Any, stage: str, line: int, **kwargs: Any) -> str:
    launch = launch_of(kernel, *args, **kwargs)
    with pytest.raises(KernelError) as caught:
        lowering.lower(kernel, launch, registry)
    assert caught.value.stage == stage, caught.value
    assert caught.value.line == line, caught.value
    return caught.value.message


X = torch.ones(32, 32)


def rich() -> Launch:
    kernel = space["rich"].fn.fn
    return launch_of(
        kernel, torch.ones(8), torch.ones(8).bfloat16(), 8, 0.5, DT=tl.bfloat16, F=space["relu"], mode="twice",
        maybe=None, pair=(2, torch.ones(1)), B=64, EVEN=False, num_warps=2,
    )  # fmt: skip


def check_good_kernels_lower() -> None:
    text = lowering.lower(None, rich(), registry)
    assert "tt.func" in text
    assert "__nv_tanhf" in text
    text = lowering.lower(None, launch_of(space["typed"], torch.ones(8).long(), 5, 0.5, True, 2**40), registry)
    assert "i64" in text
    assert "f64" in text
    for dtype in (torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint8, torch.float16, torch.int64):
        kernel = space["copy"] if dtype.is_floating_point else space["simple"]
        assert "tt.store" in lowering.lower(None, launch_of(kernel, X.to(dtype), X, B=8), registry)


def check_language_of_good_kernels() -> None:
    """Everything an honest kernel names is allowed: modules, helpers, tuples, builtins, compile-time arithmetic."""
    text = lowering.lower(None, launch_of(space["wide_language"], X, 64, B=64, D=tl.float32), registry)
    assert "__nv_powf" in text
    assert "tt.print" in text


def check_library_function_as_argument() -> None:
    launch = rich()
    launch["constexprs"]["F"] = {"k": "jit", "v": "triton.language.standard:sigmoid"}
    assert "math.exp" in lowering.lower(None, launch, registry)


def check_descriptors_lower() -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = torch.ones(16, 16)
    launch = launch_of(space["descriptor"], TensorDescriptor.from_tensor(x, [16, 16]), x, N=16)
    assert launch["signature"]["d"].startswith("tensordesc")
    assert "tt.descriptor_load" in lowering.lower(None, launch, registry)
    assert lowering.compile_sm90(None, launch, registry).cubin
    launch = launch_of(space["device_descriptor"], x, x, N=16)
    assert "tt.make_tensor_descriptor" in lowering.lower(None, launch, registry)


def check_compiling() -> None:
    compiled = lowering.compile_sm90(None, launch_of(space["matmul"], X, X, X, M=32, num_warps=8), registry)
    assert compiled.name == "matmul"
    assert compiled.num_warps == 8
    assert ".target sm_90" in compiled.ptx
    assert compiled.cubin[:4] == b"\x7fELF"
    assert lowering.compile_sm90(None, rich(), registry).num_warps == 2


def check_too_much_shared_memory() -> None:
    launch = launch_of(space["huge"], X.half(), X.half(), X, M=256, K=128)
    with pytest.raises(KernelError) as caught:
        lowering.compile_sm90(None, launch, registry)
    assert caught.value.stage == "resources", caught.value
    assert "232448" in caught.value.message


def check_source_of(name: str, text: str, word: str) -> None:
    message = refused(space[name], X, X, B=8, stage="source", line=line_of(text))
    assert word in message, message


def check_plain_global() -> None:
    message = refused(space["bad_global"], X, X, B=8, stage="lowering", line=line_of("tl.load(x + i) * PLAIN"))
    assert "constexpr" in message


def check_error_lines() -> None:
    refused(space["broken"], X, X, B=8, stage="lowering", line=line_of("tl.trans(v, 3, 4)"))
    refused(space["broken_inside"], X, X, B=8, stage="lowering", line=line_of("tl.dot(y, y)"))
    message = refused(space["asserting"], X, X, B=8, stage="lowering", line=line_of("tl.static_assert(B < 8"))
    assert "B is too large" in message


def check_arguments_that_cannot_be_checked() -> None:
    line = line_of("def rich(")
    for path, value in (
        ("DT", {"k": "opaque", "v": "object"}), ("F", {"k": "jit", "v": 10_000}), ("F", {"k": "jit", "v": "os:system"}),
        ("F", {"k": "jit", "v": "triton.language.core:no_such"}), ("mode", {"k": "float", "v": "x"}), ("mode", {}),
        ("nobody", {"k": "none", "v": None}),
    ):  # fmt: skip
        launch = rich()
        launch["constexprs"][path] = value
        with pytest.raises(KernelError) as caught:
            lowering.lower(None, launch, registry)
        assert (caught.value.stage, caught.value.line) == ("arguments", line), caught.value
    launch = rich()
    del launch["signature"]["n"]
    with pytest.raises(KernelError) as caught:
        lowering.lower(None, launch, registry)
    assert "'n'" in caught.value.message


def check_forged_launches() -> None:
    good = launch_of(space["simple"], X, X, B=8)
    for change in (
        {"index": 10_000}, {"index": -1}, {"index": "0"}, {"index": 0}, {"line": 1}, {"kernel": "other"},
        {"own": False},
    ):  # fmt: skip
        with pytest.raises(KernelError) as caught:
            lowering.find({**good, **change}, registry)
        assert caught.value.stage == "arguments"
    assert lowering.find(good, registry) is space["simple"]


def check_kernel_made_at_run_time() -> None:
    launch = launch_of(space["simple"], X, X, B=8)
    with pytest.raises(KernelError) as caught:
        lowering.find({**launch, "index": len(registry.functions), "kernel": "factory.<locals>.made"}, registry)
    assert "module level" in caught.value.message


def check_speed() -> None:
    """3 to 8 ms when warm and alone; the bound allows for a busy machine."""
    import time

    launch = launch_of(space["matmul"], X, X, X, M=32)
    best = 1.0
    for _ in range(5):
        began = time.perf_counter()
        lowering.lower(None, launch, registry)
        best = min(best, time.perf_counter() - began)
    assert best < 0.1, best


def check_interpreter_refuses_this_process() -> None:
    with pytest.raises(InfrastructureError) as caught:
        interpreter.install()
    assert "TRITON_INTERPRET" in str(caught.value)


REFUSED = {
    "bad_torch": ("torch.add(PLAIN, 1)", "module torch"), "bad_numpy": ("numpy.abs", "module numpy"),
    "bad_open": ('open("/etc/passwd")', "open()"), "bad_handle": ("v.handle.data[:]", "'handle'"),
    "bad_alias": ("    t = tl", "'tl'"), "bad_path": ("tl.core.inspect", "inspect"),
    "bad_helper": ("python_helper(tl.load", "@triton.jit"), "bad_compile_time": ("return torch.tensor(n)", "torch"),
    "bad_object": ("REACH.compute", "Reach"), "bad_constexpr": ("HIDDEN.value", "constexpr"),
    "bad_getattr": ('getattr(x, "han"', "literal"),
}  # fmt: skip


def checks() -> dict[str, Callable[[], None]]:
    table: dict[str, Callable[[], None]] = {
        name: partial(check_source_of, name, text, word) for name, (text, word) in REFUSED.items()
    }
    table["bad_dead_branch"] = check_dead_branch
    for name, function in list(globals().items()):
        if name.startswith("check_") and isinstance(function, types.FunctionType) and not function.__code__.co_argcount:
            table[name.removeprefix("check_")] = function
    return table


def check_dead_branch() -> None:
    line = line_of("if B == 0:") + 1
    message = refused(space["bad_dead_branch"], X, X, B=8, stage="source", line=line)
    assert "torch" in message


if __name__ == "__main__":
    run(checks())
