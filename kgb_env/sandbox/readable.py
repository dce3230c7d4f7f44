"""Which paths a worker may read: the standard library, installed packages, and what the warm-up loaded.

An editable installation keeps the package in a checkout, next to examples, tests and runs. So of
``kgb_env`` only the folders that a worker imports are granted, never the checkout itself.
"""

from __future__ import annotations

import glob
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence

from kgb_env.sandbox.landlock import Grant

__all__ = ["package_grants", "reachable_by_others", "worker_grants"]

OWN_PARTS = ("errors.py", "records.py", "operators", "platforms", "worker")
"""What a worker may read of kgb_env itself; references are no secret, the judge's seeds and tolerances are."""

LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")


def worker_grants(
    package: Sequence[str], readable: Iterable[str], writable: Iterable[str], executable: Iterable[str]
) -> list[Grant]:
    """Return every grant of a worker except its scratch folder.

    Call after the warm-up: packages that were imported from elsewhere (a source checkout of triton, a folder on
    ``PYTHONPATH``) are granted by what was loaded, one package folder or module file each.

    Args:
        package: The folders of ``kgb_env``.
        readable: Further paths to read, chosen by the judge.
        writable: Further paths to read and write, such as a GPU's device files.
        executable: Further programs (or folders of them) that a worker with ``allow_exec`` may run.
    """
    folders = package_grants()
    grants = [Grant(path, "read") for path in (*folders, *_loaded_elsewhere(folders, package), *readable)]
    grants += [Grant(os.path.join(root, part), "read") for root in package for part in OWN_PARTS]
    grants += [Grant("/dev/urandom", "read"), Grant("/dev/null", "write"), *(Grant(path, "write") for path in writable)]
    triton = getattr(sys.modules.get("triton"), "__file__", None)
    if triton:
        grants.append(Grant(os.path.dirname(os.path.realpath(triton)), "execute"))
    grants += [Grant(path, "execute") for path in executable]
    grants += [Grant(path, "link") for path in LIBRARY_FOLDERS]
    return grants + [Grant(path, "execute") for path in glob.glob("/lib*/ld-*.so*")]


def package_grants() -> list[str]:
    """Return the folders of the standard library and of installed packages, without duplicates."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_path(name) for name in names] + site.getsitepackages()
    paths += [os.path.dirname(os.path.realpath(os.__file__))]
    if site.ENABLE_USER_SITE:
        paths.append(site.getusersitepackages())
    return sorted({os.path.realpath(path) for path in paths if path and os.path.isdir(path)})


def _loaded_elsewhere(folders: Sequence[str], package: Sequence[str]) -> list[str]:
    covered = [os.path.join(folder, "") for folder in (*folders, *package)]
    found = set()
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if "." in name or not isinstance(origin, str):
            continue
        origin = os.path.realpath(origin)
        if any(origin.startswith(folder) for folder in covered):
            continue
        found.add(os.path.dirname(origin) if getattr(module, "__path__", None) else origin)
    return sorted(found)


def reachable_by_others(path: str) -> bool:
    """True if a user without any special right can enter and list ``path`` (by mode bits, of every parent too)."""
    path = os.path.realpath(path)
    if os.stat(path).st_mode & 0o005 != 0o005:
        return False
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & 0o001:
            return False
    return True
