"""The judge: submission + operator + platform -> verdict. It never imports a submission."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Literal

import torch

from kgb_env import operators
from kgb_env.errors import InfrastructureError
from kgb_env.judge import exits, jobs, stages
from kgb_env.judge.arena import Arena
from kgb_env.judge.claims import Claims, parse
from kgb_env.judge.evidence import Findings
from kgb_env.judge.gate import CompileGate
from kgb_env.judge.ghost import replay_evidence
from kgb_env.judge.jobs import Invocation, Planned
from kgb_env.judge.scan import scan
from kgb_env.operators import helpers
from kgb_env.operators.model import Operator
from kgb_env.platforms import base as platforms
from kgb_env.records import LayerResult, Status, Submission, Verdict
from kgb_env.sandbox import Exit, Limits, Zygote
from kgb_env.sandbox.limits import GIB

__all__ = ["Judge"]

ATTEMPTS = 3
"""A verdict lost to the machine is tried so often."""


class _Threads:
    """How many verdicts compute at this moment, and torch's number of threads before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.verdicts = 0
        self.before = 1


_threads = _Threads()


def _after_fork() -> None:
    """OpenMP waits for threads that exist no longer: a forked judge computes with one."""
    _threads.__init__()
    torch.set_num_threads(1)


os.register_at_fork(after_in_child=_after_fork)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Compute small tensors on the calling thread alone: waking others costs a thousand times the work.

    The number is the process's as well as the thread's: the last verdict to end puts back what the first found.
    """
    with _threads.lock:
        if not _threads.verdicts:
            _threads.before = torch.get_num_threads()
        _threads.verdicts += 1
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _threads.lock:
            _threads.verdicts -= 1
            torch.set_num_threads(1 if _threads.verdicts else _threads.before)


def _limits(tier: str) -> Limits:
    """What a worker may spend on all cases of a tier; the interpreter pays half a millisecond a program."""
    return Limits(cpu_seconds=15.0 if tier == "smoke" else 120.0, memory_bytes=4 * GIB)


_COMPILE_LIMITS = Limits(cpu_seconds=60.0, memory_bytes=6 * GIB, allow_exec=True)


@dataclass(slots=True)
class _Run:
    """One worker's job and what came of it."""

    arena: Arena
    invocations: list[list[Invocation]]
    nonce: str
    exit: Exit = field(init=False)
    claims: Claims = field(init=False)


