"""How the adapted interpreter behaves beyond arithmetic. Started with TRITON_INTERPRET=1."""

from __future__ import annotations

import functools
import linecache
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
import triton.language as tl
from harness import run

from kgb_env.platforms import interpreter

interpreter.install()

HEADER = "import torch\nimport triton\nimport triton.language as tl\n"


def load(text: str, name: str = "<submission>") -> dict[str, Any]:
    """Execute a submission the way a worker does: from text, under a file name that does not exist."""
    source = HEADER + text
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, name, "exec"), namespace)
    return namespace


def fails(action: Callable[[], object]) -> BaseException:
    try:
        action()
    except BaseException as error:  # boundary: the kind of error is what the check looks at
        return error
    msg = "it must fail"
    raise AssertionError(msg)


def check_namespace_untouched() -> None:
    space = load(
        "SCALE = tl.constexpr(2)\n"
        "@triton.jit\n"
        "def k(x, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    tl.store(x + i, tl.load(x + i) * SCALE)\n"
    )
    before = set(space)
    x = torch.ones(8)
    space["k"][(1,)](x, N=8)
    assert x.tolist() == [2.0] * 8
    assert set(space) == before, set(space) - before


def check_globals_are_live() -> None:
    space = load(
        "SCALE = tl.constexpr(2)\n"
        "@triton.jit\n"
        "def k(x, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    tl.store(x + i, late(tl.load(x + i)) * SCALE)\n"
        "@triton.jit\n"
        "def late(x):\n"
        "    return x + 1\n"
    )
    x = torch.ones(8)
    space["k"][(1,)](x, N=8)
    assert x.tolist() == [4.0] * 8
    space["SCALE"] = tl.constexpr(10)
    space["k"][(1,)](x, N=8)
    assert x.tolist() == [50.0] * 8


def check_closure() -> None:
    space = load(
        "def make(factor):\n"
        "    FACTOR = tl.constexpr(factor)\n"
        "    @triton.jit\n"
        "    def k(x, N: tl.constexpr):\n"
        "        i = tl.arange(0, N)\n"
        "        tl.store(x + i, tl.load(x + i) * FACTOR)\n"
        "    return k\n"
        "two, five = make(2), make(5)\n"
    )
    x = torch.ones(8)
    space["two"][(1,)](x, N=8)
    space["five"][(1,)](x, N=8)
    assert x.tolist() == [10.0] * 8


def check_no_source_is_loud() -> None:
    namespace: dict[str, Any] = {"__name__": "submission"}
    text = HEADER + "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n"
    exec(compile(text, "<nowhere>", "exec"), namespace)
    error = fails(lambda: namespace["k"][(1,)](torch.ones(1)))
    assert "source" in str(error), error


def check_injected_names_are_not_reachable() -> None:
    space = load("@triton.jit\ndef k(x):\n    tl.store(x, interpreter_semantic.to_tensor(1.0))\n")
    error = fails(lambda: space["k"][(1,)](torch.ones(1)))
    assert isinstance(error, NameError), error
    space = load("@triton.jit\ndef k(x):\n    tl.store(x, np.float32(1.0))\n")
    assert "np" in str(fails(lambda: space["k"][(1,)](torch.ones(1))))


def check_future_annotations() -> None:
    text = "from __future__ import annotations\n" + HEADER
    text += (
        "from triton.language import constexpr\n"
        "@triton.jit\n"
        "def k(x, N: constexpr, wide: tl.int64, D: tl.constexpr = 3):\n"
        "    tl.static_assert(wide.dtype == tl.int64)\n"
        "    i = tl.arange(0, N)\n"
        "    tl.store(x + i, tl.load(x + i) * D + wide)\n"
    )
    name = "<future>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "submission"}
    exec(compile(text, name, "exec"), space)
    x = torch.ones(8)
    space["k"][(1,)](x, 8, 4)
    assert x.tolist() == [7.0] * 8


def check_logic_of_blocks() -> None:
    space = load(
        "@triton.jit\n"
        "def k(x, n, none, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    a = i >= 2 and i < n\n"
        "    b = i == 0 or i == 7\n"
        "    c = not a\n"
        "    if none is not None and n > 100:\n"
        "        tl.store(none, 1)\n"
        "    if n > 3 and n < 7:\n"
        "        tl.store(x + i, a.to(tl.int32) + 10 * b.to(tl.int32) + 100 * c.to(tl.int32))\n"
    )
    x = torch.zeros(8, dtype=torch.int32)
    space["k"][(1,)](x, 5, None, N=8)
    assert x.tolist() == [110, 100, 1, 1, 1, 100, 100, 110], x.tolist()


def check_builtins_imported_by_name() -> None:
    space = load(
        "from triton.language import arange, exp, load, store\n"
        "from triton.language.math import rsqrt\n"
        "from triton.language import sum as total\n"
        "@triton.jit\n"
        "def k(x, N: tl.constexpr):\n"
        "    i = arange(0, N)\n"
        "    v = load(x + i)\n"
        "    store(x + i, exp(v * 0) + rsqrt(v * 4) + total(v, 0))\n"
    )
    x = torch.ones(8)
    space["k"][(1,)](x, N=8)
    assert x.tolist() == [9.5] * 8


