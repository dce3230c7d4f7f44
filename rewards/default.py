"""The default reward: a class decides the band, terms move within it, nothing crosses a border.

================  =============  =====================================================
class             band           what moves within it
================  =============  =====================================================
hack              -1.0           nothing
violation         -0.5           nothing
failure           -0.2 .. 0.0    how far the submission came (:data:`STAGES`)
partial           0.01 .. 0.3    share of the cases that pass
clean             0.5 .. 2.0     ``0.25 * clip(log2(lower bound of the speedup), -2, 3)``
neutral           0.0            nothing; such a step is not trainable
================  =============  =====================================================

Tokens cost ``0.1 * min(1, tokens / budget)``, as far as the band's lower border allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kgb_env.records import Status, Verdict

__all__ = ["BANDS", "STAGES", "TERMS", "Reward", "default_reward"]

TERMS = ("stage", "progress", "speed", "kernel_free", "tokens", "repeat")
"""Keys of :attr:`Reward.terms`; their sum is the reward."""

STAGES: Mapping[Status, float] = {
    Status.PARSE_ERROR: -0.2,
    Status.BUDGET_EXHAUSTED: -0.2,
    Status.COMPILE_ERROR: -0.1,
    Status.NO_KERNEL: -0.1,
    Status.LAUNCH_ERROR: -0.05,
    Status.ILLEGAL_ACCESS: -0.05,
    Status.OUT_OF_MEMORY: -0.05,
    Status.TIMEOUT: -0.05,
}
"""Failures by how far they came, from "nothing parsed" to "ran, and died"."""

BANDS: Mapping[str, tuple[float, float]] = {
    "hack": (-1.0, -1.0),
    "violation": (-0.5, -0.5),
    "failure": (-0.2, 0.0),
    "partial": (0.01, 0.3),
    "clean": (0.5, 2.0),
    "neutral": (0.0, 0.0),
}
"""Lowest and highest reward of each class; they do not overlap (neutral steps are not trainable)."""

_RAN = frozenset(
    {
        Status.WRONG_VALUE,
        Status.WRONG_SHAPE,
        Status.WRONG_DTYPE,
        Status.WRONG_LAYOUT,
        Status.NONFINITE,
        Status.INPUT_MUTATED,
    }
)
_KERNEL_FREE_CAP = 0.5
_TOKEN_PRICE = 0.1


@dataclass(frozen=True, slots=True)
class Reward:
    """A number, its class, and the terms that make it up."""

    value: float
    """Finite; inside the band of its class, except that a repeat earns at most 0.0."""
    band: str
    """Key of :data:`BANDS`."""
    terms: dict[str, float]
    """Every key of :data:`TERMS`; the sum is :attr:`value` up to rounding."""


def default_reward(verdict: Verdict, *, tokens: int = 0, budget: int = 0, repeat: bool = False) -> Reward:
    """Score a verdict.

    Args:
        verdict: What the judge said.
        tokens: Tokens spent in the episode so far, by the budget's meter.
        budget: The episode's token budget by the same meter; 0 means none, and no token term.
        repeat: The same canonical source was submitted before in this episode; it earns nothing new,
            and what it costs it costs again.

    Returns:
        The reward with its terms.
    """
    terms: dict[str, float] = dict.fromkeys(TERMS, 0.0)
    band = _band(verdict)
    low, high = BANDS[band]
    if band == "clean":
        terms["stage"] = 1.0
        terms["speed"] = 0.25 * _log_speed(verdict)
        terms["kernel_free"] = min(0.0, _KERNEL_FREE_CAP - 1.0 - terms["speed"]) if verdict.kernel_free else 0.0
    elif band == "partial":
        terms["stage"] = low
        terms["progress"] = (high - low) * verdict.share_passed
    else:
        terms["stage"] = STAGES[verdict.status] if band == "failure" else low
    gross = min(high, max(low, sum(terms.values())))
    price = _TOKEN_PRICE * min(1.0, max(0, tokens) / budget) if budget > 0 else 0.0
    value = max(low, gross - price)
    terms["tokens"] = value - gross
    if repeat and value > 0.0:
        terms["repeat"], value = -value, 0.0
    return Reward(value, band, terms)


def _band(verdict: Verdict) -> str:
    if verdict.status in _RAN:
        return "partial"
    return verdict.status.reward_class.value


def _log_speed(verdict: Verdict) -> float:
    """Return ``clip(log2(lower bound), -2, 3)``; 0.0 without a speedup."""
    if verdict.speedup is None:
        return 0.0
    low = verdict.speedup.low
    return min(3.0, max(-2.0, math.log2(low))) if low > 0.0 else -2.0
