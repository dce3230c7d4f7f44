"""The stages of a verdict after the scan, each a function over the findings."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kgb_env.errors import did_you_mean
from kgb_env.judge.arena import Arena
from kgb_env.judge.claims import Claims
from kgb_env.judge.evaluate import claims_of, evaluate
from kgb_env.judge.evidence import Findings
from kgb_env.judge.exits import status_of_error, status_of_exit
from kgb_env.judge.jobs import Invocation, Planned
from kgb_env.judge.numerics import Outcome
from kgb_env.judge.scan import ScanResult
from kgb_env.platforms.base import Platform
from kgb_env.records import CaseResult, LayerResult, Status, Violation
from kgb_env.sandbox import Exit
from kgb_env.worker.wire import Region

__all__ = [
    "judge_cases",
    "judge_claims",
    "judge_launches",
    "judge_report",
    "judge_scan",
    "judge_violations",
    "missing_functions",
]

_LAYERS = {
    "fence": "runtime_fence",
    "hooks": "audit_hook",
    "audit": "dispatch_audit",
    "mount": "mount_guard",
}


def missing_functions(missing: Sequence[str], found: Collection[str]) -> str:
    """Say which functions a submission lacks, and what it has instead."""
    hints = "".join(f"`{name}`{did_you_mean(name, found)}, " for name in missing)
    have = ", ".join(f"`{name}`" for name in sorted(found)) or "none"
    return f"missing function: {hints.rstrip(', ')}; top-level functions found: {have}"


def judge_scan(findings: Findings, scanned: ScanResult) -> None:
    """Take over the result of the static scan."""
    if scanned.parse_error:
        findings.decide(Status.PARSE_ERROR, scanned.parse_error)
        return
    for violation in scanned.violations:
        findings.violate(violation)
    if scanned.violations:
        _decide_by(findings, scanned.violations)
    result = "fail" if scanned.violations else "pass"
    evidence = f"{len(scanned.violations)} violations"
    findings.add(LayerResult("static_scan", result, evidence), Status.POLICY_VIOLATION)


def _decide_by(findings: Findings, violations: Sequence[Violation]) -> None:
    worst = next((v for v in violations if v.hack), violations[0])
    status = Status.HACK_DETECTED if worst.hack else Status.POLICY_VIOLATION
    findings.decide(status, f"line {worst.line}: {worst.rule}: {worst.remedy}")


def judge_claims(findings: Findings, claims: Claims, exit_: Exit, nonce: str) -> None:
    """Weigh violations, forged reports, and a submission that could not be loaded."""
    judge_report(findings, claims, exit_, nonce)
    for layer in ("runtime_fence", "audit_hook", "dispatch_audit", "mount_guard"):
        failed = [v for v in findings.violations if v.layer == layer]
        if layer == "mount_guard" and findings.operator.source != "aten":
            found = LayerResult(layer, "not_run", "not applicable: the routine is called by its name")
        elif not failed and claims.nonce != nonce:
            found = LayerResult(layer, "not_run", "the process ended early")
        else:
            found = LayerResult(layer, "fail" if failed else "pass", f"{len(failed)} violations")
        findings.add(found, Status.POLICY_VIOLATION)
    if claims.load_error is not None:
        where = f"line {claims.load_error.get('line', 0)}: " if claims.load_error.get("line") else ""
        text = f"loading failed: {where}{claims.load_error.get('type')}: {claims.load_error.get('message')}"
        findings.decide(status_of_error(claims.load_error, findings.platform), text)
    elif not claims.calls and claims.nonce != nonce:
        findings.decide(*status_of_exit(exit_))


def judge_report(findings: Findings, claims: Claims, exit_: Exit, nonce: str) -> None:
    """Weigh what either worker reported, and a forbidden system call."""
    if claims.garbage or (claims.nonce and claims.nonce != nonce):
        findings.violate(Violation("forged-report", 0, "do not write to inherited files", "report", hack=True))
        findings.decide(Status.HACK_DETECTED, "somebody else wrote to the worker's report")
    judge_violations(findings, claims)
    if exit_.signal == signal.SIGSYS:
        findings.decide(*status_of_exit(exit_))


def judge_violations(findings: Findings, claims: Claims) -> None:
    """Take over violations that a worker reported."""
    violations = [
        Violation(
            v["rule"],
            v["line"],
            f"{v['what']}: {v['remedy']}",
            _LAYERS.get(str(v["layer"]), str(v["layer"])),
            hack=v["hack"],
        )
        for v in claims.violations
    ]
    for violation in violations:
        findings.violate(violation)
    if violations:
        _decide_by(findings, violations)


def judge_cases(
    findings: Findings,
    planned: Sequence[Planned],
    arena: Arena,
    invocations: Sequence[Sequence[Invocation]],
    claims: Claims,
    exit_: Exit,
    nonce: str,
) -> None:
    """Judge every case; the first failure decides, one of a public case before one of a hidden."""
    first = 0
    for item, made in zip(planned, invocations, strict=True):
        outcome = _outcome(findings.platform, arena, item, made, claims, first, exit_)
        first += len(made)
        public = item.case.split == "public"
        message = outcome.message if public else _coarse(outcome)
        result = CaseResult(item.case.id, item.case.split, item.case.tier, outcome.status, outcome.share, message)
        findings.cases.append(result)
    failed = [case for case in findings.cases if case.status is not Status.CLEAN]
    for case in sorted(failed, key=lambda c: c.split == "hidden"):
        where = f"case {case.id}" if case.split == "public" else "a hidden case"
        findings.decide(case.status, f"{where}: {case.message}")
    damage = arena.damaged_outside(_all_regions(invocations))
    evidence = "guard bands untouched" if damage is None else "a write outside every buffer"
    findings.add(LayerResult("memory_integrity", "pass" if damage is None else "fail", evidence), Status.ILLEGAL_ACCESS)
    if not findings.decided and claims.nonce != nonce:
        findings.decide(*status_of_exit(exit_))


def _all_regions(invocations: Sequence[Sequence[Invocation]]) -> list[Region]:
    each = [call for made in invocations for call in made]
    return [ref.region for call in each for _, ref in call.arguments] + [slot for call in each for slot in call.slots]


def _coarse(outcome: Outcome) -> str:
    """The class of a failure alone: counts and names would tell of shapes."""
    return "" if outcome.status is Status.CLEAN else outcome.status.value.replace("_", " ")


def _outcome(
    platform: Platform,
    arena: Arena,
    item: Planned,
    made: Sequence[Invocation],
    claims: Claims,
    first: int,
    exit_: Exit,
) -> Outcome:
    for claim in claims_of(claims, first, len(made)):
        if claim.error is not None:
            return Outcome(status_of_error(claim.error, platform), 0.0, _error_text(claim.error))
        if claim.result is None:
            status, message = status_of_exit(exit_)
            return Outcome(status, 0.0, message)
    return evaluate(arena, item, made, claims_of(claims, first, len(made)))


def _error_text(error: Mapping[str, Any]) -> str:
    where = f"line {error['line']}: " if error.get("line") else ""
    return f"{where}{error.get('type')}: {error.get('message')}"


def judge_launches(findings: Findings, planned: Sequence[Planned], claims: Claims) -> None:
    """Demand a launch of a kernel of the submission wherever the case needs one."""
    first, needing = 0, 0
    for item in planned:
        if item.prepared.needs_kernel:
            needing += 1
            if not claims_of(claims, first, 1)[0].launches:
                where = item.case.id if item.case.split == "public" else "a hidden case"
                layer = LayerResult("launch_count", "fail", f"no kernel of the submission was launched ({where})")
                findings.add(layer, Status.NO_KERNEL)
                return
        first += len(item.repeats)
    if needing:
        findings.add(LayerResult("launch_count", "pass", f"in each of {needing} cases"), Status.NO_KERNEL)
    else:
        reason = "not applicable: no case needs a kernel"
        findings.add(LayerResult("launch_count", "not_run", reason), Status.NO_KERNEL)
