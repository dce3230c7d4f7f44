"""The confinement of a worker: its layers, in the order in which they are entered.

::

    layer               stops                                                    survives native code
    environment         keys and paths of the judge's environment                yes (never there)
    dumpable            reading /proc/<judge>/mem and environ, ptrace            yes
    pid_namespace       seeing and signalling other processes; escaping the kill yes
    parent_death        outliving the zygote                                     yes
    network_namespace   every network interface, abstract sockets                yes
    ipc_namespace       shared memory and queues of others                       yes
    mount_namespace     filling the disk, leaving files behind                   yes
    private_uid         files and processes of the judge's user; capabilities    yes
    no_new_privs        gaining rights through set-uid programs                  yes
    rlimits             memory, CPU, files, processes without end                yes
    landlock            reading or writing anything but libraries and scratch    yes
    seccomp             threads, processes, sockets, ptrace, other kernel attacks yes

What is prepared once in the zygote costs a worker nothing; entering everything takes about two milliseconds.

Not bounded: memory of all workers together (a machine-wide matter, for a control group around the judge); what a
worker can learn without opening a file (whether a path exists, its size); time that a neighbour takes from the caches.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import py_landlock

from kgb_env.sandbox import landlock, linux, namespaces, privileges, readable, rlimits, seccomp
from kgb_env.sandbox.limits import Limits

__all__ = ["LAYERS", "Confinement", "LayerError", "prepare"]

LAYERS = (
    "environment",
    "dumpable",
    "pid_namespace",
    "parent_death",
    "network_namespace",
    "ipc_namespace",
    "mount_namespace",
    "private_uid",
    "no_new_privs",
    "rlimits",
    "landlock",
    "seccomp",
)


class LayerError(Exception):
    """A layer could not be entered.

    Attributes:
        layer: Its name.
        reason: The kernel's words.
    """

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(f"{layer}: {reason}")
        self.layer = layer
        self.reason = reason


@dataclass(slots=True)
class Confinement:
    """Everything that was prepared in the zygote, and what this machine lacks.

    Attributes:
        namespaces: What the zygote itself entered.
        identity: How a worker gives up its rights.
        rules: Opened Landlock rules, or ``None``.
        filters: seccomp programs by (allow_exec, allow_threads).
        baseline: Address space of the zygote in bytes.
        missing: Layer -> reason. These are not entered.
    """

    namespaces: namespaces.ZygoteNamespaces
    identity: privileges.Identity
    rules: landlock.FileRules | None
    filters: dict[tuple[bool, bool], bytes]
    baseline: int
    missing: dict[str, str] = field(default_factory=dict)

    def miss(self, layer: str, reason: str) -> None:
        """Note that a layer cannot be entered; what depends on it is planned again."""
        self.missing[layer] = reason
        if layer in ("landlock", "seccomp") and self.identity.keep:
            self.identity = privileges.plan(readable.package_grants(), bounded=False, mapped=self.namespaces.user)
            self.missing["private_uid"] = self.identity.missing

    def enter(self, limits: Limits, scratch: str, uid: int, parent: int) -> None:
        """Confine the calling process, which must have one thread, for good.

        Args:
            limits: What it may spend.
            scratch: Its own folder, which exists.
            uid: Its private user id (used where the identity says so).
            parent: Process id of the zygote as this process sees it; 0 from inside a process namespace of its own.

        Raises:
            LayerError: A layer that this machine is known to have could not be entered.
        """
        rules: list[int] = []
        owner = uid if self.identity.change else os.getuid()
        self._enter("parent_death", lambda: _die_with(parent))
        self._enter("mount_namespace", lambda: self._mounts(limits, scratch, owner))
        self._enter("private_uid", lambda: _own(scratch, owner))
        self._enter("landlock", lambda: rules.append(self._ruleset(limits, scratch)))
        self._enter("private_uid", lambda: privileges.become(self.identity, uid))
        self._enter("parent_death", lambda: _die_with(parent))  # changing the user id clears it
        self._enter("dumpable", lambda: linux.prctl(linux.PR_SET_DUMPABLE, 0))
        self._enter("rlimits", lambda: rlimits.apply(self._limits(limits)))
        self._enter("no_new_privs", lambda: linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1))
        self._enter("landlock", lambda: landlock.FileRules.restrict(rules[0]))
        self._enter("seccomp", lambda: seccomp.install(self.filters[limits.allow_exec, limits.allow_threads]))

    def _enter(self, layer: str, action: Callable[[], object]) -> None:
        if layer in self.missing and layer != "private_uid":  # without an own id, capabilities still go
            return
        try:
            action()
        except (OSError, ValueError, py_landlock.LandlockError) as error:
            raise LayerError(layer, str(error)) from error

    def _mounts(self, limits: Limits, scratch: str, uid: int) -> None:
        size, execute = limits.file_bytes, limits.allow_exec
        namespaces.enter_worker_namespaces(self.namespaces, scratch, size=size, uid=uid, executable=execute)

    def _ruleset(self, limits: Limits, scratch: str) -> int:
        assert self.rules is not None  # otherwise the layer is listed as missing
        return self.rules.ruleset(scratch, execute=limits.allow_exec)

    def _limits(self, limits: Limits) -> dict[int, int]:
        shared = limits.allow_exec and not self.identity.change and not self.namespaces.user
        others = rlimits.tasks_of_user(os.getuid()) if shared else 0
        return rlimits.table(limits, baseline=self.baseline, others=others)


def _own(scratch: str, uid: int) -> None:
    os.chown(scratch, uid, -1)
    os.chdir(scratch)


def _die_with(parent: int) -> None:
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)  # the zygote died before the request took effect


def prepare(
    zygote: namespaces.ZygoteNamespaces,
    package: Sequence[str],
    *,
    readable_paths: Sequence[str],
    writable_paths: Sequence[str],
    executable_paths: Sequence[str],
) -> Confinement:
    """Prepare every layer in the zygote, after the warm-up.

    Args:
        zygote: What the zygote entered when it started.
        package: The folders of ``kgb_env``.
        readable_paths: Further paths that a worker may read.
        writable_paths: Further paths that a worker may read and write.
        executable_paths: Further programs that a worker with ``allow_exec`` may run.
    """
    missing: dict[str, str] = {}
    if not zygote.nested:
        missing["pid_namespace"] = f"{zygote.reason}; instead, the zygote kills stray descendants when a worker ends"
    if not zygote.isolated:
        for layer in ("network_namespace", "ipc_namespace", "mount_namespace"):
            missing[layer] = "this machine forbids namespaces; see pid_namespace"
    rules = None
    try:
        grants = readable.worker_grants(package, readable_paths, writable_paths, executable_paths)
        rules = landlock.open_rules(grants)
    except py_landlock.LandlockError as error:
        missing["landlock"] = str(error)
    filters: dict[tuple[bool, bool], bytes] = {}
    try:
        for allowed in ((False, False), (False, True), (True, False), (True, True)):
            filters[allowed] = seccomp.program(allow_exec=allowed[0], allow_threads=allowed[1])
    except OSError as error:
        missing["seccomp"] = str(error)
    bounded = "landlock" not in missing and "seccomp" not in missing
    identity = privileges.plan(readable.package_grants(), bounded=bounded, mapped=zygote.user)
    if identity.missing:
        missing["private_uid"] = identity.missing
    privileges.close_bounding_set(identity)
    return Confinement(zygote, identity, rules, filters, rlimits.address_space(), missing)
