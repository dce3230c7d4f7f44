"""Who the worker is: a user id of its own without any capability, where the judge runs as root.

A separate id protects every file and process of the real user, and makes the limit on processes bind (it does
not bind root). If the interpreter lives in a private folder (mode 700, common with version managers), an
ordinary user could not load another module. The worker then keeps one capability, to *read* past mode bits, and only
if Landlock bounds what it reads and seccomp forbids opening files by handle; otherwise it stays root, without
capabilities.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from kgb_env.sandbox import linux
from kgb_env.sandbox.readable import reachable_by_others

__all__ = ["Identity", "become", "close_bounding_set", "plan", "private_uid"]

FIRST_UID, UID_COUNT = 62000, 3000
"""Inside the range that systemd reserves for transient users (61184 to 65519)."""

NEEDED = 1 << linux.CAP_SETUID | 1 << linux.CAP_SETGID | 1 << linux.CAP_KILL
"""Change the id; and kill a process that has another id."""


@dataclass(frozen=True, slots=True)
class Identity:
    """How a worker gives up its rights.

    Attributes:
        change: Take a private user id.
        keep: Capabilities that stay, as a mask.
        missing: Why the layer is incomplete, or an empty string.
        detail: What is done.
    """

    change: bool
    keep: int
    missing: str
    detail: str


def private_uid(seed: int) -> int:
    """Return a user id for the worker numbered ``seed``; neighbours differ."""
    return FIRST_UID + seed % UID_COUNT


def plan(folders: Iterable[str], *, bounded: bool, mapped: bool) -> Identity:
    """Decide how workers give up their rights on this machine.

    Args:
        folders: What a worker must be able to read.
        bounded: Landlock and seccomp are both available.
        mapped: The zygote is in a user namespace with a single id, so no other id exists.
    """
    if os.getuid() != 0:
        return Identity(False, 0, "", "not started as root: the judge's user id, no capability")
    if mapped or linux.capabilities() & NEEDED != NEEDED or not _has_user(FIRST_UID + UID_COUNT - 1):
        return Identity(False, 0, "root may not change its user id here; it stays root without capabilities", "")
    closed = sorted({folder for folder in folders if not reachable_by_others(folder)})
    if not closed:
        return Identity(True, 0, "", "private user id, no capability")
    if bounded:
        detail = f"private user id; keeps the right to read past mode bits, because {closed[0]} is in a private folder"
        return Identity(True, 1 << linux.CAP_DAC_READ_SEARCH, "", detail + " (Landlock bounds what is read)")
    reason = f"{closed[0]} is in a private folder and Landlock or seccomp is missing; stays root without capabilities"
    return Identity(False, 0, reason, "")


def _has_user(uid: int) -> bool:
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [line.split() for line in file]
    return any(int(first) <= uid < int(first) + int(count) for first, _, count in ranges)


def close_bounding_set(identity: Identity) -> None:
    """In the zygote, once: no program that it or a worker executes will ever have more than ``identity.keep``."""
    if linux.capabilities() >> linux.CAP_SETPCAP & 1:
        linux.drop_bounding_set(identity.keep)


def become(identity: Identity, uid: int) -> None:
    """Give up what ``identity`` says, for good; ``uid`` also serves as the group id.

    Raises:
        OSError: The kernel refused.
    """
    if identity.change:
        linux.prctl(linux.PR_SET_KEEPCAPS, 1 if identity.keep else 0)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    linux.set_capabilities(identity.keep)
