"""The list of helpers: every name exists, and narrowing takes the right ones away."""

from __future__ import annotations

import functools

import pytest
import torch

from kgb_env.errors import UsageError
from kgb_env.operators.helpers import allowed, groups, prompt_text


def test_every_name_exists():
    known = {name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names()}
    for group in groups().values():
        assert group.aten <= known, group.name
        for name in group.methods:
            assert hasattr(torch.Tensor, name), (group.name, name)
        for name in group.torch:
            assert functools.reduce(getattr, name.split("."), torch) is not NotImplemented, (group.name, name)


@pytest.mark.parametrize("name", ["copy", "fill", "cast", "index"])
def test_narrowing_takes_the_whole_group_away(name):
    left, group = allowed(frozenset({name})), groups()[name]
    assert not left.torch & group.torch
    assert not left.methods & group.methods
    assert not left.aten & group.aten
    assert "empty" in left.torch


def test_optional_groups_have_to_be_asked_for():
    assert "random_" not in allowed().methods
    assert "random_" in allowed(frozenset(), frozenset({"rng_seed"})).methods
    assert "tolist" in allowed(frozenset({"copy"}), frozenset({"host_read"})).methods


def test_a_single_name_is_allowed_in_every_spelling():
    extra = allowed(frozenset(), frozenset({"aten::cumsum.dimname"}))
    assert "cumsum" in extra.torch & extra.methods & extra.aten
    assert "cumsum.dimname" in extra.aten


def test_an_unknown_group_is_the_callers_mistake():
    with pytest.raises(UsageError, match="'copy'"):
        allowed(frozenset({"copi"}))


def test_the_prompt_lists_what_is_allowed():
    text = prompt_text(frozenset({"copy"}))
    assert "- copy: not allowed here" in text
    assert "`torch.empty`" in text
    assert "`.half`" not in text
    assert "random_" not in text
    assert "random_" in prompt_text(frozenset(), frozenset({"rng_seed"}))
    assert "__getitem__" not in text
