"""Arithmetic of the interpreter in the right precision.

Triton's interpreter keeps bf16 and fp8 as integers and truncates on the way; here its arrays carry
``ml_dtypes`` types, so that NumPy rounds every operation once, to nearest even. What NumPy does
differently from a GPU (sums of halves, overflowing casts, min and max of NaN) is replaced below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from . import triton_internals as internals
from .fused_multiply_add import fma
from .unsupported import UnsupportedFeature

__all__ = ["cast", "install", "is_small_float", "numpy_dtype", "round_toward_zero", "widen"]

_FLOATS: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}
_PLAIN = {"int1": "bool", "fp16": "float16", "fp32": "float32", "fp64": "float64", "fp8e4b15": "uint8"}
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))

_DTYPES = {name: np.dtype(kind) for name, kind in {**_FLOATS, **_PLAIN, **{i: i for i in _INTEGERS}}.items()}
_FOREIGN = frozenset(np.dtype(kind) for kind in _FLOATS.values())
_FP8 = frozenset(d for d in _FOREIGN if d.itemsize == 1)
_SMALL = _FOREIGN | {np.dtype(np.float16)}
_TF32_MASK = np.uint32(0xFFFFE000)

_ARITHMETIC = frozenset({np.add, np.subtract, np.multiply})
_COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal})


def numpy_dtype(dtype: Any) -> np.dtype:
    """Return the NumPy dtype that carries elements of the Triton type ``dtype`` (uint64 for pointers)."""
    scalar = dtype.scalar
    return np.dtype(np.uint64) if scalar.is_ptr() else _DTYPES[scalar.name]


def is_small_float(dtype: np.dtype) -> bool:
    """Whether ``dtype`` is a float of 16 or 8 bits."""
    return dtype in _SMALL


def widen(data: np.ndarray) -> np.ndarray:
    """Return floats of 16 or 8 bits as float32, everything else as it is."""
    return data.astype(np.float32) if data.dtype in _SMALL else data


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype in _FOREIGN


def cast(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert elements as a GPU does: to nearest even, fp8 and integers saturating, NaN to integer 0.

    Args:
        data: An array of any dtype that :func:`numpy_dtype` returns.
        dtype: The target.
    """
    if data.dtype == dtype:
        return data
    if dtype in _FOREIGN:
        single = data.astype(np.float32)
        if dtype in _FP8:
            top = np.float32(ml_dtypes.finfo(dtype).max)
            single = np.clip(single, -top, top)
        return single.astype(dtype)
    if _is_float(data.dtype) and dtype.kind in "iu":
        return _to_integer(widen(data), dtype)
    return data.astype(dtype)


