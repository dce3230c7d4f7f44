"""Fixtures that several folders share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder of golden kernels."""
    return ROOT / "examples" / "kernels"


@pytest.fixture(scope="session")
def judge() -> Iterator[object]:
    """One deterministic judge for the whole session: zygotes are started once."""
    from kgb_env.judge import Judge
    from kgb_env.sandbox import Limits

    with Judge("cpu", profile="best_effort", secret=b"tests", limits=Limits(cpu_seconds=6.0)) as shared:
        yield shared
