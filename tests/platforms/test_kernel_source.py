from __future__ import annotations

from kgb_env.platforms.kernel_source import FACADE_PREFIX
from kgb_env.worker import facade


def test_the_fence_names_its_modules_as_the_gate_expects() -> None:
    assert facade.PREFIX == FACADE_PREFIX
