"""From the bytes that a dead worker left, and its claims, to one outcome per case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_env.judge import numerics
from kgb_env.judge.arena import Arena
from kgb_env.judge.claims import CallClaim, Claims
from kgb_env.judge.jobs import Invocation, Planned
from kgb_env.judge.numerics import Outcome
from kgb_env.records import Status
from kgb_env.worker.wire import DTYPES, Region, TensorRef

__all__ = ["claims_of", "evaluate", "outputs_of", "writable"]


def writable(invocations: Sequence[Invocation], mutated: Sequence[str]) -> list[Region]:
    """Return the regions that a call may change: mutated arguments and result slots."""
    regions = []
    for invocation in invocations:
        regions += [ref.region for name, ref in invocation.arguments if name in mutated]
        regions += invocation.slots
    return regions


def evaluate(arena: Arena, planned: Planned, invocations: Sequence[Invocation], claims: Sequence[CallClaim]) -> Outcome:
    """Judge one case: structure and mutation by the arena's bytes, values by the error model."""
    answers: list[Mapping[str, Any]] = []
    for invocation, claim in zip(invocations, claims, strict=True):
        for name, ref in invocation.arguments:
            problem = _misused(arena, ref, mutated=name in planned.overload.mutates)
            if problem is not None:
                return Outcome(problem, 0.0, f"argument `{name}` {_DAMAGE[problem]}")
        answer = outputs_of(arena, planned, invocation, claim)
        if isinstance(answer, Outcome):
            return answer
        answers.append(answer)
    aliases = {name: structure.alias for name, structure in planned.prepared.structures.items()}  # checked above
    if len(answers) > 1:
        fresh = [answer for answer, made in zip(answers, invocations, strict=True) if made.fresh]
        going = [answer for answer, made in zip(answers, invocations, strict=True) if not made.fresh]
        return numerics.compare_distribution(planned.prepared, [fresh[0], *going, *fresh[1:]], aliases)
    return numerics.compare(planned.prepared, answers[0], aliases)


_DAMAGE = {
    Status.INPUT_MUTATED: "was changed, and the schema does not say so",
    Status.ILLEGAL_ACCESS: "was written to between or in front of its elements",
}


def _misused(arena: Arena, ref: TensorRef, *, mutated: bool) -> Status | None:
    if not arena.changed(ref.region):
        return None
    if not mutated:
        return Status.INPUT_MUTATED
    if ref.lead == 0 and ref.region.nbytes == math.prod(ref.shape) * DTYPES[ref.dtype].itemsize:
        return None  # no gaps
    touched = torch.zeros(ref.region.nbytes, dtype=torch.bool)
    elements = touched.view(-1, DTYPES[ref.dtype].itemsize)[ref.lead :]
    positions = torch.arange(elements.shape[0]).as_strided(ref.shape, ref.stride).reshape(-1)
    elements[positions] = True
    where = slice(ref.region.offset, ref.region.end)
    different = torch.from_numpy(arena.final[where] != arena.original[where])
    return Status.ILLEGAL_ACCESS if bool((different & ~touched).any()) else None


def outputs_of(arena: Arena, planned: Planned, invocation: Invocation, claim: CallClaim) -> Mapping[str, Any] | Outcome:
    """Collect the outputs of a call by name, or say what is wrong with their structure, or with the claim itself."""
    try:
        return _outputs_of(arena, planned, invocation, claim)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError, AttributeError, RuntimeError) as error:
        return Outcome(Status.HACK_DETECTED, 0.0, f"the description of the result is forged: {type(error).__name__}")


def _outputs_of(
    arena: Arena, planned: Planned, invocation: Invocation, claim: CallClaim
) -> Mapping[str, Any] | Outcome:
    outputs: dict[str, Any] = {}
    for name in planned.overload.mutates:
        ref = invocation.argument(name)
        outputs[name] = arena.tensor(ref.span, ref.dtype, ref.shape, ref.stride)
    returned = [name for name in planned.prepared.structures if name.startswith("return")]
    result = claim.result or {"t": "none"}
    if not returned:
        return _checked_return(planned, invocation, result) or outputs
    parts = result["v"] if result["t"] == "tuple" else [result]
    if len(parts) != len(returned):
        return Outcome(Status.WRONG_SHAPE, 0.0, f"{len(returned)} results expected, {len(parts)} returned")
    for name, part in zip(returned, parts, strict=True):
        value = _read(arena, planned, invocation, name, part)
        if isinstance(value, Outcome):
            return value
        outputs[name] = value
    return outputs


