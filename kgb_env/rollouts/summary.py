"""What a rollout came to, and what it tells those who watch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from kgb_env.records import SCHEMA_VERSION
from kgb_env.rollouts.state import RunState, usage_from_json

__all__ = ["EpisodeRow", "Progress", "Silent", "Stopped", "Summary", "row", "rows"]

Stopped = Literal["done", "budget", "interrupted"]


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One finished episode."""

    key: str
    operator: str
    repetition: int
    status: str
    """Of the best submission; the last status where nothing was submitted."""
    clean: bool
    reward: float
    """The best score of a turn."""
    turns: int
    submissions: int
    tokens: int
    """Input and output tokens of the episode."""
    over: str
    """Why it ended; see :mod:`kgb_env.envs.episode`."""
    trainable: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers over the finished episodes of a run."""

    run_dir: str
    episodes: tuple[EpisodeRow, ...]
    planned: int
    """Episodes that the configuration asks for."""
    stopped: Stopped
    """``done``: nothing is missing; ``budget``: tokens ran out first; ``interrupted``: by the user."""
    tokens: Mapping[str, int]
    """``input, cached, output, reasoning`` of all answers, ``lost``, and ``total`` = input + output + lost."""
    budget: int
    meter: str
    spent: int
    """By the meter, lost tokens included; at most the budget."""
    wall_seconds: float

    @property
    def clean(self) -> int:
        """Number of clean episodes."""
        return sum(episode.clean for episode in self.episodes)

    def to_json(self) -> dict[str, Any]:
        """Return the last line of ``kgb rollout --json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run_dir": self.run_dir,
            "episodes": len(self.episodes),
            "planned": self.planned,
            "clean": self.clean,
            "stopped": self.stopped,
            "tokens": dict(self.tokens),
            "budget": self.budget,
            "meter": self.meter,
            "spent": self.spent,
            "wall_seconds": self.wall_seconds,
        }


class Progress(Protocol):
    """Watches a rollout, for example a progress bar. Called from the rollout's thread."""

    def begin(self, planned: int, done: int) -> None:
        """The rollout starts; ``done`` episodes were finished by earlier sessions."""
        ...

    def turn(self, operator: str, turn: int, status: str, reward: float) -> None:
        """A turn was judged."""
        ...

    def episode(self, row: EpisodeRow, spent: int, budget: int) -> None:
        """An episode ended; tokens by the meter, lost ones included."""
        ...

    def end(self, summary: Summary) -> None:
        """The rollout ended."""
        ...


class Silent:
    """Watches, and says nothing."""

    def begin(self, planned: int, done: int) -> None:
        """Say nothing."""

    def turn(self, operator: str, turn: int, status: str, reward: float) -> None:
        """Say nothing."""

    def episode(self, row: EpisodeRow, spent: int, budget: int) -> None:
        """Say nothing."""

    def end(self, summary: Summary) -> None:
        """Say nothing."""


def row(end: Mapping[str, Any]) -> EpisodeRow:
    """Return the row of an ``end`` record."""
    return EpisodeRow(
        key=end["key"],
        operator=end["operator"],
        repetition=end["repetition"],
        status=end["status"],
        clean=end["clean"],
        reward=end["reward"],
        turns=end["turns"],
        submissions=end["submissions"],
        tokens=usage_from_json(end["usage"]).total,
        over=end["over"],
        trainable=end["trainable"],
    )


def rows(state: RunState, keys: Iterable[str]) -> tuple[EpisodeRow, ...]:
    """Return the rows of the finished episodes among ``keys``, in their order."""
    return tuple(row(end) for key in keys if (end := state.episode(key).end) is not None)
