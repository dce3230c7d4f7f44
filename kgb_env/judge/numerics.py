"""Is an output right? Structure first, then every element against its own bound (DESIGN 3.3).

:func:`prepare` runs reference and baseline once per call; :func:`compare` is then cheap. Nothing here reads
or writes files, and nothing of a submission ever runs here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kgb_env.judge import bounds, draws
from kgb_env.judge.canaries import canaries
from kgb_env.judge.prepared import (
    Outputs,
    Prepared,
    Structure,
    alias_of,
    copy_call,
    prepare,
    real_parts,
    run_baseline,
)
from kgb_env.operators import inputs
from kgb_env.operators.model import Drawn
from kgb_env.records import Status

__all__ = [
    "Outcome",
    "Prepared",
    "Structure",
    "canaries",
    "compare",
    "compare_distribution",
    "compare_native",
    "copy_call",
    "prepare",
    "run_baseline",
    "same_elements",
    "still_right",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a comparison found."""

    status: Status
    share: float
    """Largest error as a share of its bound; at most 1.0 for a pass."""
    message: str = ""
    """Where, how many, how large; quotes values, so it is for public cases only."""
    coarse: str = ""
    """The same without values or places, for hidden cases."""

    @property
    def right(self) -> bool:
        """Whether the output is right."""
        return self.status is Status.CLEAN


_RIGHT = Outcome(Status.CLEAN, 0.0)


def compare(prepared: Prepared, outputs: Outputs, aliases: Mapping[str, str | None] | None = None) -> Outcome:
    """Judge the outputs of one call.

    Args:
        prepared: the call.
        outputs: by name; names that are not expected are ignored.
        aliases: for each returned tensor the argument whose storage it lies in, if the outputs
            are copies; left out, it is found from the tensors themselves.

    Returns:
        The first thing that is wrong, or ``clean`` with the largest share of a bound.
    """
    if prepared.operator.traits.result == "distribution":
        return compare_distribution(prepared, [outputs], aliases)
    for name, structure in prepared.structures.items():
        wrong = _wrong_structure(prepared, name, structure, outputs, aliases)
        if wrong is not None:
            return wrong
    outputs = _canonical(prepared, outputs)
    share = 0.0
    for name, check in prepared.checks.items():
        got = _as_tensor(outputs[name], check)
        if got is None:
            return _fail(Status.WRONG_VALUE, name, "is an integer of more than 64 bits")
        outcome = _compare_values(name, check, got)
        if not outcome.right:
            return outcome
        share = max(share, outcome.share)
    return Outcome(Status.CLEAN, share) if share else _RIGHT


def compare_native(prepared: Prepared) -> Outcome:
    """Judge torch's own result, which must pass on every case. For ``kgb selftest`` and tests."""
    aliases = {name: structure.alias for name, structure in prepared.structures.items()}
    return compare(prepared, prepared.baseline, aliases)


