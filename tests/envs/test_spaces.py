"""Text of any script, in one process and between two."""

from __future__ import annotations

import copy
import multiprocessing

import pytest
from gymnasium.spaces.utils import flatdim, flatten, flatten_space, unflatten
from gymnasium.vector.utils import batch_space, create_shared_memory, read_from_shared_memory, write_to_shared_memory
from hypothesis import given
from hypothesis import strategies as st

from kgb_env.envs.spaces import UnicodeText

TEXT = st.text(st.characters(), max_size=32) | st.sampled_from(["", "\0", "\0\0a\0", "\ud800", "é│≤", "\U0010ffff"])


@given(TEXT)
def test_flattening_makes_a_round_trip(text):
    space = UnicodeText(32)
    flat = flatten(space, text)
    assert flat in flatten_space(space)
    assert flat.shape == (flatdim(space),)
    assert unflatten(space, flat) == text


@given(TEXT, TEXT)
def test_shared_memory_makes_a_round_trip(one, two):
    space = UnicodeText(32)
    memory = create_shared_memory(space, n=3, ctx=multiprocessing)
    texts = read_from_shared_memory(space, memory, n=3)
    assert copy.deepcopy(texts) == ("", "", "")
    write_to_shared_memory(space, 1, one, memory)
    write_to_shared_memory(space, 2, "x" * 32, memory)
    write_to_shared_memory(space, 2, two, memory)
    assert copy.deepcopy(texts) == ("", one, two)
    assert tuple(texts) == texts[:] == ("", one, two)
    assert texts[1] == one
    assert len(texts) == 3


def test_membership_is_a_matter_of_length():
    space = UnicodeText(5)
    assert "≤≤≤≤≤" in space
    assert "" in space
    assert "123456" not in space
    assert 5 not in space
    assert b"12345" not in space


def test_samples_are_members_and_repeat_with_the_seed():
    space, other = UnicodeText(1000, seed=3), UnicodeText(1000, seed=3)
    samples = [space.sample() for _ in range(50)]
    assert all(s in space for s in samples)
    assert samples == [other.sample() for _ in range(50)]
    assert len(set(samples)) > 40


def test_equality_and_batching():
    assert UnicodeText(5) == UnicodeText(5) != UnicodeText(6)
    assert repr(UnicodeText(5)) == "UnicodeText(5)"
    assert ("a", "≤") in batch_space(UnicodeText(5), 2)
    with pytest.raises(TypeError):
        hash(UnicodeText(5))
