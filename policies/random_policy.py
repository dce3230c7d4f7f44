"""The lower end of what a policy can do: prose, broken code, empty functions, stray tool calls."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from kgb_env.policies.base import Budget, Message, Task, turn_of
from kgb_env.policies.scripted import paid
from kgb_env.tokens import Completion
from kgb_env.tokens import tokenizer as find_tokenizer

__all__ = ["RandomPolicy"]

_WORDS = (
    "tl.load",
    "tl.store",
    "mask",
    "BLOCK",
    "program_id",
    "grid",
    "return",
    "x",
    "+",
    "*",
    "[",
    "(",
    ")",
    "=",
    ":",
    "#",
    "≤",
)


class RandomPolicy:
    """Draws its messages; the seed of the task and the turn decide them.

    Example:
        >>> policy, task = RandomPolicy(), Task("aten::add", seed=3)
        >>> policy.act([], [], Budget(99), task) == policy.act([], [], Budget(99), task)
        True
    """

    name = "random"

    def __init__(self, *, tokenizer: str = "auto") -> None:
        """Make one that counts with the named tokenizer."""
        self.tokenizer = find_tokenizer(tokenizer).name
        self.version = f"1:{self.tokenizer}"

    def act(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], budget: Budget, task: Task
    ) -> Completion:
        """Return a random message."""
        draw = random.Random(f"{task.seed}/{task.operator}/{turn_of(messages)}")
        words = " ".join(draw.choices(_WORDS, k=draw.randrange(3, 30)))
        name = task.operator.rpartition("::")[2]
        text = draw.choice(
            (
                f"I think {words}",
                f"```python\n{words}\n```",
                f"```python\nimport triton\n\n\ndef {name}(*args, **kwargs):\n    return None  # {words}\n```",
                '{"tool": "read_spec", "arguments": {}}',
                '{"tool": "benchmrk", "arguments": {"source": 3}}',
            )
        )
        return paid(text, messages, budget, self.tokenizer, self.version)
