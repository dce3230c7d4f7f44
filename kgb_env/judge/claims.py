"""What a worker claimed, parsed strictly. A claim can condemn a submission; it never clears one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CallClaim", "Claims", "parse"]

_LINE_LIMIT = 1 << 20


@dataclass(slots=True)
class CallClaim:
    """Claims about one call."""

    result: Mapping[str, Any] | None = None
    """The description of what came back; ``None`` if it raised."""
    error: Mapping[str, Any] | None = None
    """``type``, ``message``, ``line`` of what it raised."""
    launches: int = 0
    trace: str = ""
    """Digest of what the host code did; the same whether kernels run or not."""


@dataclass(slots=True)
class Claims:
    """Everything that one worker reported."""

    calls: dict[int, CallClaim] = field(default_factory=dict)
    """By number of the call."""
    launches: list[dict[str, Any]] = field(default_factory=list)
    """Distinct launches: kernel, signature, constexprs."""
    violations: list[dict[str, Any]] = field(default_factory=list)
    load_error: Mapping[str, Any] | None = None
    lowered: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Results of the compile gate, by number of the launch."""
    machine_fault: str = ""
    """Why the compiler could not do its work, where the machine was at fault."""
    nonce: str = ""
    """Echoed at the very end; empty if the worker never got there."""
    garbage: int = 0
    """Whole lines that were no event of ours, or came twice: somebody else wrote to the pipe."""


def parse(report: bytes) -> Claims:
    """Parse the lines of a report. Never raises: what does not parse is counted as garbage."""
    claims = Claims()
    *lines, _torn = report.split(b"\n")  # a killed worker may leave half a line
    for line in lines:
        try:
            event = _readable(json.loads(line[:_LINE_LIMIT]))
            _take(claims, event)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            claims.garbage += 1
    return claims


def _readable(value: Any) -> Any:
    """Replace what no text file and no terminal takes: lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return value


def _take(claims: Claims, event: Mapping[str, Any]) -> None:
    kind = event["event"]
    if kind == "call":
        number = int(event["call"])
        if number in claims.calls:
            claims.garbage += 1
            return
        error, result = event.get("error"), event.get("result")
        claims.calls[number] = CallClaim(
            dict(result) if result is not None else None,
            _error(error) if error is not None else None,
            int(event["launches"]),
            str(event["trace"])[:64],
        )
    elif kind == "launch":
        launch = dict(event["launch"])
        if not isinstance(launch["kernel"], str) or not isinstance(launch["index"], int):
            raise TypeError(launch)
        claims.launches.append(launch)
    elif kind == "violation":
        claims.violations.append(
            {
                "rule": str(event["rule"])[:80],
                "line": int(event.get("line") or 0),
                "what": str(event.get("what", ""))[:300],
                "remedy": str(event.get("remedy", ""))[:500],
                "layer": str(event["layer"])[:40],
                "hack": bool(event.get("hack", False)),
            }
        )
    elif kind == "load_error":
        claims.load_error = _error(event["error"])
    elif kind == "lowered":
        line, message = int(event.get("line") or 0), str(event.get("message", ""))[:2000]
        claims.lowered[int(event["launch"])] = {"line": line, "message": message}
    elif kind == "machine_fault":
        claims.machine_fault = str(event["message"])[:2000]
    elif kind == "done":
        claims.nonce = str(event["nonce"])
    else:
        claims.garbage += 1


def _error(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return an exception's description with the types that the judge relies on. Raises like a wrong line."""
    return {
        "type": str(error["type"])[:80],
        "message": str(error["message"])[:2000],
        "line": int(error.get("line") or 0),
        "unsupported": str(error.get("unsupported", ""))[:80],
    }
