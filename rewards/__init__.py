"""Verdict -> number: pure functions, each sum taken apart into named terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kgb_env.records import Verdict
from kgb_env.rewards.default import BANDS, TERMS, Reward, default_reward

__all__ = ["BANDS", "PRESETS", "TERMS", "Reward", "RewardFunction", "default_reward"]


class RewardFunction(Protocol):
    """Scores a verdict; its terms have exactly the keys :data:`TERMS`."""

    def __call__(self, verdict: Verdict, *, tokens: int = 0, budget: int = 0, repeat: bool = False) -> Reward:
        """Return the reward; see :func:`~kgb_env.rewards.default.default_reward` for the arguments."""
        ...


PRESETS: Mapping[str, RewardFunction] = {"default": default_reward}
"""Reward functions by the name that an environment's spec uses."""
