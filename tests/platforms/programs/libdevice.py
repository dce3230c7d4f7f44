"""libdevice and tl.math in the interpreter against torch. Started with TRITON_INTERPRET=1."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from harness import close, run, same_bits
from triton.language.extra.cuda import libdevice as cuda_libdevice
from triton.runtime.errors import InterpreterError

from kgb_env.platforms import interpreter
from kgb_env.platforms.interpreter_libdevice import known

interpreter.install()

from triton.language.extra import libdevice  # noqa: E402
from triton.language.extra.libdevice import tanh  # noqa: E402

N = 64


@triton.jit
def one(x, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i)).to(o.dtype.element_ty))


@triton.jit
def two(x, y, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i), tl.load(y + i)).to(o.dtype.element_ty))


@triton.jit
def three(x, y, z, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i), tl.load(y + i), tl.load(z + i)).to(o.dtype.element_ty))


@triton.jit
def imported(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tanh(tl.load(x + i)))


@triton.jit
def erf_math(x):
    return tl.erf(x)


@triton.jit
def rsqrt_math(x):
    return tl.math.rsqrt(tl.abs(x))


@triton.jit
def exp2_math(x):
    return tl.math.exp2(x)


@triton.jit
def log2_math(x):
    return tl.log2(tl.abs(x))


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp, "exp2": torch.exp2, "exp10": lambda x: 10.0**x, "expm1": torch.expm1, "log": torch.log,
    "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sin": torch.sin, "cos": torch.cos,
    "tan": torch.tan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asin": torch.asin,
    "acos": torch.acos, "atan": torch.atan, "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh,
    "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv, "erfcx": torch.special.erfcx,
    "normcdf": torch.special.ndtr, "normcdfinv": torch.special.ndtri, "lgamma": torch.lgamma,
    "tgamma": lambda x: torch.tensor([_gamma(v) for v in x.tolist()], dtype=x.dtype),
    "j0": torch.special.bessel_j0, "j1": torch.special.bessel_j1, "y0": torch.special.bessel_y0,
    "y1": torch.special.bessel_y1, "cyl_bessel_i0": torch.special.i0, "cyl_bessel_i1": torch.special.i1,
    "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc,
    "rint": torch.round, "nearbyint": torch.round, "abs": torch.abs,
    "round": lambda x: torch.copysign((x.abs() + 0.5).floor(), x),
    "cbrt": lambda x: torch.copysign(x.abs() ** (1.0 / 3.0), x),
    "sinpi": lambda x: torch.sin(torch.pi * x), "cospi": lambda x: torch.cos(torch.pi * x),
}  # fmt: skip
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "pow": torch.pow, "atan2": torch.atan2, "hypot": torch.hypot, "fmod": torch.fmod, "copysign": torch.copysign,
    "nextafter": torch.nextafter,
    "remainder": lambda x, y: _remainder(x, y), "fdim": lambda x, y: (x - y).clamp(min=0), "div_rn": torch.div,
    "add_rn": torch.add, "mul_rn": torch.mul, "sub_rn": torch.sub,
}  # fmt: skip
PREDICATES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "isnan": torch.isnan, "isinf": torch.isinf, "signbit": torch.signbit,
}  # fmt: skip


def _remainder(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    def one(a: float, b: float) -> float:
        return math.nan if math.isinf(a) else math.remainder(a, b)

    return torch.tensor(list(map(one, x.tolist(), y.tolist())), dtype=x.dtype)


def _gamma(x: float) -> float:
    from scipy.special import gamma

    return float(gamma(x))


def data(dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    x = torch.randn(N, generator=torch.Generator().manual_seed(seed)).to(dtype)
    x[:6] = torch.tensor([0.0, float("inf"), -float("inf"), float("nan"), 0.5, -2.5])
    return x


def check_unary(name: str, dtype: torch.dtype) -> None:
    x, o = data(dtype), torch.empty(N, dtype=dtype)
    if name in ("sinpi", "cospi"):
        x[1:3] = 0.25
    one[(1,)](x, o, F=getattr(libdevice, name), N=N)
    want = UNARY[name](x.double())
    ulps = 2.0 if dtype == torch.float32 else 4096.0
    if name in ("j0", "j1", "y0", "y1") and dtype == torch.float64:
        ulps = 2.0**25  # torch itself is off by 1e-9 in fp64; SciPy agrees with mpmath
    close(o, torch.where(want.abs() < 1e-14, 0.0, want) if name in ("sinpi", "cospi") else want, ulps)


def check_binary(name: str, dtype: torch.dtype) -> None:
    x, y, o = data(dtype), data(dtype, 1), torch.empty(N, dtype=dtype)
    y[:6] = torch.tensor([1.0, 2.0, 3.0, 1.0, -0.5, float("inf")])
    two[(1,)](x, y, o, F=getattr(libdevice, name), N=N)
    exact = name not in ("pow", "atan2", "hypot")
    (same_bits if exact else partial(close, ulps=64.0))(o, BINARY[name](x, y))


def check_predicate(name: str, dtype: torch.dtype) -> None:
    x, o = data(dtype), torch.empty(N, dtype=torch.int32)
    x[3] = 1.0 if name == "signbit" else float("nan")
    one[(1,)](x, o, F=getattr(libdevice, name), N=N)
    same_bits(o, PREDICATES[name](x).int())


def check_fma_rounding() -> None:
    x, y = data(torch.float32, 1)[6:38].repeat(2), data(torch.float32, 2)[6:38].repeat(2)
    exact = x.double() * y.double()
    for name, side in (("mul_rd", torch.le), ("mul_ru", torch.ge)):
        o = torch.empty(N)
        two[(1,)](x, y, o, F=getattr(libdevice, name), N=N)
        assert side(o.double(), exact).all(), name
        assert ((o.double() - exact).abs() <= 2**-23 * exact.abs()).all(), name


def check_integers() -> None:
    x = torch.randint(-(2**31), 2**31 - 1, (N,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    x[:3] = torch.tensor([0, 1, -1])
    y = x.flip(0).contiguous()
    unsigned = [v & 0xFFFFFFFF for v in x.tolist()]
    o = torch.empty(N, dtype=torch.int32)
    for name, function in (
        ("popc", lambda v: v.bit_count()),
        ("clz", lambda v: 32 - v.bit_length()),
        ("ffs", lambda v: (v & -v).bit_length()),
        ("brev", lambda v: _signed(int(f"{v:032b}"[::-1], 2))),
    ):
        one[(1,)](x, o, F=getattr(libdevice, name), N=N)
        assert o.tolist() == [function(v) for v in unsigned], name
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    for name, binary in (
        ("mulhi", lambda a, b: (a * b) >> 32),
        ("hadd", lambda a, b: (a + b) >> 1),
        ("rhadd", lambda a, b: (a + b + 1) >> 1),
    ):
        two[(1,)](x, y, o, F=getattr(libdevice, name), N=N)
        assert o.tolist() == [binary(a, b) for a, b in pairs], name
    selector = torch.full((N,), 0x7531, dtype=torch.int32)
    three[(1,)](x, y, selector, o, F=libdevice.byte_perm, N=N)
    for got, a, b in zip(o.tolist(), x.tolist(), y.tolist(), strict=True):
        octets = (a & 0xFFFFFFFF).to_bytes(4, "little") + (b & 0xFFFFFFFF).to_bytes(4, "little")
        assert got == int.from_bytes(bytes(octets[k] for k in (1, 3, 5, 7)), "little", signed=True)


def _signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value


def check_conversions() -> None:
    x = torch.tensor([1.5, 2.5, -1.5, 1e20, float("nan"), -0.5, 0.5, -1e20] * 8)
    o = torch.empty(N, dtype=torch.int32)
    top, bottom = 2**31 - 1, -(2**31)
    for name, want in (
        ("float2int_rn", [2, 2, -2, top, 0, 0, 0, bottom]),
        ("float2int_rz", [1, 2, -1, top, 0, 0, 0, bottom]),
        ("float2int_rd", [1, 2, -2, top, 0, -1, 0, bottom]),
        ("float2int_ru", [2, 3, -1, top, 0, 0, 1, bottom]),
    ):
        one[(1,)](x, o, F=getattr(libdevice, name), N=N)
        assert o[:8].tolist() == want, (name, o[:8].tolist())
    one[(1,)](x, o, F=libdevice.float_as_int, N=N)
    same_bits(o, x.view(torch.int32))


def check_imported_by_name() -> None:
    x, o = data(torch.float32), torch.empty(N)
    imported[(1,)](x, o, N=N)
    close(o, torch.tanh(x.double()))


def check_tl_math() -> None:
    x = data(torch.float32)
    for kernel, want in (
        (erf_math, torch.erf(x.double())), (rsqrt_math, x.double().abs().rsqrt()),
        (exp2_math, torch.exp2(x.double())), (log2_math, x.double().abs().log2()),
    ):  # fmt: skip
        o = torch.empty(N)
        one[(1,)](x, o, F=kernel, N=N)
        close(o, want)


def check_wrong_type() -> None:
    """What would not compile fails in the interpreter too: libdevice has no tanh of halves."""
    x, o = torch.ones(N, dtype=torch.float16), torch.empty(N, dtype=torch.float16)
    with pytest.raises(InterpreterError, match="fp16|float16"):
        one[(1,)](x, o, F=libdevice.tanh, N=N)


def check_every_symbol_known() -> None:
    symbols = set(re.findall(r'"(__nv_\w+)"', inspect.getsource(cuda_libdevice)))
    assert len(symbols) > 200
    unknown = sorted(symbol for symbol in symbols if not known(symbol))
    assert not unknown, unknown


def check_every_symbol_runs() -> None:
    """Each entry of Triton's table computes something of the right dtype."""
    import numpy as np

    from kgb_env.platforms.interpreter_libdevice import compute

    kinds = {"fp32": "f4", "fp64": "f8", "int32": "i4", "int64": "i8", "uint32": "u4", "uint64": "u8"}
    text = inspect.getsource(cuda_libdevice)
    entry = re.compile(r'\(((?:core\.dtype\("\w+"\),? ?)+)\): \("(__nv_\w+)", core\.dtype\("(\w+)"\)\)')
    found: list[Any] = entry.findall(text)
    assert len(found) > 200
    for arguments, symbol, result in found:
        arrays = [np.array([1, 2, 3]).astype(kinds[k]) for k in re.findall(r'"(\w+)"', arguments)]
        out = compute(symbol, arrays, np.dtype(kinds[result]))
        assert out.dtype == np.dtype(kinds[result]), symbol
        assert out.shape == (3,), symbol


def checks() -> dict[str, Callable[[], None]]:
    table: dict[str, Callable[[], None]] = {}
    for label, dtype in (("fp32", torch.float32), ("fp64", torch.float64)):
        table |= {f"{name}[{label}]": partial(check_unary, name, dtype) for name in UNARY}
        table |= {f"{name}[{label}]": partial(check_binary, name, dtype) for name in BINARY}
        table |= {f"{name}[{label}]": partial(check_predicate, name, dtype) for name in PREDICATES}
    singles = (
        check_fma_rounding, check_integers, check_conversions, check_imported_by_name, check_tl_math,
        check_wrong_type, check_every_symbol_known, check_every_symbol_runs,
    )  # fmt: skip
    return table | {single.__name__.removeprefix("check_"): single for single in singles}


if __name__ == "__main__":
    run(checks())