def _as_tensor(value: Any, check: bounds.Check) -> torch.Tensor | None:
    """Make a host scalar a tensor; ``None`` for an integer that no dtype holds."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return torch.tensor(value, dtype=check.want.dtype)


def _canonical(prepared: Prepared, outputs: Outputs) -> Outputs:
    normalise = prepared.operator.normalise
    return outputs if normalise is None else normalise(outputs, prepared.call)


def _fail(status: Status, name: str, detail: str, coarse: str = "") -> Outcome:
    return Outcome(status, bounds.SHARE_LIMIT, f"{name}: {detail}", f"{name}: {coarse or detail}")


def _wrong_structure(
    prepared: Prepared, name: str, want: Structure, outputs: Outputs, aliases: Mapping[str, str | None] | None
) -> Outcome | None:
    got = outputs.get(name)
    if want.number is not None:
        if type(got) is want.number:
            return None
        status = Status.WRONG_SHAPE if got is None or isinstance(got, torch.Tensor) else Status.WRONG_DTYPE
        return _fail(status, name, f"is a {type(got).__name__}, not a Python {want.number.__name__}")
    if not isinstance(got, torch.Tensor):
        return _fail(Status.WRONG_SHAPE, name, f"is no tensor but {type(got).__name__}")
    if got.dtype is not want.dtype:
        return _fail(Status.WRONG_DTYPE, name, f"has dtype {_short(got.dtype)}, not {_short(want.dtype)}")
    if tuple(got.shape) != want.shape:
        return _fail(Status.WRONG_SHAPE, name, f"has shape {tuple(got.shape)}, not {want.shape}")
    if name in prepared.initial:
        return None  # the argument itself: its memory is given
    return _wrong_layout(prepared, name, want, got, aliases)


def _wrong_layout(
    prepared: Prepared, name: str, want: Structure, got: torch.Tensor, aliases: Mapping[str, str | None] | None
) -> Outcome | None:
    traits = prepared.operator.traits
    arguments = prepared.operator.arguments(prepared.call)
    alias = alias_of(got, arguments) if aliases is None else aliases.get(name)
    if got.numel() and alias != want.alias:
        detail = f"shares storage with {alias}" if alias else f"is a copy where a view of {want.alias} is wanted"
        return _fail(Status.WRONG_LAYOUT, name, detail)
    if traits.exact_layout or traits.result in ("view", "uninitialised"):
        everywhere = traits.result == "uninitialised"
        if not _same_strides(got, want, everywhere):
            return _fail(Status.WRONG_LAYOUT, name, f"has strides {got.stride()}, not {want.strides}")
    elif want.alias is None and _overlaps(got):
        return _fail(Status.WRONG_LAYOUT, name, f"overlaps itself: strides {got.stride()} for shape {tuple(got.shape)}")
    return None


def _same_strides(got: torch.Tensor, want: Structure, everywhere: bool) -> bool:
    if not got.numel() and not everywhere:
        return True
    triples = zip(got.shape, got.stride(), want.strides or (), strict=True)
    return all(a == b for size, a, b in triples if everywhere or size > 1)


def _overlaps(value: torch.Tensor) -> bool:
    """Whether two elements share memory. Exact for strides that nest, as every usual layout's do."""
    reach = 0
    for stride, size in sorted((st, si) for si, st in zip(value.shape, value.stride(), strict=True) if si > 1):
        if stride <= reach:
            return bool(value.numel())
        reach += stride * (size - 1)
    return False


def _short(dtype: torch.dtype | None) -> str:
    return str(dtype).removeprefix("torch.")


def _compare_values(name: str, check: bounds.Check, got: torch.Tensor) -> Outcome:
    seen = bounds.look(check, got)
    if bool(seen.right.all()):
        error = bounds.rms(seen.error) if seen.error is not None and math.isfinite(check.rms) else 0.0
        if error > check.rms:
            times = error / check.rms
            detail = f"each element is within its bound, but the RMS error is {times:.2g} times what is allowed"
            return _fail(Status.WRONG_VALUE, name, detail)
        return Outcome(Status.CLEAN, seen.share)
    return _describe(name, check, real_parts(got), seen)


def _describe(name: str, check: bounds.Check, got: torch.Tensor, seen: bounds.Elements) -> Outcome:
    wrong = ~seen.right
    count, total = int(wrong.sum()), wrong.numel()
    status = Status.WRONG_VALUE
    if got.is_floating_point() and bool((wrong & ~got.isfinite() & check.want.isfinite()).any()):
        status = Status.NONFINITE
    place = _worst(check, got, wrong)
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), wrong.shape)) if wrong.ndim else ()
    found, want = got.flatten()[place].item(), check.wide.flatten()[place].item()
    allowed = "" if check.bound is None else f", allowed error {check.bound.flatten()[place].item():.3g}"
    coarse = f"{count} of {total} elements are wrong"
    message = f"{name}: {coarse}; the worst at {list(index)} is {found!r}, not {want!r}{allowed}"
    return Outcome(status, seen.share, message, f"{name}: {coarse}")


def _worst(check: bounds.Check, got: torch.Tensor, wrong: torch.Tensor) -> int:
    error = (got.double() - check.wide.double()).abs()
    if check.bound is not None:
        error = error / check.bound
    return int(torch.where(wrong, error.nan_to_num(nan=math.inf, posinf=math.inf), -1.0).argmax())


def compare_distribution(
    prepared: Prepared, calls: Sequence[Outputs], aliases: Mapping[str, str | None] | None = None
) -> Outcome:
    """Judge random outputs by their law.

    Args:
        prepared: the call.
        calls: outputs of one to three calls: with a fresh generator, with the same one going on, and
            with a fresh one again. The first two must differ, the third must repeat the first.
        aliases: as for :func:`compare`.
    """
    for outputs in calls:
        for name, structure in prepared.structures.items():
            wrong = _wrong_structure(prepared, name, structure, outputs, aliases)
            if wrong is not None:
                return wrong
    for name, law in prepared.expected.items():
        samples = [outputs[name] for outputs in calls]
        outcome = _wrong_draws(name, law, samples) if isinstance(law, Drawn) else None
        if outcome is not None:
            return outcome
    return _RIGHT


