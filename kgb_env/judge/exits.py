"""What the end of a worker process says: whose fault it was, and which status it deserves."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from kgb_env.errors import InfrastructureError
from kgb_env.platforms.base import Platform
from kgb_env.records import Status
from kgb_env.sandbox import Exit

__all__ = ["refuse_machine_faults", "status_of_error", "status_of_exit"]

_TYPES = {
    "MemoryError": Status.OUT_OF_MEMORY,
    "OutOfMemoryError": Status.OUT_OF_MEMORY,
    "AuditViolation": Status.POLICY_VIOLATION,
    "FenceViolation": Status.POLICY_VIOLATION,
    "HookViolation": Status.POLICY_VIOLATION,
    "CompilationError": Status.COMPILE_ERROR,
    "CompileTimeAssertionFailure": Status.COMPILE_ERROR,
}
_LARGE = 1 << 30
"""A worker that somebody killed while it held less memory than this was no danger to the machine."""
_ALLOCATOR = ("can't allocate memory", "not enough memory", "out of memory", "cannot allocate memory")


def refuse_machine_faults(exit_: Exit) -> None:
    """Raise InfrastructureError if the worker ended for a reason of the machine."""
    small = exit_.max_rss < _LARGE
    if exit_.kind == "wall_timeout" or (exit_.kind == "signalled" and exit_.signal == signal.SIGKILL and small):
        msg = f"the worker was lost: {exit_.kind} after {exit_.cpu_seconds:.1f} s of CPU time; {exit_.detail}"
        raise InfrastructureError(msg)


def status_of_exit(exit_: Exit) -> tuple[Status, str]:
    """Return status and message for a worker that ended before it had answered every call."""
    if exit_.kind == "cpu_timeout":
        return Status.TIMEOUT, "no answer within the limit of CPU time"
    if exit_.kind == "blocked_timeout":
        return Status.TIMEOUT, "the call slept or waited beyond the limit"
    if exit_.kind == "killed":
        return Status.LAUNCH_ERROR, exit_.detail
    if exit_.kind == "signalled" and exit_.signal is not None:
        return _status_of_signal(exit_.signal)
    return Status.LAUNCH_ERROR, f"the process ended early (exit status {exit_.code})"


def _status_of_signal(number: int) -> tuple[Status, str]:
    if number == signal.SIGSYS:
        return Status.HACK_DETECTED, "a forbidden system call"
    if number == signal.SIGKILL:
        return Status.OUT_OF_MEMORY, "the process was killed: it reached a resource limit"
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    return Status.ILLEGAL_ACCESS, f"the process died of {name}: an access outside a buffer, most likely"


def status_of_error(error: Mapping[str, Any], platform: Platform) -> Status:
    """Return the status for an exception that the submission raised.

    ``unsupported`` is the platform's word: only what its own table lists, and what its own error named.
    """
    if error.get("unsupported") in dict(platform.unsupported):
        return Status.UNSUPPORTED
    kind, message = str(error.get("type")), str(error.get("message", "")).lower()
    if kind in _TYPES:
        return _TYPES[kind]
    if any(text in message for text in _ALLOCATOR):
        return Status.OUT_OF_MEMORY
    return Status.LAUNCH_ERROR
