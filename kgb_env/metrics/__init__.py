"""Numbers over many verdicts."""

from __future__ import annotations

from kgb_env.metrics.passk import pass_at_k
from kgb_env.metrics.verdicts import Numbers, by_source, numbers

__all__ = ["Numbers", "by_source", "numbers", "pass_at_k"]
