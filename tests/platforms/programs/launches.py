"""Recording and emptying launches in the interpreter. Started with TRITON_INTERPRET=1."""

from __future__ import annotations

import json
import time
import types
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from harness import run
from submission_text import NAME, line_of, load

from kgb_env.platforms import interpreter
from kgb_env.platforms.launches import LaunchRecorder, install
from kgb_env.platforms.unsupported import UnsupportedFeature, unsupported_reason

interpreter.install()
recorder = LaunchRecorder()
install(recorder)
early: dict[str, Any] = {}


def start() -> dict[str, Any]:
    recorder.begin_submission(NAME)
    recorder.enabled, recorder.ghost = True, False
    return load()


def rich_call(space: dict[str, Any], x: torch.Tensor, o: torch.Tensor) -> None:
    grid = lambda meta: (triton.cdiv(meta["n"], meta["B"]),)  # noqa: E731 - as authors write it
    one = torch.ones(1)
    space["rich"][grid](x, o, 200, 0.5, DT=tl.bfloat16, F=space["relu"], mode="twice", maybe=None, pair=(2, one))


def check_description() -> None:
    space = start()
    x, o = torch.randn(200), torch.empty(200, dtype=torch.bfloat16)
    rich_call(space, x, o)
    want = (torch.relu(torch.tanh(x) * 0.5) * 3 + 2) * 2
    assert torch.equal(o, want.bfloat16())
    (launch,) = recorder.launches
    assert launch["kernel"] == "rich"
    assert launch["own"]
    assert launch["file"] == NAME
    assert recorder.registry.functions[launch["index"]].fn.__name__ == "rich"
    assert launch["grid"] == [4, 1, 1]
    assert launch["options"] == {"num_warps": 2, "num_ctas": 1, "num_stages": 3}
    assert launch["signature"] == {
        "x": "*fp32", "o": "*bf16", "n": "i32", "alpha": "fp32", "DT": "constexpr", "F": "constexpr",
        "mode": "constexpr", "maybe": "constexpr", "pair": ["i32", "*fp32"], "B": "constexpr", "EVEN": "constexpr",
    }  # fmt: skip
    assert launch["constexprs"] == {
        "DT": {"k": "dtype", "v": "bf16"}, "F": {"k": "jit", "v": 1}, "mode": {"k": "str", "v": "twice"},
        "maybe": {"k": "none", "v": None}, "B": {"k": "int", "v": 64}, "EVEN": {"k": "bool", "v": False},
    }  # fmt: skip
    assert json.loads(json.dumps(launch)) == launch
    assert line_of("@triton.autotune") == launch["line"]


def check_types_of_arguments() -> None:
    space = start()
    o = torch.zeros(8, dtype=torch.int64)
    space["typed"][(1,)](o, 5, 0.0, True, 2**40)
    assert o.tolist() == [5 + 2**40] * 8
    signature = recorder.launches[0]["signature"]
    assert signature["wide"] == "i64"
    assert signature["real"] == "fp64"
    assert signature["flag"] in ("i1", "u1")
    assert signature["big"] == "i64"
    assert recorder.launches[0]["constexprs"]["B"] == {"k": "int", "v": 8}
    for dtype, name in (
        (torch.float64, "*fp64"), (torch.float16, "*fp16"), (torch.float8_e4m3fn, "*fp8e4nv"),
        (torch.float8_e5m2, "*fp8e5"), (torch.uint8, "*u8"), (torch.bool, "*u1"), (torch.int16, "*i16"),
    ):  # fmt: skip
        recorder.reset()
        recorder.ghost = True
        space["simple"][(1,)](torch.zeros(8).to(dtype), o, B=8)
        assert recorder.launches[0]["signature"]["x"] == name, recorder.launches


def check_specialisation() -> None:
    space = start()
    recorder.ghost = True
    space["specialised"][(1,)](torch.zeros(4), 1, 1, 32)
    (launch,) = recorder.launches
    assert launch["signature"] == {"x": "*fp32", "a": "constexpr", "b": "i32", "c": "i32"}
    assert launch["constexprs"] == {"a": {"k": "int", "v": 1}}
    assert launch["divisible"] == ["x", "c"]


def check_named_tuple() -> None:
    """Its methods would run in the interpreter, unseen by the compiler: the gate cannot check it."""
    import collections

    space = start()
    recorder.ghost = True
    pair = collections.namedtuple("Pair", "a b")(1, 2)
    space["specialised"][(1,)](torch.zeros(4), pair, 1, 1)
    assert recorder.launches[0]["constexprs"]["a"] == {"k": "opaque", "v": "Pair"}


def check_opaque_values() -> None:
    space = start()
    recorder.ghost = True
    space["rich"].fn.fn[(1,)](
        torch.ones(8), torch.ones(8), 8, float("inf"), DT=object(), F=tl.standard._sum_combine,
        mode=(1, 2.5, None), maybe=None, pair=1, B=8, EVEN=torch.float16,
    )  # fmt: skip
    constexprs = recorder.launches[0]["constexprs"]
    assert constexprs["DT"] == {"k": "opaque", "v": "object"}
    assert constexprs["EVEN"] == {"k": "opaque", "v": "dtype"}
    assert constexprs["F"] == {"k": "jit", "v": "triton.language.standard:_sum_combine"}
    assert [x["k"] for x in constexprs["mode"]["v"]] == ["int", "float", "none"]


