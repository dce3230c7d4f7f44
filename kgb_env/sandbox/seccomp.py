"""seccomp: the system calls that a worker has no use for, refused by a hand-written BPF program.

The filter survives native code and programs that the worker starts. Two answers: an error for what honest
libraries probe (they go on), death by SIGSYS for what only an attack needs. System calls that are
newer than the table do not exist (ENOSYS), so that the table need not know them.

On the CPU there is no clone, fork, thread or execve at all; ``clone3`` says ENOSYS, since its flags lie in memory
where a filter cannot look, and the C library then falls back to ``clone``.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from kgb_env.sandbox import linux
from kgb_env.sandbox.syscalls import AUDIT_ARCHITECTURE, NEWEST, number

__all__ = ["install", "program"]

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL, _GREATER, _AT_LEAST, _ANY_BIT = 0x15, 0x25, 0x35, 0x45  # BPF_JMP | BPF_{JEQ,JGT,JGE,JSET} | BPF_K
_RETURN = 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _ARG0 = 0, 4, 16  # offsets in struct seccomp_data; the low half of an argument comes first
_X32_BIT = 0x40000000
_SECCOMP_MODE_FILTER = 2

_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ATTACKS = _names(
    "acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module fanotify_init finit_module fsconfig "
    "fsmount fsopen fspick init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl memfd_secret modify_ldt "
    "mount mount_setattr move_mount name_to_handle_at open_by_handle_at open_tree pidfd_getfd pivot_root "
    "process_madvise process_mrelease process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot "
    "request_key setdomainname sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd "
    "vhangup"
)
"""Death by SIGSYS."""

REFUSED = _names(
    "accept accept4 bind capset connect ioprio_set listen mq_open mq_unlink msgctl msgget msgrcv msgsnd "
    "perf_event_open personality pidfd_open pidfd_send_signal sched_setaffinity sched_setattr sched_setparam "
    "sched_setscheduler seccomp semctl semget semop semtimedop setfsgid setfsuid setgid setgroups setpriority "
    "setregid setresgid setresuid setreuid setuid shmat shmctl shmget socket socketpair"
)
"""EPERM: sockets, shared memory, and everything that changes who the worker is or how it is scheduled."""

UNCHANGED = _names(
    "chmod chown fchmod fchmodat fchmodat2 fchown fchownat fremovexattr fsetxattr futimesat inotify_add_watch "
    "inotify_init inotify_init1 lchown lremovexattr lsetxattr removexattr setxattr utime utimensat utimes"
)
"""EPERM: Landlock does not stop changes of mode, owner, times and attributes, nor watching a folder."""

ABSENT = _names("clone3 io_setup io_uring_enter io_uring_register io_uring_setup memfd_create")
"""ENOSYS: libraries have a fallback. A memfd would be memory outside the address-space limit, and executable."""

PROCESSES = _names("fork vfork execve execveat")
_PRCTL_REFUSED = (linux.PR_SET_PDEATHSIG, linux.PR_SET_DUMPABLE, linux.PR_SET_SECCOMP)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value & 0xFFFFFFFF)


def _when(call: str, answer: int) -> bytes:
    value = number(call)
    return b"" if value is None else _step(_EQUAL, value, 0, 1) + _step(_RETURN, answer)


def program(*, allow_exec: bool, allow_threads: bool) -> bytes:
    """Return the filter as an array of ``struct sock_filter``.

    Args:
        allow_exec: Permit fork and execve, and hence threads (a compile worker).
        allow_threads: Permit threads but no process.

    Raises:
        OSError: The table does not know this machine's architecture.
    """
    machine = platform.machine()
    if machine not in AUDIT_ARCHITECTURE:
        raise OSError(errno.ENOSYS, f"no system call table for {machine}")
    eperm, enosys = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
    code = _step(_LOAD, _ARCH) + _step(_EQUAL, AUDIT_ARCHITECTURE[machine], 1, 0) + _step(_RETURN, _KILL)
    code += _step(_LOAD, _NR)
    if machine == "x86_64":
        code += _step(_AT_LEAST, _X32_BIT, 0, 1) + _step(_RETURN, _KILL)
    code += _step(_GREATER, NEWEST, 0, 1) + _step(_RETURN, enosys)
    for names, answer in ((ATTACKS, _KILL), (REFUSED + UNCHANGED, eperm), (ABSENT, enosys)):
        code += b"".join(_when(name, answer) for name in names)
    if not allow_exec:
        code += b"".join(_when(name, eperm) for name in PROCESSES)
    code += _clone_rule(allow_exec=allow_exec, allow_threads=allow_threads)
    code += _prctl_rule()
    return code + _step(_RETURN, _ALLOW)


def _clone_rule(*, allow_exec: bool, allow_threads: bool) -> bytes:
    clone, eperm = number("clone"), _ERROR | errno.EPERM
    assert clone is not None  # every Linux architecture has it
    if not (allow_exec or allow_threads):
        return _step(_EQUAL, clone, 0, 1) + _step(_RETURN, eperm)
    if allow_exec:
        body = _step(_LOAD, _ARG0) + _step(_ANY_BIT, _CLONE_NAMESPACES, 0, 1) + _step(_RETURN, eperm)
    else:
        body = _step(_LOAD, _ARG0) + _step(_ANY_BIT, _CLONE_THREAD, 1, 0) + _step(_RETURN, eperm)
    body += _step(_RETURN, _ALLOW)
    return _step(_EQUAL, clone, 0, len(body) // 8) + body


def _prctl_rule() -> bytes:
    prctl, eperm = number("prctl"), _ERROR | errno.EPERM
    assert prctl is not None  # every Linux architecture has it
    body = _step(_LOAD, _ARG0)
    for option in _PRCTL_REFUSED:
        body += _step(_EQUAL, option, 0, 1) + _step(_RETURN, eperm)
    body += _step(_RETURN, _ALLOW)
    return _step(_EQUAL, prctl, 0, len(body) // 8) + body


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(code: bytes) -> None:
    """Put the filter on the calling thread for good; needs ``no_new_privs``.

    Raises:
        OSError: The kernel refused (no seccomp, or an outer filter forbids it).
    """
    buffer = ctypes.create_string_buffer(code, len(code))
    header = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    linux.prctl(linux.PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_void_p(ctypes.addressof(header)))
