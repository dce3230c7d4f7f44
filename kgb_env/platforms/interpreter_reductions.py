"""Reductions and scans of the interpreter: fp32 accumulation, whole blocks at a time.

The stock interpreter folds an unknown combine function element by element, and lets NumPy round
16-bit sums at every step. Here sums and cumulative sums of small floats accumulate in fp32 and
round once, and any other combine function is applied to halves of the block, as a tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import triton_internals as internals
from .interpreter_numerics import cast, numpy_dtype, widen

__all__ = ["AmbiguousTruth", "install", "truth"]


class AmbiguousTruth(Exception):  # noqa: N818 - it never leaves this module
    """A combine function branches on an element, so it cannot take a block at a time."""


class _Folding:
    """Whether a combine function currently sees blocks where its author meant elements."""

    depth = 0


def install() -> None:
    """Replace reductions and scans of the interpreter.

    Raises:
        InfrastructureError: a name that must be replaced is missing.
    """
    interpreter = internals.module("triton.runtime.interpreter")
    tl = internals.module("triton.language")
    reduce_ops, scan_ops = interpreter.ReduceOps, interpreter.ScanOps
    slow_reduce = internals.original(reduce_ops, "generic_reduce")
    slow_scan = internals.original(scan_ops, "generic_scan")

    def to_tensor(_self: Any, value: Any, dtype: Any) -> Any:
        data = np.asarray(value)
        data = cast(data if data.shape else data.reshape(1), numpy_dtype(dtype))
        handle = interpreter.TensorHandle(data, dtype.scalar)
        return tl.core.tensor(handle, tl.block_type(dtype, list(data.shape)) if np.shape(value) else dtype)

    def total(self: Any, operand: Any) -> Any:
        data = widen(operand.handle.data)
        return self.to_tensor(np.sum(data, axis=self.axis, keepdims=self.keep_dims), operand.dtype)

    def min_max(self: Any, operands: Any, val_reduce_op: Any = None, idx_reduce_op: Any = None) -> Any:
        operand = operands[0] if isinstance(operands, tuple) else operands
        return _min_max(self, operand, val_reduce_op, idx_reduce_op, tl)

    def cumulative(op: Callable[..., np.ndarray]) -> Callable[..., Any]:
        return lambda self, operand: [self.to_tensor(op(widen(operand.handle.data), axis=self.axis), operand.dtype)]

    def generic_reduce(self: Any, operands: tuple[Any, ...]) -> Any:
        try:
            return _tree_reduce(self, operands, tl, interpreter)
        except AmbiguousTruth:
            return slow_reduce(self, operands)

    def generic_scan(self: Any, operands: tuple[Any, ...]) -> Any:
        try:
            return _log_scan(self, operands, tl, interpreter)
        except AmbiguousTruth:
            return slow_scan(self, operands)

    internals.replace(interpreter.ReduceScanOpInterface, "to_tensor", to_tensor)
    internals.replace(reduce_ops, "sum", total)
    internals.replace(reduce_ops, "min_max", min_max)
    internals.replace(reduce_ops, "generic_reduce", generic_reduce)
    internals.replace(scan_ops, "cumsum", cumulative(np.cumsum))
    internals.replace(scan_ops, "cumprod", cumulative(np.cumprod))
    internals.replace(scan_ops, "generic_scan", generic_scan)


def truth(value: Any) -> bool:
    """Return the truth of a Triton tensor in Python's eyes: of its element, or True for a block.

    Raises:
        AmbiguousTruth: a combine function asks for the truth of a block.
    """
    data = value.handle.data
    if data.size == 1 and not _Folding.depth:
        return bool(data)
    if _Folding.depth:
        raise AmbiguousTruth
    return True


def _min_max(ops: Any, operand: Any, value_op: Any, index_op: Any, tl: Any) -> Any:
    """Ignore NaN, as the compiled comparison does; an index among NaN alone is 0."""
    data = operand.handle.data
    largest = (value_op or index_op) in (np.max, np.nanmax, np.argmax, np.nanargmax)
    results = []
    if value_op is not None:
        reduce = (np.fmax if largest else np.fmin).reduce
        results.append(ops.to_tensor(reduce(data, axis=ops.axis, keepdims=ops.keep_dims), operand.dtype))
    if index_op is not None:
        if data.dtype.kind not in "biu":
            data = np.where(np.isnan(data), data.dtype.type(-np.inf if largest else np.inf), data)
        find = np.argmax if largest else np.argmin
        results.append(ops.to_tensor(find(data, axis=ops.axis, keepdims=ops.keep_dims), tl.int32))
    return results[0] if len(results) == 1 else tuple(results)


def _combine(ops: Any, left: list[np.ndarray], right: list[np.ndarray], dtypes: list[Any], tl: Any) -> list[np.ndarray]:
    handle = internals.resolve("triton.runtime.interpreter:TensorHandle")
    blocks = [
        tl.core.tensor(handle(np.ascontiguousarray(data), dtype.scalar), tl.block_type(dtype, list(data.shape)))
        for data, dtype in zip((*left, *right), (*dtypes, *dtypes), strict=True)
    ]
    function = getattr(ops.combine_fn, "value", ops.combine_fn)
    _Folding.depth += 1
    try:
        merged = function.rewrite()(*blocks)
    finally:
        _Folding.depth -= 1
    merged = merged if isinstance(merged, tuple | tl.tuple) else (merged,)
    return [
        np.broadcast_to(cast(np.asarray(m.handle.data if hasattr(m, "handle") else m), numpy_dtype(dtype)), old.shape)
        for m, old, dtype in zip(merged, left, dtypes, strict=True)
    ]


def _tree_reduce(ops: Any, operands: tuple[Any, ...], tl: Any, interpreter: Any) -> list[Any]:
    """Combine neighbours until one is left along the axis; the order of elements is kept."""
    flat, axis = ops.unravel(operands, ops.axis)
    arrays = [np.moveaxis(x.handle.data, axis, 0) for x in flat]
    dtypes = [x.dtype for x in flat]
    while (length := arrays[0].shape[0]) > 1:
        even = length - length % 2
        merged = _combine(ops, [a[0:even:2] for a in arrays], [a[1:even:2] for a in arrays], dtypes, tl)
        rest = [a[even:] for a in arrays]
        arrays = [np.concatenate(pair) if length % 2 else pair[0] for pair in zip(merged, rest, strict=True)]
    results = [a[0] for a in arrays]
    if ops.keep_dims:
        rank = len(operands[0].handle.data.shape)
        results = [r.reshape((1,) * rank) if ops.axis is None else np.expand_dims(r, axis) for r in results]
    return [ops.to_tensor(r, dtype) for r, dtype in zip(results, dtypes, strict=True)]


def _log_scan(ops: Any, operands: tuple[Any, ...], tl: Any, interpreter: Any) -> list[Any]:
    """Inclusive scan in log2(n) steps of doubling stride."""
    arrays = [np.moveaxis(x.handle.data, ops.axis, 0) for x in operands]
    dtypes = [x.dtype for x in operands]
    stride = 1
    while stride < arrays[0].shape[0]:
        # Whole blocks, because Triton's shapes are powers of two; what wraps round is not used.
        merged = _combine(ops, [np.roll(a, stride, 0) for a in arrays], arrays, dtypes, tl)
        arrays = [np.concatenate([a[:stride], m[stride:]]) for a, m in zip(arrays, merged, strict=True)]
        stride *= 2
    return [ops.to_tensor(np.moveaxis(a, 0, ops.axis), dtype) for a, dtype in zip(arrays, dtypes, strict=True)]
