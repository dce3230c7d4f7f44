"""One verdict the way most evaluators do it: a new interpreter, the candidate inside it, no confinement.

It makes the same checks as the judge on the same cases (audit, ghost replay, memory, values), except
the compile gate, which the interpreter's process cannot make: the comparison favours it by so much.
Prints the status. Used by ``verdict_latency.py``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import mmap

from kgb_env import operators
from kgb_env.judge import jobs, stages
from kgb_env.judge.claims import parse
from kgb_env.judge.evidence import Findings
from kgb_env.judge.ghost import replay_evidence
from kgb_env.judge.scan import scan
from kgb_env.operators import helpers
from kgb_env.platforms import base
from kgb_env.records import Status, Submission
from kgb_env.sandbox import Exit
from kgb_env.worker import entry, session
from kgb_env.worker.report import Reporter
from kgb_env.worker.wire import read_header

SECRET = b"benchmark"


def run_in_process(arena_fd: int) -> bytes:
    """Run a job right here and return its report."""
    with tempfile.TemporaryFile() as report:
        memory = mmap.mmap(arena_fd, os.fstat(arena_fd).st_size)
        header = read_header(memory)
        reporter = Reporter(report.fileno())
        session.Session(header, memory, reporter, entry.RECORDER).run()
        reporter.write("done", nonce=header["nonce"])
        report.seek(0)
        return report.read()


def main(path: str, name: str) -> Status:
    """Judge one file."""
    entry.warm()
    op = operators.get(name)
    submission = Submission(Path(path).read_text())
    findings = Findings(op, base.get("cpu"))
    scanned = scan(submission.source, helpers.allowed(op.traits.narrowed_helpers, op.traits.allowed_functions))
    stages.judge_scan(findings, scanned)
    functions, _ = jobs.provided(op, scanned.functions)
    planned = jobs.plan(op, op.cases("smoke"), functions, submission, SECRET)
    done = Exit(b"", "", kind="exited", code=0, signal=None, cpu_seconds=0.0, wall_seconds=0.0, max_rss=0, detail="")
    main_claims = None
    for ghost in (False, True):
        arena, made, nonce = jobs.build(op, planned, submission, base.get("cpu"), SECRET, ghost=ghost)
        claims = parse(run_in_process(arena.fd))
        arena.freeze()
        if main_claims is not None:
            findings.add(replay_evidence(arena, planned, made, claims, main_claims), Status.HACK_DETECTED)
        else:
            main_claims = claims
            stages.judge_claims(findings, claims, done, nonce)
            stages.judge_cases(findings, planned, arena, made, claims, done, nonce)
            stages.judge_launches(findings, planned, claims)
    findings.finish()
    return findings.verdict().status


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2]).value)
