"""Entry point of a confined process: the zygote calls ``warm`` once and ``run`` in every fork."""

from __future__ import annotations

import mmap
import os
import warnings
from typing import Any

import torch

from kgb_env.platforms import launches
from kgb_env.worker import audit, fence, python_hooks, session
from kgb_env.worker.report import Reporter
from kgb_env.worker.wire import read_header

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
    if interpreting():
        from kgb_env.platforms import interpreter

        interpreter.install()
        launches.install(RECORDER)
    else:
        from kgb_env.worker import compile_session

        launches.install(RECORDER)
        compile_session.warm(RECORDER)


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