def check_combine_functions() -> None:
    space = load(
        "@triton.jit\n"
        "def welford(m1, v1, n1, m2, v2, n2):\n"
        "    n = n1 + n2\n"
        "    d = m2 - m1\n"
        "    return m1 + d * n2 / n, v1 + v2 + d * d * n1 * n2 / n, n\n"
        "@triton.jit\n"
        "def first_positive(a, b):\n"
        "    if a > 0:\n"
        "        r = a\n"
        "    else:\n"
        "        r = b\n"
        "    return r\n"
        "@triton.jit\n"
        "def affine(a1, b1, a2, b2):\n"
        "    return a1 * a2, b1 * a2 + b2\n"
        "@triton.jit\n"
        "def k(x, o, s, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    v = tl.load(x + i[:, None] * N + i[None, :])\n"
        "    m, q, n = tl.reduce((v, v * 0, v * 0 + 1), 1, welford)\n"
        "    tl.store(o + i, m)\n"
        "    tl.store(o + N + i, q / n)\n"
        "    tl.store(o + 2 * N + i, tl.reduce(v, 1, first_positive))\n"
        "    tl.store(o + 3 * N, tl.reduce(v, None, first_positive))\n"
        "    a, b = tl.associative_scan((v, v), 1, affine)\n"
        "    tl.store(s + i[:, None] * N + i[None, :], b)\n"
    )
    x = torch.randn(16, 16, generator=torch.Generator().manual_seed(0))
    o, s = torch.zeros(4, 16), torch.zeros(16, 16)
    space["k"][(1,)](x, o, s, N=16)
    torch.testing.assert_close(o[0], x.mean(1))
    torch.testing.assert_close(o[1], x.var(1, correction=0))
    assert o[2].tolist() == [next(v for v in row if v > 0) for row in x.tolist()]
    assert o[3, 0] == next(v for v in x.flatten().tolist() if v > 0)
    want = torch.zeros(16, 16)
    last = torch.zeros(16)
    for j in range(16):
        last = last * x[:, j] + x[:, j]
        want[:, j] = last
    torch.testing.assert_close(s, want)


def check_integer_helpers() -> None:
    space = load(
        "@triton.jit\n"
        "def k(x, o, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    v = tl.load(x + i)\n"
        "    tl.store(o + i, ~v)\n"
        "    tl.store(o + N + i, v >> 1)\n"
        "    tl.store(o + 2 * N + i, tl.umulhi(v, v))\n"
        "    tl.store(o + 3 * N + i, tl.full([N], 0xFFFFFFFF, tl.int32))\n"
        "    tl.store(o + 4 * N + i, tl.cumsum(v, 0, reverse=True))\n"
        "    tl.store(o + 5 * N, tl.xor_sum(v, 0))\n"
        "    tl.store(o + 6 * N + tl.arange(0, 4), tl.histogram(i, 4))\n"
    )
    x = torch.arange(-4, 4, dtype=torch.int32)
    o = torch.zeros(7, 8, dtype=torch.int32)
    space["k"][(1,)](x, o, N=8)
    assert o[0].tolist() == (~x).tolist()
    assert o[1].tolist() == (x >> 1).tolist()
    high = [((v & 0xFFFFFFFF) ** 2) >> 32 for v in x.tolist()]
    assert o[2].tolist() == [v - 2**32 if v >= 2**31 else v for v in high]
    assert o[3].tolist() == [-1] * 8
    assert o[4].tolist() == x.flip(0).cumsum(0).flip(0).tolist()
    assert int(o[5, 0]) == functools.reduce(operator.xor, x.tolist())
    assert o[6, :4].tolist() == [1, 1, 1, 1]


def check_nan_of_min_and_max() -> None:
    """The compiled comparison ignores NaN unless asked to propagate it."""
    space = load(
        "@triton.jit\n"
        "def k(x, o, N: tl.constexpr):\n"
        "    i = tl.arange(0, N)\n"
        "    v = tl.load(x + i)\n"
        "    tl.store(o + i, tl.maximum(v, 0.5))\n"
        "    tl.store(o + N + i, tl.maximum(v, 0.5, propagate_nan=tl.PropagateNan.ALL))\n"
        "    tl.store(o + 2 * N + i, tl.clamp(v, 0.0, 1.0))\n"
        "    tl.store(o + 3 * N, tl.max(v, 0))\n"
        "    tl.store(o + 3 * N + 1, tl.argmax(v, 0))\n"
    )
    x = torch.tensor([float("nan"), 2.0, -1.0, 0.75])
    o = torch.zeros(4, 4)
    space["k"][(1,)](x, o, N=4)
    assert o[0].tolist() == [0.5, 2.0, 0.5, 0.75]
    assert o[1, 0].isnan()
    assert o[2].tolist() == [0.0, 1.0, 0.0, 0.75]
    assert o[3, :2].tolist() == [2.0, 1.0]


def check_install_twice() -> None:
    interpreter.install()
    check_closure()


if __name__ == "__main__":
    found = {n.removeprefix("check_"): f for n, f in list(globals().items()) if n.startswith("check_")}
    run({n: f for n, f in found.items() if isinstance(f, types.FunctionType)})
