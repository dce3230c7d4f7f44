"""What the judge lays out is what the worker finds, for every dtype and layout."""

from __future__ import annotations

import mmap

import pytest
import torch

from kgb_env.judge.arena import Arena, Layout
from kgb_env.operators.model import GeneratorSpec
from kgb_env.worker.wire import DTYPES, Opened, Region, decode, encode, read_header

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "step": lambda x: x[::2, 1::3],
    "offset": lambda x: x[3:],
    "expanded": lambda x: x[:1].expand(4, x.shape[1]),
    "empty": lambda x: x[:0],
    "scalar": lambda x: x[0, 0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_arrive_bit_for_bit(dtype: str, layout: str) -> None:
    size = DTYPES[dtype].itemsize
    raw = torch.arange(8 * 9 * size, dtype=torch.int32).to(torch.uint8) % (2 if dtype == "bool" else 251)
    value = LAYOUTS[layout](raw.view(DTYPES[dtype]).view(8, 9))
    plan = Layout()
    ref = plan.place(value)
    arena = Arena(plan, {"value": ref.to_wire()}, b"guard")
    memory = mmap.mmap(arena.fd, 0)
    found = decode(read_header(memory)["value"], memory, Opened(), None)
    assert (found.dtype, found.shape, found.stride()) == (value.dtype, value.shape, value.stride())
    assert torch.equal(found.reshape(-1).view(torch.uint8), value.reshape(-1).view(torch.uint8))
    arena.freeze()
    assert arena.damaged_outside([]) is None
    if found.numel() and "expanded" not in layout:
        found.untyped_storage().fill_(1)
        arena.freeze()
        assert arena.changed(ref.region)
        assert arena.damaged_outside([ref.region]) is None


def test_values_survive_the_wire() -> None:
    value = [1, -(2**70), 0.1, float("inf"), 2 + 3j, None, True, "N", (1, [2]), torch.float16, torch.channels_last]
    found = decode(encode(value, None), None, Opened(), None)  # type: ignore[arg-type]
    assert found == value
    seed = decode(encode(GeneratorSpec(7), None), None, Opened(), lambda s: s)  # type: ignore[arg-type]
    assert seed == 7


def test_a_claimed_layout_cannot_reach_outside_its_region() -> None:
    plan = Layout()
    slot = plan.reserve(64)
    arena = Arena(plan, {}, b"guard")
    arena.freeze()
    for shape, stride in [((17,), (1,)), ((2,), (16,)), ((-1,), (1,)), ((4,), (-1,)), ((2, 2), (1,))]:
        with pytest.raises(ValueError, match=r"fit|no tensor"):
            arena.tensor(slot, "float32", shape, stride)
    assert arena.tensor(Region(slot.offset, 64), "float32", (4, 4), (4, 1)).shape == (4, 4)
