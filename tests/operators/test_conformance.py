"""What every registered operator must fulfil."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from importlib.resources import files
from typing import Any

import pytest
import torch

from kgb_env import operators
from kgb_env.judge import bounds, numerics
from kgb_env.judge.prepared import real_parts
from kgb_env.operators.cases import FULL_LIMIT, SMOKE_LIMIT, feasible_pairs
from kgb_env.operators.inputs import DISTRIBUTIONS
from kgb_env.operators.listing import listing
from kgb_env.operators.model import Call, Case, Operator

OPERATORS = operators.all_operators()
SMOKE_ELEMENTS = 4500
FULL_ELEMENTS = 1 << 17
"""Full cases above this size are left to a machine with a GPU."""

every_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)


def generator(case: Case) -> torch.Generator:
    return torch.Generator().manual_seed(sum(map(ord, case.id)) * 7919 + len(case.id))


def prepared(operator: Operator, case: Case) -> numerics.Prepared:
    return numerics.prepare(operator, case, operator.make(case, generator(case)))


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for v in value for t in tensors(v)]
    return []


def same(one: torch.Tensor, two: torch.Tensor) -> bool:
    return bool(bounds.same_bits(real_parts(one), real_parts(two)).all())


def tensors_of(call: Call) -> list[torch.Tensor]:
    return [t for v in (*call.args, *call.kwargs.values()) for t in tensors(v)]


def elements_named(axes: Any) -> int:
    """Estimate the size of a full case from its axes, without making it."""
    if isinstance(axes, dict):
        counts = [v for v in axes.values() if type(v) is int and v > 0]
        return max(math.prod(counts), *(elements_named(v) for v in axes.values()))
    if isinstance(axes, tuple | list) and axes and all(isinstance(v, int) for v in axes):
        return math.prod(max(v, 1) for v in axes)
    if isinstance(axes, tuple | list):
        return max((elements_named(v) for v in axes), default=1)
    return axes if isinstance(axes, int) else 1


def test_names_file_is_the_generators_output() -> None:
    text = files("kgb_env.operators").joinpath("names.txt").read_text(encoding="utf-8")
    assert text == listing()


def test_the_skeleton_is_registered() -> None:
    assert len(operators.SKELETON) == 17
    assert set(operators.SKELETON) <= set(operators.names())


def test_listing_names_imports_no_torch() -> None:
    code = "import sys; from kgb_env.operators import names, env_name; names(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("aten.add", "aten::add"),
        ("add_", "aten::add_"),
        ("vllm13::rms_norm", "vllm::rms_norm"),
        ("cublas::cublasSgemm_v2", "cublas::Sgemm_v2"),
        ("cublas.Zdotc_v2", "cublas::Zdotc_v2"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    assert operators.get(alias).name == name


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(operators.UnknownOperatorError, match="did you mean 'aten::softmax'"):
        operators.get("aten::sofmax")


@every_operator
def test_docstring_states_the_task(operator: Operator) -> None:
    assert len(operator.doc) > 200
    assert "Example" in operator.doc


@every_operator
def test_schemas_are_torchs_own(operator: Operator) -> None:
    if operator.source != "aten":
        assert [o.name for o in operator.overloads] == [""]
        return
    packet = getattr(torch.ops.aten, operator.name.partition("::")[2])
    for overload in operator.overloads:
        native = getattr(packet, overload.name or "default")
        assert str(native._schema) == overload.schema
        mutated = [a.name for a in native._schema.arguments if a.alias_info and a.alias_info.is_write]
        assert list(overload.mutates) == mutated
        assert overload.required == ("out" not in mutated)


@every_operator
def test_function_names(operator: Operator) -> None:
    routine = operator.name.partition("::")[2]
    for overload in operator.overloads:
        assert overload.function == (f"{routine}_{overload.name}" if overload.name else routine)
        assert overload.function.isidentifier()
    if operator.source == "cublas":
        assert operator.overloads[0].aliases == (f"cublas{routine}",)


@every_operator
def test_case_ids_are_unique_and_every_overload_is_tried(operator: Operator) -> None:
    for tier, limit in (("smoke", SMOKE_LIMIT), ("full", FULL_LIMIT), ("large", 6)):
        cases = operator.cases(tier)
        assert 3 <= len(cases) <= limit
        assert len({case.id for case in cases}) == len(cases)
        assert all(case.tier == tier for case in cases)
        if tier != "large":
            assert {case.overload for case in cases} == {o.name for o in operator.overloads}


@every_operator
def test_public_cases_use_public_distributions_and_other_shapes(operator: Operator) -> None:
    cases = operator.cases("smoke")
    assert {c.split for c in cases} == {"public", "hidden"}
    assert {c.distribution for c in cases if c.split == "public"} <= {"D1", "D4"}
    assert {c.distribution for c in cases} <= set(DISTRIBUTIONS)
    public, hidden = ([dict(c.axes) for c in cases if c.split == split] for split in ("public", "hidden"))
    if operator.name != "aten::item":  # one element has no other shape
        assert not any(axes in hidden for axes in public)


@every_operator
def test_full_cases_are_a_pairwise_cover(operator: Operator) -> None:
    plan = operator.plan
    axes = plan.grid(plan.full)
    cases = [c for c in operator.cases("full") if c.split == "hidden"]
    points = [{**c.axes, "overload": c.overload, "dtype": c.dtype, "distribution": c.distribution} for c in cases]
    held = set()
    for point in points:
        row = [(name, list(axes[name]).index(point[name])) for name in axes]
        held |= {(one, two) for number, one in enumerate(row) for two in row[number + 1 :]}
    assert feasible_pairs(axes, plan.valid, samples=4000) <= held


@every_operator
def test_smoke_cases_show_every_value(operator: Operator) -> None:
    plan = operator.plan
    cases = [c for c in operator.cases("smoke") if c.split == "hidden"]
    for name, values in plan.hidden.items():
        points = [{**c.axes, "overload": c.overload, "dtype": c.dtype, "distribution": c.distribution} for c in cases]
        seen = [point[name] for point in points]
        missing = [v for v in values if v not in seen]
        assert not missing, f"{name}: {missing}"


@every_operator
def test_calls_are_deterministic_small_and_fit_the_reference(operator: Operator) -> None:
    for case in operator.cases("smoke"):
        one, two = (operator.make(case, generator(case)) for _ in range(2))
        operator.arguments(one)
        inspect.signature(operator.reference).bind(*one.args, **{k: v for k, v in one.kwargs.items() if k != "out"})
        for a, b in zip(tensors_of(one), tensors_of(two), strict=True):
            assert a.stride() == b.stride()
            assert same(a, b)
            assert a.numel() <= SMOKE_ELEMENTS
        assert set(operator.expected(case, one)) == set(numerics.run_baseline(operator, case, one)[0])


@every_operator
def test_native_passes_and_canaries_fail(operator: Operator) -> None:
    caught: set[str] = set()
    spoilers = numerics.canaries(operator)
    counted = 0
    for case in operator.cases("smoke"):
        ready = prepared(operator, case)
        outcome = numerics.compare_native(ready)
        assert outcome.right, (case, outcome)
        assert outcome.share <= 1.0
        counted += numerics.still_right(ready, {}, ready.baseline)[1]
        for name, spoil in spoilers.items():
            outputs = spoil(ready)
            if outputs is not None and not numerics.compare(ready, outputs).right:
                caught.add(name)
        if "no-op" in spoilers:
            assert numerics.still_right(ready, {}, spoilers["no-op"](ready) or {})[0] == 0, case
    assert caught == set(spoilers)
    assert all(operator.traits.canary_omissions.values())
    assert counted >= 16 or operator.traits.kernel_free


@every_operator
def test_native_passes_on_full_cases(operator: Operator) -> None:
    small = [c for c in operator.cases("full") if elements_named(dict(c.axes)) <= FULL_ELEMENTS]
    assert small
    for case in small[:: max(1, len(small) // 40)]:
        outcome = numerics.compare_native(prepared(operator, case))
        assert outcome.right, (case, outcome)


@every_operator
def test_the_call_is_left_alone(operator: Operator) -> None:
    case = operator.cases("smoke")[-1]
    call = operator.make(case, generator(case))
    before = numerics.copy_call(call)
    numerics.prepare(operator, case, call)
    for a, b in zip(tensors_of(call), tensors_of(before), strict=True):
        assert same(a, b)


@every_operator
def test_expected_outputs_are_not_degenerate(operator: Operator) -> None:
    if operator.traits.result in ("uninitialised", "distribution"):
        return
    for case in operator.cases("smoke"):
        if case.distribution == "D7" or case.split == "hidden" and case.axes.get("masked"):
            continue
        for name, answer in operator.expected(case, operator.make(case, generator(case))).items():
            value = torch.view_as_real(answer.value) if answer.value.is_complex() else answer.value
            value = value[value.isfinite()].double()
            if value.numel() >= 16 and name not in ("experts_ids",) and answer.value.dtype is not torch.bool:
                assert float(value.std()) > 0, (case, name)
