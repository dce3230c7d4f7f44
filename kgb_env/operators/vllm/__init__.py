"""Operators of vLLM 0.13, one module per family. Semantics are those of its compiled CUDA operators."""

from __future__ import annotations

from kgb_env.operators.vllm import cache, moe, norm

__all__ = ["cache", "moe", "norm"]
