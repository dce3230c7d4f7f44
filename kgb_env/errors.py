"""Exceptions of kgb_env, by whose fault they are.

::

    KgbError
    ├── UsageError                 the caller asked for something that cannot be
    │   ├── UnknownOperatorError   no such operator (with a suggestion)
    │   ├── UnknownPlatformError   no such platform
    │   └── BudgetError            a budget is impossible (negative, below a provider's floor)
    ├── ConfinementError           a sandbox layer was asked for and this machine lacks it
    ├── InfrastructureError        the machine failed: never the candidate's fault, never scored
    │   ├── ZygoteError            a zygote did not start, or died
    │   └── StoreError             a trajectory store is unreadable or not writable
    └── UnsupportedError           this platform cannot judge this (a table's word, never the candidate's)

A candidate's failure is no exception: it is a :class:`kgb_env.records.Status`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BudgetError",
    "ConfinementError",
    "InfrastructureError",
    "KgbError",
    "StoreError",
    "UnknownOperatorError",
    "UnknownPlatformError",
    "UnsupportedError",
    "UsageError",
    "ZygoteError",
    "did_you_mean",
]


class KgbError(Exception):
    """Root of everything that kgb_env raises on purpose."""


class UsageError(KgbError):
    """The caller asked for something that cannot be; the message says what to do."""


class UnknownOperatorError(UsageError):
    """No operator of that name is registered."""


class UnknownPlatformError(UsageError):
    """No platform of that name is known."""


class BudgetError(UsageError):
    """A budget is impossible: negative, or below what a provider accepts."""


class ConfinementError(KgbError):
    """A sandbox layer was asked for and this machine lacks it."""


class InfrastructureError(KgbError):
    """The machine failed. It is retried, then reported, and never scored."""


class ZygoteError(InfrastructureError):
    """A zygote process did not start, or died."""


class StoreError(InfrastructureError):
    """A trajectory store is unreadable or not writable."""


class UnsupportedError(KgbError):
    """This platform cannot judge this feature, by its own table."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the closest known name, or an empty string.

    >>> did_you_mean("aten::sofmax", ["aten::softmax", "aten::mm"])
    " (did you mean 'aten::softmax'?)"
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
