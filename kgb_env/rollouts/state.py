"""What a run's file says about each episode: done, begun, paid for, lost.

An answer that was stored is never paid for again. When an unfinished episode is begun anew, its
stored answers are *replayed*: judged again, not asked for again. So an attempt's records supersede
those of earlier attempts, and only a call that was under way when the run was killed is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgb_env.records import Usage
from kgb_env.rollouts.ledger import Entry, Turn
from kgb_env.tokens import Completion

__all__ = ["EpisodeState", "RunState", "replay_state", "usage_from_json", "usage_to_json"]

MAX_ATTEMPTS = 3
"""How often an episode that the machine broke is begun."""


@dataclass(slots=True)
class EpisodeState:
    """What is known of one episode."""

    attempts: int = 0
    end: dict[str, Any] | None = None
    """The last ``end`` record."""
    actions: dict[int, Completion] = field(default_factory=dict)
    """Stored answers by turn."""

    @property
    def done(self) -> bool:
        """Whether the episode needs no further attempt: it ended, and not because the machine failed."""
        return self.end is not None and (self.end["over"] != "infrastructure" or self.attempts >= MAX_ATTEMPTS)

    @property
    def answers(self) -> list[Completion]:
        """Stored answers from turn 0 on, as far as they go without a gap."""
        kept = []
        while len(kept) in self.actions:
            kept.append(self.actions[len(kept)])
        return kept


@dataclass(slots=True)
class RunState:
    """What is known of a run."""

    episodes: dict[str, EpisodeState] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    """Everything that was charged."""
    open: list[Entry] = field(default_factory=list)
    """Reservations of calls that never came back; to be charged as lost."""

    def episode(self, key: str) -> EpisodeState:
        """Return the state of an episode, empty if it was never begun."""
        return self.episodes.setdefault(key, EpisodeState())


def replay_state(records: Iterable[Mapping[str, Any]]) -> RunState:
    """Read the records of a run, in order."""
    state = RunState()
    waiting: dict[Turn, int] = {}
    for record in records:
        kind = record["type"]
        if kind not in ("episode", "reserve", "action", "lost", "end"):
            continue
        episode = state.episode(record["key"])
        where = Turn(record["group"], record["key"], record["attempt"], record.get("turn", 0))
        if kind == "episode":
            episode.attempts = max(episode.attempts, record["attempt"])
        elif kind == "reserve":
            waiting[where] = record["tokens"]
        elif kind == "lost":
            waiting.pop(where, None)
            state.entries.append(Entry(where, lost=record["tokens"]))
        elif kind == "action":
            waiting.pop(where, None)
            if not record["replayed"] and record["finish_reason"] != "budget_exhausted":
                episode.actions[where.turn] = _completion(record)
                state.entries.append(Entry(where, usage_from_json(record["usage"])))
        else:
            episode.end = dict(record)
    state.open = [Entry(where, lost=tokens) for where, tokens in waiting.items()]
    return state


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Return a usage as plain JSON values."""
    return {
        "input": usage.input,
        "cached": usage.cached,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "source": usage.source,
    }


def usage_from_json(data: Mapping[str, Any]) -> Usage:
    """Rebuild a usage."""
    return Usage(data["input"], data["cached"], data["output"], data["reasoning"], data["source"])


def _completion(record: Mapping[str, Any]) -> Completion:
    return Completion(
        record["text"],
        usage=usage_from_json(record["usage"]),
        token_ids=record["token_ids"],
        logprobs=record["logprobs"],
        finish_reason=record["finish_reason"],
        policy_version=record["policy_version"],
    )