def check_ghost_by_every_spelling() -> None:
    space = start()
    simple = space["simple"]
    saved_run, saved_item = simple.run, simple.__getitem__
    warm = simple.warmup(torch.float32, torch.float32, B=8, grid=(1,))
    spellings = {
        "index": lambda x, o: simple[(1,)](x, o, B=8),
        "callable grid": lambda x, o: simple[lambda meta: (8 // meta["B"],)](x, o, 8),
        "run": lambda x, o: simple.run(x, o, B=8, grid=(1,), warmup=False),
        "saved run": lambda x, o: saved_run(x, o, B=8, grid=(1,), warmup=False),
        "saved item": lambda x, o: saved_item((1,))(x, o, B=8),
        "class run": lambda x, o: type(simple).run(simple, x, o, B=8, grid=(1,), warmup=False),
        "warmup": lambda x, o: warm[(1,)](x, o, 8),
    }
    for name, launch in spellings.items():
        for ghost in (False, True):
            recorder.reset()
            recorder.ghost = ghost
            x, o = torch.ones(8), torch.zeros(8)
            assert launch(x, o) is None
            assert (recorder.count, recorder.own, len(recorder.launches)) == (1, 1, 1), name
            assert o.tolist() == [0.0 if ghost else 2.0] * 8, (name, ghost)
    recorder.reset()
    x, o = torch.randn(200), torch.zeros(200, dtype=torch.bfloat16)
    rich_call(space, x, o)
    assert recorder.count == 1
    assert (o == 0).all()


def check_executor_reached_directly() -> None:
    from triton.runtime.interpreter import GridExecutor

    space = start()
    simple = space["simple"]
    for ghost in (False, True):
        recorder.ghost = ghost
        x, o = torch.ones(8), torch.zeros(8)
        GridExecutor(simple.rewrite(), simple.arg_names, (1,))(x, o, B=8)
        assert o.tolist() == [0.0 if ghost else 2.0] * 8
    assert (recorder.count, recorder.bypassed) == (0, 2)


def check_counts_and_limits() -> None:
    space = start()
    recorder.ghost = True
    x, o = torch.ones(8), torch.zeros(8)
    for _ in range(5):
        space["simple"][(1,)](x, o, B=8)
    assert (recorder.count, len(recorder.launches), recorder.launches[0]["count"]) == (5, 1, 5)
    for n in range(1, 1105):
        space["simple"][(n,)](x, o, B=8)
    assert recorder.count == 1109
    assert len(recorder.launches) == 1000
    assert recorder.dropped == 1104 - 1000
    recorder.reset()
    assert (recorder.count, recorder.launches, recorder.dropped) == (0, [], 0)


def check_disabled() -> None:
    space = start()
    recorder.enabled = False
    x, o = torch.ones(8), torch.zeros(8)
    space["simple"][(1,)](x, o, B=8)
    assert o.tolist() == [2.0] * 8
    assert recorder.count == 0


def check_foreign_kernels() -> None:
    """A kernel that is not the submission's is counted, and not counted as its own."""

    @triton.jit
    def foreign(x):
        tl.store(x, 1.0)

    start()
    foreign[(1,)](torch.zeros(1))
    assert (recorder.count, recorder.own) == (1, 0)
    assert recorder.launches[0]["index"] == -1
    assert not recorder.launches[0]["own"]


def check_numbering() -> None:
    space = start()
    names = [f.fn.__name__ for f in recorder.registry.functions]
    assert names[:5] == ["combine", "relu", "act", "rich", "simple"]
    count = len(names)
    space["factory"]()
    assert len(recorder.registry.functions) == count + 1
    start()
    assert len(recorder.registry.functions) == count


def check_grids() -> None:
    space = start()
    x, o = torch.ones(32), torch.zeros(32)
    for grid, want in (((4,), [4, 1, 1]), ([4], [4, 1, 1]), ((2, 2), [2, 2, 1]), ((0,), [0, 1, 1])):
        recorder.reset()
        space["simple"][grid](x, o, B=8)
        assert recorder.launches[0]["grid"] == want
    for grid, kind in ((4, TypeError), ((1, 2, 3, 4), ValueError), ((), ValueError), ((1.5,), TypeError)):
        with pytest.raises(kind):
            space["simple"][grid](x, o, B=8)
    calls = []
    space["simple"][lambda meta: calls.append(meta["x"] is x) or (1,)](x, o, B=8)
    assert calls == [True], "a grid is evaluated once, with the arguments as they were passed"


def check_missing_argument() -> None:
    space = start()
    with pytest.raises(TypeError) as caught:
        space["simple"][(1,)](torch.ones(8), B=8)
    assert "o" in str(caught.value)


def check_compiled_attributes() -> None:
    space = start()
    warm = space["simple"].warmup(torch.float32, torch.float32, B=8, grid=(1,))
    with pytest.raises(UnsupportedFeature) as caught:
        warm.n_regs  # noqa: B018 - the access is what is tried
    assert unsupported_reason(caught.value) == "compiled kernel attribute"


def check_cost() -> None:
    """A description costs less than 0.1 ms on a quiet machine; the bound here allows for a busy one."""
    space = start()
    recorder.ghost = True
    x, o = torch.ones(8), torch.zeros(8)
    best = 1.0
    for _ in range(200):
        began = time.perf_counter()
        space["simple"][(1,)](x, o, B=8)
        best = min(best, time.perf_counter() - began)
    assert best < 2e-4, best


if __name__ == "__main__":
    found = {n.removeprefix("check_"): f for n, f in list(globals().items()) if n.startswith("check_")}
    run({n: f for n, f in found.items() if isinstance(f, types.FunctionType)})
