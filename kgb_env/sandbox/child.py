"""The worker's side of the fork: descriptors, confinement, then the entry point. Nothing returns from here."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from kgb_env.sandbox import environment
from kgb_env.sandbox.confine import Confinement, LayerError
from kgb_env.sandbox.limits import Limits

__all__ = ["ARENA", "REFUSED", "REPORT", "run_worker"]

ARENA, REPORT = 3, 4
"""The descriptors that a worker has besides 0, 1 and 2."""

REFUSED = 121
"""Exit status of a worker that could not be confined and so did nothing."""

_HIGH = 64  # above every fixed number, so that moving one descriptor cannot close another


_DESCRIPTORS = 1 << 20  # one system call closes them all


class _Bounded(io.RawIOBase):
    """Standard output into a file of fixed size: what does not fit is dropped, so that printing never fails."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        try:
            os.write(self._descriptor, view)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EFBIG, errno.ENOSPC):
                raise
        return len(view)


def run_worker(
    confinement: Confinement,
    entry: Callable[[int, int], Any],
    limits: Limits,
    scratch: str,
    uid: int,
    parent: int,
    descriptors: tuple[int, ...],
) -> NoReturn:
    """Confine this freshly forked process and run ``entry(arena, report)``; always ends the process.

    Args:
        confinement: What the zygote prepared.
        entry: The worker's entry point.
        limits: What the worker may spend.
        scratch: Its own folder.
        uid: Its private user id.
        parent: The zygote's process id as this process sees it.
        descriptors: Arena, report pipe, output file, status socket.
    """
    code = REFUSED
    try:
        status = _arrange(descriptors)
        os.environ.update(environment.for_worker(scratch))
        if _confined(confinement, limits, scratch, uid, parent, status):
            os.closerange(REPORT + 1, _DESCRIPTORS)
            code = 1
            code = int(entry(ARENA, REPORT) or 0)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # boundary: whatever the entry raises is written to the output, and the status says 1
        traceback.print_exc()
    finally:
        _finish(code)


def _confined(confinement: Confinement, limits: Limits, scratch: str, uid: int, parent: int, status: int) -> bool:
    """Enter the layers, or tell the judge which one refused."""
    try:
        confinement.enter(limits, scratch, uid, parent)
    except LayerError as error:
        os.write(status, json.dumps({"event": "refused", "error": str(error)}).encode())
        return False
    return True


def _arrange(descriptors: tuple[int, ...]) -> int:
    """Move the descriptors to their fixed numbers and return the status socket's new number."""
    null = os.open(os.devnull, os.O_RDONLY)
    arena, report, output, status = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _HIGH) for one in descriptors)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(arena, ARENA, inheritable=False)
    os.dup2(report, REPORT, inheritable=False)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = io.TextIOWrapper(io.BufferedWriter(_Bounded(number)), "utf-8", "backslashreplace", line_buffering=True)
        setattr(sys, name, stream)
    return status


def _finish(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xFF)