def _checked_return(planned: Planned, invocation: Invocation, result: Mapping[str, Any]) -> Outcome | None:
    """An ATen operator that changes its argument returns that argument; other routines may return anything."""
    if "->" not in planned.overload.schema or not planned.overload.schema.startswith("aten::"):
        return None
    names = [name for name, _ in invocation.arguments]
    mutated = planned.overload.mutates[0]
    ref = invocation.argument(mutated)
    if result.get("t") == "tensor" and tuple(result["shape"]) == ref.shape and result["dtype"] == ref.dtype:
        if 0 in ref.shape:
            return None  # an empty tensor has no storage to share
        same = "alias" in result and names[int(result["alias"])] == mutated
        if same and tuple(result["stride"]) == ref.stride:
            return None
    return Outcome(Status.WRONG_LAYOUT, 0.0, f"`{planned.function}` has to return `{mutated}` itself")


def _read(arena: Arena, planned: Planned, invocation: Invocation, name: str, part: Mapping[str, Any]) -> Any:
    structure = planned.prepared.structures[name]
    kind = part.get("t")
    if kind == "scalar":
        return _scalar(part)
    if kind != "tensor":
        return Outcome(Status.WRONG_SHAPE, 0.0, f"a tensor was expected, got {part.get('why', 'nothing')}")
    shape, stride = tuple(map(int, part["shape"])), tuple(map(int, part["stride"]))
    dtype = str(part["dtype"])
    names = [n for n, _ in invocation.arguments]
    alias = names[int(part["alias"])] if "alias" in part else None
    problem = _structure_problem(structure, dtype, shape, alias)
    if problem is not None:
        return problem
    if alias is not None:
        ref = invocation.arguments[int(part["alias"])][1]
        byte = int(part["byte"])
        region = Region(ref.region.offset + byte, ref.region.nbytes - byte)
        if not 0 <= byte <= ref.region.nbytes:
            return Outcome(Status.WRONG_LAYOUT, 0.0, "the result lies outside the argument that it aliases")
    else:
        region = next((s for s in invocation.slots if [s.offset, s.nbytes] == list(part["slot"])), None)
        if region is None or "too_large" in part:
            return Outcome(Status.WRONG_LAYOUT, 0.0, f"strides {stride} spread the result over too much memory")
    try:
        return arena.tensor(region, dtype, shape, stride)
    except ValueError as error:
        return Outcome(Status.WRONG_LAYOUT, 0.0, f"strides {stride} do not describe the result: {error}")


def _structure_problem(structure: Any, dtype: str, shape: tuple[int, ...], alias: str | None) -> Outcome | None:
    if structure.shape is not None and shape != tuple(structure.shape):
        return Outcome(Status.WRONG_SHAPE, 0.0, f"shape {shape}, expected {tuple(structure.shape)}")
    expected = str(structure.dtype).removeprefix("torch.")
    if structure.dtype is not None and dtype != expected:
        return Outcome(Status.WRONG_DTYPE, 0.0, f"dtype {dtype}, expected {expected}")
    if alias != structure.alias and 0 not in shape:
        says = f"shares storage with `{alias}`" if alias else "is a copy"
        wants = f"a view of `{structure.alias}`" if structure.alias else "storage of its own"
        return Outcome(Status.WRONG_LAYOUT, 0.0, f"the result {says}; the schema asks for {wants}")
    return None


def _scalar(part: Mapping[str, Any]) -> Any:
    kind, value = part["py"], part["v"]
    if kind == "bool":
        return bool(int(value))
    if kind == "int":
        return int(value)
    if kind == "float":
        return float.fromhex(value)
    return complex(float.fromhex(value[0]), float.fromhex(value[1]))


def claims_of(claims: Claims, first: int, count: int) -> list[CallClaim]:
    """Return the claims of ``count`` calls from number ``first``; missing ones are empty."""
    return [claims.calls.get(first + i, CallClaim()) for i in range(count)]
