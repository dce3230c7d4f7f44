"""Vectors with vectors: Zdotc_v2."""

from __future__ import annotations

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import REDUCTION

__all__ = ["Zdotc_v2", "elements"]

family = Family("cublas", "blas1")


def elements(vector: torch.Tensor, n: int, inc: int) -> torch.Tensor:
    """Return the n elements that BLAS means: element i at ``i*inc``, or at ``(i-(n-1))*inc`` for a negative inc."""
    first = 0 if inc > 0 else (1 - n) * inc
    return vector[first + torch.arange(n) * inc]


def _vector(n: int, inc: int, distribution: str, generator: torch.Generator) -> torch.Tensor:
    """Draw a flat buffer that holds n elements ``inc`` apart, with NaN between them and behind them."""
    flat = inputs.poison((max(n - 1, 0) * abs(inc) + 3,), torch.complex128)
    values = inputs.draw((n,), torch.complex128, distribution, generator)
    flat[torch.arange(n) * abs(inc)] = values
    return flat


def _make(case: Case, generator: torch.Generator) -> Call:
    axes = case.axes
    x, y = (_vector(axes["n"], axes[inc], case.distribution, generator) for inc in ("incx", "incy"))
    return Call((axes["n"], x, axes["incx"], y, axes["incy"], inputs.poison((1,), torch.complex128)))


def _portable(n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int, result: torch.Tensor) -> torch.Tensor:
    """torch.vdot of the gathered elements."""
    return result.copy_(torch.vdot(elements(x, n, incx), elements(y, n, incy)))


def _unit_steps(call: Call) -> Call:
    n, x, _, y, _, result = call.args
    return Call((n, x, 1, y, 1, result))


_PUBLIC = {
    "overload": ("",),
    "dtype": ("complex128",),
    "distribution": ("D1", "D4"),
    "n": (32, 100),
    "incx": (1, 2),
    "incy": (1,),
}
_SMOKE = {
    "overload": ("",),
    "dtype": ("complex128",),
    "distribution": ("D1", "D2", "D3", "D4", "D5"),
    "n": (1, 71, 1024, 1331),
    "incx": (1, 2, -1, -2),
    "incy": (1, 3, -1),
}
_FULL = {**_SMOKE, "n": (1, 32, 71, 1024, 4096, 5333), "incy": (1, 2, 3, -1, -2)}
_LARGE = [
    {"overload": "", "dtype": "complex128", "n": n, "incx": incx, "incy": 1}
    for n, incx in ((1 << 22, 1), (1 << 20, 2), (5333, 1))
]


@family.operator(
    "Zdotc_v2(n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int, result: torch.Tensor) -> torch.Tensor",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE),
    make=_make,
    tolerance=REDUCTION,
    traits=Traits(difficulty=2),
    mutates=("result",),
    baseline=_portable,
    strideless=_unit_steps,
    flops=lambda case, _call: 8 * case.axes["n"],
)
def Zdotc_v2(n: int, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int, result: torch.Tensor) -> Bounded:
    """Write ``sum(conj(x_i) * y_i)`` over n elements into ``result[0]``, and return ``result``.

    ``x`` and ``y`` are flat complex128 buffers. Element i (0 to n-1) lies at ``i*inc`` for inc > 0 and at
    ``(i-(n-1))*inc`` for inc < 0, so that a negative inc walks backwards; inc is never 0. Elements between
    must not be used. ``result`` is complex128, shape (1,). Sums are float64. Triton has no complex type: work
    on ``torch.view_as_real(x)``, which shares memory.

    Example: n=1, x=[1+i], y=[2+3i] gives (1-i)(2+3i) = 5+i.
    """
    del result
    one, two = elements(wide(x), n, incx), elements(wide(y), n, incy)
    value = (one.conj() * two).sum().reshape(1)
    return Bounded(value, (one.abs() * two.abs()).sum().reshape(1), 2 * n)
