"""The layers behind the audit, shown alone: right answers are put into the arena as native code would put them."""

from __future__ import annotations

import mmap
from typing import Any

import pytest

from kgb_env import operators
from kgb_env.judge import jobs, stages
from kgb_env.judge.arena import Arena, bytes_of
from kgb_env.judge.claims import CallClaim, Claims
from kgb_env.judge.evidence import Findings
from kgb_env.judge.ghost import replay_evidence
from kgb_env.judge.jobs import Planned
from kgb_env.platforms import base
from kgb_env.records import Status, Submission

SECRET = b"late layers"


@pytest.fixture
def planted() -> tuple[list[Planned], Arena, Any, Claims]:
    """Every case of ``aten::mm``, answered with torch's own result, and nothing launched."""
    operator = operators.get("aten::mm")
    cases = [case for case in operator.cases("smoke") if case.overload == ""]
    submission = Submission("planted")
    planned = jobs.plan(operator, cases, {"": "mm"}, submission, SECRET)
    arena, invocations, _ = jobs.build(operator, planned, submission, base.get("cpu"), SECRET, ghost=True)
    claims = Claims()
    with mmap.mmap(arena.fd, 0) as memory:
        for number, (item, (invocation,)) in enumerate(zip(planned, invocations, strict=True)):
            value = item.prepared.baseline["return"].contiguous()
            slot, size = invocation.slots[0], value.numel() * value.element_size()
            memory[slot.offset : slot.offset + size] = bytes_of(value.untyped_storage(), 0, size).tobytes()
            shape, dtype = list(value.shape), str(value.dtype).removeprefix("torch.")
            facts = {"t": "tensor", "dtype": dtype, "shape": shape, "stride": list(value.stride())}
            claims.calls[number] = CallClaim(result={**facts, "slot": [slot.offset, slot.nbytes]})
    arena.freeze()
    return planned, arena, invocations, claims


def test_ghost_replay_condemns_answers_that_no_kernel_made(planted: Any) -> None:
    planned, arena, invocations, claims = planted
    found = replay_evidence(arena, planned, invocations, claims, claims)
    assert found.result == "fail"
    assert "although no kernel ran" in found.evidence


def test_the_launch_count_demands_a_kernel_for_right_answers(planted: Any) -> None:
    planned, _, _, claims = planted
    findings = Findings(operators.get("aten::mm"), base.get("cpu"))
    stages.judge_launches(findings, planned, claims)
    assert findings.status is Status.NO_KERNEL


def test_a_replay_that_ends_nowhere_is_no_pass(planted: Any) -> None:
    planned, arena, invocations, _ = planted
    found = replay_evidence(arena, planned, invocations, Claims(), Claims())
    assert found.result == "not_run"
    findings = Findings(operators.get("aten::mm"), base.get("cpu"))
    findings.add(found, Status.HACK_DETECTED)
    findings.finish()
    assert findings.status is Status.POLICY_VIOLATION


def test_a_missing_layer_is_never_clean() -> None:
    findings = Findings(operators.get("aten::mm"), base.get("cpu"))
    findings.finish()
    assert findings.status is Status.INFRASTRUCTURE_ERROR