def _to_integer(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    # Conversion instructions exist for 32 and 64 bits: narrower results are cut from 32 bits.
    wide = np.dtype(f"{dtype.kind}{max(4, dtype.itemsize)}")
    limits = np.iinfo(wide)
    whole = np.trunc(data.astype(np.float64))
    inside = np.where((whole >= float(limits.min)) & (whole < float(limits.max) + 1), whole, 0.0).astype(wide)
    result = np.where(whole >= float(limits.max), wide.type(limits.max), inside)
    return np.where(whole < float(limits.min), wide.type(limits.min), result).astype(dtype)


def round_toward_zero(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert floats to the narrower float ``dtype``, cutting off what does not fit."""
    nearest = data.astype(np.float32).astype(dtype)
    bits = nearest.view(f"u{dtype.itemsize}")
    too_large = np.abs(nearest.astype(np.float64)) > np.abs(data.astype(np.float64))
    return (bits - too_large.astype(bits.dtype)).view(dtype)


def _handle(data: np.ndarray, dtype: Any) -> Any:
    return internals.resolve("triton.runtime.interpreter:TensorHandle")(data, dtype)


def install() -> None:
    """Replace the interpreter's arithmetic in this process.

    Raises:
        InfrastructureError: a name that must be replaced is missing.
    """
    interpreter = internals.module("triton.runtime.interpreter")
    tl = internals.module("triton.language")
    builder = interpreter.InterpreterBuilder
    internals.replace(interpreter, "_get_np_dtype", numpy_dtype)
    # The check of integer overflow costs three casts per addition, and is off on a GPU too.
    options = interpreter.InterpreterOptions(sanitize_overflow=False)
    internals.replace(interpreter.interpreter_builder, "options", options)
    handle = interpreter.TensorHandle
    for name, method in {
        **_constants(handle, tl),
        **_casts(builder, handle),
        **_elementwise(handle, tl),
        **_products(handle),
    }.items():
        internals.extend(builder, name, method)
    if hasattr(interpreter, "_mxfp_value_handle_to_float32"):
        unpack = internals.original(interpreter, "_mxfp_value_handle_to_float32")
        internals.replace(
            interpreter,
            "_mxfp_value_handle_to_float32",
            lambda value: widen(value.data) if value.data.dtype in _SMALL else unpack(value),
        )
    elif not hasattr(builder, "create_dot_scaled"):
        for module in (tl, tl.core):
            internals.replace(module, "dot_scaled", _no_dot_scaled)


def _no_dot_scaled(*_args: Any, **_kwargs: Any) -> None:
    feature = "scaled dot"
    raise UnsupportedFeature(feature, "tl.dot_scaled")


def _constants(handle: Any, tl: Any) -> dict[str, Callable[..., Any]]:
    def integer(name: str) -> Callable[..., Any]:
        # A constant wraps round, as in the compiler; NumPy alone would refuse it.
        return lambda _self, value: handle(np.array([value]).astype(_DTYPES[name]), getattr(tl, name))

    def floating(name: str) -> Callable[..., Any]:
        return lambda _self, value: handle(cast(np.array([value], np.float32), _DTYPES[name]), tl.dtype(name))

    def get_all_ones_value(_self: Any, kind: Any) -> Any:
        dtype = numpy_dtype(kind)
        ones = np.ones(1, dtype=bool) if dtype.kind == "b" else np.array([-1]).astype(dtype)
        return handle(ones, kind.scalar)

    return {
        **{f"get_{name}": integer(name) for name in _INTEGERS},
        **{f"get_{name}": floating(name) for name in _FLOATS},
        "get_all_ones_value": get_all_ones_value,
    }


def _casts(builder: Any, handle: Any) -> dict[str, Callable[..., Any]]:
    stock_fp_to_fp = internals.original(builder, "create_fp_to_fp")
    toward_zero = internals.resolve("triton._C.libtriton:ir.ROUNDING_MODE.RTZ")

    def cast_impl(_self: Any, src: Any, dst_type: Any) -> Any:
        return handle(cast(src.data, numpy_dtype(dst_type)), dst_type.scalar)

    def create_fp_to_fp(self: Any, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        if "fp8e4b15" in (src.dtype.scalar.name, dst_type.scalar.name):
            return stock_fp_to_fp(self, src, dst_type, rounding_mode)
        dtype = numpy_dtype(dst_type)
        if rounding_mode == toward_zero and dtype.itemsize < src.data.dtype.itemsize:
            return handle(round_toward_zero(src.data, dtype), dst_type.scalar)
        return cast_impl(self, src, dst_type)

    return {"cast_impl": cast_impl, "create_fp_to_fp": create_fp_to_fp}


def _elementwise(handle: Any, tl: Any) -> dict[str, Callable[..., Any]]:
    all_nans = internals.resolve("triton._C.libtriton:ir.PROPAGATE_NAN.ALL")

    def binary_op(_self: Any, lhs: Any, rhs: Any, op: Any) -> Any:
        left, right = lhs.data, rhs.data
        if op in _COMPARISONS:
            return handle(op(left, right), tl.int1)
        if left.dtype.kind == right.dtype.kind == "b" and op in _ARITHMETIC:
            # int1 wraps round like any integer; NumPy's bool would saturate.
            return handle((op(left.astype(np.int8), right.astype(np.int8)) & 1).astype(bool), lhs.dtype.scalar)
        return handle(op(left, right).astype(numpy_dtype(lhs.dtype), copy=False), lhs.dtype.scalar)

    def create_clampf(_self: Any, value: Any, low: Any, high: Any, propagate_nans: Any) -> Any:
        if propagate_nans == all_nans:
            return handle(np.minimum(np.maximum(value.data, low.data), high.data), value.dtype.scalar)
        return handle(np.fmin(np.fmax(value.data, low.data), high.data), value.dtype.scalar)

    def create_ashr(self: Any, lhs: Any, rhs: Any) -> Any:
        signed = [x.data.view(f"i{x.data.dtype.itemsize}") for x in (lhs, rhs)]
        return handle(np.right_shift(*signed).view(lhs.data.dtype), lhs.dtype.scalar)

    def create_umulhi(_self: Any, lhs: Any, rhs: Any) -> Any:
        bits = lhs.data.dtype.itemsize * 8
        left, right = (x.data.view(f"u{bits // 8}").astype(object) for x in (lhs, rhs))
        high = ((left * right) >> bits).astype(f"u{bits // 8}") if bits == 64 else _high_half(lhs.data, rhs.data)
        return handle(high.view(lhs.data.dtype), lhs.dtype.scalar)

    def create_erf(_self: Any, arg: Any) -> Any:
        from scipy.special import erf

        return handle(erf(arg.data.astype(np.float64)).astype(arg.data.dtype), arg.dtype.scalar)

    def create_rsqrt(_self: Any, arg: Any) -> Any:
        root = 1.0 / np.sqrt(arg.data.astype(np.float64))
        return handle(root.astype(arg.data.dtype), arg.dtype.scalar)

    def create_histogram(_self: Any, data: Any, bins: int, mask: Any) -> Any:
        values = data.data.astype(np.int64)
        valid = (values >= 0) & (values < bins)
        if mask is not None:
            valid = valid & mask.data
        return handle(np.bincount(values[valid], minlength=bins).astype(np.int32), tl.int32)

    return {
        "binary_op": binary_op,
        "create_minnumf": lambda self, lhs, rhs: binary_op(self, lhs, rhs, np.fmin),
        "create_maxnumf": lambda self, lhs, rhs: binary_op(self, lhs, rhs, np.fmax),
        "create_clampf": create_clampf,
        "create_ashr": create_ashr,
        "create_umulhi": create_umulhi,
        "create_erf": create_erf,
        "create_rsqrt": create_rsqrt,
        "create_histogram": create_histogram,
    }


def _high_half(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    size = left.dtype.itemsize
    wide = (x.view(f"u{size}").astype(f"u{2 * size}") for x in (left, right))
    return (np.multiply(*wide) >> (8 * size)).astype(f"u{size}")


def _products(handle: Any) -> dict[str, Callable[..., Any]]:
    tf32 = internals.resolve("triton._C.libtriton:ir.INPUT_PRECISION.TF32")

    def create_fma(_self: Any, x: Any, y: Any, z: Any) -> Any:
        return handle(fma(x.data, y.data, z.data), z.dtype.scalar)

    def create_dot(_self: Any, a: Any, b: Any, d: Any, input_precision: Any, _max_imprecise: Any) -> Any:
        left, right = widen(a.data), widen(b.data)
        if a.data.dtype == np.float32 and input_precision == tf32:
            # A tensor core ignores the low 13 bits of fp32 operands, unless asked for ieee.
            left, right = ((x.view(np.uint32) & _TF32_MASK).view(np.float32) for x in (left, right))
        accumulator = widen(d.data)
        if left.dtype.kind in "iu":
            product = np.matmul(left, right, dtype=accumulator.dtype)
        else:
            product = np.matmul(left, right).astype(accumulator.dtype, copy=False)
        return handle(cast(product + accumulator, d.data.dtype), d.dtype.scalar)

    return {"create_fma": create_fma, "create_dot": create_dot}
