"""The zygote process: warm once, then fork one confined worker per request.

It is exec'd (no memory of the judge), holds no secret, and has one thread. It ends when the judge closes the control
socket, however the judge ended. Messages are JSON over SEQPACKET sockets, descriptors travel beside them:

    judge -> zygote, control:  {"scratch", "limits"} + arena, report, output, status socket
    zygote -> judge, control:  {"event": "ready", "layers"} or {"event": "failed", "error"}, once
    zygote -> judge, status:   {"event": "forked"} + pidfd, then {"event": "exit", ...}
    worker -> judge, status:   {"event": "refused", "error"}, at any time before the exit

Two processes: the outer one only enters the namespaces and waits, since a process namespace begins with the next fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn

from kgb_env.sandbox import confine, linux, namespaces, observe, privileges
from kgb_env.sandbox.child import run_worker
from kgb_env.sandbox.limits import Limits
from kgb_env.sandbox.scratch import wipe

__all__ = ["main"]


def main(config: dict[str, Any]) -> NoReturn:
    """Run a zygote until its control socket closes.

    Args:
        config: ``control`` (descriptor), ``entry``, ``warm`` (dotted names), ``package``, ``readable``, ``writable``,
            ``executable`` (paths), ``folder`` (private), ``variables`` (allowed environment names).
    """
    judge = observe.namespace_ids()
    entered = namespaces.enter_zygote_namespaces()
    if entered.nested:
        pid = os.fork()
        if pid:
            _wait_outside(pid, config)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    control = socket.socket(fileno=config["control"])
    status = 1
    try:
        zygote = _Zygote(control, config, entered, judge)
        zygote.serve()
        status = 0
    except Exception:  # boundary: the judge gets the traceback as text and raises
        with contextlib.suppress(OSError):
            control.send(json.dumps({"event": "failed", "error": traceback.format_exc()[-16000:]}).encode())
    finally:
        if not entered.nested:
            wipe(config["folder"])
        os._exit(status)  # nanobind prints leak reports in an ordinary shutdown


def _wait_outside(pid: int, config: dict[str, Any]) -> NoReturn:
    os.close(config["control"])
    _, status = os.waitpid(pid, 0)
    wipe(config["folder"])
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _load(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


class _Child:
    """A running worker, as the zygote sees it."""

    def __init__(self, pid: int, pidfd: int, status: socket.socket) -> None:
        self.pid = pid
        self.pidfd = pidfd
        self.status = status


class _Zygote:
    """The poll loop and its children."""

    def __init__(
        self,
        control: socket.socket,
        config: dict[str, Any],
        entered: namespaces.ZygoteNamespaces,
        judge: dict[str, str],
    ) -> None:
        self._control = control
        self._entered = entered
        self._children: dict[int, _Child] = {}
        self._poll = select.poll()
        self._count = os.getpid() + int.from_bytes(os.urandom(2))
        self._entry = _load(config["entry"])
        if config["warm"]:
            before = dict(os.environ)
            _load(config["warm"])()
            os.environ.clear()  # libraries leave variables of their own
            os.environ.update(before)
        threads = os.listdir("/proc/self/task")
        if len(threads) != 1:
            msg = f"a zygote must have one thread to be forked, but the warm-up left {len(threads)}"
            raise RuntimeError(msg)
        entered.open_own()
        self._confinement = confine.prepare(
            entered,
            config["package"],
            readable_paths=config["readable"],
            writable_paths=config["writable"],
            executable_paths=config["executable"],
        )
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # short of memory, the kernel ends a worker, or this process, before the judge
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        layers = observe.layers(self._confinement, config["folder"], frozenset(config["variables"]), judge)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.collect()
        gc.freeze()  # a collection in a worker would otherwise touch, and so copy, every inherited page
        self._control.send(json.dumps({"event": "ready", "layers": [asdict(layer) for layer in layers]}).encode())

    def serve(self) -> None:
        """Fork and reap until the judge closes the control socket."""
        self._poll.register(self._control, select.POLLIN)
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != self._control.fileno():
                    self._attend(descriptor)
                elif not self._request():
                    return

    def _request(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 4, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return False
        request = json.loads(message)
        *files, status = descriptors
        self._count += 1
        uid = privileges.private_uid(self._count)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = namespaces.fork_worker(self._entered)
        if pid == 0:
            parent = 0 if self._entered.nested else os.getppid()
            limits = Limits(**request["limits"])
            run_worker(self._confinement, self._entry, limits, request["scratch"], uid, parent, (*files, status))
        pidfd = os.pidfd_open(pid)
        for descriptor in files:
            os.close(descriptor)
        child = _Child(pid, pidfd, socket.socket(fileno=status))
        self._children[pidfd] = self._children[status] = child
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(status, 0)  # reports only that the judge hung up
        with contextlib.suppress(OSError):
            socket.send_fds(child.status, [b'{"event": "forked"}'], [pidfd])
        return True

    def _attend(self, descriptor: int) -> None:
        child = self._children.get(descriptor)
        if child is None:  # its other descriptor came first in this round
            return
        if descriptor != child.pidfd:  # the judge gave the worker up
            self._poll.unregister(descriptor)
            signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
            return
        _, status, usage = os.wait4(child.pid, 0)
        if not self._entered.nested:
            namespaces.sweep({other.pid for other in self._children.values()} - {child.pid})
        event = {
            "event": "exit",
            "status": status,
            "cpu": usage.ru_utime + usage.ru_stime,
            "maxrss": usage.ru_maxrss * 1024,
        }
        self._poll.unregister(child.pidfd)
        with contextlib.suppress(KeyError):
            self._poll.unregister(child.status)
        del self._children[child.pidfd], self._children[child.status.fileno()]
        with contextlib.suppress(OSError):  # the judge may have hung up
            child.status.send(json.dumps(event).encode())
        child.status.close()
        os.close(child.pidfd)
