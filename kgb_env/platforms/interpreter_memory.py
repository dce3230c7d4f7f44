"""The interpreter's loads, stores and atomics for types that its C++ module does not know."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import triton_internals as internals
from .interpreter_numerics import cast, is_small_float

__all__ = ["Memory", "install"]


class Memory:
    """Stands before Triton's C++ memory module and passes bit patterns for floats of 16 and 8 bits.

    Everything else of the module is reached through it unchanged.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self._additions = (native.RMW_OP.ADD, native.RMW_OP.FADD)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def load(self, pointers: np.ndarray, mask: Any, other: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Return the elements at ``pointers`` where ``mask`` holds, ``other`` elsewhere."""
        dtype = np.dtype(dtype)
        if not is_small_float(dtype):
            return self._native.load(pointers, mask, other, dtype)
        bits = np.dtype(f"u{dtype.itemsize}")
        return self._native.load(pointers, mask, other.view(bits), bits).view(dtype)

    def store(self, pointers: np.ndarray, value: np.ndarray, mask: Any) -> None:
        """Write ``value`` to ``pointers`` where ``mask`` holds."""
        self._native.store(pointers, _bits(value), mask)

    def atomic_cas(self, pointers: np.ndarray, expected: np.ndarray, value: np.ndarray, order: Any) -> np.ndarray:
        """Compare and swap, by bit pattern; return the old elements."""
        old = self._native.atomic_cas(pointers, _bits(expected), _bits(value), order)
        return old.view(expected.dtype) if is_small_float(expected.dtype) else old

    def atomic_rmw(self, op: Any, pointers: np.ndarray, value: np.ndarray, mask: np.ndarray, order: Any) -> np.ndarray:
        """Update elements one after another, each rounded to its type; return the old elements.

        Triton itself refuses every atomic operation on 16-bit floats but addition.
        """
        if op not in self._additions or not is_small_float(value.dtype):
            return self._native.atomic_rmw(op, pointers, value, mask, order)
        pointers, value, mask = (np.ascontiguousarray(x) for x in np.broadcast_arrays(pointers, value, mask))
        where = pointers.ravel()
        if np.unique(where[mask.ravel()]).size == np.count_nonzero(mask):
            return self._add(pointers, value, mask)
        old = np.zeros(where.shape, value.dtype)
        flat = value.ravel()
        for i in np.flatnonzero(mask.ravel()):
            one = slice(i, i + 1)
            old[one] = self._add(where[one], flat[one], np.ones(1, bool))
        return old.reshape(value.shape)

    def _add(self, pointers: np.ndarray, value: np.ndarray, mask: np.ndarray) -> np.ndarray:
        old = self.load(pointers, mask, np.zeros_like(value), value.dtype)
        self.store(pointers, cast(old + value, value.dtype), mask)
        return old


def _bits(data: np.ndarray) -> np.ndarray:
    return data.view(f"u{data.dtype.itemsize}") if is_small_float(data.dtype) else data


def install() -> None:
    """Put :class:`Memory` before the C++ module.

    Raises:
        InfrastructureError: the interpreter keeps its memory module elsewhere.
    """
    interpreter = internals.module("triton.runtime.interpreter")
    native = internals.original(interpreter, "_interpreter")
    internals.replace(interpreter, "_interpreter", Memory(native))
