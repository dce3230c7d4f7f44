"""What a worker says of itself: JSON lines on a pipe. The judge treats every line as a claim."""

from __future__ import annotations

import json
import os
import re
import traceback
from typing import Any

from kgb_env.platforms.unsupported import unsupported_reason

__all__ = ["Reporter", "describe_error"]

_TEXT = 2000
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Reporter:
    """Writes one JSON object per line to a file descriptor."""

    def __init__(self, fd: int) -> None:
        """Keep the descriptor; nobody else in the worker is told of it."""
        self._fd = fd

    def write(self, event: str, **values: Any) -> None:
        """Write one line, whole."""
        line = json.dumps({"event": event, **values}, separators=(",", ":"), default=str).encode() + b"\n"
        while line:
            line = line[os.write(self._fd, line) :]

    def violations(self, found: list[dict[str, Any]], layer: str) -> None:
        """Report violations that a layer recorded, and empty its list."""
        for violation in found:
            self.write("violation", layer=layer, **violation)
        found.clear()


def describe_error(error: BaseException, filename: str) -> dict[str, Any]:
    """Return type, message and the innermost line of the submission, as JSON values.

    The Triton interpreter wraps what a kernel raises; the first cause that is not its wrapper is told.
    """
    line = 0
    cause: BaseException | None = error
    seen: set[int] = set()
    innermost = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        innermost = cause
        for frame, number in traceback.walk_tb(cause.__traceback__):
            if frame.f_code.co_filename == filename:
                line = number
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return {
        "type": type(innermost).__name__,
        "message": _ADDRESS.sub("0x…", _safe_text(innermost)[:_TEXT]),
        "line": line,
        "unsupported": unsupported_reason(error) or "",
    }


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as problem:  # boundary: the candidate's own __str__ may raise anything
        return f"(its message cannot be shown: {type(problem).__name__})"
