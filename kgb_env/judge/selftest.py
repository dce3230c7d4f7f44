"""Checks the checker: torch's own result passes, and every spoiled answer fails.

A canary is a spoiled answer. One that passes although its operator's traits do not omit it means
that the cases, or the comparison, do not bite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from kgb_env import operators
from kgb_env.judge import numerics, seeds
from kgb_env.judge.judge import Judge
from kgb_env.operators.model import Operator
from kgb_env.records import RewardClass

__all__ = ["check_operator", "selftest"]

_SECRET = b"selftest"


def selftest(
    names: Sequence[str], *, judge: Judge | None = None, progress: Callable[[str], None] | None = None
) -> list[dict[str, Any]]:
    """Return one row per operator, as in ``kgb selftest --json``.

    Args:
        names: canonical operator names.
        judge: also checks the mount, through a worker: a submission that computes nothing must fail.
        progress: called with each name when it is done.
    """
    rows = []
    for name in names:
        rows.append(check_operator(operators.get(name), judge))
        if progress is not None:
            progress(name)
    return rows


def check_operator(operator: Operator, judge: Judge | None = None) -> dict[str, Any]:
    """Return ``{"name", "native": pass|fail, "canaries": {name: {"result", "reason"}}}`` for one operator."""
    prepared = list(_prepared(operator))
    wrong = [case for case, item in prepared if not numerics.compare_native(item).right]
    rows: dict[str, dict[str, str]] = {}
    omissions = operator.traits.canary_omissions
    for name, reason in omissions.items():
        rows[name] = {"result": "omitted", "reason": reason}
    for name, spoil in numerics.canaries(operator).items():
        caught = sum(not _passes(item, spoil) for _, item in prepared)
        rows[name] = _row(caught > 0, f"caught by {caught} of {len(prepared)} cases")
    if judge is not None:
        status = judge.verify(operator, _idle_submission(operator)).status
        caught = status.reward_class not in (RewardClass.CLEAN, RewardClass.NEUTRAL)
        rows["unmounted"] = _row(caught, f"judged {status.value}")
    else:
        rows["unmounted"] = {"result": "omitted", "reason": "no judge was given"}
    return {
        "name": operator.name,
        "native": "fail" if wrong else "pass",
        "native_wrong_cases": wrong,
        "canaries": rows,
    }


def _row(fails: bool, reason: str) -> dict[str, str]:
    return {"result": "fails" if fails else "passes", "reason": reason}


def _prepared(operator: Operator) -> Iterator[tuple[str, numerics.Prepared]]:
    with torch.no_grad():
        for case in operator.cases("smoke"):
            call = operator.make(case, seeds.generator(_SECRET, operator.name, case.id))
            yield case.id, numerics.prepare(operator, case, call)


def _passes(item: numerics.Prepared, spoil: Callable[[numerics.Prepared], Any]) -> bool:
    answer = spoil(item)
    return answer is None or numerics.compare(item, answer).right


def _idle_submission(operator: Operator) -> str:
    functions = [f"def {o.function}(*args, **kwargs):\n    return None\n" for o in operator.overloads]
    return "\n".join(["import torch", *functions])
