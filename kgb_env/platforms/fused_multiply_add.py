"""Fused multiply-add with one rounding, for every float type of the interpreter."""

from __future__ import annotations

import numpy as np

__all__ = ["fma"]

_SPLITTER = float(2**27 + 1)


def fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return ``x * y + z`` rounded once, to nearest even.

    Floats of 16 and 8 bits, and fp32, are exact as products in fp64; the sum is rounded to odd there, which
    makes the second rounding harmless. fp64 follows Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums" (IEEE Transactions on Computers, 2008).

    Args:
        x: First factor.
        y: Second factor, same dtype.
        z: Summand, same dtype.
    """
    if z.dtype == np.float64:
        return _fma64(x, y, z)
    product = x.astype(np.float64) * y.astype(np.float64)
    total = _add_to_odd(product, z.astype(np.float64))
    return total.astype(np.float32).astype(z.dtype) if z.dtype == np.float32 else _narrow(total, z.dtype)


def _narrow(total: np.ndarray, dtype: np.dtype) -> np.ndarray:
    # Through fp32 rounded to odd, for types that have no direct conversion from fp64.
    single = total.astype(np.float32)
    error = total - single.astype(np.float64)
    return _toward_odd(single, error, np.uint32).astype(dtype)


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    high_a, low_a = _split(a)
    high_b, low_b = _split(b)
    product = a * b
    return product, low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _split(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _toward_odd(value: np.ndarray, error: np.ndarray, unsigned: type[np.unsignedinteger]) -> np.ndarray:
    """Move an inexact, even ``value`` one step towards the side that ``error`` points to."""
    value = np.ascontiguousarray(value)
    even = (value.view(unsigned) & 1) == 0
    target = np.where(error > 0, np.inf, -np.inf).astype(value.dtype)
    move = even & (error != 0) & np.isfinite(error) & np.isfinite(value)
    return np.where(move, np.nextafter(value, target), value)


def _add_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total, error = _two_sum(a, b)
    return _toward_odd(total, error, np.uint64)


def _fma64(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        high, low = _two_product(x, y)
        middle, tail = _two_sum(z, low)
        top, rest = _two_sum(high, middle)
        result = top + _add_to_odd(tail, rest)
        plain = x * y + z
    return np.where(np.isfinite(result), result, plain)
