"""What is installed: every sub-package, every data file, and nothing under another name."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest
import setuptools

ROOT = Path(__file__).parents[2]
LINKED = ("envs", "policies", "rewards")


@pytest.fixture(scope="module")
def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def test_every_package_is_listed(setup_cfg: configparser.ConfigParser) -> None:
    found = setuptools.find_packages(str(ROOT), include=["kgb_env", "kgb_env.*"])
    assert sorted(setup_cfg["options"]["packages"].split()) == sorted(found)


@pytest.mark.parametrize("name", LINKED)
def test_linked_folders_are_relative_links_and_mapped(name: str, setup_cfg: configparser.ConfigParser) -> None:
    link = ROOT / "kgb_env" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..") / name
    assert f"kgb_env.{name} = {name}" in setup_cfg["options"]["package_dir"]


def test_every_data_file_is_packaged(setup_cfg: configparser.ConfigParser) -> None:
    patterns = setup_cfg["options.package_data"]["*"].split()
    folders = [ROOT / folder for folder in ("kgb_env", *LINKED)]
    data = {
        path
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    missed = [path.relative_to(ROOT) for path in data if not any(path.match(pattern) for pattern in patterns)]
    assert (ROOT / "kgb_env" / "py.typed").exists()
    assert not missed


def test_every_requirement_is_pinned_for_make(setup_cfg: configparser.ConfigParser) -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = {_normal(line.partition("==")[0]) for line in constraints.splitlines() if "==" in line}
    extras = setup_cfg["options.extras_require"].values()
    wanted = [line for text in (setup_cfg["options"]["install_requires"], *extras) for line in text.split("\n") if line]
    assert not {_normal(re.split(r"[\[<>=;]", line)[0]) for line in wanted} - pinned
    assert not [line for line in wanted if "<" in line or "==" in line.partition(";")[0]], "lower bounds only"


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def test_imports_point_downwards() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = run(command, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_package_brings_nothing_heavy() -> None:
    heavy = "('torch', 'triton', 'scipy', 'openai', 'anthropic', 'tiktoken', 'typer', 'rich')"
    code = f"import sys, kgb_env; sys.exit(', '.join(m for m in {heavy} if m in sys.modules) or 0)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_only_kgb_env_is_importable_elsewhere(tmp_path: Path) -> None:
    for name in LINKED:
        done = run([sys.executable, "-c", f"import kgb_env.{name}; import {name}"], tmp_path)
        assert f"No module named '{name}'" in done.stderr
