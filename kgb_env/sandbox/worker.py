"""The judge's handle on one confined worker: wait for it, read what it left, kill it.

Whatever the worker wrote is read as bytes. Whether it was slow, starved, blocked or killed is read from the kernel,
through a process descriptor and ``/proc``, never from the worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

from kgb_env.errors import ZygoteError
from kgb_env.sandbox.limits import Limits
from kgb_env.sandbox.processes import host_pid, usage
from kgb_env.sandbox.scratch import wipe

__all__ = ["Exit", "ExitKind", "Worker"]

ExitKind = Literal["exited", "signalled", "cpu_timeout", "wall_timeout", "blocked_timeout", "killed"]

REAP_SECONDS = 30.0
"""How long a killed worker may take to vanish before the zygote counts as broken."""

STARVED_SHARE = 0.5
"""A worker that waited for a processor for this share of the wall clock was starved by the machine."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker ended.

    Attributes:
        report: What it wrote to its report pipe, at most ``Limits.report_bytes``. Forgeable: untrusted bytes.
        output: What it printed, both streams, at most ``Limits.output_bytes``.
        kind: ``exited``: see ``code``.
            ``signalled``: see ``signal``. An abort of process 1 shows as SIGSEGV, since process 1 ignores SIGABRT;
            SIGKILL is the kernel's, out of memory.
            ``cpu_timeout``: the candidate's fault.
            ``blocked_timeout``: slept or waited until the wall-clock limit; the candidate's fault.
            ``wall_timeout``: was kept from running until the wall-clock limit; the machine's fault.
            ``killed``: by :meth:`Worker.kill`, or because the report grew too long; see ``detail``.
        code: Exit status, or ``None`` if a signal ended it.
        signal: Signal number, or ``None`` if it exited.
        cpu_seconds: User and system time of it and its reaped children, in seconds, counted by the kernel.
        wall_seconds: From the fork until its death was seen, in seconds.
        max_rss: Largest resident set, in bytes; includes pages shared with the zygote.
        detail: A sentence for a log, or an empty string.
    """

    report: bytes
    output: str
    kind: ExitKind
    code: int | None
    signal: int | None
    cpu_seconds: float
    wall_seconds: float
    max_rss: int
    detail: str


class Worker:
    """One confined worker. Close it, wait for it, or use it as a context manager; each ends it.

    Attributes:
        pid: Its process id in the judge's namespace; -1 if it had ended before it could be looked up.
        limits: What it may spend.
    """

    def __init__(
        self, *, pidfd: int, status: socket.socket, report: int, output: int, scratch: str, limits: Limits
    ) -> None:
        self.limits = limits
        self.pid = host_pid(pidfd)
        self._pidfd = pidfd
        self._status = status
        self._report = report
        self._output = output
        self._started = time.monotonic()
        self._reason: tuple[ExitKind, str] | None = None
        self._received = bytearray()
        self._lines = 0
        self._release = weakref.finalize(self, _release, os.getpid(), pidfd, status, report, output, scratch)

    def kill(self) -> None:
        """Kill the worker and everything that it started. Safe from any thread, at any time, more than once."""
        self._kill("killed", "killed by the judge")

    def _kill(self, kind: ExitKind, detail: str) -> None:
        if self._reason is None:
            self._reason = (kind, detail)
        if self._release.alive:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def wait(self, on_line: Callable[[bytes], None] | None = None) -> Exit:
        """Wait until the worker has ended, enforce its limits meanwhile, and release everything it held.

        Args:
            on_line: Called with each complete line of the report as it arrives, without its newline; for progress.
                What it raises ends the worker and is raised again.

        Raises:
            ValueError: It has been waited for, or closed, already.
            ZygoteError: The zygote died, the worker could not be confined, or it could not be killed.
        """
        if not self._release.alive:
            msg = "this worker has been waited for, or closed, already"
            raise ValueError(msg)
        try:
            event = self._watch(on_line)
            self._drain(on_line)
            return self._exit(event)
        finally:
            self.close()

    def close(self) -> None:
        """Kill the worker if it still runs and release its descriptors and its scratch folder."""
        self._release()

    def __enter__(self) -> Self:
        """Return the worker itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _watch(self, on_line: Callable[[bytes], None] | None) -> dict[str, Any]:
        poll = select.poll()
        poll.register(self._status, select.POLLIN)
        poll.register(self._report, select.POLLIN)
        deadline = self._started + self.limits.wall
        check = min(deadline, self._started + self._pause(0.0))
        while True:
            ready = dict(poll.poll(max(0.0, check - time.monotonic()) * 1000 + 1))
            if self._report in ready and not self._read(on_line):
                poll.unregister(self._report)
            if self._status.fileno() in ready:
                event = self._event()
                if event["event"] == "exit":
                    return event
                continue
            now = time.monotonic()
            if now < check:
                continue
            if self._reason:
                if now > deadline + REAP_SECONDS:
                    msg = f"worker {self.pid} did not die within {REAP_SECONDS:g} s of being killed"
                    raise ZygoteError(msg)
                check = now + 1.0
            else:
                pause = self._enforce(late=now >= deadline)
                check = min(deadline, now + pause) if now < deadline else now + pause

    def _pause(self, used: float) -> float:
        """Seconds until the CPU limit can be reached at the earliest."""
        width = min(os.cpu_count() or 1, self.limits.processes)
        width = width if self.limits.allow_exec or self.limits.allow_threads else 1
        return max(0.02, (self.limits.cpu_seconds - used) / width)

    def _enforce(self, *, late: bool) -> float:
        """Kill the worker if a limit is reached; return the seconds until the next look."""
        spent = usage(self.pid)
        if spent.cpu >= self.limits.cpu_seconds:
            self._kill("cpu_timeout", f"used {spent.cpu:.2f} s of CPU; the limit is {self.limits.cpu_seconds:g} s")
        elif late:
            facts = f"after {self.limits.wall:g} s: {spent.cpu:.2f} s running, {spent.run_delay:.2f} s waiting to run"
            starved = spent.run_delay >= STARVED_SHARE * self.limits.wall
            self._kill("wall_timeout" if starved else "blocked_timeout", facts)
        return self._pause(spent.cpu)

    def _event(self) -> dict[str, Any]:
        try:
            message = self._status.recv(1 << 16)
        except ConnectionResetError:
            message = b""
        if not message:
            msg = f"the zygote died while worker {self.pid} ran"
            raise ZygoteError(msg)
        event = json.loads(message)
        if event["event"] == "refused":
            msg = f"worker {self.pid} could not be confined: {event['error']}"
            raise ZygoteError(msg)
        return event

    def _read(self, on_line: Callable[[bytes], None] | None) -> bool:
        """Take what the report pipe holds; False at its end or once it is too long."""
        room = self.limits.report_bytes - len(self._received)
        try:
            chunk = os.read(self._report, min(1 << 16, room + 1))
        except BlockingIOError:
            return True
        self._received += chunk[:room]
        if len(chunk) > room:
            self._kill("killed", f"the report is longer than {self.limits.report_bytes} bytes")
            return False
        while on_line is not None and (end := self._received.find(b"\n", self._lines)) >= 0:
            line = bytes(self._received[self._lines : end])
            self._lines = end + 1
            on_line(line)
        return bool(chunk)

    def _drain(self, on_line: Callable[[bytes], None] | None) -> None:
        """Take what is left in the report pipe after the worker's death."""
        while select.select([self._report], [], [], 0)[0] and self._read(on_line):
            pass

    def _exit(self, event: dict[str, Any]) -> Exit:
        code = os.waitstatus_to_exitcode(event["status"])
        kind: ExitKind = "exited" if code >= 0 else "signalled"
        detail = ""
        if self._reason is not None and code == -signal.SIGKILL:
            kind, detail = self._reason
        elif code == -signal.SIGXCPU or (code == -signal.SIGKILL and event["cpu"] >= self.limits.cpu_seconds):
            kind, detail = "cpu_timeout", f"used {event['cpu']:.2f} s of CPU; the kernel's limit ended it"
        return Exit(
            report=bytes(self._received),
            output=self._printed(),
            kind=kind,
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            cpu_seconds=event["cpu"],
            wall_seconds=time.monotonic() - self._started,
            max_rss=event["maxrss"],
            detail=detail,
        )

    def _printed(self) -> str:
        raw = os.pread(self._output, self.limits.output_bytes, 0)
        text = raw.rstrip(b"\0").decode("utf-8", "replace")
        full = len(raw) == self.limits.output_bytes and not raw.endswith(b"\0")
        return text + f"\n[output cut at {self.limits.output_bytes} bytes]" if full else text


def _release(owner: int, pidfd: int, status: socket.socket, report: int, output: int, scratch: str) -> None:
    """Kill and let go. In a process forked from the judge only the copies of the descriptors are closed."""
    mine = os.getpid() == owner
    if mine:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            select.select([pidfd], [], [], REAP_SECONDS)  # readable once the process has ended
    status.close()
    for descriptor in (pidfd, report, output):
        os.close(descriptor)
    if mine:
        wipe(scratch)
