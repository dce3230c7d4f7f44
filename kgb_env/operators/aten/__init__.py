"""Operators of PyTorch's ATen library, one module per family."""

from __future__ import annotations

from kgb_env.operators.aten import creation, indexing, matmul, pointwise, random, reduction, shape

__all__ = ["creation", "indexing", "matmul", "pointwise", "random", "reduction", "shape"]
