"""Covers, distributions, layouts, and numbers as kernels see them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from kgb_env import operators
from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import number, wide
from kgb_env.operators.cases import Plan, cover, feasible_pairs
from kgb_env.operators.family import Family, aten_overload
from kgb_env.operators.model import Bounded, Call
from kgb_env.operators.tolerance import EXACT

AXES = {"overload": ("a", "b"), "dtype": ("x", "y", "z"), "distribution": ("D1", "D4"), "dim": (0, 1, 2, 3)}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_cover_holds_every_pair_and_is_much_smaller_than_the_product() -> None:
    points = cover(AXES)
    for one, two in itertools.combinations(AXES, 2):
        held = {(p[one], p[two]) for p in points}
        assert held == set(itertools.product(AXES[one], AXES[two]))
    assert len(points) < 20 < 48
    assert points == cover(AXES)
    assert points != cover(AXES, seed=1)


def test_a_cover_obeys_its_rule_and_its_limit() -> None:
    def valid(point: dict[str, object]) -> bool:
        return point["dtype"] != "x" or point["dim"] == 0

    points = cover(AXES, valid)
    assert all(valid(p) for p in points)
    assert (("dtype", 0), ("dim", 1)) not in feasible_pairs(AXES, valid)
    short = cover(AXES, valid, limit=4)
    assert len(short) == 4
    assert {p["dim"] for p in short} == {0, 1, 2, 3}


def test_plans_refuse_unknown_tiers() -> None:
    plan = Plan(AXES, AXES, AXES)
    assert plan.cases("smoke") is plan.cases("smoke")
    with pytest.raises(ValueError, match="smoke, full or large"):
        plan.cases("tiny")


@pytest.mark.parametrize("layout", inputs.LAYOUTS)
@pytest.mark.parametrize("shape", [(), (5,), (3, 7), (2, 3, 4), (0, 3), (1, 1)])
def test_layouts_keep_shape_and_values(layout: str, shape: tuple[int, ...]) -> None:
    values = inputs.draw(shape, torch.float32, "D1", generator())
    laid = inputs.lay_out(values, layout, generator(1))
    assert laid.shape == values.shape
    if layout != "expanded" or laid.ndim < 2:
        assert torch.equal(laid, values)
    if values.numel() > 1 and layout not in ("contiguous", "offset", "expanded") and 1 not in shape:
        assert not laid.is_contiguous()
    if layout == "expanded" and len(shape) > 1 and values.numel() > 1:
        assert 0 in laid.stride()


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown layout"):
        inputs.lay_out(torch.zeros(2), "diagonal", generator())


DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.uint8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distribution", inputs.DISTRIBUTIONS)
def test_distributions(dtype: torch.dtype, distribution: str) -> None:
    values = inputs.draw((40, 50), dtype, distribution, generator())
    assert values.dtype is dtype
    assert torch.equal(values.nan_to_num(), inputs.draw((40, 50), dtype, distribution, generator()).nan_to_num())
    finite = values[values.isfinite()].double()
    if distribution == "D2":
        assert finite.min() > 0
    elif distribution == "D4":
        assert torch.equal(finite, finite.round())
        assert finite.abs().max() == 2
    elif distribution == "D5":
        assert abs(values[-1, -1]) >= 16
    elif distribution == "D7":
        assert len(finite.unique()) == 1
    if distribution == "D6" and dtype.is_floating_point:
        assert values.isnan().any()
        assert values.isposinf().any()
        assert values.isneginf().any()


def test_indices_hold_the_last_one() -> None:
    chosen = inputs.indices(50, 7, generator(), torch.int32)
    assert chosen.dtype is torch.int32
    assert chosen.max() == 6
    assert chosen.min() >= 0
    assert len(inputs.indices(0, 7, generator())) == 0


def test_numbers_count_in_the_type_that_is_computed_in() -> None:
    assert number(0.1, torch.bfloat16) == float(np.float32(0.1))
    assert number(0.1, torch.float64) == 0.1
    assert number(3, torch.int32) == 3
    assert number(True, torch.float32) is True
    assert wide(torch.zeros(1, dtype=torch.complex64)).dtype is torch.complex128
    assert wide(torch.zeros(1, dtype=torch.uint8)).dtype is torch.int64
    assert wide(torch.zeros(1).bool()).dtype is torch.bool


def test_schemas_are_read() -> None:
    overload = aten_overload("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    assert (overload.name, overload.function, overload.mutates) == ("Tensor", "add__Tensor", ("self",))
    assert overload.required
    with pytest.raises(ValueError, match="no ATen schema"):
        aten_overload("torch.add(x)")


def test_an_operator_needs_a_task_statement_and_a_name_of_its_own() -> None:
    operators.all_operators()
    define = Family("vllm", "test").operator(
        "rms_norm(x: torch.Tensor) -> None",
        plan=Plan(AXES, AXES, AXES),
        make=lambda _case, _generator: Call(),
        tolerance=EXACT,
        baseline=lambda x: x,
    )

    def silent(x: torch.Tensor) -> Bounded:
        return Bounded(x)

    with pytest.raises(ValueError, match="no task statement"):
        define(silent)
    silent.__doc__ = "Do nothing."
    with pytest.raises(ValueError, match="twice"):
        define(silent)
