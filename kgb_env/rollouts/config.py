"""What a rollout does, as plain values, and how its episodes are named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from kgb_env.errors import BudgetError, UsageError

__all__ = ["EpisodePlan", "RolloutConfig"]


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """One episode that is to be played."""

    key: str
    """Names the episode: a hash of operator, policy, repetition, seed and configuration."""
    operator: str
    repetition: int
    seed: int
    """For ``env.reset``, and for the policy's own draws."""

    @property
    def group(self) -> str:
        """Repetitions of one operator form a group."""
        return self.operator


@dataclass(frozen=True, slots=True)
class RolloutConfig:
    """Everything that decides what a rollout does."""

    operators: tuple[str, ...]
    """Canonical names, in the order in which they are played."""
    policy: str = "oracle"
    """Name; see :data:`kgb_env.policies.POLICIES`."""
    policy_options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the policy's constructor; plain JSON, no credentials."""
    repetitions: int = 1
    """Episodes of each operator."""
    seed: int = 0
    budget: int = 0
    """Tokens of the whole run by :attr:`meter`, never exceeded; 0 means no budget."""
    episode_budget: int = 0
    """Tokens of one episode by :attr:`meter`; 0 means no budget."""
    meter: Literal["output", "total"] = "output"
    max_output_tokens: int = 16_384
    """Upper limit of one answer."""
    max_turns: int = 5
    max_submissions: int = 5
    stop_on_clean: bool = True
    tier: Literal["smoke", "full", "large"] = "smoke"
    platform: str = "cpu"
    judge: str = "local"
    profile: Literal["standard", "best_effort"] = "standard"
    reward: str = "default"

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            BudgetError: a budget is negative.
            UsageError: there is nothing to do, or a number is out of range.
        """
        object.__setattr__(self, "operators", tuple(self.operators))
        if min(self.budget, self.episode_budget) < 0:
            msg = f"a budget must be 0 (none) or more, not {min(self.budget, self.episode_budget)}"
            raise BudgetError(msg)
        if self.max_output_tokens < 1:
            msg = f"max_output_tokens must be at least 1, not {self.max_output_tokens}"
            raise BudgetError(msg)
        if not self.operators or self.repetitions < 1:
            msg = "a rollout needs at least one operator and one repetition"
            raise UsageError(msg)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "operators": list(self.operators), "policy_options": dict(self.policy_options)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RolloutConfig:
        """Rebuild a configuration; keys of later versions are ignored."""
        known = {f.name for f in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    def env_kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments of ``gym.make("kgb/Kernel-v0", …)``."""
        return {
            "platform": self.platform,
            "judge": self.judge,
            "profile": self.profile,
            "reward": self.reward,
            "max_turns": self.max_turns,
            "max_submissions": self.max_submissions,
            "token_budget": self.episode_budget,
            "meter": self.meter,
            "stop_on_clean": self.stop_on_clean,
            "tier": self.tier,
        }

    def plans(self, policy_name: str, policy_version: str) -> Iterator[EpisodePlan]:
        """Yield every episode: all operators once, then all once more, so that a short budget covers many.

        The run's budget is no part of a key: a run may be resumed with a larger one.
        """
        settings = {**self.env_kwargs(), "max_output_tokens": self.max_output_tokens}
        for repetition in range(self.repetitions):
            for operator in self.operators:
                seed = _digest_int("seed", self.seed, operator, repetition)
                parts = [operator, policy_name, policy_version, repetition, seed, settings]
                digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
                yield EpisodePlan(digest[:24], operator, repetition, seed)


def _digest_int(*parts: object) -> int:
    """Return 31 bits that depend on every part."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big") >> 1
