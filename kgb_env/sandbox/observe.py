"""Seeing that each layer bites: a throw-away worker is confined, then tries what must not work.

The zygote runs this once, before it says that it is ready. What the probe could not enter is left out afterwards and
reported; a layer counts as available only if the probe saw it refuse something.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import traceback
from collections.abc import Callable

from kgb_env.sandbox import linux, namespaces, privileges
from kgb_env.sandbox.confine import LAYERS, Confinement, LayerError
from kgb_env.sandbox.limits import LayerStatus, Limits

__all__ = ["CANARY", "layers", "namespace_ids"]

CANARY = "canary"
"""A file in the zygote's folder that mode bits let everyone read, and Landlock nobody."""

_KINDS = {"network_namespace": "net", "ipc_namespace": "ipc", "mount_namespace": "mnt"}
_LIMITS = Limits(cpu_seconds=5)


def namespace_ids() -> dict[str, str]:
    """Return the namespaces of this process, by layer name."""
    return {layer: os.readlink(f"/proc/self/ns/{kind}") for layer, kind in _KINDS.items()}


def layers(
    confinement: Confinement, folder: str, variables: frozenset[str], judge: dict[str, str]
) -> tuple[LayerStatus, ...]:
    """Probe every layer and note in ``confinement`` what this machine lacks.

    Args:
        confinement: What was prepared; layers that fail are added to its ``missing``.
        folder: Private folder of the zygote.
        variables: Environment names that may exist.
        judge: The judge's :func:`namespace_ids`.
    """
    with open(os.path.join(folder, CANARY), "w", encoding="ascii") as file:
        file.write("unreadable")
    os.chmod(file.name, 0o644)
    while True:
        scratch = os.path.join(folder, "probe")
        os.mkdir(scratch, 0o700)
        answer = _ask(confinement, scratch, file.name, variables, judge)
        os.rmdir(scratch)
        if "failed" not in answer:
            break
        if answer["failed"] in confinement.missing:
            msg = f"the probe failed twice at {answer['failed']}: {answer['reason']}"
            raise RuntimeError(msg)
        confinement.miss(answer["failed"], answer["reason"])
    os.unlink(file.name)
    return tuple(_status(name, confinement, answer[name]) for name in LAYERS)


def _status(name: str, confinement: Confinement, seen: list) -> LayerStatus:
    holds, detail = seen
    if name in confinement.missing:
        return LayerStatus(name, False, confinement.missing[name])
    return LayerStatus(name, bool(holds), detail if holds else f"entered, but the probe saw: {detail}")


def _ask(confinement: Confinement, scratch: str, canary: str, variables: frozenset[str], judge: dict[str, str]) -> dict:
    reader, writer = os.pipe()
    parent = 0 if confinement.namespaces.nested else os.getpid()
    pid = namespaces.fork_worker(confinement.namespaces)
    if pid == 0:
        try:
            os.write(writer, json.dumps(_probe(confinement, scratch, parent, canary, variables, judge)).encode())
        except Exception:  # boundary: the zygote reports it, and does not start
            os.write(writer, json.dumps({"broken": traceback.format_exc()}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        text = file.read()
    _, status = os.waitpid(pid, 0)
    if not text:
        msg = f"the confinement probe ended without an answer (wait status {status})"
        raise RuntimeError(msg)
    answer = json.loads(text)
    if "broken" in answer:
        msg = f"the confinement probe broke: {answer['broken']}"
        raise RuntimeError(msg)
    return answer


def _probe(
    confinement: Confinement, scratch: str, parent: int, canary: str, variables: frozenset[str], judge: dict[str, str]
) -> dict:
    uid = privileges.private_uid(os.getpid())
    try:
        confinement.enter(_LIMITS, scratch, uid, parent)
    except LayerError as error:
        return {"failed": error.layer, "reason": error.reason}
    unknown = sorted(set(os.environ) - variables)
    seen: dict[str, tuple[bool, str]] = {
        "environment": (
            not unknown,
            f"unexpected variables {unknown}" if unknown else "only what Python and Triton need",
        ),
        "dumpable": (linux.prctl(linux.PR_GET_DUMPABLE) == 0, "memory and environment closed to other processes"),
        "pid_namespace": (os.getpid() == 1, f"the worker is process {os.getpid()} of its namespace"),
        "parent_death": (linux.parent_death_signal() == signal.SIGKILL, "killed with the zygote"),
        "private_uid": _sees_identity(confinement.identity),
        "no_new_privs": (linux.prctl(linux.PR_GET_NO_NEW_PRIVS) == 1, "programs gain no rights"),
        "rlimits": _sees_limits(confinement),
        "landlock": _sees_landlock(canary, scratch, confinement),
        "seccomp": _sees_seccomp(),
    }
    for layer, mine in namespace_ids().items():
        seen[layer] = (mine != judge[layer], "not the judge's")
    return {name: list(value) for name, value in seen.items()}


def _sees_identity(identity: privileges.Identity) -> tuple[bool, str]:
    holds = os.getuid() != 0 and linux.capabilities() == identity.keep
    return holds, identity.detail if holds else f"uid {os.getuid()}, capabilities {linux.capabilities():#x}"


def _sees_limits(confinement: Confinement) -> tuple[bool, str]:
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    holds = space == confinement.baseline + _LIMITS.memory_bytes or 0 < space < confinement.baseline
    return holds and resource.getrlimit(resource.RLIMIT_NPROC)[0] == 1, "CPU, memory, files, processes bounded"


def _refused(action: Callable[[], object]) -> bool:
    try:
        action()
    except PermissionError:
        return True
    except OSError:  # refused for another reason, by another layer
        return False
    return False


def _sees_landlock(canary: str, scratch: str, confinement: Confinement) -> tuple[bool, str]:
    if confinement.rules is None or "landlock" in confinement.missing:
        return False, "not entered"
    if not (_refused(lambda: open(canary, "rb").close()) and _refused(lambda: os.listdir("/"))):
        return False, "a file outside the rules could be read"
    path = os.path.join(scratch, "file")
    with open(path, "w", encoding="ascii"):
        os.unlink(path)
    return True, f"ABI {confinement.rules.abi}; reads libraries, writes its scratch folder"


def _sees_seccomp() -> tuple[bool, str]:
    def fork() -> None:
        if os.fork() == 0:
            os._exit(0)

    # Both are also refused by other layers, but for other reasons: a limit on processes says EAGAIN.
    if _refused(fork) and _refused(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()):
        return True, "no fork, thread, program or socket"
    return False, "a process or a socket could be made"
