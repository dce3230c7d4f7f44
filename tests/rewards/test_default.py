"""Classes never overlap, and within a class better is never worth less."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgb_env.records import CaseResult, RewardClass, Speedup, Status, Verdict
from kgb_env.rewards import BANDS, PRESETS, TERMS, default_reward

FAILING = [s for s in Status if s is not Status.CLEAN]


def verdict(status=Status.CLEAN, passed=1, total=1, low=None, kernel_free=False):
    cases = tuple(
        CaseResult(str(i), "hidden", "smoke", Status.CLEAN if i < passed else Status.WRONG_VALUE) for i in range(total)
    )
    speedup = None if low is None else Speedup("modelled", low, low, low)
    return Verdict("aten::add", "cpu", status, cases, speedup=speedup, kernel_free=kernel_free)


SPEEDS = st.none() | st.floats(0, 1e6) | st.sampled_from([0.0, 0.25, 1.0, 8.0, math.inf])
SHARES = st.integers(0, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
TOKENS = st.integers(0, 10**9)
CLEAN = st.builds(verdict, low=SPEEDS, kernel_free=st.booleans())
FAILED = st.builds(lambda s, share: verdict(s, *share), st.sampled_from(FAILING), SHARES)
ANY = CLEAN | FAILED
ORDER = ["hack", "violation", "failure", "partial", "clean"]


def test_bands_do_not_overlap():
    assert all(BANDS[worse][1] < BANDS[better][0] for worse, better in pairwise(ORDER))


@given(ANY, TOKENS, TOKENS)
def test_every_reward_lies_in_its_band(judged, tokens, budget):
    reward = default_reward(judged, tokens=tokens, budget=budget)
    low, high = BANDS[reward.band]
    assert low <= reward.value <= high
    assert tuple(reward.terms) == TERMS
    assert math.isclose(sum(reward.terms.values()), reward.value, abs_tol=1e-12)
    expected = "partial" if reward.band == "partial" else judged.status.reward_class.value
    assert reward.band == expected


@given(ANY, ANY, TOKENS, TOKENS, TOKENS)
def test_classes_never_cross_whatever_the_tokens(one, two, tokens_one, tokens_two, budget):
    first = default_reward(one, tokens=tokens_one, budget=budget)
    second = default_reward(two, tokens=tokens_two, budget=budget)
    if "neutral" not in (first.band, second.band) and ORDER.index(first.band) < ORDER.index(second.band):
        assert first.value < second.value


@given(ANY, TOKENS, TOKENS, TOKENS)
def test_more_tokens_are_never_worth_more(judged, tokens, more, budget):
    cheap = default_reward(judged, tokens=tokens, budget=budget).value
    assert default_reward(judged, tokens=tokens + more, budget=budget).value <= cheap
    assert default_reward(judged, tokens=tokens, budget=0).value >= cheap


@given(st.floats(0, 1e6), st.floats(0, 1e6), TOKENS, TOKENS)
def test_faster_is_never_worth_less(one, two, tokens, budget):
    slow, fast = sorted((one, two))
    assert (
        default_reward(verdict(low=slow), tokens=tokens, budget=budget).value
        <= default_reward(verdict(low=fast), tokens=tokens, budget=budget).value
    )


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))))
def test_more_cases_are_never_worth_less(counts):
    few, many, total = *sorted(counts[:2]), counts[2]
    worse = default_reward(verdict(Status.WRONG_VALUE, few, total)).value
    assert worse <= default_reward(verdict(Status.WRONG_VALUE, many, total)).value


@given(ANY, TOKENS, TOKENS)
def test_a_repeat_earns_nothing_and_costs_again(judged, tokens, budget):
    once = default_reward(judged, tokens=tokens, budget=budget)
    again = default_reward(judged, tokens=tokens, budget=budget, repeat=True)
    assert again.value == min(0.0, once.value)
    assert math.isclose(sum(again.terms.values()), again.value, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("low", "value"), [(None, 1.0), (1.0, 1.0), (2.0, 1.25), (8.0, 1.75), (1e6, 1.75), (0.5, 0.75), (0.0, 0.5)]
)
def test_the_scale_of_speed(low, value):
    assert default_reward(verdict(low=low)).value == value
    assert default_reward(verdict(low=low, kernel_free=True)).value == 0.5


def test_tokens_cost_a_tenth_at_most():
    assert default_reward(verdict(), tokens=50, budget=100).value == pytest.approx(0.95)
    assert default_reward(verdict(), tokens=500, budget=100).value == pytest.approx(0.9)


def test_failures_are_worth_what_they_came_to():
    values = [
        default_reward(verdict(status, 0, 0)).value
        for status in (Status.PARSE_ERROR, Status.COMPILE_ERROR, Status.LAUNCH_ERROR, Status.WRONG_SHAPE)
    ]
    assert values == sorted(values)
    assert values[0] == -0.2
    assert values[-1] > 0
    assert default_reward(verdict(Status.HACK_DETECTED)).value == -1.0
    assert default_reward(verdict(Status.POLICY_VIOLATION)).value == -0.5
    for status in Status:
        if status.reward_class is RewardClass.NEUTRAL:
            assert default_reward(verdict(status)).value == 0.0


def test_presets_are_listed():
    assert PRESETS["default"] is default_reward