def _wrong_draws(name: str, law: Drawn, samples: Sequence[torch.Tensor]) -> Outcome | None:
    for sample in samples:
        bad = draws.impossible(law, sample)
        if bool(bad.any()):
            coarse = f"{int(bad.sum())} of {bad.numel()} elements cannot be drawn from this law"
            place = int(bad.flatten().to(torch.uint8).argmax())
            detail = f"{coarse}, for example {sample.flatten()[place].item()!r}"
            nonfinite = not bool(sample.isfinite().all())
            return _fail(Status.NONFINITE if nonfinite else Status.WRONG_VALUE, name, detail, coarse)
    tested = [draws.p_values(law, sample) for sample in samples[:2]]
    for test in tested[0]:
        if all(found[test] < draws.P_LIMIT for found in tested):
            detail = f"the draws do not follow the law (test of {test}, p < {draws.P_LIMIT:g} in every sample)"
            return _fail(Status.WRONG_VALUE, name, detail)
    if len(samples) > 1 and float(law.variance.sum()) > 20 and torch.equal(samples[0], samples[1]):
        return _fail(Status.WRONG_VALUE, name, "two calls gave the same draws: the generator does not advance")
    if len(samples) > 2 and not torch.equal(samples[0], samples[2]):
        return _fail(Status.WRONG_VALUE, name, "the same generator state gave other draws")
    return None


def same_elements(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """Return where two tensors of one shape and dtype hold the same; a complex element counts once."""
    same = bounds.same_bits(real_parts(one), real_parts(two))
    return same.all(-1) if one.is_complex() else same


def still_right(prepared: Prepared, before: Outputs, after: Outputs) -> tuple[int, int]:
    """Count what is right although no kernel ran (ghost replay).

    Args:
        prepared: the call.
        before: what lay in each output beforehand: the poison of a fresh tensor, the old contents of a
            mutated argument. A name left out means the usual poison, or the argument as it was made.
        after: outputs of the replay.

    Returns:
        How many elements differ from what was there before and are right all the same; and how many elements
        count, because the right answer differs from what was there before.
    """
    result = prepared.operator.traits.result
    if result in ("view", "uninitialised"):
        return 0, 0
    if result == "distribution":
        return _still_drawn(prepared, after)
    right = total = 0
    after = _ordered(prepared, after)
    for name, check in prepared.checks.items():
        structure = prepared.structures[name]
        if structure.alias is not None and name not in prepared.initial:
            continue
        old = _before(prepared, name, check, before)
        counts = ~bounds.same_bits(check.want, old)
        total += _count(counts, structure)
        got = after.get(name)
        if type(got) is structure.number:
            got = _as_tensor(got, check)
        if isinstance(got, torch.Tensor) and got.dtype is _dtype(structure, check) and got.shape == _shape(structure):
            made = counts & bounds.look(check, got).right & ~bounds.same_bits(real_parts(got), old)
            right += _count(made, structure)
    return right, total


def _ordered(prepared: Prepared, after: Outputs) -> Outputs:
    complete = all(
        isinstance(after.get(name), torch.Tensor) and tuple(after[name].shape) == prepared.structures[name].shape
        for name in prepared.checks
    )
    return _canonical(prepared, after) if complete else after


def _dtype(structure: Structure, check: bounds.Check) -> torch.dtype:
    return structure.dtype or check.want.dtype


def _shape(structure: Structure) -> torch.Size:
    return torch.Size(structure.shape or ())


def _count(mask: torch.Tensor, structure: Structure) -> int:
    """Count elements; a complex one counts once."""
    is_complex = structure.dtype is not None and structure.dtype.is_complex
    return int((mask.any(-1) if is_complex else mask).sum())


def _before(prepared: Prepared, name: str, check: bounds.Check, before: Outputs) -> torch.Tensor:
    old = before.get(name)
    if old is None:
        old = prepared.initial.get(name)
    if old is None:
        old = inputs.poison(check.want.shape, check.want.dtype)
    old = real_parts(old)
    if old.dtype is check.want.dtype and (old.shape == check.want.shape or old.numel() == 1):
        return old.reshape(()).expand(check.want.shape) if old.numel() == 1 else old
    return inputs.poison(check.want.shape, check.want.dtype)


def _still_drawn(prepared: Prepared, after: Outputs) -> tuple[int, int]:
    total = sum(law.mean.numel() for law in prepared.expected.values() if isinstance(law, Drawn))
    return (total if total and compare_distribution(prepared, [after]).right else 0), total
