"""Numbers over verdicts."""

from __future__ import annotations

from itertools import combinations

import pytest

from kgb_env.metrics import by_source, numbers, pass_at_k
from kgb_env.records import CaseResult, Status, Verdict


@pytest.mark.parametrize("n", range(1, 7))
def test_pass_at_k_is_the_share_of_subsets_with_a_good_one(n):
    for c in range(n + 1):
        for k in range(1, n + 1):
            subsets = list(combinations([i < c for i in range(n)], k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize("wrong", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_pass_at_k_refuses_nonsense(wrong):
    with pytest.raises(ValueError, match="pass@k needs"):
        pass_at_k(*wrong)


def test_the_machine_counts_for_nobody():
    good = Verdict("aten::add", "cpu", Status.CLEAN, (CaseResult("a", "public", "smoke", Status.CLEAN),))
    bad = Verdict("vllm::rms_norm", "cpu", Status.TIMEOUT)
    away = Verdict("aten::mm", "cpu", Status.INFRASTRUCTURE_ERROR)
    total = numbers([good, bad, away, bad])
    assert (total.verdicts, total.counted, total.clean, total.clean_rate) == (4, 3, 1, pytest.approx(1 / 3))
    assert list(total.statuses.items())[0] == ("timeout", 2)
    assert {k: v.clean_rate for k, v in by_source([good, bad, away]).items()} == {"aten": 1.0, "vllm": 0.0}
    assert numbers([]).clean_rate == 0.0
