"""Runs the programs of this folder, one process each, because Triton reads TRITON_INTERPRET when it is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

collect_ignore_glob = ["programs/*"]
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="package")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], dict[str, str]]:
    """Return a function that runs a program once and gives the error text of each of its checks."""
    known: dict[str, dict[str, str]] = {}

    def run(program: str, interpret: bool) -> dict[str, str]:
        if program not in known:
            environment = os.environ | {
                "PYTHONPATH": str(ROOT),
                "TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("triton")),
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            }
            environment.pop("TRITON_INTERPRET", None)
            if interpret:
                environment["TRITON_INTERPRET"] = "1"
            finished = subprocess.run(
                [sys.executable, str(PROGRAMS / f"{program}.py")],
                capture_output=True,
                text=True,
                timeout=300,
                env=environment,
                cwd=PROGRAMS,
                check=False,
            )
            assert finished.returncode == 0, finished.stderr[-4000:]
            known[program] = json.loads(finished.stdout.splitlines()[-1])
        return known[program]

    return run
