"""The judge: submission + operator + platform -> verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgb_env.judge.fake import FakeJudge
    from kgb_env.judge.judge import Judge

__all__ = ["FakeJudge", "Judge"]

_HOMES = {"Judge": "kgb_env.judge.judge", "FakeJudge": "kgb_env.judge.fake"}


def __getattr__(name: str) -> Any:
    """Import on first use: the fake needs no torch."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
