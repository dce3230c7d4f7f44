"""How calls, hooks and errors behave in the adapted interpreter. Started with TRITON_INTERPRET=1."""

from __future__ import annotations

import types
from typing import Any

import torch
import triton
import triton.language as tl
from behaviour import fails, load
from harness import run
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from kgb_env.platforms.unsupported import UnsupportedFeature, unsupported_reason


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class SeenFunctions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def check_no_torch_operator() -> None:
    """The interpreter itself emits nothing; whatever a kernel, a grid or a hook does is seen."""
    space = load(
        "@triton.jit\n"
        "def k(x, y, n, N: tl.constexpr):\n"
        "    i = tl.program_id(0) * N + tl.arange(0, N)\n"
        "    tl.store(y + i, tl.sort(tl.load(x + i, mask=i < n)), mask=i < n)\n"
        "@triton.jit\n"
        "def cheat(x):\n"
        "    torch.add(LEAK, 1)\n"
    )
    x, y = torch.randn(32).bfloat16(), torch.empty(32).bfloat16()
    with Seen() as seen:
        space["k"][(2,)](x, y, 32, N=16)
        space["k"][(2,)](x.t(), y[1:], 16, N=16)
    assert seen.names == ["aten.t.default", "aten.slice.Tensor"], seen.names
    space["LEAK"] = x
    with Seen() as seen:
        space["cheat"][(1,)](x)
    assert seen.names == ["aten.add.Tensor"]
    with Seen() as seen:
        space["k"][lambda meta: (torch.add(x, 1).numel() // 16,)](x, y, 32, N=16)
    assert seen.names == ["aten.add.Tensor"]
    with SeenFunctions() as functions:
        space["k"][(2,)](x, y, 32, N=16)
    allowed = {"data_ptr", "__get__"}
    assert set(functions.names) <= allowed, set(functions.names) - allowed


AUTOTUNED = (
    "log = []\n"
    "def prune(configs, named, **kwargs):\n"
    "    return [c for c in configs if c.kwargs['N'] >= 16]\n"
    "def hook(arguments):\n"
    "    log.append(arguments['N'])\n"
    "@triton.autotune(\n"
    "    configs=[triton.Config({'N': n}, num_warps=2, pre_hook=hook) for n in (8, 16, 32)],\n"
    "    key=['n'], prune_configs_by={'early_config_prune': prune}, reset_to_zero=['o'], restore_value=['x'],\n"
    ")\n"
    "@triton.heuristics({'EVEN': lambda a: a['n'] % a['N'] == 0})\n"
    "@triton.jit\n"
    "def k(x, o, n, N: tl.constexpr, EVEN: tl.constexpr):\n"
    "    i = tl.program_id(0) * N + tl.arange(0, N)\n"
    "    tl.atomic_add(o + i, tl.load(x + i, mask=i < n) + EVEN, mask=i < n)\n"
)


def check_autotune() -> None:
    space = load(AUTOTUNED)
    x, o = torch.ones(32), torch.full((32,), 7.0)
    kernel = space["k"]
    kernel[lambda meta: (triton.cdiv(32, meta["N"]),)](x, o, 32)
    assert space["log"] == [16], space["log"]
    assert kernel.best_config.kwargs == {"N": 16}
    assert o.tolist() == [2.0] * 32, "tuning resets what reset_to_zero names"
    kernel[lambda meta: (triton.cdiv(32, meta["N"]),)](x, o, 32)
    assert o.tolist() == [4.0] * 32, "a tuned launch does not"
    error = fails(lambda: kernel[(1,)](x, o, 31, N=8))
    assert "Conflicting" in str(error), error


def check_autotune_without_survivors() -> None:
    space = load(AUTOTUNED.replace(">= 16", ">= 99"))
    error = fails(lambda: space["k"][(1,)](torch.ones(32), torch.ones(32), 32))
    assert "config" in str(error), error


def check_driver_queries() -> None:
    for query in (
        lambda: triton.runtime.driver.active.get_current_device(),
        lambda: triton.runtime.driver.active.utils.get_device_properties(0),
        lambda: torch.cuda.get_device_properties(0),
        lambda: torch.cuda.get_device_capability(),
        lambda: torch.cuda.current_device(),
        lambda: triton.testing.do_bench(lambda: None),
    ):
        error = fails(query)
        assert isinstance(error, UnsupportedFeature), error
        assert unsupported_reason(error) == "driver query"
    assert torch.cuda.is_available() is False
    space = load(
        "@triton.jit\n"
        "def k(x):\n"
        "    v = tl.load(x)\n"
        "    r = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [v], tl.float32, True, 1)\n"
        "    tl.store(x, r)\n"
    )
    error = fails(lambda: space["k"][(1,)](torch.ones(1)))
    assert unsupported_reason(error) == "inline assembly", error
    assert unsupported_reason(ValueError()) is None


def check_scaled_dot() -> None:
    space = load(
        "@triton.jit\n"
        "def k(a, b, sa, sb, o, M: tl.constexpr, K: tl.constexpr):\n"
        "    i = tl.arange(0, M)\n"
        "    j = tl.arange(0, K)\n"
        "    s = tl.arange(0, K // 32)\n"
        "    x = tl.load(a + i[:, None] * K + j[None, :])\n"
        "    y = tl.load(b + j[:, None] * M + i[None, :])\n"
        "    p = tl.load(sa + i[:, None] * (K // 32) + s[None, :])\n"
        "    q = tl.load(sb + i[:, None] * (K // 32) + s[None, :])\n"
        "    tl.store(o + i[:, None] * M + i[None, :], tl.dot_scaled(x, p, 'e4m3', y, q, 'e4m3'))\n"
    )
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(32, 64, generator=generator).to(torch.float8_e4m3fn)
    b = torch.randn(64, 32, generator=generator).to(torch.float8_e4m3fn)
    scales = torch.full((32, 2), 128, dtype=torch.uint8)
    o = torch.empty(32, 32)

    def launch() -> None:
        space["k"][(1,)](a, b, scales, scales, o, M=32, K=64)

    if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9):
        launch()
        torch.testing.assert_close(o, 4 * (a.float() @ b.float()), rtol=1e-5, atol=1e-4)
    else:
        error = fails(launch)
        assert unsupported_reason(error) == "scaled dot", error


def check_host_calls_are_refused() -> None:
    space = load("@triton.jit\ndef k(x):\n    return x + 1\n")
    assert "outside of the scope of a kernel" in str(fails(lambda: space["k"](1)))
    assert fails(lambda: tl.zeros([4], tl.float32)) is not None
    stock = tl.load
    fails(lambda: space["k"][(1,)]("text"))
    assert tl.load is stock, "a failed launch must restore the language"


def check_asserts_and_prints() -> None:
    space = load(
        "@triton.jit\n"
        "def k(x, N: tl.constexpr):\n"
        "    tl.device_assert(tl.load(x) > 100.0, 'off by default, as on a GPU')\n"
        "    tl.device_print('value', tl.load(x))\n"
        "    tl.device_print('bits', tl.load(x).to(tl.int32), hex=True)\n"
        "    tl.static_print('N is', N)\n"
        "    tl.static_assert(N == 1, 'N must be one')\n"
        "    tl.assume(N > 0)\n"
        "    tl.debug_barrier()\n"
    )
    x = torch.ones(1)
    space["k"][(1,)](x, N=1)
    assert "N must be one" in str(fails(lambda: space["k"][(1,)](x, N=2)))


def check_error_points_at_the_submission() -> None:
    space = load("@triton.jit\ndef k(x):\n    i = tl.arange(0, 8)\n    tl.store(x + i, missing(i))\n")
    error = fails(lambda: space["k"][(1,)](torch.ones(8)))
    cause = error.__cause__
    assert isinstance(cause, NameError), error
    lines = []
    trace = cause.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<submission>":
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    assert lines == [7], lines


def check_base_exceptions_pass() -> None:
    """A kernel cannot be used to swallow what a fence raises."""
    space = load("@triton.jit\ndef k(x):\n    raise_it()\n")

    class Violation(BaseException):
        pass

    def raise_it() -> None:
        raise Violation

    space["raise_it"] = raise_it
    assert isinstance(fails(lambda: space["k"][(1,)](torch.ones(1))), Violation)


def check_descriptors() -> None:
    space = load(
        "from triton.tools.tensor_descriptor import TensorDescriptor\n"
        "@triton.jit\n"
        "def k(d, o, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    tl.store(o + i[:, None] * N + i[None, :], d.load([0, 0]) + 1)\n"
        "@triton.jit\n"
        "def made(x, o, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    d = tl.make_tensor_descriptor(x, [N, N], [N, 1], [N, N])\n"
        "    d.store([0, 0], d.load([0, 0]) * 2)\n"
    )
    x, o = torch.ones(16, 16).bfloat16(), torch.zeros(16, 16).bfloat16()
    space["k"][(1,)](space["TensorDescriptor"].from_tensor(x, [16, 16]), o, N=16)
    assert (o == 2).all()
    space["made"][(1,)](x, o, N=16)
    assert (x == 2).all()


def check_arguments() -> None:
    space = load(
        "@triton.jit\n"
        "def k(o, flag, big, small, pair, N: tl.constexpr):\n"
        "    if flag:\n"
        "        tl.store(o, big + small)\n"
        "    tl.store(o + 1, (big * 2).to(tl.int64))\n"
        "    tl.store(o + 2, (pair[0] + pair[1]).to(tl.int64))\n"
    )
    o = torch.zeros(3, dtype=torch.int64)
    space["k"][(1,)](o, True, 3_000_000_000, -1, (4, 5), N=1)
    assert o.tolist() == [2_999_999_999, 6_000_000_000, 9], o.tolist()


def check_random() -> None:
    space = load(
        "@triton.jit\n"
        "def k(o, seed, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    tl.store(o + i, tl.rand(seed, i))\n"
        "    tl.store(o + N + i, tl.randn(seed, i))\n"
    )
    o = torch.zeros(2, 1024)
    space["k"][(1,)](o, 42, N=1024)
    assert 0.45 < float(o[0].mean()) < 0.55
    assert 0.9 < float(o[1].std()) < 1.1
    again = torch.zeros(2, 1024)
    space["k"][(1,)](again, 42, N=1024)
    assert torch.equal(o, again)


if __name__ == "__main__":
    found = {n.removeprefix("check_"): f for n, f in list(globals().items()) if n.startswith("check_")}
    run({n: f for n, f in found.items() if isinstance(f, types.FunctionType)})
