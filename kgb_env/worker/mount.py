"""Mounts a submission's functions on the dispatcher, so that they *are* the ATen operator.

The mounted function is a wrapper: guard, audit, candidate, in that order. Interception has to be
entered inside it, because PyTorch switches its modes off below the operator that it dispatches.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

__all__ = ["MountGuard", "mounted", "offence"]


def offence(rule: str, what: str, *, hack: bool = False) -> dict[str, Any]:
    """Return a violation as the worker reports it; no line is known."""
    return {"rule": rule, "what": what, "line": 0, "remedy": "compute it in a Triton kernel", "hack": hack}


class MountGuard:
    """Counts entries. A second entry while the first runs comes from the candidate."""

    def __init__(self) -> None:
        """Start with no entry."""
        self.depth = 0
        self.entries = 0
        self.offences: list[dict[str, Any]] = []

    def wrap(self, name: str, function: Callable[..., Any], audited: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function to mount; ``audited(function, args, kwargs)`` calls the candidate."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            self.entries += 1
            if self.depth:
                self.offences.append(offence("mount-reentry", f"aten::{name} called itself"))
                msg = f"aten::{name} called itself: the operator is yours to compute"
                raise RecursionError(msg)
            self.depth += 1
            try:
                return audited(function, args, kwargs)
            finally:
                self.depth -= 1

        return kernel


@contextlib.contextmanager
def mounted(kernels: dict[str, Callable[..., Any]], dispatch_key: str) -> Iterator[None]:
    """Register ``{"add.Tensor": kernel}`` under ATen for the duration of the block."""
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, kernel in kernels.items():
                library.impl(name, kernel, dispatch_key)
        yield
    finally:
        library._destroy()
