"""The trace of host code tells apart what the host could only do with knowledge of the data."""

from __future__ import annotations

import torch

from kgb_env.worker.trace import Trace


def digest(pick: int, value: float, *, offset: int = 0) -> str:
    tables = [torch.zeros(4), torch.ones(4)]
    trace = Trace()
    trace.note("call", tables)
    trace.note("copy_", torch.empty(4), tables[pick], value)
    trace.launch(0, {"x": tables[0][offset:], "address": tables[1].data_ptr() + 4}, (1, 1, 1))
    return trace.digest


def test_same_deeds_give_the_same_digest() -> None:
    assert digest(0, 1.0) == digest(0, 1.0)


def test_another_tensor_number_or_view_shows() -> None:
    assert len({digest(0, 1.0), digest(1, 1.0), digest(0, 2.0), digest(0, 1.0, offset=1)}) == 4


def test_what_was_released_is_forgotten() -> None:
    trace = Trace()
    trace.note("a", torch.zeros(1))
    trace.release()
    assert not trace._kept
