"""The same judge without root: as an ordinary user, and where an outer filter forbids namespaces (as containers do).

An interpreter in a private home folder is out of an ordinary user's reach, so the tests run a copy of the
interpreter and of the few modules that the sandbox needs, which is also how an installed package looks.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from typing import Any

import py_landlock
import pytest

import kgb_env

NOBODY = 65534

SCRIPT = pathlib.Path(__file__).with_name("unprivileged_judge.py")


@pytest.fixture(scope="module")
def python() -> Iterator[list[str]]:
    """Command line of an interpreter that everyone can reach, with kgb_env's sandbox on its path."""
    with tempfile.TemporaryDirectory(prefix="kgb-python-", dir="/tmp") as folder:
        pathlib.Path(folder).chmod(0o755)
        root, version = pathlib.Path(folder), f"python{sys.version_info.major}.{sys.version_info.minor}"
        skip = shutil.ignore_patterns("test", "site-packages", "dist-packages", "config-*", "idlelib", "tkinter")
        shutil.copytree(sysconfig.get_path("stdlib"), root / "lib" / version, ignore=skip, symlinks=False)
        (root / "bin").mkdir()
        shutil.copy(os.path.realpath(sys.executable), root / "bin" / version)
        for library in pathlib.Path(sysconfig.get_config_var("LIBDIR")).glob("libpython*.so*"):
            shutil.copy(library, root / "lib")
        site = root / "lib" / version / "site-packages"
        shutil.copytree(pathlib.Path(py_landlock.__file__).parent, site / "py_landlock")
        package = pathlib.Path(next(iter(kgb_env.__path__)))
        shutil.copytree(package / "sandbox", site / "kgb_env" / "sandbox")
        shutil.copy(package / "errors.py", site / "kgb_env")
        (site / "kgb_env" / "__init__.py").write_text("", encoding="utf-8")
        shutil.copy(SCRIPT, root / "judge.py")
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        yield [str(root / "bin" / version), str(root / "judge.py")]


def judge(command: list[str], *arguments: str, ordinary: bool) -> dict[str, Any]:
    """Run the script as a judge and return its findings."""
    shared = str(pathlib.Path(command[0]).parents[1] / "lib")
    environment = {"PATH": "/usr/bin:/bin:/sbin", "SECRET": "in the judge's environment", "LD_LIBRARY_PATH": shared}
    drop: dict[str, Any] = {}
    if ordinary and os.getuid() == 0:
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run(
        [*command, *arguments],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        **drop,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_ordinary_user_gets_every_layer_or_the_reason(python: list[str]) -> None:
    found = judge(python, ordinary=True)
    assert found["uid"] != 0
    assert set(found["missing"]) <= {"pid_namespace", "network_namespace", "ipc_namespace", "mount_namespace"}
    if not found["missing"]:
        assert found["facts"]["pid"] == 1
    check(found)


@pytest.mark.parametrize("ordinary", [True, False])
def test_without_namespaces(python: list[str], ordinary: bool) -> None:
    found = judge(python, "--no-namespaces", ordinary=ordinary)
    assert {"pid_namespace", "network_namespace", "ipc_namespace", "mount_namespace"} <= set(found["missing"])
    assert "subreaper" in found["missing"]["pid_namespace"] or "stray" in found["missing"]["pid_namespace"]
    assert "lacks" in found["standard"]
    check(found)


def check(found: dict[str, Any]) -> None:
    """What must hold for every judge, whatever is missing."""
    assert found["echo"] == {"ok": 7}
    for name in ("judge_mem", "judge_environ", "secret_file", "fork", "connect"):
        assert found[name]["error"] in ("PermissionError", "FileNotFoundError"), name
    assert found["sibling_environ"] == "PermissionError" or found["uid"] == 0
    assert found["spin"] == "cpu_timeout"
    assert found["hang"] == "blocked_timeout"
    assert found["crash"] == "signalled"
    assert found["detached_left"] == []
    assert found["signal_judge"]["error"] in ("PermissionError", "ProcessLookupError")
    assert found["folder_left"] == []
