"""A worker entry without torch: it does what the arena tells it, good or bad. For tests and ``kgb doctor``.

The arena holds one JSON object, ``{"do": name, ...arguments}``, padded with spaces or zero bytes. The answer is one
JSON line on the report pipe: ``{"ok": value}`` or ``{"error": type, "message": text}``.
"""

from __future__ import annotations

import json
import os
from typing import Any

from kgb_env.sandbox import misdeeds

__all__ = ["run"]


def run(arena: int, report: int) -> int:
    """Do what the arena says and report how it went; returns the exit status."""
    command = json.loads(os.pread(arena, 1 << 16, 0).rstrip(b"\0"))
    action = misdeeds.ACTIONS[command.pop("do")]
    answer: dict[str, Any]
    try:
        answer = {"ok": action(**command)}
    except Exception as error:  # boundary: the refusal is the answer that the test wants to see
        answer = {"error": type(error).__name__, "message": str(error)}
    os.write(report, json.dumps(answer).encode() + b"\n")
    return 0
