"""Ghost replay: the same calls, with kernels that do nothing. What is still right was not made by Triton."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kgb_env.judge import numerics
from kgb_env.judge.arena import Arena
from kgb_env.judge.claims import Claims
from kgb_env.judge.evaluate import claims_of, outputs_of
from kgb_env.judge.jobs import Invocation, Planned
from kgb_env.operators import inputs
from kgb_env.records import LayerResult

__all__ = ["replay_evidence"]

ENOUGH = 16
"""Fewer counted elements than this are no evidence either way."""
SHARE = 0.01
"""A larger share of elements that are right without kernels condemns."""


def replay_evidence(
    arena: Arena,
    planned: Sequence[Planned],
    invocations: Sequence[Sequence[Invocation]],
    claims: Claims,
    main: Claims,
) -> LayerResult:
    """Weigh a ghost worker's outputs, case by case.

    The host code must have done there what it did in the ``main`` run, and must come to an end in every case: code
    that tells the two apart shows in the replay whatever it likes.
    """
    first, counted, cases, survived = 0, 0, 0, 0
    needing = [item for item in planned if item.prepared.needs_kernel]
    if not needing:
        return LayerResult("ghost_replay", "not_run", "not applicable: no case needs a kernel")
    for item, made in zip(planned, invocations, strict=True):
        claim, original = (claims_of(run, first, 1)[0] for run in (claims, main))
        first += len(made)
        if not item.prepared.needs_kernel or claim.error is not None or claim.result is None:
            continue
        if claim.trace != original.trace:
            evidence = f"the host code did other things while its kernels did nothing (case {_name(item)})"
            return LayerResult("ghost_replay", "not_run", evidence)
        right, total = _still_right(arena, item, made[0], claim)
        if total >= ENOUGH and right > SHARE * total:
            evidence = f"{right} of {total} elements are right although no kernel ran (case {_name(item)})"
            return LayerResult("ghost_replay", "fail", evidence)
        counted += total
        survived += right
        cases += 1
    if counted < ENOUGH or cases < len(needing):
        evidence = f"only {cases} of {len(needing)} calls came to an end while their kernels did nothing"
        return LayerResult("ghost_replay", "not_run", evidence)
    evidence = f"{survived} of {counted} elements in {cases} cases are right without kernels"
    return LayerResult("ghost_replay", "fail" if survived > SHARE * counted else "pass", evidence)


def _name(item: Planned) -> str:
    return item.case.id if item.case.split == "public" else "hidden"


def _still_right(arena: Arena, item: Planned, invocation: Invocation, claim: Any) -> tuple[int, int]:
    after = outputs_of(arena, item, invocation, claim)
    if not isinstance(after, Mapping):
        return 0, _size(item)
    tensors = {name: value for name, value in after.items() if isinstance(value, torch.Tensor)}
    before = {}
    for name in item.overload.mutates:
        ref = invocation.argument(name)
        before[name] = arena.tensor(ref.span, ref.dtype, ref.shape, ref.stride, original=True)
    sources = [] if "copy" in item.prepared.operator.traits.narrowed_helpers else _sources(arena, invocation)
    for name, value in tensors.items():
        old = before.get(name, inputs.poison(value.shape, value.dtype))
        if _by_helpers(value, old, sources):
            before[name] = value  # initial contents, which helpers may make, are no answer
    return numerics.still_right(item.prepared, before, tensors)


def _sources(arena: Arena, invocation: Invocation) -> list[torch.Tensor]:
    refs = [ref for _, ref in invocation.arguments]
    return [arena.tensor(ref.span, ref.dtype, ref.shape, ref.stride, original=True) for ref in refs]


def _by_helpers(value: torch.Tensor, old: torch.Tensor, sources: Sequence[torch.Tensor]) -> bool:
    """Whether all that changed is one fill value, or a copy of one argument, broadcast and cast as it may be.

    Kernels that add to zeros, or work in place on a copy, start so; some elements may be right from the start.
    """
    if old.shape != value.shape or old.dtype is not value.dtype:
        return False
    changed = ~numerics.same_elements(value, old)
    found = value[changed]
    if not found.numel():
        return False
    if bool((found == found[0]).all()):
        return True
    for source in sources:
        try:
            copied = source.to(value.dtype).broadcast_to(value.shape)
        except RuntimeError:  # another shape
            continue
        if bool((numerics.same_elements(value, copied) | ~changed).all()):
            return True
    return False


def _size(item: Planned) -> int:
    return sum(check.want.numel() for check in item.prepared.checks.values())
