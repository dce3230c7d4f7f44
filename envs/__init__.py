"""The Gymnasium skin: one operator an episode, a message an action, a verdict a step."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgb_env.envs.kernel import KernelEnv
    from kgb_env.envs.parsing import Parsed, parse
    from kgb_env.envs.registration import env_id
    from kgb_env.envs.spaces import UnicodeText
    from kgb_env.envs.tools import TOOLS, Tool, schemas, tool

__all__ = ["TOOLS", "KernelEnv", "Parsed", "Tool", "UnicodeText", "env_id", "parse", "schemas", "tool"]

_HOMES = {
    "TOOLS": "tools",
    "KernelEnv": "kernel",
    "Parsed": "parsing",
    "Tool": "tools",
    "UnicodeText": "spaces",
    "env_id": "registration",
    "parse": "parsing",
    "schemas": "tools",
    "tool": "tools",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that registering the ids stays cheap."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
