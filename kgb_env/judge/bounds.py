"""One output against its right answer, element by element.

Everything that does not depend on the submission is worked out beforehand in a :class:`Check`, so that
looking at an output takes a handful of tensor operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from kgb_env.operators.model import Bounded
from kgb_env.operators.tolerance import Tolerance

__all__ = ["SHARE_LIMIT", "Check", "Elements", "build", "look", "rms", "same_bits", "unit_roundoff"]

SHARE_LIMIT = 1e9
"""Largest share of the bound that is reported: JSON has no infinity."""
_RMS_LEAST = 64
"""Elements below which an RMS says nothing: one lucky rounding of the baseline would condemn an honest kernel."""
_ROUNDOFF = {
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
    torch.float32: 2.0**-24,
    torch.float64: 2.0**-53,
    torch.float8_e4m3fn: 2.0**-4,
    torch.float8_e5m2: 2.0**-3,
}
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_D4_POLICIES = ("POINTWISE", "REDUCTION", "MATMUL")
"""Policies under which small integers leave nothing to round, in whatever order they are added."""
_D4_GRID = 16
"""Answers of D4 cases are multiples of 1/16 where the scalars are harmless; others are not compared bit for bit."""


def unit_roundoff(dtype: torch.dtype) -> float:
    """Return u, half the distance from 1 to the next number; 0.0 for integers and bool."""
    real = dtype.to_real() if dtype.is_complex else dtype
    return _ROUNDOFF.get(real, 0.0)


@dataclass(frozen=True, slots=True)
class Check:
    """The right answer of one output. Complex numbers are pairs of real parts, in a last dimension of 2."""

    want: torch.Tensor
    """Rounded to the output dtype."""
    wide: torch.Tensor
    """float64 (where ``want`` is not finite: that value), or equal to ``want`` for integers and bool."""
    bound: torch.Tensor | None
    """float64, largest allowed error of each element; ``None``: every element must be equal."""
    special: torch.Tensor | None
    """Elements that must be equal although others need not: NaN, infinities, untouched memory."""
    bitwise: bool
    """Whether the sign of a zero counts."""
    rms: float
    """Largest allowed RMS error; infinite where there is no gate."""
    flips: int = -1
    """QUANTIZED integers: how many elements may be one step off; -1 for anything else."""


@dataclass(frozen=True, slots=True)
class Elements:
    """What :func:`look` saw: which elements are right, and how much of their bounds they use."""

    right: torch.Tensor
    share: float
    error: torch.Tensor | None = None


def _parts(value: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def _doubled(value: torch.Tensor, is_complex: bool) -> torch.Tensor:
    return value.unsqueeze(-1).expand(*value.shape, 2) if is_complex else value


def same_bits(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    """Return where two real tensors of one dtype hold the same bits; NaN equals NaN whatever its payload."""
    if not one.is_floating_point():
        return one == two
    kind = _BITS[one.element_size()]
    return (one.view(kind) == two.view(kind)) | ((one != one) & (two != two))


def rms(error: torch.Tensor) -> float:
    """Return the root of the mean square; 0.0 for an empty tensor."""
    return float(error.square().mean().sqrt()) if error.numel() else 0.0


def build(
    answer: Bounded, dtype: torch.dtype, policy: Tolerance, distribution: str, baseline: torch.Tensor | None
) -> Check:
    """Work out bounds for an output of ``dtype``.

    Args:
        answer: value, magnitude and length.
        dtype: of the output.
        policy: of the operator.
        distribution: of the case; D4 is compared bit for bit where nothing can round.
        baseline: the same-mode torch result for the RMS gate; ``None``: no gate.
    """
    want, value = _parts(answer.value.to(dtype)), _parts(answer.value)
    if not want.is_floating_point():
        flips = max(1, want.numel() // 1000) if policy.name == "QUANTIZED" else -1
        return Check(want, want, None, None, False, math.inf, flips)
    exact = None if answer.exact is None else _doubled(answer.exact, dtype.is_complex)
    if policy.name == "EXACT" or _nothing_rounds(want, value, exact, policy, distribution):
        return Check(want, want, None, None, policy.name == "EXACT", math.inf)
    special = ~want.isfinite()
    wide = torch.where(special, want.double(), value.double())
    special = special if exact is None else special | exact
    magnitude = wide.abs() if answer.magnitude is None else _doubled(answer.magnitude, dtype.is_complex).double()
    bound = _bound(wide, magnitude, answer, dtype, policy)
    gate = math.inf if baseline is None else _gate(wide, magnitude, special, answer, dtype, policy, _parts(baseline))
    return Check(want, wide, bound, special if bool(special.any()) else None, False, gate)


def _nothing_rounds(
    want: torch.Tensor, value: torch.Tensor, exact: torch.Tensor | None, policy: Tolerance, distribution: str
) -> bool:
    if distribution != "D4" or policy.name not in _D4_POLICIES:
        return False
    whole = (want.double() == value) & (value * _D4_GRID == (value * _D4_GRID).round())
    return bool((whole if exact is None else whole | exact).all())


def _sum_roundoff(dtype: torch.dtype) -> float:
    return 2.0**-53 if unit_roundoff(dtype) == 2.0**-53 else 2.0**-24


def _ulps(policy: Tolerance, dtype: torch.dtype) -> float:
    return policy.ulps32 if unit_roundoff(dtype) <= 2.0**-24 else policy.ulps16


def _bound(
    wide: torch.Tensor, magnitude: torch.Tensor, answer: Bounded, dtype: torch.dtype, policy: Tolerance
) -> torch.Tensor:
    real = dtype.to_real() if dtype.is_complex else dtype
    bound = wide.abs() * (answer.steps * _ulps(policy, dtype) * 2 * unit_roundoff(dtype))
    if policy.accumulates:
        bound += magnitude * (_sum_roundoff(dtype) * (policy.slack + math.sqrt(answer.length)))
    tiny = torch.finfo(real).smallest_normal * 2 * unit_roundoff(dtype)
    return bound + tiny * (2 * answer.steps - 1)  # a factor behind an early rounding magnifies it


def _gate(
    wide: torch.Tensor,
    magnitude: torch.Tensor,
    special: torch.Tensor,
    answer: Bounded,
    dtype: torch.dtype,
    policy: Tolerance,
    baseline: torch.Tensor,
) -> float:
    """Return the RMS limit: a multiple of torch's own error, but no less than an honest kernel's.

    The floor of u/8 guards against a baseline that is exact by luck. A baseline that sums pairwise is more
    exact than the one-by-one sum of an honest kernel, whose error grows with sqrt(L) times S.
    """
    u, ordinary = unit_roundoff(dtype), ~special
    if u == 2.0**-53 or int(ordinary.sum()) < _RMS_LEAST:
        return math.inf  # for 64-bit outputs the reference itself is no more exact than torch
    factor = policy.rms32 if u <= 2.0**-24 else policy.rms16
    own = rms((baseline.double() - wide)[ordinary])
    limit = factor * max(own, u / 8 * rms(wide[ordinary]))
    if policy.accumulates:
        limit = max(limit, 2.0**-24 * (1 + math.sqrt(answer.length)) / 2 * rms(magnitude[ordinary]))
    return limit if math.isfinite(limit) else math.inf


def look(check: Check, got: torch.Tensor) -> Elements:
    """Compare an output that already has the right dtype and shape."""
    got = _parts(got)
    if check.bound is None:
        if check.flips >= 0:
            return _look_quantized(check, got)
        right = same_bits(got, check.want) if check.bitwise else _equal(got, check.want)
        return Elements(right, 0.0 if bool(right.all()) else SHARE_LIMIT)
    wide = got.double()
    error = (wide - check.wide).abs_()
    share = error / check.bound
    right = share <= 1.0
    if check.special is not None:
        equal = _equal(wide, check.wide)
        right = torch.where(check.special, equal, right)
        error = error.masked_fill(check.special, 0.0)
        share = torch.where(check.special, torch.where(equal, 0.0, SHARE_LIMIT), share)
    worst = float(share.max()) if share.numel() else 0.0
    return Elements(right, worst if worst < SHARE_LIMIT else SHARE_LIMIT, error)


def _equal(one: torch.Tensor, two: torch.Tensor) -> torch.Tensor:
    equal = one == two
    return equal | ((one != one) & (two != two)) if one.is_floating_point() else equal


def _look_quantized(check: Check, got: torch.Tensor) -> Elements:
    steps = (got.to(torch.int64) - check.want.to(torch.int64)).abs()
    share = int((steps == 1).sum()) / check.flips
    right = steps <= 1 if share <= 1.0 else steps == 0
    return Elements(right, share if bool((steps <= 1).all()) else SHARE_LIMIT)
