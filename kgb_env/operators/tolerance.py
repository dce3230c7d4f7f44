"""Error bounds: named policies, each with its reason.

The bound of an element y that sums L terms of total magnitude S, for an output dtype of unit
roundoff u (half an ulp of 1) and sums kept with unit roundoff v (fp32, or fp64 for 64-bit outputs)::

    |error| <= steps * ulps * 2*u*|y| + v * (slack + sqrt(L)) * S + tiny

First term: rounding of the result, and as much again for another order of operations. Second:
probabilistic growth of rounding errors (Higham & Mary 2019: sqrt(L), not L). ``tiny`` is the least
denormal of the output dtype (three of them where there is a second rounding). S is measured from the
data, so no constant depends on the distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "EXACT",
    "FUSED",
    "MATMUL",
    "POINTWISE",
    "QUANTIZED",
    "REDUCTION",
    "TRANSCENDENTAL",
    "Tolerance",
]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """One policy. ``rms`` bounds RMS(error) by a multiple of the same-mode torch result's."""

    name: Literal["EXACT", "POINTWISE", "TRANSCENDENTAL", "REDUCTION", "MATMUL", "FUSED", "QUANTIZED"]
    reason: str
    ulps32: float = 1.0
    """Allowed ulps (2u) of |y| where the output is fp32 or wider."""
    ulps16: float = 1.0
    """Allowed ulps (2u) of |y| where the output is 16 bits or narrower."""
    accumulates: bool = False
    """Whether the second term of the bound applies."""
    slack: float = 8.0
    """Roundings allowed to a sum however short it is."""
    rms32: float = 4.0
    rms16: float = 1.5


EXACT = Tolerance("EXACT", "moves or selects bits, or is integer arithmetic: there is nothing to round", 0.0, 0.0)
POINTWISE = Tolerance(
    "POINTWISE",
    "one correctly rounded operation; a fused multiply-add may save one, a scalar may be rounded",
    1.0,
    1.0,
    True,
    slack=4.0,
)
TRANSCENDENTAL = Tolerance(
    "TRANSCENDENTAL", "fast exp/log paths cost a few ulp of fp32", 16.0, 2.0, True, rms32=16.0, rms16=2.0
)
REDUCTION = Tolerance("REDUCTION", "the order of an fp32 sum is free", 1.0, 1.0, True)
MATMUL = Tolerance("MATMUL", "the order of an fp32 sum over K is free", 1.0, 1.0, True)
FUSED = Tolerance("FUSED", "one rounding per documented step", 2.0, 1.0, True, rms16=3.0)
QUANTIZED = Tolerance("QUANTIZED", "a value on a rounding boundary may fall to either side", 1.0, 1.0, True, rms16=3.0)
