"""Every source file of ours: its size, its public names, and what must not stand in it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINKED = ("envs", "policies", "rewards")
PACKAGE = ("kgb_env", *LINKED)
FOLDERS = (*PACKAGE, ".ci", "benchmarks", "docs", "examples", "tests")
TEXT = {"", ".cfg", ".in", ".json", ".jsonl", ".md", ".py", ".toml", ".txt"}
LARGEST_FILE, LARGEST_FUNCTION = 400, 80

Function = ast.FunctionDef | ast.AsyncFunctionDef


def walk(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, without following links."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from walk(path)
        else:
            yield path


def relative(path: Path) -> str:
    """Name a file in a test id."""
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_name(path: Path) -> str:
    """Return the dotted name under which a file of the package is imported.

    The linked folders are packages of ``kgb_env``.
    """
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("kgb_env", *parts) if parts[0] in LINKED else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = [path for folder in FOLDERS if (ROOT / folder).is_dir() for path in walk(ROOT / folder)]
FILES += [path for path in sorted(ROOT.iterdir()) if path.is_file() and not path.name.startswith(".")]
PYTHON = [path for path in FILES if path.suffix == ".py"]
MODULES = [path for path in PYTHON if path.relative_to(ROOT).parts[0] in PACKAGE]


@pytest.mark.parametrize("path", PYTHON, ids=relative)
def test_files_and_functions_are_short(path: Path) -> None:
    functions = [node for node in ast.walk(parsed(path)) if isinstance(node, Function)]
    long = {f.name: size for f in functions if (size := (f.end_lineno or 0) - f.lineno + 1) > LARGEST_FUNCTION}
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LARGEST_FILE
    assert not long


def declared(path: Path) -> list[str] | None:
    """Return ``__all__`` as it is written, or None."""
    for node in parsed(path).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            return ast.literal_eval(node.value)  # type: ignore[union-attr]
    return None


def defined(path: Path) -> set[str]:
    """Return the public classes and functions that a module defines itself."""
    nodes = [
        node for node in parsed(path).body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {node.name for node in nodes if not node.name.startswith("_")}


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_all_is_exact(path: Path) -> None:
    names = declared(path)
    assert names is not None, "a module says what is public"
    assert len(names) == len(set(names))
    assert not defined(path) - set(names), "a public class or function is listed, or its name begins with an underscore"
    module = importlib.import_module(module_name(path))
    assert not [name for name in names if not hasattr(module, name)], "every listed name exists"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_broad_handlers_stand_at_named_boundaries(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    handlers = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ExceptHandler)]
    broad = [node.lineno for node in handlers if is_broad(node) and not ends_in_raise(node)]
    broad += [number for number, line in enumerate(lines, 1) if re.search(r"suppress\((Base)?Exception\)", line)]
    assert not [number for number in broad if "# boundary:" not in lines[number - 1]], "a swallowed error is a reward"


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches everything."""
    return handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException")


def ends_in_raise(handler: ast.ExceptHandler) -> bool:
    """Whether a handler only tidies up: it raises what it caught."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


# Written in pieces, so that this file does not match itself.
MACHINE_PATHS = re.compile("/(" + "|".join(("work/main", "work/shared", "root/", "home/[a-z]", "opt/wheels")) + ")")
UNFINISHED = re.compile("|".join((r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", "raise NotImplemented" + "Error")))
MOCKS = re.compile(
    "|".join(("unittest" + r"\.mock", "Magic" + "Mock", "monkey" + r"patch\b", r"pytest\.(skip|xfail)\("))
)


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix in TEXT], ids=relative)
def test_text_names_no_machine_and_nothing_unfinished(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not MACHINE_PATHS.search(text)
    assert not (UNFINISHED.search(text) if path.suffix == ".py" else None)


@pytest.mark.parametrize("path", [path for path in PYTHON if path != Path(__file__)], ids=relative)
def test_no_mocks_and_no_skips(path: Path) -> None:
    assert not MOCKS.search(path.read_text(encoding="utf-8")), "a fake of the package; a test runs or does not exist"
