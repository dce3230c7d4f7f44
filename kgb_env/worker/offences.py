"""Violations as a worker records them: plain dictionaries, with the line of the submission.

Each is recorded *and* raised. What is raised derives from ``BaseException``, so that ``except Exception`` lets it
through; a bare ``except:`` does not, and then the record speaks.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

__all__ = ["AuditViolation", "FenceViolation", "HookViolation", "Offence", "Offences", "line_in"]


class Offence(BaseException):
    """A rule was broken by the code that runs now; the message says what to write instead."""


class FenceViolation(Offence):
    """A name was read that no submission may have."""


class AuditViolation(Offence):
    """An operator ran, or a tensor was read, that is no helper."""


class HookViolation(Offence):
    """The process was asked for a file, a library, a socket, a process or a frame."""


def line_in(filename: str) -> int:
    """Return the line of the innermost running frame of ``filename``; 0 if none runs."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == filename:
            return frame.f_lineno
        frame = frame.f_back
    return 0


class Offences:
    """A list of violations, each ``{"rule", "what", "line", "remedy", "hack"}``; at most 100 are kept."""

    def __init__(self, filename: str, kind: type[Offence]) -> None:
        """Record for the submission of that file name, and raise ``kind``."""
        self.filename = filename
        self.kind = kind
        self.found: list[dict[str, Any]] = []

    def record(self, rule: str, what: str, remedy: str, *, hack: bool = False, line: int | None = None) -> str:
        """Keep a violation; return its text. The line is the running one unless it is given."""
        if len(self.found) < 100:
            where = line_in(self.filename) if line is None else line
            self.found.append({"rule": rule, "what": what, "line": where, "remedy": remedy, "hack": hack})
        return f"{what}: {remedy}"

    def refuse(self, rule: str, what: str, remedy: str, *, hack: bool = False, line: int | None = None) -> NoReturn:
        """Record a violation and raise it."""
        raise self.kind(self.record(rule, what, remedy, hack=hack, line=line))
