"""Who writes kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgb_env.errors import UsageError, did_you_mean
from kgb_env.policies.base import Budget, Completion, Message, Policy, Task, turn_of
from kgb_env.policies.oracle import OraclePolicy
from kgb_env.policies.random_policy import RandomPolicy
from kgb_env.policies.scripted import ScriptedPolicy
from kgb_env.policies.stumbling import StumblingPolicy

__all__ = [
    "POLICIES",
    "Budget",
    "Completion",
    "Message",
    "OraclePolicy",
    "Policy",
    "RandomPolicy",
    "ScriptedPolicy",
    "StumblingPolicy",
    "Task",
    "get",
    "turn_of",
]

POLICIES: dict[str, Callable[..., Policy]] = {
    "oracle": OraclePolicy,
    "random": RandomPolicy,
    "scripted": ScriptedPolicy,
    "stumbling": StumblingPolicy,
}
"""Policies by the name that a rollout's configuration uses."""


def get(name: str, options: Mapping[str, Any] | None = None) -> Policy:
    """Make a policy by name, with its constructor's keyword arguments.

    Raises:
        UsageError: the name is unknown, or the options do not fit.
    """
    if name not in POLICIES:
        msg = f"unknown policy {name!r}{did_you_mean(name, POLICIES)}; known: {', '.join(POLICIES)}"
        raise UsageError(msg)
    try:
        return POLICIES[name](**(options or {}))
    except TypeError as error:
        msg = f"options {dict(options or {})} do not fit policy {name!r}: {error}"
        raise UsageError(msg) from error
