"""Entry point of a confined process: the zygote calls ``warm`` once and ``run`` in every fork."""

from __future__ import annotations

import gc
import importlib
import mmap
import os
import warnings
from typing import Any

import torch

from kgb_env.platforms import launches
from kgb_env.worker import audit, fence, python_hooks, session
from kgb_env.worker.report import Reporter
from kgb_env.worker.wire import DTYPES, read_header

__all__ = ["RECORDER", "interpreting", "run", "warm"]

RECORDER = launches.LaunchRecorder()
"""The one recorder of this process; each fork has its own copy."""


def interpreting() -> bool:
    """Whether Triton was imported in interpreter mode."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def warm() -> None:
    """Import and exercise everything that a worker needs, before any submission exists."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    audit.warm()
    _exercise_torch()
    if interpreting():
        from kgb_env.platforms import interpreter

        interpreter.install()
        launches.install(RECORDER)
        importlib.import_module("triton.compiler.code_generator")  # else at the first launch, in every fork
    else:
        from kgb_env.worker import compile_session

        launches.install(RECORDER)
        compile_session.warm(RECORDER)
    gc.collect()
    gc.freeze()  # forks need not walk, and so copy, what was made up to here


def _exercise_torch() -> None:
    """Use what PyTorch sets up at first use: below the sandbox it could not read the processor's description."""
    for dtype in DTYPES.values():
        value = torch.empty(64, dtype=dtype).fill_(1)
        for other in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.bool):
            value.to(other).to(dtype)
        value.view(8, 8).t().contiguous().clone().copy_(value.view(8, 8))
        torch.cat([value, value])
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        value = torch.ones(8, 8, dtype=dtype)
        (value @ value).sum().item()
    torch.empty((), dtype=torch.int64).random_()


def run(arena_fd: int, report_fd: int) -> None:
    """Do the job that the arena describes and report on it, line by line."""
    size = os.fstat(arena_fd).st_size
    memory = mmap.mmap(arena_fd, size)
    header: dict[str, Any] = read_header(memory)
    reporter = Reporter(report_fd)
    if header["mode"] == "compile":
        from kgb_env.worker import compile_session

        compile_session.run(header, reporter, RECORDER)
    else:
        session.Session(header, memory, reporter, RECORDER).run()
    reporter.write("done", nonce=header["nonce"])


_ = (audit, fence, python_hooks)  # imported here so that every fork finds them loaded
