"""How the adapted interpreter behaves beyond arithmetic. Started with TRITON_INTERPRET=1."""

from __future__ import annotations

import functools
import linecache
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl
from harness import run
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from kgb_env.platforms import interpreter
from kgb_env.platforms.unsupported import UnsupportedFeature, unsupported_reason

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


def check_install_twice() -> None:
    interpreter.install()
    check_closure()


if __name__ == "__main__":
    found = {n.removeprefix("check_"): f for n, f in list(globals().items()) if n.startswith("check_")}
    run({n: f for n, f in found.items() if isinstance(f, types.FunctionType)})
