"""Element by element, with broadcasting and type promotion: add, add_."""

from __future__ import annotations

import math
from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import Number, dtype_of, number, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import POINTWISE

__all__ = ["add", "add_"]

family = Family("aten", "elementwise")

_FLOATS = ("float32", "float16", "bfloat16")
_PARTNER = {"float16": "float32", "bfloat16": "float16", "float32": "int32", "float64": "float32", "int32": "int64"}
"""The other operand's dtype where the two are mixed; small integers are exact in every floating dtype."""
_FRACTIONS = (0.001, -0.999, 100.001, -111.999)
_SAME = tuple(
    (shape, shape) for shape in ((), (1,), (1024, 1024), (20, 320, 15), (16, 128, 64, 60), (16, 7, 57, 32, 29))
)
_BROADCAST = (((64, 1, 33), (5, 33)), ((1, 257), (1021, 1)), ((0, 3), (1, 3)))
_OUTS = ("out", "Scalar_out")


def _is_scalar(overload: str) -> bool:
    return overload.startswith("Scalar")


def _fits(point: dict[str, Any]) -> bool:
    """Whether torch defines the call, and the axis values say something about it."""
    whole = point["dtype"] in ("int32", "int64", "bool")
    other = "number" if _is_scalar(point["overload"]) else point["other"]
    if _is_scalar(point["overload"]) and (point["other"] != "same" or point["other_layout"] != "contiguous"):
        return False
    if other == "promoted" and point["dtype"] not in _PARTNER:
        return False
    if other in ("number", "scalar") and point["shapes"][0] != point["shapes"][1]:
        return False
    if point["dtype"] == "bool":
        return other == "same" and point["alpha"] == 1 and point["distribution"] == "D1"
    fractional = point["alpha"] % 1 != 0 or (other == "number" and point["number"] % 1 != 0)
    if point["distribution"] == "D4" and fractional:
        return False
    return not (whole and fractional)


def _fits_in_place(point: dict[str, Any]) -> bool:
    if point["layout"] == "expanded" or point["other"] == "promoted" and point["dtype"] == "int32":
        return False
    # int tensors take no float operand in place: the result could not be stored
    return _fits(point)


def _make(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shape, other_shape = axes["shapes"]
    one = inputs.tensor(shape, dtype, generator, case.distribution, axes["layout"])
    alpha = _short(axes["alpha"], case)
    if _is_scalar(case.overload):
        args: tuple[Any, ...] = (one, _short(axes["number"], case))
        call = Call(args if alpha == 1 else (*args, alpha))
        result = one.shape
    else:
        other = _other(case, other_shape, dtype, generator)
        call = Call((one, other), {} if alpha == 1 else {"alpha": alpha})
        result = torch.broadcast_shapes(shape, getattr(other, "shape", ()))
    if case.overload in _OUTS:
        kind = torch.result_type(one, call.args[1])
        call.kwargs["out"] = inputs.poison(result, kind)
    return call


def _short(value: Number, case: Case) -> Number:
    """Give a number 12 significant bits in the smoke tier: one more than fp16 has, and products fit into fp32.

    Triton passes Python floats as fp32 whatever the tensors' dtype; the full tier asks for every bit.
    """
    if not isinstance(value, float) or case.tier != "smoke":
        return value
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 4096), exponent - 12)


