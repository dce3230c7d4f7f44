"""Routines of cuBLAS, one module per BLAS level. Flat column-major buffers, scalars as Python numbers."""

from __future__ import annotations

from kgb_env.operators.cublas import level1, level3

__all__ = ["level1", "level3"]
