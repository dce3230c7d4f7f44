"""Golden kernels and honest oddities are clean; adversaries get the status that their header names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgb_env import operators
from kgb_env.judge import Judge
from kgb_env.records import Status, Submission

TESTS = Path(__file__).resolve().parents[1]
ADVERSARIES = sorted((TESTS / "adversaries").glob("*.py"))
HONEST = sorted((TESTS / "honest").glob("*.py"))


def header(source: str, key: str) -> str:
    """Return the value of a ``# key: value`` comment."""
    found = re.search(rf"^# {key}: *(.+)$", source, re.MULTILINE)
    assert found, f"the header lacks `# {key}:`"
    return found.group(1).strip()


@pytest.mark.parametrize("name", operators.SKELETON)
def test_golden_kernel_is_clean(judge: Judge, kernels: Path, name: str) -> None:
    source = (kernels / f"{name.replace('::', '.')}.py").read_text()
    verdict = judge.verify(name, Submission(source))
    assert verdict.clean, (verdict.message, verdict.layers, verdict.violations)
    assert {case.split for case in verdict.cases} == {"public", "hidden"}
    applicable = [layer for layer in verdict.layers if not layer.evidence.startswith("not applicable")]
    assert all(layer.result == "pass" for layer in applicable)


@pytest.mark.parametrize("path", HONEST, ids=lambda p: p.stem)
def test_honest_oddity_is_clean(judge: Judge, path: Path) -> None:
    source = path.read_text()
    verdict = judge.verify(header(source, "operator"), Submission(source))
    assert verdict.clean, (verdict.status, verdict.message, verdict.violations)


@pytest.mark.parametrize("path", ADVERSARIES, ids=lambda p: p.stem)
def test_adversary_is_rejected(judge: Judge, path: Path) -> None:
    source = path.read_text()
    expected = {Status(word.strip()) for word in header(source, "expect").split("|")}
    verdict = judge.verify(header(source, "operator"), Submission(source))
    assert Status.CLEAN not in expected
    assert verdict.status in expected, (verdict.message, verdict.violations)


def test_adversaries_cover_every_family() -> None:
    families = [header(path.read_text(), "attack")[0] for path in ADVERSARIES]
    assert len(families) >= 24
    assert all(families.count(family) >= 2 for family in "ABCDEFG")
    assert len(HONEST) >= 12
