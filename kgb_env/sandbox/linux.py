"""The few Linux calls that Python 3.11 has no name for, through the C library.

Every wrapper raises :class:`OSError` with the call's name, so that a missing layer can say why.
"""

from __future__ import annotations

import ctypes
import errno
import os

__all__ = [
    "CAP_DAC_READ_SEARCH",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CLONE_NEWIPC",
    "CLONE_NEWNET",
    "CLONE_NEWNS",
    "CLONE_NEWPID",
    "CLONE_NEWUSER",
    "CLONE_NEWUTS",
    "MS_NODEV",
    "MS_NOEXEC",
    "MS_NOSUID",
    "MS_PRIVATE",
    "MS_REC",
    "PR_CAPBSET_DROP",
    "PR_GET_DUMPABLE",
    "PR_GET_NO_NEW_PRIVS",
    "PR_GET_PDEATHSIG",
    "PR_SET_CHILD_SUBREAPER",
    "PR_SET_DUMPABLE",
    "PR_SET_KEEPCAPS",
    "PR_SET_NO_NEW_PRIVS",
    "PR_SET_PDEATHSIG",
    "PR_SET_SECCOMP",
    "capabilities",
    "drop_bounding_set",
    "mount",
    "parent_death_signal",
    "prctl",
    "set_capabilities",
    "setns",
    "unshare",
]

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_REC, MS_PRIVATE = 0x4000, 0x40000

PR_SET_PDEATHSIG, PR_GET_PDEATHSIG = 1, 2
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 38, 39

CAP_DAC_READ_SEARCH = 2
CAP_KILL = 5
CAP_SETGID = 6
CAP_SETUID = 7
CAP_SETPCAP = 8

_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def _check(result: int, call: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace behind ``descriptor``; ``kind`` is its CLONE_NEW* flag."""
    _check(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), f"setns({kind:#x})")


def prctl(option: int, argument: int = 0, pointer: ctypes.c_void_p | None = None) -> int:
    """Call ``prctl(option, argument, pointer, 0, 0)`` and return its value."""
    zero = ctypes.c_ulong(0)
    result = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(argument), pointer or zero, zero, zero)
    return _check(result, f"prctl({option})")


def parent_death_signal() -> int:
    """Return the signal that the kernel sends this process when its parent dies, or 0."""
    value = ctypes.c_int(0)
    address = ctypes.addressof(value)
    prctl(PR_GET_PDEATHSIG, address)
    return value.value


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount a file system, or change how an existing mount propagates."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    result = _libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    _check(result, f"mount({target})")


def capabilities() -> int:
    """Return the effective capabilities of this thread as a bit mask."""
    header, data = _CapabilityHeader(_CAPABILITY_VERSION_3, 0), (_CapabilityData * 2)()
    _check(_libc.capget(ctypes.byref(header), data), "capget")
    return data[0].effective | (data[1].effective << 32)


def set_capabilities(mask: int) -> None:
    """Keep only the capabilities in ``mask`` (effective and permitted; nothing is inherited by programs)."""
    header, data = _CapabilityHeader(_CAPABILITY_VERSION_3, 0), (_CapabilityData * 2)()
    for half in range(2):
        data[half].effective = data[half].permitted = (mask >> (32 * half)) & 0xFFFFFFFF
    _check(_libc.capset(ctypes.byref(header), data), "capset")


def drop_bounding_set(keep: int) -> None:
    """Remove every capability outside ``keep`` from the bounding set, for good."""
    for capability in range(64):
        if keep >> capability & 1:
            continue
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == errno.EINVAL:  # one past the last capability that this kernel knows
                return
            raise