class Judge:
    """Gives verdicts. Thread-safe; close it, or use it as a context manager.

    Args:
        platform: name of a platform, see :mod:`kgb_env.platforms`.
        profile: ``standard`` demands every confinement layer, ``best_effort`` takes what there is.
        secret: seeds every hidden input. ``None`` draws one; give one for a deterministic judge.
        limits: what a worker may spend on all cases of a submission; the tier's own if ``None``.

    Raises:
        UnknownPlatformError: no such platform.
        ConfinementError: on the first verdict, if ``standard`` asks for a layer that this machine lacks.
    """

    def __init__(
        self,
        platform: str = "cpu",
        *,
        profile: Literal["standard", "best_effort"] = "standard",
        secret: bytes | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Start nothing yet: processes come with the first verdict."""
        self.platform = platforms.get(platform)
        self.secret = secret if secret is not None else secrets.token_bytes(32)
        self._limits = limits
        seconds = min(_COMPILE_LIMITS.cpu_seconds, 4 * limits.cpu_seconds if limits else math.inf)
        self._compile_limits = replace(_COMPILE_LIMITS, cpu_seconds=seconds)
        self._zygote = Zygote(env=dict(self.platform.zygote_env), profile=profile)
        self._compiler = Zygote(profile=profile)
        self._gate = CompileGate(self._compiler, self._compile_limits)

    def __enter__(self) -> Judge:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """End the zygotes and everything below them."""
        self._zygote.close()
        self._compiler.close()

    def warm_up(self) -> None:
        """Start both zygotes now, side by side, instead of at the first verdict."""
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(zygote.start) for zygote in (self._zygote, self._compiler)]:
                done.result()

    @property
    def limits(self) -> dict[str, str]:
        """The limits that are enforced, as a prompt or a feedback quotes them."""
        smoke = self._limits or _limits("smoke")
        return {
            "time": f"{smoke.cpu_seconds:g} s of CPU time for all cases together",
            "memory": f"{smoke.memory_bytes >> 30} GiB",
            "compilation": f"{self._compile_limits.cpu_seconds:g} s of CPU time for all kernels together",
        }

    def verify(
        self,
        operator: str | Operator,
        submission: Submission | str,
        *,
        tier: str = "smoke",
        split: Literal["all", "public"] = "all",
        secret: bytes | None = None,
    ) -> Verdict:
        """Judge one submission.

        Args:
            operator: an operator or its name.
            submission: the submission or its source.
            tier: ``smoke`` (about a second) or ``full``.
            split: ``public`` leaves the hidden cases out.
            secret: overrides the judge's own for this verdict (a seeded environment passes its own).

        Returns:
            The verdict. A candidate's failure is a status, never an exception.

        Raises:
            UnknownOperatorError: no such operator.
            ConfinementError: see the class.
        """
        started = time.perf_counter()
        op = operators.get(operator) if isinstance(operator, str) else operator
        text = submission if isinstance(submission, Submission) else Submission(submission)
        text = replace(text, source=text.source.removeprefix("\ufeff"))  # what some editors begin a file with
        problem = ""
        for _ in range(ATTEMPTS):
            try:
                with _one_thread():
                    verdict = self._judge(op, text, tier, split, secret or self.secret)
                break
            except (InfrastructureError, OSError) as error:
                problem = str(error)
        else:
            verdict = Verdict(op.name, self.platform.name, Status.INFRASTRUCTURE_ERROR, message=problem)
        return replace(
            verdict,
            canonical_digest=text.canonical_digest,
            kernel_free=op.traits.kernel_free,
            notes=tuple(self.platform.functional_only_notes),
            seconds=time.perf_counter() - started,
        )

    def _judge(self, op: Operator, submission: Submission, tier: str, split: str, secret: bytes) -> Verdict:
        findings = Findings(op, self.platform)
        allowed = helpers.allowed(op.traits.narrowed_helpers, op.traits.allowed_functions)
        scanned = scan(submission.source, allowed)
        stages.judge_scan(findings, scanned)
        if findings.decided:
            return findings.verdict()
        functions, missing = jobs.provided(op, scanned.functions)
        if missing:
            return findings.decide(Status.PARSE_ERROR, stages.missing_functions(missing, scanned.functions)).verdict()
        cases = jobs.with_repeats(op.cases(tier))
        if split == "public":
            cases = [case for case in cases if case.split == "public"]
        planned = jobs.plan(op, cases, functions, submission, secret)
        with contextlib.ExitStack() as arenas:
            runs = []
            for ghost in (False, True):
                run = _Run(*jobs.build(op, planned, submission, self.platform, secret, ghost=ghost))
                arenas.callback(run.arena.close)
                runs.append(run)
            self._run_both(runs, self._limits or _limits(tier))
            self._weigh(findings, planned, runs[0], runs[1], submission)
        return findings.verdict()

    def _run_both(self, runs: Sequence[_Run], limits: Limits) -> None:
        with ThreadPoolExecutor(2) as pool:  # one pool a verdict: threads do not survive a fork of the caller
            waiting = [pool.submit(self._run, run, limits) for run in runs]
        for future in waiting:
            future.result()

    def _run(self, run: _Run, limits: Limits) -> None:
        run.exit = self._zygote.spawn(run.arena.fd, limits).wait()
        run.claims = parse(run.exit.report)
        run.arena.freeze()

    def _weigh(
        self, findings: Findings, planned: Sequence[Planned], main: _Run, ghost: _Run, submission: Submission
    ) -> None:
        exits.refuse_machine_faults(main.exit)
        exits.refuse_machine_faults(ghost.exit)
        stages.judge_claims(findings, main.claims, main.exit, main.nonce)
        stages.judge_cases(findings, planned, main.arena, main.invocations, main.claims, main.exit, main.nonce)
        if findings.decided:
            return
        stages.judge_report(findings, ghost.claims, ghost.exit, ghost.nonce)
        stages.judge_launches(findings, planned, main.claims)
        findings.add(
            replay_evidence(ghost.arena, planned, ghost.invocations, ghost.claims, main.claims), Status.HACK_DETECTED
        )
        if findings.decided:
            return
        if any(item.prepared.needs_kernel for item in planned):
            gate = self._gate.check(findings.operator, submission, main.claims.launches)
            findings.add(gate.layer, Status.COMPILE_ERROR, gate.message)
        else:
            reason = "not applicable: no case needs a kernel"
            findings.add(LayerResult("compile_gate", "not_run", reason), Status.COMPILE_ERROR)
        findings.finish()
