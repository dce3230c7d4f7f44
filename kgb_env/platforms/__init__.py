"""Chips that kernels are judged for: one module per chip, one row each in :mod:`kgb_env.platforms.base`."""

from __future__ import annotations

from .base import Platform, get, names

__all__ = ["Platform", "get", "names"]
