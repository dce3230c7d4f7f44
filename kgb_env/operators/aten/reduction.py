"""Reductions over dimensions: sum, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import REDUCTION, TRANSCENDENTAL

__all__ = ["softmax", "sum"]

family = Family("aten", "reduction")

_DTYPES = ("float32", "float16", "bfloat16")
_WHOLE = ("int32", "int64", "bool")


def _reduced_shape(shape: Sequence[int], dim: Sequence[int] | None, keepdim: bool) -> tuple[int, ...]:
    gone = {d % max(len(shape), 1) for d in dim} if dim else set(range(len(shape)))
    return tuple(1 if i in gone else n for i, n in enumerate(shape) if keepdim or i not in gone)


def _sum_fits(point: dict[str, Any]) -> bool:
    shape, dim = point["reduce"]
    if point["overload"] in ("", "out") and (dim is not None or point["keepdim"]):
        return False
    if point["cast"] is not None and (point["dtype"] in _WHOLE or point["cast"] == point["dtype"]):
        return False
    return point["layout"] != "expanded" or len(shape) > 0


def _make_sum(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shape, dim = axes["reduce"]
    call = Call((inputs.tensor(shape, dtype, generator, case.distribution, axes["layout"]),))
    if case.overload in ("dim_IntList", "IntList_out"):
        call.args = (*call.args, None if dim is None else list(dim), *((True,) if axes["keepdim"] else ()))
    result = dtype if dtype.is_floating_point else torch.int64
    if axes["cast"] is not None:
        result = call.kwargs["dtype"] = dtype_of(axes["cast"])
    if case.overload.endswith("out"):
        call.kwargs["out"] = inputs.poison(_reduced_shape(shape, dim, axes["keepdim"]), result)
    return call


_SUM_PUBLIC = {
    "overload": ("dim_IntList", "", "out", "IntList_out"),
    "dtype": (*_DTYPES, "int32"),
    "distribution": ("D1", "D4"),
    "reduce": (((20, 50), (1,)), ((20, 50), (0,)), ((20, 50), None)),
    "keepdim": (False, True),
    "cast": (None,),
    "layout": ("contiguous", "transposed"),
}
_SUM_SMOKE = {
    "overload": ("dim_IntList", "", "out", "IntList_out"),
    "dtype": (*_DTYPES, "float64", "int32", "int64"),
    "distribution": ("D1", "D2", "D3", "D4", "D5", "D6"),
    "reduce": (
        ((33, 71), (-1,)),
        ((33, 71), (0,)),
        ((7, 19, 23), (0, -1)),
        ((7, 19, 23), (-2,)),
        ((3, 1025), None),
        ((37, 29), ()),
        ((0, 4), (1,)),
        ((), None),
    ),
    "keepdim": (False, True),
    "cast": (None, "float32"),
    "layout": ("contiguous", "transposed", "sliced", "offset", "expanded"),
}
_SUM_FULL = {
    **_SUM_SMOKE,
    "dtype": (*_DTYPES, "float64", "int32", "int64", "bool"),
    "distribution": inputs.DISTRIBUTIONS,
    "reduce": (
        ((1, 2), (0,)),
        ((1, 2), (1,)),
        ((1, 2), ()),
        ((1, 2), None),
        ((4096, 256), (0,)),
        ((4096, 256), (1,)),
        ((4096, 256), None),
        ((200, 40999, 3), (0,)),
        ((200, 40999, 3), (1,)),
        ((200, 40999, 3), ()),
        ((7, 127, 65), (0, 2)),
        ((7, 127, 65), (-1, -3)),
        ((3, 0), (1,)),
    ),
    "cast": (None, "float32", "float64"),
    "layout": inputs.LAYOUTS,
}
_SUM_LARGE = [
    {"overload": "dim_IntList", "dtype": t, "reduce": r, "keepdim": False, "cast": None, "layout": "contiguous"}
    for t, r in (
        ("float32", ((8192, 4096), (1,))),
        ("bfloat16", ((4096, 8192), (0,))),
        ("float16", ((200, 40999, 3), (1,))),
    )
] + [
    {"overload": "", "dtype": "float32", "reduce": ((4096, 4096), None), "keepdim": False, "cast": None}
    | {"layout": "contiguous"}
]


@family.operator(
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, "
    "Tensor(a!) out) -> Tensor(a!)",
    "aten::sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_SUM_PUBLIC, _SUM_SMOKE, _SUM_FULL, _SUM_LARGE, _sum_fits),
    make=_make_sum,
    tolerance=REDUCTION,
    traits=Traits(difficulty=2),
    flops=lambda _case, call: call.args[0].numel(),
)
def sum(
    self: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Bounded:
    """Return the sum of ``self`` over the dimensions ``dim``.

    ``dim`` is a list of dimensions, negative ones counted from the end; ``None`` or an empty list means
    all of them. With ``keepdim`` the reduced dimensions stay with size 1. The sum of nothing is 0.
    Integers and bool are summed, and returned, in int64. Floating dtypes keep their dtype; 16-bit ones are
    summed in float32 and rounded once. With ``dtype`` the elements are cast to it first.

    Example: ``sum([[1., 2.], [3., 4.]], dim=[1])`` is ``[3., 7.]``.
    """
    values = wide(self if dtype is None else self.to(dtype))
    values = values.to(torch.int64) if values.dtype is torch.bool else values
    over = tuple(d % max(self.ndim, 1) for d in dim) if dim else tuple(range(self.ndim))
    if not self.ndim:
        return Bounded(values.clone(), values.abs(), 1)
    length = 1
    for d in over:
        length *= self.shape[d]
    return Bounded(values.sum(over, keepdim), values.abs().sum(over, keepdim).double(), length)


def _softmax_fits(point: dict[str, Any]) -> bool:
    if point["cast"] is not None and point["dtype"] not in ("float16", "bfloat16"):
        return False
    return point["distribution"] != "D6" or not point["masked"]


def _make_softmax(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shape, dim = axes["reduce"]
    values = inputs.draw(shape, dtype, case.distribution, generator)
    if case.distribution == "D3":
        values = values / 16  # the spread of exponents stays, the rows do not become one-hot
    if axes["masked"] and values.numel() and values.ndim:
        values[torch.rand(values.shape, generator=generator) < 0.3] = float("-inf")
        values.narrow(dim, 0, 1).fill_(0.25)  # no row without a finite entry
    call = Call((inputs.lay_out(values, axes["layout"], generator), dim))
    result = dtype
    if axes["cast"] is not None:
        result = dtype_of(axes["cast"])
        call.args = (*call.args, result)
    if case.overload == "int_out":
        call.kwargs["out"] = inputs.poison(shape, result)
    return call


_SOFTMAX_PUBLIC = {
    "overload": ("int", "int_out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "reduce": (((16, 64), -1), ((12, 50), 1), ((40, 24), 0)),
    "masked": (False,),
    "cast": (None,),
    "layout": ("contiguous",),
}
_SOFTMAX_SMOKE = {
    "overload": ("int", "int_out"),
    "dtype": (*_DTYPES, "float64"),
    "distribution": ("D1", "D2", "D3", "D4", "D5", "D6"),
    "reduce": (((3, 1021), 1), ((37, 41), 0), ((7, 33, 13), -2), ((5, 6, 127), -1), ((2047,), 0), ((0, 4), 1)),
    "masked": (False, True),
    "cast": (None, "float32"),
    "layout": ("contiguous", "transposed", "sliced", "offset", "expanded"),
}
_SOFTMAX_FULL = {
    **_SOFTMAX_SMOKE,
    "distribution": inputs.DISTRIBUTIONS,
    "reduce": (
        ((1, 256), 0),
        ((1, 256), 1),
        ((4096, 256), 0),
        ((4096, 256), 1),
        ((200, 2560, 3), 0),
        ((200, 2560, 3), 1),
        ((127, 8193), -1),
        ((), 0),
        ((4, 0), 1),
    ),
    "layout": inputs.LAYOUTS,
}
_SOFTMAX_LARGE = [
    {"overload": "int", "dtype": t, "reduce": r, "masked": False, "cast": None, "layout": "contiguous"}
    for t, r in (
        ("float32", ((4096, 4096), 1)),
        ("bfloat16", ((8192, 2048), 1)),
        ("float16", ((200, 2560, 3), 1)),
        ("float32", ((1024, 32000), 1)),
    )
]


@family.operator(
    "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "aten::softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_SOFTMAX_PUBLIC, _SOFTMAX_SMOKE, _SOFTMAX_FULL, _SOFTMAX_LARGE, _softmax_fits),
    make=_make_softmax,
    tolerance=TRANSCENDENTAL,
    traits=Traits(difficulty=2),
    flops=lambda _case, call: 5 * call.args[0].numel(),
)
def softmax(self: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> Bounded:
    """Return ``exp(self - max) / sum(exp(self - max))`` along dimension ``dim`` (negative: from the end).

    ``self`` may have any number of dimensions and any strides. 16-bit dtypes are computed in float32 and
    rounded once; with ``dtype`` the elements are cast to it first and the result has that dtype.
    An entry of minus infinity gives 0; a row with NaN, with plus infinity, or with nothing but minus
    infinity, gives NaN.

    Example: ``softmax([0., 0., log(2.)], 0)`` is ``[0.25, 0.25, 0.5]``.
    """
    values = wide(self if dtype is None else self.to(dtype))
    if not values.numel():
        return Bounded(values)
    shifted = values - values.amax(dim, keepdim=True)
    powers = shifted.exp()
    result = powers / powers.sum(dim, keepdim=True)
    # an error of the exponent's argument, |x - max| roundings large, is an error of the result
    reach = torch.where(shifted.isfinite(), shifted.abs(), 0.0)
    # a one-by-one sum of positive terms, as torch's own is over an outer dimension, may round one way every time
    # (small terms vanish in a large sum): L roundings instead of sqrt(L)
    length = self.shape[dim] if self.ndim else 1
    return Bounded(result, result * (1 + reach), length * length)
