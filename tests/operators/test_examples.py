"""Worked examples, from the semantics of PyTorch, vLLM and BLAS."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kgb_env import operators
from kgb_env.judge import bounds
from kgb_env.operators.aten import creation, indexing, matmul, pointwise, random, reduction, shape
from kgb_env.operators.cublas import level1, level3
from kgb_env.operators.model import Bounded, Call, GeneratorSpec
from kgb_env.operators.vllm import cache, moe, norm

DATA = Path(__file__).parents[1] / "data"


def floats(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def test_add() -> None:
    answer = pointwise.add(floats(1, 2), floats(10, 20), alpha=2)
    assert answer.value.tolist() == [21, 42]
    assert answer.magnitude is not None
    assert answer.magnitude.tolist() == [21, 42]


def test_add_rounds_numbers_to_float32_and_wraps_integers() -> None:
    assert pointwise.add(floats(0.0, dtype=torch.bfloat16), 0.1).value.item() == float(np.float32(0.1))
    assert pointwise.add(floats(0.0, dtype=torch.float64), 0.1).value.item() == 0.1
    top = torch.tensor([2**31 - 1], dtype=torch.int32)
    assert pointwise.add(top, 1).value.item() == -(2**31)
    assert pointwise.add(torch.tensor([True, False]), torch.tensor([True, False])).value.tolist() == [True, False]


def test_mm() -> None:
    answer = matmul.mm(torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[1.0, 2], [0, -1]]))
    assert answer.value.tolist() == [[1, 0], [3, 2]]
    assert answer.magnitude is not None
    assert answer.magnitude.tolist() == [[1, 4], [3, 10]]
    assert answer.length == 2


def test_sum() -> None:
    matrix = torch.tensor([[1.0, 2], [3, 4]])
    assert reduction.sum(matrix, [1]).value.tolist() == [3, 7]
    assert reduction.sum(matrix, [0], True).value.tolist() == [[4, 6]]
    assert reduction.sum(matrix, []).value.item() == 10
    assert reduction.sum(torch.tensor([True, True])).value.item() == 2


def test_softmax() -> None:
    answer = reduction.softmax(floats(0, 0, math.log(2)), 0).value
    assert torch.allclose(answer, torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64))
    assert reduction.softmax(floats(-math.inf, 0), 0).value.tolist() == [0, 1]
    assert reduction.softmax(floats(-math.inf, -math.inf), 0).value.isnan().all()


def test_index_select_and_cat() -> None:
    rows = torch.tensor([[1, 2], [3, 4], [5, 6]])
    assert indexing.index_select(rows, 0, torch.tensor([2, 0])).value.tolist() == [[5, 6], [1, 2]]
    assert indexing.cat([rows[:1], torch.empty(0), rows[1:2]], -2).value.tolist() == [[1, 2], [3, 4]]


def test_shape_and_creation() -> None:
    assert shape.t(torch.zeros(2, 3)).value.shape == (3, 2)
    assert shape.item(floats(0.1, dtype=torch.bfloat16)).value.item() == 0.10009765625
    assert creation.clone(floats(1, 2)).value.tolist() == [1, 2]
    assert creation.empty_strided([2, 3], [1, 2]).value.shape == (2, 3)


def test_bernoulli() -> None:
    law = random.bernoulli(floats(0, 0.25, 1), generator=GeneratorSpec(1))
    assert law.mean.tolist() == [0, 0.25, 1]
    assert law.variance.tolist() == [0, 0.1875, 0]


def test_rms_norm() -> None:
    x, w = floats(1, 2, 3, 4, dtype=torch.float16), floats(1, 0.5, 2, 1, dtype=torch.float16)
    answer = norm.rms_norm(torch.empty(4), x.view(1, 4), w, 1e-6)
    exact = torch.tensor([[0.3652, 0.3652, 2.1909, 1.4606]], dtype=torch.float64)
    assert torch.allclose(answer.value, exact, atol=1e-4)
    assert answer.steps == 2


def test_reshape_and_cache() -> None:
    key, value = torch.tensor([[[1.0, 2, 3, 4]]]), torch.tensor([[[5.0, 6, 7, 8]]])
    key_cache, value_cache = torch.zeros(2, 1, 2, 2, 2), torch.zeros(2, 1, 4, 2)
    one = torch.ones(1)
    keys, values = cache.reshape_and_cache(key, value, key_cache, value_cache, torch.tensor([3]), "auto", one, one)
    assert keys.value[1, 0, 0, 1].tolist() == [1, 2]
    assert keys.value[1, 0, 1, 1].tolist() == [3, 4]
    assert values.value[1, 0, :, 1].tolist() == [5, 6, 7, 8]
    assert keys.value.sum() == 10
    assert key_cache.sum() == 0


@pytest.mark.parametrize(("number", "byte"), [(0.3, 0x2A), (17, 0x58), (19, 0x5A), (464, 0x7E), (-500, 0xFE)])
def test_fp8_cache_bytes(number: float, byte: int) -> None:
    stored = torch.full((1, 1, 16), number)
    caches = torch.zeros(1, 1, 1, 1, 16, dtype=torch.uint8), torch.zeros(1, 1, 16, 1, dtype=torch.uint8)
    keys, _ = cache.reshape_and_cache(stored, stored, *caches, torch.tensor([0]), "fp8", torch.ones(1), torch.ones(1))
    assert keys.value.unique().tolist() == [byte]


def test_moe_align_block_size() -> None:
    ids = torch.tensor([[0, 1], [1, 2], [1, 0]], dtype=torch.int32)
    buffers = torch.empty(9, dtype=torch.int32), torch.empty(5, dtype=torch.int32), torch.empty(1, dtype=torch.int32)
    places, experts, total = moe.moe_align_block_size(ids, 3, 2, *buffers)
    assert places.value.tolist() == [0, 5, 1, 2, 4, 6, 3, 6, 6]
    assert experts.value.tolist() == [0, 1, 1, 2, 0]
    assert total.value.tolist() == [8]


def test_sgemm() -> None:
    a, b, c = floats(1, 3, 2, 4), floats(1, 2, 0, 1), floats(math.nan, math.nan, math.nan, math.nan)
    assert level3.Sgemm_v2("N", "N", 2, 2, 2, 1.0, a, 2, b, 2, 0.0, c, 2).value.tolist() == [5, 11, 2, 4]
    padded = floats(1, 2, -7, 3, 4, -7)
    answer = level3.Sgemm_v2("N", "N", 2, 2, 0, 1.0, a, 2, b, 2, 2.0, padded, 3)
    assert answer.value.tolist() == [2, 4, -7, 6, 8, -7]
    assert answer.exact is not None
    assert answer.exact.tolist() == [False, False, True, False, False, True]


def test_zdotc() -> None:
    x, y = (torch.tensor([v], dtype=torch.complex128) for v in (1 + 1j, 2 + 3j))
    assert level1.Zdotc_v2(1, x, 1, y, 1, torch.empty(1)).value.item() == 5 + 1j
    steps = torch.arange(1, 7)
    assert level1.elements(steps, 3, -1).tolist() == [3, 2, 1]
    assert level1.elements(steps, 3, -2).tolist() == [5, 3, 1]


def golden(name: str) -> list[tuple[str, Call, dict[str, torch.Tensor]]]:
    """Read inputs and outputs of vLLM's own CUDA operator (0.13.0, NVIDIA H200)."""
    archive = np.load(DATA / f"vllm_{name}.npz")

    def value(entry: dict[str, Any]) -> Any:
        if "key" not in entry:
            return entry.get("value")
        raw = torch.from_numpy(archive[entry["key"]].copy())
        return raw.view(torch.bfloat16) if entry["dtype"] == "bfloat16" else raw

    read = []
    for config in json.loads(archive["manifest"].tobytes()):
        args = [value(e) for e in config["args"]]
        read.append((config["note"], Call(tuple(args)), {e["name"]: value(e) for e in config["outputs"]}))
    return read


GOLDEN = [
    pytest.param(name, *entry[1:], id=f"{name}-{entry[0]}")
    for name in ("rms_norm", "reshape_and_cache", "moe_align_block_size")
    for entry in golden(name)
]


@pytest.mark.parametrize(("name", "call", "outputs"), GOLDEN)
def test_vllms_own_outputs_are_right(name: str, call: Call, outputs: dict[str, torch.Tensor]) -> None:
    operator = operators.get(f"vllm::{name}")
    expected = operator.expected(operator.cases("smoke")[0], call)
    found = outputs if operator.normalise is None else operator.normalise(outputs, call)
    assert set(expected) == set(outputs)
    for key, answer in expected.items():
        assert isinstance(answer, Bounded)
        check = bounds.build(answer, found[key].dtype, operator.tolerance, "D1", None)
        seen = bounds.look(check, found[key])
        assert bool(seen.right.all()), (key, seen.share)


def test_golden_data_holds_two_configurations_each() -> None:
    for name in ("rms_norm", "reshape_and_cache", "moe_align_block_size"):
        assert len(golden(name)) >= 2
