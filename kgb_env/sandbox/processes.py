"""What a running worker has used, read from /proc by the judge (the worker cannot forge it)."""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass

__all__ = ["TaskUsage", "host_pid", "usage"]

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class TaskUsage:
    """CPU time of a worker and its living descendants.

    Attributes:
        cpu: User and system time in seconds, reaped descendants included.
        run_delay: Time that its tasks were ready to run but waited for a processor, in seconds.
        tasks: Number of living processes.
    """

    cpu: float
    run_delay: float
    tasks: int


def host_pid(pidfd: int) -> int:
    """Return the process id behind ``pidfd`` in this process's own namespace; -1 if it has been reaped."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        match = re.search(r"^Pid:\s*(-?\d+)$", file.read(), re.MULTILINE)
    if match is None:
        msg = f"/proc/self/fdinfo/{pidfd} names no process"
        raise OSError(msg)
    return int(match[1])


def usage(pid: int) -> TaskUsage:
    """Return what process ``pid`` and its descendants have used; zeros once it is gone."""
    cpu = delay = 0.0
    seen, pending = 0, [pid]
    while pending and seen < 4096:
        current = pending.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            cpu += _cpu(current)
            seen += 1
            for task in os.listdir(f"/proc/{current}/task"):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    delay += int(_read(f"/proc/{current}/task/{task}/schedstat").split()[1]) / 1e9
                    pending += [int(word) for word in _read(f"/proc/{current}/task/{task}/children").split()]
    return TaskUsage(cpu, delay, seen)


def _cpu(pid: int) -> float:
    """Own time from the process's CPU clock (nanoseconds), reaped children's from its status (ticks)."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    children = (int(fields[13]) + int(fields[14])) / _TICK
    try:
        return children + time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it ended in between, or the clock is not offered: ticks will do
        return children + (int(fields[11]) + int(fields[12])) / _TICK


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()
