"""Namespaces: processes, mounts, System V IPC and network that a worker cannot see.

Two steps. When the zygote starts it moves into a process namespace of its own (with a user namespace
around it when it is not root), so that killing it kills everything below it; network and host name are left
there too. For each worker it then opens a further process namespace, in which the worker is process 1: when
process 1 dies, the kernel kills whatever else lives there, however it detached itself.

Where process namespaces are forbidden (most containers), the zygote becomes a subreaper instead and
kills stray descendants whenever a worker ends. That layer is weaker: a stray lives until the sweep.
"""

from __future__ import annotations

import contextlib
import os
import signal

from kgb_env.sandbox import linux

__all__ = ["ZygoteNamespaces", "enter_worker_namespaces", "enter_zygote_namespaces", "fork_worker", "sweep"]

ISOLATED = linux.CLONE_NEWNET | linux.CLONE_NEWUTS | linux.CLONE_NEWNS | linux.CLONE_NEWIPC


class ZygoteNamespaces:
    """What the zygote managed to enter.

    Attributes:
        nested: A process namespace per worker can be made.
        isolated: Network, mount, IPC and host-name namespaces are private.
        user: A user namespace was needed (the zygote is not root, or root without the right).
        reason: Why something is missing; empty when nothing is.
        own: Descriptor of the zygote's own process namespace, to return to after each fork.
    """

    def __init__(self, *, nested: bool, isolated: bool, user: bool, reason: str) -> None:
        self.nested = nested
        self.isolated = isolated
        self.user = user
        self.reason = reason
        self.own = -1

    def open_own(self) -> None:
        """Remember the namespace to come back to; called in the process that will fork workers."""
        if self.nested:
            self.own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def enter_zygote_namespaces() -> ZygoteNamespaces:
    """Leave the judge's namespaces, as far as this machine lets us.

    The process namespace takes effect for the next fork only: the caller forks, and the child goes on as the zygote.
    """
    reasons: list[str] = []
    for user in (False, True):
        refusal = _try_in_child(user=user)
        if refusal:
            reasons.append(refusal)
            continue
        _unshare(user=user)
        return ZygoteNamespaces(nested=True, isolated=True, user=user, reason="")
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    return ZygoteNamespaces(nested=False, isolated=False, user=False, reason="; ".join(reasons))


def _try_in_child(*, user: bool) -> str:
    """Try in a throw-away process, since a half-entered user namespace cannot be left; return the refusal or ""."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _unshare(user=user)
        except OSError as error:
            os.write(writer, f"{'with' if user else 'without'} a user namespace: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        refusal = file.read()
    os.waitpid(pid, 0)
    return refusal


def _unshare(*, user: bool) -> None:
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWPID | ISOLATED | (linux.CLONE_NEWUSER if user else 0))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)


def fork_worker(namespaces: ZygoteNamespaces) -> int:
    """Fork; the child is process 1 of a new process namespace where that is possible.

    Returns:
        0 in the child, the child's process id (as the zygote sees it) in the zygote.
    """
    if not namespaces.nested:
        return os.fork()
    linux.unshare(linux.CLONE_NEWPID)
    try:
        pid = os.fork()
    except BaseException:  # boundary: cleans up and raises it again
        linux.setns(namespaces.own, linux.CLONE_NEWPID)
        raise
    if pid:
        linux.setns(namespaces.own, linux.CLONE_NEWPID)
    return pid


def enter_worker_namespaces(
    namespaces: ZygoteNamespaces, scratch: str, *, size: int, uid: int, executable: bool
) -> None:
    """Give the calling worker an IPC namespace and a scratch folder in memory that vanishes with it.

    The network namespace is the zygote's: it has no interface that is up, and making one per worker costs more
    than the fork. The memory file system bounds the number of files as well as their total size in bytes.
    """
    if not namespaces.isolated:
        return
    linux.unshare(linux.CLONE_NEWIPC | linux.CLONE_NEWNS)
    flags = linux.MS_NOSUID | linux.MS_NODEV | (0 if executable else linux.MS_NOEXEC)
    linux.mount("kgb", scratch, "tmpfs", flags, f"size={size},nr_inodes=4096,mode=0700,uid={uid}")


def sweep(known: set[int]) -> int:
    """Kill and reap every child of this process that is not in ``known``; return how many.

    Only for machines without process namespaces: descendants of a dead worker become children of the subreaper.
    Repeats until none is left, because killing one hands over its own children.
    """
    me, killed = os.getpid(), 0
    while True:
        with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as file:
            strays = {int(word) for word in file.read().split()} - known
        if not strays:
            return killed
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in strays:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
                killed += 1