def _other(case: Case, shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor | Number:
    axes = case.axes
    if axes["other"] == "number":
        return _short(axes["number"], case)
    if axes["other"] == "scalar":
        return inputs.tensor((), dtype, generator, case.distribution if case.distribution != "D6" else "D1")
    if axes["other"] == "promoted":
        dtype = dtype_of(_PARTNER[case.dtype])
    return inputs.tensor(shape, dtype, generator, case.distribution, axes["other_layout"])


def _added(self: torch.Tensor | Number, other: torch.Tensor | Number, alpha: Number) -> Bounded:
    """Add exactly; operands take the common dtype first, numbers the type that it is computed in."""
    common = torch.result_type(self, other)

    def operand(value: torch.Tensor | Number) -> Any:
        return wide(value.to(common)) if isinstance(value, torch.Tensor) else number(value, common)

    one, two = operand(self), operand(other)
    if common is torch.bool:
        return Bounded(torch.logical_or(one, torch.logical_and(two, torch.tensor(bool(alpha)))))
    scaled = number(alpha, common) * two
    if not common.is_floating_point:
        return Bounded((one + scaled).to(common).to(torch.int64))  # wraps like the machine does
    magnitude = torch.as_tensor(abs(one) + abs(scaled), dtype=torch.float64)
    return Bounded(torch.as_tensor(one + scaled, dtype=torch.float64), magnitude)


_SMOKE_AXES = {
    "overload": ("Tensor", "Scalar", "out", "Scalar_out"),
    "dtype": (*_FLOATS, "float64", "int32", "int64"),
    "distribution": ("D1", "D2", "D3", "D4", "D5", "D6"),
    "shapes": (
        ((31, 67), (31, 67)),
        ((2049,), (2049,)),
        ((3, 1, 129), (5, 1)),
        ((), ()),
        ((0, 3), (1, 3)),
        ((2, 3, 5, 7, 11), (2, 3, 5, 7, 11)),
    ),
    "layout": ("contiguous", "transposed", "sliced", "offset", "expanded"),
    "other_layout": ("contiguous", "transposed", "padded"),
    "other": ("same", "promoted", "scalar", "number"),
    "alpha": (1, 0.001, -3),
    "number": (-111.999, 7),
}
_PUBLIC_AXES = {
    "overload": ("Tensor", "Scalar", "out"),
    "dtype": _FLOATS,
    "distribution": ("D1", "D4"),
    "shapes": (((1000,), (1000,)), ((17, 40), (17, 40)), ((4, 1, 9), (6, 1))),
    "layout": ("contiguous", "transposed"),
    "other_layout": ("contiguous",),
    "other": ("same",),
    "alpha": (1, 2),
    "number": (0.5, -2),
}
_FULL_AXES = {
    **_SMOKE_AXES,
    "dtype": (*_FLOATS, "float64", "int32", "int64", "bool"),
    "distribution": inputs.DISTRIBUTIONS,
    "shapes": (*_SAME, *_BROADCAST),
    "layout": inputs.LAYOUTS,
    "other_layout": ("contiguous", "transposed", "padded", "expanded"),
    "alpha": (1, -3, *_FRACTIONS),
    "number": (7, *_FRACTIONS),
}
_LARGE = [
    {"overload": o, "dtype": d, "shapes": (s, s), "alpha": a, "number": 2.5}
    | {"layout": "contiguous", "other_layout": "contiguous", "other": "same"}
    for o, d, s, a in (
        ("Tensor", "float32", (4096, 4096), 1),
        ("Tensor", "bfloat16", (16, 128, 64, 60), 2),
        ("Tensor", "float16", (8192, 4099), 1),
        ("Scalar", "float32", (4096, 4096), 1),
    )
]


_CPU_WRONG = (
    (
        "16-bit dtypes with an alpha other than 1, or with a Python number",
        "torch 2.13.0 on a CPU rounds alpha, the number or their product to 16 bits first; the baseline widens",
    ),
)


def _faithful(operator: str, overload: str) -> Any:
    """Native, except where the CPU kernel rounds scalars to 16 bits: there the sum is widened by hand."""
    native = getattr(getattr(torch.ops.aten, operator), overload)

    def widened(value: torch.Tensor | Number) -> Any:
        return value.float() if isinstance(value, torch.Tensor) else value

    def run(self: Any, other: Any, *args: Any, out: torch.Tensor | None = None, **kwargs: Any) -> torch.Tensor:
        common = torch.result_type(self, other)
        tensor = self if isinstance(self, torch.Tensor) else other
        keywords = kwargs if out is None else {**kwargs, "out": out}
        alpha = args[0] if args else kwargs.get("alpha", 1)
        plain = alpha == 1 and isinstance(self, torch.Tensor) and isinstance(other, torch.Tensor)
        if plain or tensor.device.type != "cpu" or common not in (torch.float16, torch.bfloat16):
            return native(self, other, *args, **keywords)
        result = torch.add(widened(self), widened(other), alpha=alpha).to(common)
        target = self if operator.endswith("_") else out
        return result if target is None else target.copy_(result)

    return run


def _flops(_case: Case, call: Call) -> int:
    return 2 * max(v.numel() for v in call.args if isinstance(v, torch.Tensor))


@family.operator(
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "aten::add.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_PUBLIC_AXES, _SMOKE_AXES, _FULL_AXES, _LARGE, _fits),
    make=_make,
    tolerance=POINTWISE,
    traits=Traits(difficulty=1, native_wrong=_CPU_WRONG),
    baselines={name: _faithful("add", name) for name in ("Tensor", "Scalar", "out", "Scalar_out")},
    flops=_flops,
)
def add(self: torch.Tensor | Number, other: torch.Tensor | Number, alpha: Number = 1) -> Bounded:
    """Return ``self + alpha * other``.

    Tensors broadcast against each other and may have any strides. Different dtypes promote as in
    torch (float16 with float32 gives float32, int32 with float32 gives float32); a 0-dimensional
    tensor or a Python number does not widen a tensor of the same kind. ``other`` of the ``Tensor``
    overload may be a Python number: it arrives as one. 16-bit dtypes are added in float32 and
    rounded once. Numbers count in float32, and in full for float64: as an argument of a kernel a Python
    float is float32, so pass a one-element float64 tensor or a ``tl.constexpr`` there. Integers wrap
    around; for bool, ``+`` is "or". ``out`` has the shape and dtype of the result.

    Example: ``add([1., 2.], [10., 20.], alpha=2)`` is ``[21., 42.]``.
    """
    return _added(self, other, alpha)


def _in_place(axes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    shapes = tuple((a, b) for a, b in axes["shapes"] if torch.broadcast_shapes(a, b) == torch.Size(a))
    overloads = tuple(o for o in axes["overload"] if o not in _OUTS)
    layouts = tuple(layout for layout in axes["layout"] if layout != "expanded")
    return {**axes, "overload": overloads, "shapes": shapes, "layout": layouts, **changes}


_IN_PLACE_SMOKE = _in_place(_SMOKE_AXES)
_IN_PLACE_SMOKE["shapes"] = (*_IN_PLACE_SMOKE["shapes"], ((6, 5, 43), (5, 1)))


@family.operator(
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    "aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
    plan=Plan(
        {**_in_place(_PUBLIC_AXES), "shapes": (((1000,), (1000,)), ((17, 40), (17, 40)), ((4, 6, 9), (6, 1)))},
        _IN_PLACE_SMOKE,
        {**_in_place(_FULL_AXES), "shapes": (*_SAME, ((64, 5, 33), (5, 1)), ((0, 3), (1, 3)))},
        _LARGE,
        _fits_in_place,
    ),
    make=_make,
    tolerance=POINTWISE,
    traits=Traits(difficulty=1, native_wrong=_CPU_WRONG),
    baselines={name: _faithful("add_", name) for name in ("Tensor", "Scalar")},
    flops=_flops,
)
def add_(self: torch.Tensor, other: torch.Tensor | Number, alpha: Number = 1) -> Bounded:
    """Add ``alpha * other`` to ``self`` in place, and return ``self``.

    ``self`` keeps its shape, strides and dtype; ``other`` broadcasts to it. The sum is computed in the
    promoted dtype (float32 for 16-bit dtypes) and rounded once when it is stored. ``self`` may have
    gaps between its elements: they stay untouched. ``other`` may be a Python number. Integers wrap around.

    Example: ``add_([1., 2.], [10., 20.], alpha=2)`` leaves ``[21., 42.]`` in ``self``.
    """
    return _added(self, other, alpha)
