"""From a policy's message to an action: which code, or which tool.

The rules, tried in this order; the one that applied is recorded in ``info["parsed_as"]``:

``tool_call``
    The whole message, or its last fenced block, is a JSON object with a ``tool``.
``fence``
    The last fenced block that is tagged ``python``, ``py``, ``triton`` or nothing and has a ``def``; without
    one the last that is tagged so; else the last one. An indented fence takes its indentation along.
``open_fence``
    The same, where the message ended before the closing fence (a token limit, usually).
``bare_code``
    No fence, but the message is Python, or clearly tries to be.
``no_code``
    Anything else: a parse error, and no submission is used up.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Parsed", "parse"]

ParsedAs = Literal["tool_call", "fence", "open_fence", "bare_code", "no_code"]

_CODE_TAGS = frozenset({"", "python", "py", "python3", "triton"})
_CODE_STARTS = ("import ", "from ", "@triton", "def ", "class ", "@")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a message asks for."""

    parsed_as: ParsedAs
    """The rule that applied."""
    tool: str = ""
    """Tool to call; empty for ``no_code``. Code is a call of ``submit``."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the tool, as the policy gave them."""
    error: str = ""
    """Why a tool call cannot be understood; empty otherwise."""


@dataclass(frozen=True, slots=True)
class _Fence:
    tag: str
    body: str
    closed: bool


def parse(message: str) -> Parsed:
    r"""Decide what a message asks for; see the module's rules. Never raises.

    >>> parse("Here:\n```python\nx = 1\n```").arguments["source"]
    'x = 1\n'
    >>> parse('{"tool": "read_spec", "arguments": {}}').tool
    'read_spec'
    >>> parse("I give up").parsed_as
    'no_code'
    """
    message = message.removeprefix("\ufeff")
    fences = _fences(message)
    call = _tool_call(message) or (_tool_call(fences[-1].body) if fences else None)
    if call:
        return call
    if fences:
        tagged = [fence for fence in fences if fence.tag in _CODE_TAGS]
        defining = [fence for fence in tagged if re.search(r"^\s*(async )?def\b", fence.body, re.MULTILINE)]
        chosen = (defining or tagged or fences)[-1]
        return Parsed("fence" if chosen.closed else "open_fence", "submit", {"source": chosen.body})
    if _looks_like_code(message):
        return Parsed("bare_code", "submit", {"source": str(message)})
    return Parsed("no_code")


def _fences(message: str) -> list[_Fence]:
    """Return fenced blocks in order, in one pass over the lines."""
    found: list[_Fence] = []
    body: list[str] = []
    mark, tag, indent = "", "", ""
    for line in message.splitlines(keepends=True):
        text = line.strip()
        if not mark and text.startswith(("```", "~~~")):
            mark = text[: len(text) - len(text.lstrip(text[0]))]
            indent = line[: len(line) - len(line.lstrip())]
            tag, body = text[len(mark) :].strip().lower().split(" ")[0], []
        elif mark and text.startswith(mark) and not text.strip(mark[0]):
            found.append(_Fence(tag, "".join(body), closed=True))
            mark = ""
        elif mark:
            body.append(line.removeprefix(indent))
    if mark:
        found.append(_Fence(tag, "".join(body), closed=False))
    return found


def _tool_call(text: str) -> Parsed | None:
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "tool" not in value:
        return None
    arguments = value.get("arguments", {})
    if not isinstance(value["tool"], str) or not isinstance(arguments, dict):
        return Parsed("tool_call", error='a tool call is {"tool": NAME, "arguments": {NAME: VALUE, …}}')
    return Parsed("tool_call", value["tool"], arguments)


def _looks_like_code(message: str) -> bool:
    """Whether a message is Python that defines or imports something, or has a line that starts so.

    Code with a syntax error is still code: its author wants to see the error, not "no code".
    """
    if "\n" not in message.strip():
        return _defines(message)
    starts = sum(line.startswith(_CODE_STARTS) for line in message.splitlines())
    return starts > 0 and ("triton" in message or "def " in message) and _mostly_code(message)


def _defines(message: str) -> bool:
    try:
        body = ast.parse(message).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom) for n in body)


def _mostly_code(message: str) -> bool:
    """Whether the first line that is neither blank nor a comment starts like code (or a docstring)."""
    for line in message.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return line.startswith((*_CODE_STARTS, '"""', "'''")) or _defines(line)
    return False
