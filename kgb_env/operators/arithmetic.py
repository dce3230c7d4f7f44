"""Upcasting for references: float64, complex128 or int64, and Python numbers as kernels see them."""

from __future__ import annotations

import numpy as np
import torch

__all__ = ["Number", "dtype_of", "number", "wide"]

Number = bool | int | float
"""A Python number that stands where a scalar or a tensor may stand."""


def dtype_of(name: str) -> torch.dtype:
    """Return the torch dtype of that name, for example ``bfloat16``."""
    return getattr(torch, name)


def wide(value: torch.Tensor) -> torch.Tensor:
    """Return the same numbers in float64, complex128 or int64; bool stays bool. Exact for every dtype."""
    if value.dtype is torch.bool:
        return value
    if value.is_complex():
        return value.to(torch.complex128)
    return value.to(torch.float64 if value.is_floating_point() else torch.int64)


def number(value: Number, dtype: torch.dtype) -> Number:
    """Round a Python number to the type in which an operator computes on ``dtype``.

    That is fp32 for floating dtypes up to 32 bits, fp64 for float64; integers stay what they are.

    >>> number(0.1, torch.float16) == number(0.1, torch.float32) != 0.1
    True
    """
    if isinstance(value, bool) or not dtype.is_floating_point or dtype is torch.float64:
        return value
    return float(np.float32(value))
