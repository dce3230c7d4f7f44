from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kgb_env.errors import UnknownPlatformError
from kgb_env.platforms import base

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", base.names())
def test_every_platform_is_complete(name: str) -> None:
    platform = base.get(name)
    assert platform.name == name
    assert platform.mode in ("interpret", "compile")
    assert platform.timed == (platform.mode == "compile")
    assert ("TRITON_INTERPRET" in dict(platform.zygote_env)) == (platform.mode == "interpret")
    assert platform.layers
    assert platform.constraints
    assert all(reason for _, reason in platform.unsupported)


def test_unknown_platform_suggests_a_name() -> None:
    with pytest.raises(UnknownPlatformError, match="did you mean 'cpu'"):
        base.get("cpus")


def test_platforms_need_neither_torch_nor_triton() -> None:
    program = "import sys, kgb_env.platforms as p; p.get('cpu'); sys.exit(bool({'torch', 'triton'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
