"""Runs the checks of a program and prints their outcomes as one JSON line: name -> error text, empty for a pass."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable

import torch


def run(checks: dict[str, Callable[[], None]]) -> None:
    outcomes = {}
    for name, check in checks.items():
        try:
            check()
        except Exception:  # boundary: the outcome of a check is the test's to judge
            outcomes[name] = traceback.format_exc(limit=-6)
        else:
            outcomes[name] = ""
    print("\n" + json.dumps(outcomes))


def same_bits(got: torch.Tensor, want: torch.Tensor) -> None:
    """Fail unless both have the same dtype, shape and bits, every NaN being alike and no zero being negative."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape), (got.dtype, got.shape, want.dtype, want.shape)
    a, b = got.double(), want.double()
    equal = (a == b) | (a.isnan() & b.isnan())
    if not equal.all():
        where = (~equal).nonzero()[0].tolist()
        bad = int((~equal).sum())
        msg = f"{bad} of {a.numel()} differ, first at {where}: {a[tuple(where)]} for {b[tuple(where)]}"
        raise AssertionError(msg)


def close(got: torch.Tensor, want: torch.Tensor, ulps: float = 2.0) -> None:
    """Fail unless both agree within ``ulps`` roundings of the dtype of ``got``."""
    a, b = got.double(), want.double()
    bound = ulps * torch.finfo(got.dtype).eps * b.abs() + torch.finfo(got.dtype).tiny
    equal = ((a - b).abs() <= bound) | (a == b) | (a.isnan() & b.isnan())
    if not equal.all():
        where = (~equal).nonzero()[0].tolist()
        msg = f"{int((~equal).sum())} differ, first: {a[tuple(where)]} for {b[tuple(where)]}"
        raise AssertionError(msg)
