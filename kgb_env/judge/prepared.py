"""What the judge works out of a call before any submission sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kgb_env.judge import bounds
from kgb_env.operators.model import Bounded, Call, Case, Expected, GeneratorSpec, Operator

__all__ = ["Outputs", "Prepared", "Structure", "alias_of", "copy_call", "prepare", "real_parts", "run_baseline"]

Outputs = Mapping[str, Any]
"""Outputs by name: ``return`` (a tensor, or a number for host scalars), ``return.0`` …, mutated arguments."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What torch's own result looks like. ``dtype``, ``shape`` and ``strides`` are ``None`` for host scalars."""

    dtype: torch.dtype | None
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    alias: str | None = None
    """The argument whose storage it shares; the argument itself for one that is mutated."""
    number: type | None = None
    """bool, int, float or complex for a host scalar."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything known of a call before any submission sees it. It never leaves the judge."""

    operator: Operator
    case: Case
    call: Call
    expected: Expected
    structures: Mapping[str, Structure]
    baseline: Mapping[str, Any]
    """Outputs of the same-mode torch operator."""
    initial: Mapping[str, torch.Tensor]
    """Mutated arguments as they were before the call."""
    needs_kernel: bool
    """Whether an honest submission must launch something."""
    checks: Mapping[str, bounds.Check]
    """By output; empty for distributions and uninitialised results."""


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage().clone()
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(storage, value.storage_offset(), value.shape, value.stride())  # type: ignore[call-overload]
    if isinstance(value, list | tuple):
        return type(value)(_copy(v) for v in value)
    return value


def copy_call(call: Call) -> Call:
    """Copy every tensor of a call, with its strides, offset and the gaps between its elements."""
    return Call(tuple(_copy(v) for v in call.args), {k: _copy(v) for k, v in call.kwargs.items()})


def _with_generators(call: Call) -> Call:
    def made(value: Any) -> Any:
        return torch.Generator().manual_seed(value.seed) if isinstance(value, GeneratorSpec) else value

    return Call(tuple(made(v) for v in call.args), {k: made(v) for k, v in call.kwargs.items()})


def run_baseline(operator: Operator, case: Case, call: Call) -> tuple[dict[str, Any], dict[str, Structure]]:
    """Run the baseline on copies of the arguments. Returns its outputs and their structures, by name."""
    copied = _with_generators(copy_call(call))
    arguments = operator.arguments(copied)
    mutates = operator.overload(case.overload).mutates
    returned = operator.native(case.overload)(*copied.args, **copied.kwargs)
    if mutates:
        outputs = {name: arguments[name] for name in mutates}
        return outputs, {name: _structure(value, arguments) for name, value in outputs.items()}
    many = returned if isinstance(returned, list | tuple) else (returned,)
    names = ["return"] if not isinstance(returned, list | tuple) else [f"return.{i}" for i in range(len(many))]
    outputs = dict(zip(names, many, strict=True))
    return outputs, {name: _structure(value, arguments) for name, value in outputs.items()}


def _structure(value: Any, arguments: Mapping[str, Any]) -> Structure:
    if not isinstance(value, torch.Tensor):
        return Structure(None, None, None, number=type(value))
    return Structure(value.dtype, tuple(value.shape), value.stride(), alias_of(value, arguments))


def alias_of(value: torch.Tensor, arguments: Mapping[str, Any]) -> str | None:
    """Return the name of the argument whose storage a tensor shares, or ``None``."""
    address = value.untyped_storage().data_ptr()
    for name, argument in arguments.items():
        for tensor in argument if isinstance(argument, list | tuple) else (argument,):
            if isinstance(tensor, torch.Tensor) and (
                tensor is value or (address and tensor.untyped_storage().data_ptr() == address)
            ):
                return name
    return None


def prepare(operator: Operator, case: Case, call: Call) -> Prepared:
    """Compute right answers, bounds and structure of a call.

    Args:
        operator: the operator.
        case: one of its cases.
        call: what ``operator.make`` returned; it is not changed.
    """
    with torch.no_grad():
        initial = {name: _copy(operator.arguments(call)[name]) for name in operator.overload(case.overload).mutates}
        expected = operator.expected(case, call)
        outputs, structures = run_baseline(operator, case, call)
        checks = {}
        for name, answer in expected.items():
            if isinstance(answer, Bounded) and operator.traits.result != "uninitialised":
                structure, baseline = structures[name], outputs[name]
                dtype = structure.dtype or answer.value.dtype
                torch_result = baseline if isinstance(baseline, torch.Tensor) else None
                checks[name] = bounds.build(answer, dtype, operator.tolerance, case.distribution, torch_result)
        needed = _needs_kernel(operator, outputs, structures, initial)
    return Prepared(operator, case, call, expected, structures, outputs, initial, needed, checks)


def _needs_kernel(
    operator: Operator, outputs: Outputs, structures: Mapping[str, Structure], initial: Mapping[str, torch.Tensor]
) -> bool:
    """Whether native's result has elements, and is neither a view of an input nor what was there before."""
    if operator.traits.kernel_free or operator.traits.result in ("view", "uninitialised"):
        return False
    for name, value in outputs.items():
        if not isinstance(value, torch.Tensor):
            continue  # a host scalar: reading it is the operator
        if name in initial:
            if value.numel() and not bool(bounds.same_bits(*(real_parts(x) for x in (value, initial[name]))).all()):
                return True
        elif value.numel() and structures[name].alias is None:
            return True
    return False


def real_parts(value: torch.Tensor) -> torch.Tensor:
    """Return a tensor with complex numbers as pairs, in a last dimension of 2."""
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
