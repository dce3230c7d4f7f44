"""Private folders of zygotes and workers."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile

from kgb_env.sandbox.readable import reachable_by_others

__all__ = ["make_folder", "wipe"]


def make_folder() -> str:
    """Make the private folder of a zygote and return its path.

    Others may pass through it, not list it: a worker with its own user id must reach its scratch folder.
    """
    parent = tempfile.gettempdir()
    if not reachable_by_others(parent) and os.path.isdir("/tmp"):  # noqa: S108  a private TMPDIR hides it from workers
        parent = "/tmp"  # noqa: S108
    folder = tempfile.mkdtemp(prefix="kgb-", dir=parent)
    os.chmod(folder, 0o711)
    return folder


def wipe(folder: str) -> None:
    """Remove a folder that a hostile process may have filled, if it exists.

    Nothing is followed or recursed into: each inner folder's content is moved up before the folder is removed, so
    that neither a chain of a million folders nor forbidding mode bits stop it.
    """
    token, count = secrets.token_hex(8), 0
    while True:
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return
        if not names:
            os.rmdir(folder)
            return
        for name in names:
            path = os.path.join(folder, name)
            if not _open_folder(path):
                os.unlink(path)
                continue
            for inner in os.listdir(path):
                count += 1
                _open_folder(os.path.join(path, inner))  # moving a folder rewrites its "..", so it must be writable
                os.rename(os.path.join(path, inner), os.path.join(folder, f"{token}-{count}"))
            os.rmdir(path)


def _open_folder(path: str) -> bool:
    """True if ``path`` is a folder (not a link to one), which is then made accessible."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return False
    os.chmod(path, 0o700)
    return True
