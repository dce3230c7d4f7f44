"""A policy that says what it was told to say: for tests, demonstrations, and budgets rehearsed for free."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kgb_env.policies.base import Budget, Message, Task, turn_of
from kgb_env.records import Usage
from kgb_env.tokens import Completion
from kgb_env.tokens import tokenizer as find_tokenizer

__all__ = ["FINISH", "ScriptedPolicy", "paid"]

FINISH = '{"tool": "finish", "arguments": {}}'
"""What it answers when its script is over."""


class ScriptedPolicy:
    """Answers with a fixed list of actions per operator, and reports what a model would have paid.

    Tokens are counted by a named tokenizer (``self.tokenizer``; source ``estimated``). An action that
    does not fit into the budget is cut, as a model's answer would be.

    Example:
        >>> policy = ScriptedPolicy({"aten::add": ["x = 1"]}, tokenizer="utf8_bytes/3")
        >>> policy.act([], [], Budget(100), Task("aten::add")).usage.output
        2
    """

    def __init__(
        self,
        actions: Mapping[str, Sequence[str]],
        *,
        default: Sequence[str] = (),
        name: str = "scripted",
        tokenizer: str = "auto",
    ) -> None:
        """Make one.

        Args:
            actions: Messages in order, by canonical operator name.
            default: Messages for operators that ``actions`` lacks.
            name: Name of the policy.
            tokenizer: How to count; see :func:`kgb_env.tokens.tokenizer`.
        """
        self.name = name
        self._actions = {operator: tuple(script) for operator, script in actions.items()}
        self._default = tuple(default)
        self._tokenizer = find_tokenizer(tokenizer)
        self.tokenizer = self._tokenizer.name
        digest = hashlib.sha256(json.dumps([self._actions, self._default], sort_keys=True).encode()).hexdigest()
        self.version = f"{digest[:16]}:{self.tokenizer}"

    def script(self, task: Task) -> Sequence[str]:
        """Return the actions for an episode, in order."""
        return self._actions.get(task.operator, self._default)

    def act(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], budget: Budget, task: Task
    ) -> Completion:
        """Return the action of this turn, or a call of ``finish`` when there is none left."""
        script, turn = self.script(task), turn_of(messages)
        text = script[turn] if turn < len(script) else FINISH
        return paid(text, messages, budget, self._tokenizer.name, self.version)


def paid(text: str, messages: Sequence[Message], budget: Budget, tokenizer_name: str, version: str) -> Completion:
    """Return a text as an answer that fits the budget, with its input and output counted."""
    count = find_tokenizer(tokenizer_name)
    kept = count.truncate(text, budget.max_output_tokens)
    usage = Usage(
        input=sum(count.count(message["content"]) for message in messages),
        output=count.count(kept),
        source="estimated",
    )
    reason = "stop" if kept == text else "length"
    return Completion(kept, usage=usage, finish_reason=reason, policy_version=version)
