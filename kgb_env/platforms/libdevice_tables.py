"""What each libdevice symbol computes, as tables of NumPy and SciPy functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from .fused_multiply_add import fma

__all__ = ["FLOATING", "INTEGER", "directed"]

Array = np.ndarray
_Real = Callable[..., Array]


def _round(x: Array) -> Array:
    # Adding a half rounds up just below one half; a float with no fraction is its own result.
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), np.copysign(whole, x))


def _remainder(x: Array, y: Array) -> Array:
    """IEEE remainder: the quotient is rounded to the nearest even integer."""
    divisor = np.abs(y)
    rest = np.fmod(np.abs(x), 2 * divisor)
    over = rest > divisor / 2
    rest = np.where(over, rest - divisor, rest)
    rest = np.where(over & (rest >= divisor / 2), rest - divisor, rest)
    return np.where(np.signbit(x), -rest, rest)


def _logb(x: Array) -> Array:
    _, exponent = np.frexp(x)
    result = np.where(np.isinf(x), np.inf, exponent - 1.0)
    return np.where(x == 0, -np.inf, np.where(np.isnan(x), np.nan, result))


def _ilogb(x: Array) -> Array:
    _, exponent = np.frexp(x)
    result = np.where(np.isinf(x), 2**31 - 1, exponent.astype(np.int64) - 1)
    return np.where((x == 0) | np.isnan(x), -(2**31), result)


def _powi(x: Array, n: Array) -> Array:
    return np.power(x, n.astype(np.float64))


def _fdim(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, 0.0))


def _rnorm(*xs: Array) -> Array:
    return 1.0 / _norm(*xs)


def _norm(*xs: Array) -> Array:
    result = np.abs(xs[0])
    for x in xs[1:]:
        result = np.hypot(result, x)
    return result


FLOATING: dict[str, _Real] = {
    **{
        name: getattr(np, numpy_name)
        for name, numpy_name in {
            "fabs": "abs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "exp2": "exp2", "exp": "exp",
            "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "expm1": "expm1", "sqrt": "sqrt",
            "sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
            "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
            "acosh": "arccosh", "atanh": "arctanh", "hypot": "hypot", "cbrt": "cbrt", "pow": "power", "fmod": "fmod",
            "copysign": "copysign", "rint": "rint", "nearbyint": "rint", "llrint": "rint",
            "isnan": "isnan", "isinf": "isinf", "finite": "isfinite", "isfinite": "isfinite", "signbit": "signbit",
            "ldexp": "ldexp", "scalbn": "ldexp", "fmax": "fmax", "fmin": "fmin", "fdivide": "divide",
        }.items()
    },
    **{
        name: getattr(special, scipy_name)
        for name, scipy_name in {
            "erf": "erf", "erfc": "erfc", "erfcx": "erfcx", "erfinv": "erfinv", "erfcinv": "erfcinv",
            "normcdf": "ndtr", "normcdfinv": "ndtri", "lgamma": "gammaln", "tgamma": "gamma", "exp10": "exp10",
            "j0": "j0", "j1": "j1", "y0": "y0", "y1": "y1", "jn": "jn", "yn": "yn",
            "cyl_bessel_i0": "i0", "cyl_bessel_i1": "i1",
        }.items()
    },
    "sinpi": lambda x: special.sindg(180.0 * np.fmod(x, 2.0)),
    "cospi": lambda x: special.cosdg(180.0 * np.fmod(x, 2.0)),
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "rcbrt": lambda x: 1.0 / np.cbrt(x),
    "rhypot": _rnorm,
    "norm3d": _norm,
    "rnorm3d": _rnorm,
    "norm4d": _norm,
    "rnorm4d": _rnorm,
    "saturate": lambda x: np.where(np.isnan(x), 0.0, np.clip(x, 0.0, 1.0)),
    "round": _round,
    "llround": _round,
    "remainder": _remainder,
    "logb": _logb,
    "ilogb": _ilogb,
    "powi": _powi,
    "fdim": _fdim,
}  # fmt: skip
"""Symbol without prefix and type suffix -> function of float64 arrays."""


def _bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _popcount(x: Array) -> Array:
    return np.bitwise_count(_bits(x))


def _leading_zeros(x: Array) -> Array:
    bits = _bits(x).astype(np.uint64)
    width = x.dtype.itemsize * 8
    for step in (1, 2, 4, 8, 16, 32):
        bits = bits | (bits >> np.uint64(step))
    return width - np.bitwise_count(bits)


def _find_first_set(x: Array) -> Array:
    bits = _bits(x)
    lowest = bits & (~bits + bits.dtype.type(1))
    return np.where(bits == 0, 0, np.bitwise_count(lowest - bits.dtype.type(1)) + 1)


def _reverse(x: Array) -> Array:
    bits = np.unpackbits(np.ascontiguousarray(_bits(x).astype(f">u{x.dtype.itemsize}")).view(np.uint8), bitorder="big")
    bits = bits.reshape(*x.shape, x.dtype.itemsize * 8)[..., ::-1]
    return np.packbits(bits, axis=-1).view(f">u{x.dtype.itemsize}")[..., 0].astype(f"u{x.dtype.itemsize}").view(x.dtype)


def _byte_perm(x: Array, y: Array, selector: Array) -> Array:
    both = _bits(x).astype(np.uint64) | (_bits(y).astype(np.uint64) << np.uint64(32))
    chosen = _bits(selector).astype(np.uint64)
    result = np.zeros(np.broadcast(x, y, selector).shape, np.uint64)
    for i in range(4):
        index = (chosen >> np.uint64(4 * i)) & np.uint64(7)
        result = result | (((both >> (index * np.uint64(8))) & np.uint64(0xFF)) << np.uint64(8 * i))
    return result.astype(np.uint32).view(np.int32)


def _high(x: Array, y: Array) -> Array:
    bits = x.dtype.itemsize * 8
    return ((x.astype(object) * y.astype(object)) >> bits).astype(x.dtype)


def _multiply24(x: Array, y: Array) -> Array:
    if x.dtype.kind == "i":
        left, right = (((v.astype(np.int64) << 40) >> 40) for v in (x, y))
    else:
        left, right = ((v.astype(np.int64) & 0xFFFFFF) for v in (x, y))
    return (left * right).astype(np.uint64).astype(np.uint32).view(x.dtype)


def _sum_of_difference(x: Array, y: Array, z: Array) -> Array:
    return np.abs(x.astype(np.int64) - y.astype(np.int64)) + z.astype(np.int64)


def _average(x: Array, y: Array) -> Array:
    return (x.astype(np.int64) + y.astype(np.int64)) >> 1


def _average_up(x: Array, y: Array) -> Array:
    return (x.astype(np.int64) + y.astype(np.int64) + 1) >> 1


def _high_word(x: Array) -> Array:
    return (x.view(np.uint64) >> np.uint64(32)).astype(np.uint32).view(np.int32)


def _low_word(x: Array) -> Array:
    return x.view(np.uint64).astype(np.uint32).view(np.int32)


def _join_words(high: Array, low: Array) -> Array:
    upper = high.view(np.uint32).astype(np.uint64) << np.uint64(32)
    return (upper | low.view(np.uint32).astype(np.uint64)).view(np.float64)


def _reciprocal_high(x: Array) -> Array:
    upper = np.uint64(0xFFFFFFFF00000000)
    top = np.ascontiguousarray(1.0 / (np.ascontiguousarray(x).view(np.uint64) & upper).view(np.float64))
    return (top.view(np.uint64) & upper).view(np.float64)


INTEGER: dict[str, Callable[..., Array]] = {
    "clz": _leading_zeros, "clzll": _leading_zeros, "popc": _popcount, "popcll": _popcount,
    "ffs": _find_first_set, "ffsll": _find_first_set, "brev": _reverse, "brevll": _reverse,
    "byte_perm": _byte_perm, "mulhi": _high, "umulhi": _high, "mul64hi": _high, "umul64hi": _high,
    "mul24": _multiply24, "umul24": _multiply24, "sad": _sum_of_difference, "usad": _sum_of_difference,
    "abs": np.abs, "llabs": np.abs, "hadd": _average, "uhadd": _average, "rhadd": _average_up,
    "urhadd": _average_up, "int_as_float": lambda x: x.view(np.float32), "uint_as_float": lambda x: x.view(np.float32),
    "float_as_int": lambda x: x.view(np.int32), "float_as_uint": lambda x: x.view(np.int32),
    "longlong_as_double": lambda x: x.view(np.float64), "double_as_longlong": lambda x: x.view(np.int64),
    "hiloint2double": _join_words, "double2loint": _low_word, "double2hiint": _high_word, "rcp64h": _reciprocal_high,
    "fma": fma, "fmaf": fma, "fma_rn": fma, "fmaf_rn": fma, "nextafter": np.nextafter, "nextafterf": np.nextafter,
}  # fmt: skip
"""Symbols whose arguments must keep their type -> function of those arrays."""

_OPERATIONS: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
    "fma": lambda x, y, z: x * y + z, "fmaf": lambda x, y, z: x * y + z,
}  # fmt: skip
_TO_INTEGER = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}


def directed(name: str) -> Callable[[list[Array], np.dtype], Array] | None:
    """Return the function of a symbol that ends in a rounding mode (``_rn``, ``_rz``, ``_rd``, ``_ru``) or ``None``."""
    stem, _, mode = name.rpartition("_")
    if mode not in _TO_INTEGER or not stem:
        return None
    source, two, target = stem.partition("2")
    if two and target in ("int", "uint", "ll", "ull"):
        return lambda arguments, dtype: _integer(_TO_INTEGER[mode](arguments[0].astype(np.float64)), target, dtype)
    if two:
        return lambda arguments, dtype: _rounded(arguments[0].astype(np.longdouble), dtype, mode)
    operation = _OPERATIONS.get(stem) or _OPERATIONS.get(stem[1:])
    if operation is None:
        return None
    return lambda arguments, dtype: _rounded(operation(*(x.astype(np.longdouble) for x in arguments)), dtype, mode)


def _integer(whole: Array, target: str, dtype: np.dtype) -> Array:
    wide = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}[target]
    limits = np.iinfo(wide)
    inside = (whole >= float(limits.min)) & (whole < float(limits.max) + 1)
    result = np.where(inside, whole, 0.0).astype(wide)
    result = np.where(whole >= float(limits.max), wide(limits.max), result)
    result = np.where(whole < float(limits.min), wide(limits.min), result)
    return result.astype(wide).view(dtype)


def _rounded(exact: Array, dtype: np.dtype, mode: str) -> Array:
    """Round an extended-precision value to ``dtype`` in the direction that ``mode`` names."""
    nearest = exact.astype(dtype)
    if mode == "rn":
        return nearest
    error = nearest.astype(np.longdouble) - exact
    down, up = (np.nextafter(nearest, np.array(end, dtype)) for end in (-np.inf, np.inf))
    if mode == "rd":
        return np.where(error > 0, down, nearest)
    if mode == "ru":
        return np.where(error < 0, up, nearest)
    return np.where((error > 0) & (exact > 0), down, np.where((error < 0) & (exact < 0), up, nearest))
