"""Lowers and compiles a submission's kernels, without running them. Needs Triton outside interpreter mode."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
import triton
import triton.language as tl

from kgb_env.operators import helpers
from kgb_env.platforms import launches, lowering
from kgb_env.worker import fence, python_hooks
from kgb_env.worker.audit import Audit
from kgb_env.worker.report import Reporter, describe_error

__all__ = ["run", "warm"]


def _copy(source, target, n, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202 - Triton reads the annotations
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(target + offsets, tl.sum(tl.load(source + offsets, mask=mask, other=0.0)), mask=mask)


_WARM = {
    "kernel": "_copy",
    "index": 0,
    "own": True,
    "line": _copy.__code__.co_firstlineno,
    "signature": {"source": "*fp32", "target": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    "constexprs": {"BLOCK": {"k": "int", "v": 128}},
    "options": {},
}


def warm(recorder: launches.LaunchRecorder) -> None:
    """Compile a small kernel, so that every fork finds the compiler ready.

    Raises:
        InfrastructureError: this Triton cannot be used.
        KernelError: it does not compile a plain kernel.
    """
    lowering.check()
    recorder.begin_submission(__file__)
    triton.jit(_copy)
    lowering.lower(None, _WARM, recorder.registry)
    lowering.compile_sm90(None, _WARM, recorder.registry)


def run(header: dict[str, Any], reporter: Reporter, recorder: launches.LaunchRecorder) -> None:
    """Load the submission, lower each launch, compile the listed ones; report on each."""
    filename = header["filename"]
    tempfile.tempdir = None  # the zygote's own folder is not writable here; look the scratch folder up
    python_hooks.install(filename, compilers=True)
    recorder.begin_submission(filename)
    allowed = helpers.allowed(frozenset(header["narrowed"]), frozenset(header["extra"]))
    audit = Audit(allowed, filename)
    try:
        with torch.inference_mode(), audit:
            fence.load(header["source"], filename, allowed)
    except BaseException as error:  # boundary: whatever the candidate raises is reported, never swallowed
        reporter.write("load_error", error=describe_error(error, filename))
        return
    finally:
        for layer, found in (("fence", fence.violations()), ("audit", audit.violations)):
            reporter.violations(found, layer)
    _lower_all(header, reporter, recorder)
    reporter.violations(python_hooks.violations(), "hooks")


def _lower_all(header: dict[str, Any], reporter: Reporter, recorder: launches.LaunchRecorder) -> None:
    for number, launch in enumerate(header["launches"]):
        try:
            lowering.lower(None, launch, recorder.registry)
            if number in header["full"]:
                lowering.compile_sm90(None, launch, recorder.registry)
        except lowering.KernelError as error:
            if isinstance(error.__cause__, OSError):
                reporter.write("machine_fault", message=f"{error}")
                return
            reporter.write("lowered", launch=number, line=error.line, message=error.message)
        else:
            reporter.write("lowered", launch=number)
