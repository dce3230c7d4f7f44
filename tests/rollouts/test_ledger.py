"""The budget is never exceeded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgb_env.errors import BudgetError
from kgb_env.records import Usage
from kgb_env.rollouts import TokenLedger, Turn
from kgb_env.rollouts.ledger import Entry


def at(turn: int, episode: str = "e", group: str = "g") -> Turn:
    return Turn(group, episode, 1, turn)


CALLS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40), st.floats(0, 1), st.booleans()), max_size=30)


@given(st.integers(1, 300), st.sampled_from(["output", "total"]), CALLS)
def test_spent_lost_and_reserved_never_exceed_the_budget(budget, meter, calls):
    ledger = TokenLedger(budget, meter)
    under_way = []
    for turn, (limit, given_input, share, settled) in enumerate(calls):
        reservation = ledger.reserve(at(turn), limit, input_tokens=given_input)
        assert ledger.spent + ledger.lost + ledger.reserved <= budget
        assert ledger.left == budget - ledger.spent - ledger.lost - ledger.reserved
        if reservation is None:
            continue
        assert 1 <= reservation.max_output_tokens <= limit
        used = Usage(input=given_input, output=int(share * reservation.max_output_tokens))
        under_way.append((reservation, used))
        if settled:
            ledger.settle(*under_way.pop(0))
    for reservation, _ in under_way:
        ledger.lose(reservation)
    assert ledger.reserved == 0
    assert ledger.spent + ledger.lost <= budget


def test_the_tree_is_summed_by_level():
    ledger = TokenLedger()
    ledger.charge(Entry(at(0, "a", "g"), Usage(1, 0, 2, 0, "exact_ids")))
    ledger.charge(Entry(at(1, "a", "g"), Usage(1, 0, 3, 1, "estimated")))
    ledger.charge(Entry(at(0, "b", "g"), Usage(0, 0, 4)))
    ledger.charge(Entry(at(0, "c", "h"), Usage(0, 0, 5)))
    assert ledger.usage(episode="a") == Usage(2, 0, 5, 1, "estimated")
    assert ledger.usage(group="g").output == 9
    assert ledger.usage().output == 14
    assert ledger.left == -1


def test_the_journal_hears_of_a_reservation_before_it_is_returned():
    heard = []
    ledger = TokenLedger(100, journal=heard.append)
    reservation = ledger.reserve(at(0), 30)
    assert heard == [{"type": "reserve", "key": "e", "group": "g", "attempt": 1, "turn": 0, "tokens": 30}]
    with pytest.raises(BudgetError, match="open reservation"):
        ledger.reserve(at(0), 30)
    ledger.lose(reservation)
    assert heard[1]["type"] == "lost"
    assert ledger.lost == 30


def test_below_the_providers_floor_no_call_is_made():
    ledger = TokenLedger(20)
    assert ledger.reserve(at(0), 100, floor=16).max_output_tokens == 20
    assert ledger.reserve(at(1), 100, floor=16) is None
    assert TokenLedger(20).reserve(at(0), 10, floor=16) is None


def test_a_policy_that_overdraws_is_told_so_and_charged():
    ledger = TokenLedger(100)
    reservation = ledger.reserve(at(0), 10)
    with pytest.raises(BudgetError, match="used 11 output tokens where 10 were reserved"):
        ledger.settle(reservation, Usage(output=11))
    assert (ledger.spent, ledger.lost, ledger.reserved) == (0, 11, 0)
    with pytest.raises(BudgetError):
        TokenLedger(-1)
