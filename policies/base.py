"""What a policy is: a function from the conversation so far to the next message.

A policy keeps no state between calls. What it needs is in its arguments, so a rollout that was
killed goes on where it stopped, and one policy serves many episodes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

from kgb_env.tokens import Completion

__all__ = ["Budget", "Completion", "Message", "Policy", "Task", "turn_of"]


class Message(TypedDict):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Task:
    """Which episode is played."""

    operator: str
    """Canonical name, ``aten::add``."""
    seed: int = 0
    """For the policy's own draws: the same seed and conversation give the same answer."""
    repetition: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """What the next answer may cost. It was reserved; the policy must not go over it."""

    max_output_tokens: int
    """Upper limit for this answer, reasoning included."""
    episode_left: int = -1
    """Tokens left to the episode; -1 without a budget."""
    run_left: int = -1
    """Tokens left to the run; -1 without a budget."""


@runtime_checkable
class Policy(Protocol):
    """Writes kernels."""

    @property
    def name(self) -> str:
        """Short name, part of the episode key."""
        ...

    @property
    def version(self) -> str:
        """What makes its answers what they are (weights, script, settings); part of the episode key."""
        ...

    def act(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], budget: Budget, task: Task
    ) -> Completion:
        """Return the next message.

        Args:
            messages: The conversation: the task statement, then answers and feedback in turn.
            tools: Name, description and JSON Schema of each tool.
            budget: What the answer may cost.
            task: Which episode this is.

        Raises:
            InfrastructureError: the provider failed; the tokens reserved count as lost.
        """
        ...


def turn_of(messages: Sequence[Message]) -> int:
    """Return how many answers the conversation holds already."""
    return sum(message["role"] == "assistant" for message in messages)
