"""Arguments that several commands share, and how they are understood."""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from kgb_env import operators
from kgb_env.errors import UnknownOperatorError, UsageError, did_you_mean

__all__ = ["Profile", "Style", "Tier", "read_submission", "select"]

_LARGEST = 1 << 20
"""Bytes that a submission may have on the command line."""


class Tier(StrEnum):
    """Which cases are run."""

    SMOKE = "smoke"
    FULL = "full"
    LARGE = "large"


class Profile(StrEnum):
    """How complete the confinement must be."""

    STANDARD = "standard"
    BEST_EFFORT = "best_effort"


class Style(StrEnum):
    """How the prompt says that an answer is handed in."""

    CHAT = "chat"
    AGENT = "agent"


def select(patterns: Sequence[str]) -> list[str]:
    """Return the canonical names of the operators that match any of the patterns, in the order of the catalogue.

    Args:
        patterns: Names, aliases or shell patterns; each may hold several, separated by commas.

    Raises:
        UnknownOperatorError: a name is unknown, or a pattern matches nothing.

    >>> select(["aten::su*,cublas::cublasSgemm_v2"])
    ['aten::sum', 'cublas::Sgemm_v2']
    """
    known = operators.names()
    chosen: set[str] = set()
    for pattern in (part.strip() for text in patterns for part in text.split(",") if part.strip()):
        found = fnmatch.filter(known, pattern)
        if not found and any(sign in pattern for sign in "*?["):
            msg = f"no operator matches {pattern!r}; `kgb operators` lists all {len(known)}"
            raise UnknownOperatorError(msg)
        chosen.update(found or [operators.canonical(pattern)])
    if not chosen:
        msg = "name at least one operator"
        raise UsageError(msg)
    return [name for name in known if name in chosen]


def read_submission(path: str) -> str:
    """Return the text of a submission; ``-`` reads standard input.

    Raises:
        UsageError: there is no such file, or it is no text file of at most one mebibyte.
    """
    if path == "-":
        return _decoded(sys.stdin.buffer.read(_LARGEST + 1), "standard input")
    file = Path(path)
    if file.is_dir():
        msg = f"{path} is a folder; name the Python file of one submission"
        raise UsageError(msg)
    if not file.exists():
        beside = [p.name for p in file.parent.iterdir()] if file.parent.is_dir() else []
        msg = f"there is no file {path}{did_you_mean(file.name, beside)}"
        raise UsageError(msg)
    try:
        with file.open("rb") as stream:
            return _decoded(stream.read(_LARGEST + 1), path)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise UsageError(msg) from error


def _decoded(data: bytes, name: str) -> str:
    if len(data) > _LARGEST:
        msg = f"{name} is larger than 1 MiB; a submission is one Python source"
        raise UsageError(msg)
    try:
        if b"\0" not in data:
            return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    msg = f"{name} is no UTF-8 text; a submission is one Python source"
    raise UsageError(msg)
