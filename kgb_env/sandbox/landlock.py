"""Landlock: a worker reads Python and its libraries, and writes one scratch folder. Nothing else exists for it.

The rules' descriptors are opened in the zygote, once, before the worker gives up its user id: a private
home folder around the interpreter is then no obstacle to the rule. Each worker makes its own ruleset from
them (0.2 ms), because two workers must not share a scratch folder.

What a rule set cannot stop: asking whether a path exists (``stat``), and memfd (seccomp refuses that).
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

import py_landlock
from py_landlock import AccessFs, PathBeneathAttr, RulesetAttr
from py_landlock.abi import get_supported_fs, get_supported_net, get_supported_scope

__all__ = ["FileRules", "Grant", "open_rules"]

READ = AccessFs.READ_FILE | AccessFs.READ_DIR
WRITE = (
    READ
    | AccessFs.WRITE_FILE
    | AccessFs.TRUNCATE
    | AccessFs.REMOVE_DIR
    | AccessFs.REMOVE_FILE
    | AccessFs.MAKE_DIR
    | AccessFs.MAKE_REG
    | AccessFs.MAKE_SYM
    | AccessFs.REFER
)
DEVICE = AccessFs.READ_FILE | AccessFs.WRITE_FILE | AccessFs.IOCTL_DEV
ON_FILES = AccessFs.EXECUTE | AccessFs.READ_FILE | AccessFs.WRITE_FILE | AccessFs.TRUNCATE | AccessFs.IOCTL_DEV
"""The rights that the kernel accepts on something that is not a folder."""

FIRST_DESCRIPTOR = 64
"""Above the fixed numbers that a worker's own descriptors are moved to, which would close a rule's."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Access to one path.

    ``read``; ``write`` (a device or folder); and, for workers that may run programs only, ``link`` (libraries that
    programs load) and ``execute`` (programs).
    """

    path: str
    access: str

    def rights(self) -> AccessFs:
        """Return the access as Landlock rights."""
        return {"read": READ, "write": WRITE | DEVICE, "link": READ, "execute": READ | AccessFs.EXECUTE}[self.access]


class FileRules:
    """Opened rules, ready to be applied to any number of workers.

    Attributes:
        abi: Landlock's version on this kernel.
    """

    def __init__(self, abi: int, opened: list[tuple[int, AccessFs, bool]]) -> None:
        self.abi = abi
        self._opened = opened
        version = py_landlock.ABIVersion(abi)
        self._handled = get_supported_fs(version)
        self._net = get_supported_net(version)
        self._scope = get_supported_scope(version)

    def ruleset(self, scratch: str, *, execute: bool) -> int:
        """Return a ruleset descriptor with the common rules and one writable folder.

        Args:
            scratch: The worker's own folder.
            execute: Include the rules that run programs (compile workers).

        Raises:
            py_landlock.LandlockError: The kernel refused a rule.
            OSError: The scratch folder cannot be opened.
        """
        ruleset = py_landlock.create_ruleset(RulesetAttr(int(self._handled), int(self._net), int(self._scope)))
        for descriptor, rights, needs_execute in self._opened:
            if execute or not needs_execute:
                py_landlock.add_rule(ruleset, PathBeneathAttr(int(rights & self._handled), descriptor))
        folder = os.open(scratch, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        py_landlock.add_rule(ruleset, PathBeneathAttr(int(WRITE & self._handled), folder))
        os.close(folder)
        return ruleset

    @staticmethod
    def restrict(ruleset: int) -> None:
        """Apply a ruleset to the calling thread for good; it must be the only thread, with ``no_new_privs`` set."""
        py_landlock.restrict_self(py_landlock.RulesetFd(ruleset), None)
        os.close(ruleset)


def open_rules(grants: Iterable[Grant]) -> FileRules:
    """Open every granted path that exists.

    Raises:
        py_landlock.LandlockError: This kernel has no Landlock, or it is switched off.
    """
    abi = int(py_landlock.get_abi_version())
    opened: list[tuple[int, AccessFs, bool]] = []
    for grant in grants:
        try:
            descriptor = os.open(grant.path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
        os.close(descriptor)
        rights = grant.rights()
        if not stat.S_ISDIR(os.fstat(high).st_mode):
            rights &= ON_FILES
        opened.append((high, rights, grant.access in ("link", "execute")))
    return FileRules(abi, opened)
