"""Resource limits of a worker. They survive native code; only a privileged process could raise them again."""

from __future__ import annotations

import math
import os
import resource

from kgb_env.sandbox.limits import MIB, Limits

__all__ = ["address_space", "apply", "table", "tasks_of_user"]

STACK_BYTES = 16 * MIB
UNLIMITED = resource.RLIM_INFINITY


def address_space() -> int:
    """Return the size of this process's address space in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def tasks_of_user(uid: int) -> int:
    """Return how many processes ``uid`` has now (their threads are not counted)."""
    count = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            if not entry.name.isdigit():
                continue
            try:
                count += entry.stat().st_uid == uid
            except OSError:  # it ended between the two calls, or it is hidden: then it is not ours
                continue
    return count


def table(limits: Limits, *, baseline: int, others: int) -> dict[int, int]:
    """Return every limit to set, by resource number.

    Args:
        limits: What the worker may spend.
        baseline: Address space of the zygote in bytes; the worker starts with as much.
        others: Processes that count against the same user without being the worker's.
    """
    multiple = limits.allow_exec or limits.allow_threads
    values = {
        # One second of grace: the judge counts precisely, this is what still holds if the judge dies.
        resource.RLIMIT_CPU: math.ceil(limits.cpu_seconds) + 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_NPROC: others + limits.processes if multiple else 1,
        resource.RLIMIT_STACK: STACK_BYTES,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_NICE: 0,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_SIGPENDING: 64,
    }
    if limits.memory_bytes:
        values[resource.RLIMIT_AS] = baseline + limits.memory_bytes
    return values


def apply(values: dict[int, int]) -> None:
    """Set soft and hard limit of each resource, never above the hard limit that is already there.

    Raises:
        OSError: The kernel refused.
    """
    for kind, value in values.items():
        hard = resource.getrlimit(kind)[1]
        bounded = value if hard == UNLIMITED else min(value, hard)
        resource.setrlimit(kind, (bounded, bounded))
