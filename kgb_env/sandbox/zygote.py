"""The judge's handle on a zygote process: start it when first needed, ask it for workers, end it.

A zygote is started with :mod:`subprocess`, lazily and once per process id, so the handle also works inside
daemonic ``multiprocessing`` workers, after ``os.fork`` and under a running event loop.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import select
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Self

from kgb_env.errors import ConfinementError, ZygoteError
from kgb_env.sandbox import bootstrap, environment, linux
from kgb_env.sandbox.limits import LayerStatus, Limits, Profile
from kgb_env.sandbox.scratch import make_folder, wipe
from kgb_env.sandbox.worker import Worker

__all__ = ["Zygote", "harden_this_process"]

SPAWN_SECONDS = 60.0
"""How long a fork may take before the zygote counts as broken."""

_handles: weakref.WeakSet[Zygote] = weakref.WeakSet()


def harden_this_process() -> None:
    """Close this process's memory and environment to other processes of the same user (``PR_SET_DUMPABLE 0``).

    The judge holds seeds and expected answers, and a worker with the same user id could otherwise read
    ``/proc/<judge>/mem``. The price: no core dumps, and debuggers or profilers of the same user cannot attach.
    Called when the first :class:`Zygote` starts, unless it was made with ``harden=False``.
    """
    linux.prctl(linux.PR_SET_DUMPABLE, 0)


class _Process:
    """A started zygote process and what belongs to it."""

    def __init__(self, popen: subprocess.Popen[bytes], control: socket.socket, errors: int, folder: str) -> None:
        self.popen = popen
        self.control = control
        self.errors = errors
        self.folder = folder
        self.owner = os.getpid()
        self.layers: tuple[LayerStatus, ...] = ()
        self.scratch = itertools.count()
        self.closed = False

    def complaint(self) -> str:
        """Return the end of what the process wrote to its standard error."""
        size = os.fstat(self.errors).st_size
        return os.pread(self.errors, 8000, max(0, size - 8000)).decode("utf-8", "replace").strip()

    def stop(self) -> None:
        """End the process and remove its folder; in a process forked from the judge only close the copies."""
        if self.closed:
            return
        self.closed = True
        self.control.close()
        if os.getpid() == self.owner:
            try:
                self.popen.wait(5)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
            wipe(self.folder)
        else:
            self.popen.returncode = 0  # not our child: nothing to wait for
        os.close(self.errors)


class Zygote:
    """A process that has imported everything a worker needs, and forks one confined worker per submission.

    Thread safe. The process starts with the first :meth:`spawn` and ends with :meth:`close`, with the handle, or with
    the judge, however the judge ends. If it dies it is started again by the next :meth:`spawn`.
    """

    def __init__(
        self,
        entry: str = "kgb_env.worker.entry:run",
        warm: str | None = "kgb_env.worker.entry:warm",
        env: Mapping[str, str] | None = None,
        *,
        profile: Profile | str = Profile.STANDARD,
        readable: Sequence[str] = (),
        writable: Sequence[str] = (),
        executable: Sequence[str] = (),
        start_seconds: float = 180.0,
        harden: bool = True,
    ) -> None:
        """Describe a zygote; nothing is started yet.

        Args:
            entry: ``module:function``, called in each worker as ``function(arena_fd, report_fd)``; its int is the exit
                status. Imported before the first fork.
            warm: ``module:function`` without arguments, called once before the first fork; it may leave no thread.
            env: Environment variables for this mode, such as ``{"TRITON_INTERPRET": "1"}``; nothing else is inherited
                but what :mod:`kgb_env.sandbox.environment` lists.
            profile: Whether every confinement layer must be there.
            readable: Further paths that workers may read.
            writable: Further paths that workers may read and write, such as a GPU's device files.
            executable: Further programs, or folders of them, that workers with ``allow_exec`` may run. Those of an
                imported triton (ptxas) need not be named.
            start_seconds: How long imports and warm-up may take, in seconds.
            harden: Call :func:`harden_this_process` when the process starts.
        """
        self._config: dict[str, Any] = {
            "entry": entry,
            "warm": warm,
            "readable": list(readable),
            "writable": list(writable),
            "executable": list(executable),
        }
        self._env = dict(env or {})
        self._profile = Profile(profile)
        self._start_seconds = start_seconds
        self._harden = harden
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._finalizer: weakref.finalize | None = None
        _handles.add(self)

    @property
    def layers(self) -> tuple[LayerStatus, ...]:
        """The confinement layers as the zygote's probe saw them; starts the zygote if need be."""
        return self._started().layers

    @property
    def pid(self) -> int:
        """Process id of the zygote's outer process; starts the zygote if need be."""
        return self._started().popen.pid

    def start(self) -> None:
        """Start the process now, so that the first verdict does not pay for it.

        Raises:
            ZygoteError: It did not start; the message holds the end of its standard error.
            ConfinementError: The profile is ``standard`` and a layer is missing.
        """
        self._started()

    def spawn(self, arena: int, limits: Limits) -> Worker:
        """Fork one confined worker.

        Args:
            arena: Descriptor that the worker gets as its arena; the caller keeps its own.
            limits: What the worker may spend.

        Raises:
            ZygoteError: The zygote did not start, or died.
            OSError: ``arena`` is no open descriptor.
            ConfinementError: The profile is ``standard`` and a layer is missing.
        """
        process = self._started()
        try:
            return _ask(process, arena, limits)
        except ConnectionResetError:  # it died since the last worker: start another, once
            self._discard(process)
        process = self._started()
        try:
            return _ask(process, arena, limits)
        except ConnectionResetError as error:
            msg = f"the zygote died twice in a row: {process.complaint()}"
            raise ZygoteError(msg) from error

    def close(self) -> None:
        """End the process; its workers die with it. The handle may be used again."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            self._forget(process)

    def __enter__(self) -> Self:
        """Return the handle itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _started(self) -> _Process:
        with self._lock:
            if self._process is None:
                if self._harden:
                    harden_this_process()
                process = _launch(self._config, self._env)
                self._finalizer = weakref.finalize(self, process.stop)
                try:
                    process.layers = _await_ready(process, self._start_seconds)
                    self._check(process.layers)
                except BaseException:  # boundary: cleans up and raises it again
                    self._forget(process)
                    raise
                self._process = process
            return self._process

    def _check(self, layers: tuple[LayerStatus, ...]) -> None:
        missing = [f"{layer.name} ({layer.detail})" for layer in layers if not layer.available]
        if missing and self._profile is Profile.STANDARD:
            msg = (
                f"this machine lacks {len(missing)} confinement layer(s): {'; '.join(missing)}. "
                "The profile 'best_effort' runs without them and says so."
            )
            raise ConfinementError(msg)

    def _discard(self, process: _Process) -> None:
        with self._lock:
            if self._process is process:
                self._process = None
        self._forget(process)

    def _forget(self, process: _Process) -> None:
        if self._finalizer is not None:
            self._finalizer.detach()
        process.stop()

    def _after_fork(self) -> None:
        """In a child of the judge: let go of the parent's zygote; the next spawn starts one of our own."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            self._forget(process)


def _after_fork_in_child() -> None:
    for handle in list(_handles):
        handle._after_fork()


os.register_at_fork(after_in_child=_after_fork_in_child)


def _launch(config: Mapping[str, Any], env: Mapping[str, str]) -> _Process:
    package = list(sys.modules["kgb_env"].__path__)
    folder = make_folder()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    errors = os.memfd_create("kgb-zygote-stderr", os.MFD_CLOEXEC)
    full = {
        **config,
        "control": theirs.fileno(),
        "package": package,
        "path": [path for path in sys.path if os.path.isabs(path) and path not in _roots(package)],
        "folder": folder,
        "variables": sorted(environment.allowed_names(env)),
    }
    try:
        popen = subprocess.Popen(
            [sys.executable, "-P", os.path.realpath(bootstrap.__file__), json.dumps(full)],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            env=environment.scrubbed(env, folder),
            pass_fds=(theirs.fileno(),),
            cwd="/",
            start_new_session=True,  # Ctrl-C in the judge's terminal is the judge's affair
        )
    except OSError as error:
        ours.close()
        os.close(errors)
        wipe(folder)
        msg = f"the zygote did not start: {error}"
        raise ZygoteError(msg) from error
    finally:
        theirs.close()
    return _Process(popen, ours, errors, folder)


def _roots(package: Sequence[str]) -> set[str]:
    """The folders around an editable installation; the zygote does not import from the checkout."""
    return {os.path.dirname(os.path.abspath(path)) for path in package}


def _await_ready(process: _Process, seconds: float) -> tuple[LayerStatus, ...]:
    if not select.select([process.control], [], [], seconds)[0]:
        msg = f"the zygote was not ready after {seconds:g} s: {process.complaint()}"
        raise ZygoteError(msg)
    try:
        message = process.control.recv(1 << 17)
    except ConnectionResetError:
        message = b""
    if not message:
        msg = f"the zygote died while it started: {process.complaint()}"
        raise ZygoteError(msg)
    event = json.loads(message)
    if event["event"] != "ready":
        msg = f"the zygote failed to start: {event['error'].strip()}\n{process.complaint()}"
        raise ZygoteError(msg)
    return tuple(LayerStatus(**layer) for layer in event["layers"])


def _ask(process: _Process, arena: int, limits: Limits) -> Worker:
    os.fstat(arena)  # a wrong descriptor is the caller's error, not the zygote's
    scratch = os.path.join(process.folder, f"w{next(process.scratch)}")
    with contextlib.ExitStack() as undo:
        try:
            os.mkdir(scratch, 0o700)
        except FileNotFoundError as error:  # the zygote wiped its folder as it ended
            raise ConnectionResetError from error
        undo.callback(wipe, scratch)
        report, report_in = os.pipe()
        undo.callback(os.close, report)
        os.set_blocking(report, False)
        output = _bounded_file(limits.output_bytes)
        undo.callback(os.close, output)
        status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        undo.callback(status.close)
        message = json.dumps({"scratch": scratch, "limits": limits.to_dict()}).encode()
        try:
            socket.send_fds(process.control, [message], [arena, report_in, output, theirs.fileno()])
        except OSError as error:
            msg = "the zygote has ended"
            raise ConnectionResetError(msg) from error
        finally:
            theirs.close()
            os.close(report_in)
        pidfd = _await_fork(status)
        undo.callback(os.close, pidfd)
        worker = Worker(pidfd=pidfd, status=status, report=report, output=output, scratch=scratch, limits=limits)
        undo.pop_all()
        return worker


def _await_fork(status: socket.socket) -> int:
    """Return the process descriptor that the zygote sends; the worker itself may speak first, if it was refused."""
    status.settimeout(SPAWN_SECONDS)
    try:
        message, descriptors, _, _ = socket.recv_fds(status, 1 << 16, 1, socket.MSG_CMSG_CLOEXEC)
    except TimeoutError as error:
        msg = f"the zygote did not fork within {SPAWN_SECONDS:g} s"
        raise ZygoteError(msg) from error
    if not message:
        msg = "the zygote ended before it forked"
        raise ConnectionResetError(msg)
    if not descriptors:
        msg = f"a worker could not be confined: {json.loads(message)['error']}"
        raise ZygoteError(msg)
    status.settimeout(None)
    return descriptors[0]


def _bounded_file(size: int) -> int:
    """Return a file in memory of exactly ``size`` bytes that can neither grow nor shrink."""
    descriptor = os.memfd_create("kgb-output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return descriptor
