from __future__ import annotations

import types

import pytest

from kgb_env.errors import InfrastructureError
from kgb_env.platforms import triton_internals as internals


def test_the_installed_triton_has_every_name() -> None:
    for mode in ("common", "interpret", "compile"):
        assert internals.missing(internals.REQUIRED[mode]) == ()


def test_missing_names_are_all_told() -> None:
    table = {"common": ("triton:jit", "triton:no_such_thing"), "compile": ("triton.no_such_module:x",), "interpret": ()}
    with pytest.raises(InfrastructureError, match=r"triton:no_such_thing, triton\.no_such_module:x"):
        internals.check("compile", table)


def test_a_missing_name_is_told_with_the_version() -> None:
    with pytest.raises(InfrastructureError, match=rf"{internals.version()} has no triton:jit\.nothing"):
        internals.resolve("triton:jit.nothing")


def test_the_wrong_mode_is_told() -> None:
    mode = "compile" if internals.interpreting() else "interpret"
    with pytest.raises(InfrastructureError, match="does not fit"):
        internals.check(mode)


def test_only_what_exists_can_be_replaced() -> None:
    owner = types.SimpleNamespace(known=1)
    assert internals.replace(owner, "known", 2) == 1
    assert internals.replace(owner, "known", 3) == 2
    assert internals.original(owner, "known") == 1
    with pytest.raises(InfrastructureError, match="no unknown to replace"):
        internals.replace(owner, "unknown", 1)
