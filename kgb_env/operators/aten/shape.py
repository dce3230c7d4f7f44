"""Views and host scalars: t, item."""

from __future__ import annotations

from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.aten.creation import COPY_SPECIALS
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import EXACT

__all__ = ["item", "t"]

family = Family("aten", "view")

_DTYPES = ("float32", "float16", "bfloat16")
_ALL = (*_DTYPES, "float64", "int64", "int32", "int16", "uint8", "bool")


def _make_t(case: Case, generator: torch.Generator) -> Call:
    shape, layout = case.axes["shape"], case.axes["layout"]
    return Call((inputs.tensor(shape, dtype_of(case.dtype), generator, case.distribution, layout),))


_T_PUBLIC = {
    "overload": ("",),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "shape": ((2, 3), (20, 30), (9,)),
    "layout": ("contiguous",),
}
_T_SMOKE = {
    **_T_PUBLIC,
    "dtype": _ALL,
    "distribution": ("D1", "D3"),
    "shape": ((31, 65), (5, 5), (1, 7), (17,), (), (0, 3)),
    "layout": ("contiguous", "transposed", "sliced", "offset", "expanded"),
}
_T_FULL = {**_T_SMOKE, "shape": ((2, 3), (128, 256), (512, 512), (17,), (), (0, 3)), "layout": inputs.LAYOUTS}
_T_LARGE = [
    {"overload": "", "dtype": dtype, "shape": shape, "layout": "contiguous"}
    for dtype, shape in (("float32", (8192, 8192)), ("bfloat16", (4096, 1023)), ("float16", (1, 1 << 20)))
]


@family.operator(
    "aten::t(Tensor(a) self) -> Tensor(a)",
    plan=Plan(_T_PUBLIC, _T_SMOKE, _T_FULL, _T_LARGE),
    make=_make_t,
    tolerance=EXACT,
    traits=Traits(result="view", kernel_free=True, exact_layout=True, difficulty=1),
)
def t(self: torch.Tensor) -> Bounded:
    """Return the transpose of a matrix as a view: shape and strides swapped, storage shared.

    A tensor of 0 or 1 dimensions comes back as a view of itself. Nothing is copied and no kernel is
    needed; the result starts at the same element as ``self``.

    Example: ``t`` of a tensor of shape (2, 3) and strides (3, 1) has shape (3, 2) and strides (1, 3).
    """
    values = wide(self)
    return Bounded(values.permute(1, 0) if self.ndim == 2 else values)


def _item_fits(point: dict[str, Any]) -> bool:
    return point["distribution"] != "D6" or point["dtype"] in (*_DTYPES, "float64")


def _make_item(case: Case, generator: torch.Generator) -> Call:
    dtype = dtype_of(case.dtype)
    if dtype is torch.bool:
        value = torch.ones(case.axes["shape"], dtype=dtype)  # poisoned memory reads as True; see the neighbours
        value = value if case.axes["offset"] else ~value
    elif case.distribution == "D6":
        picks = torch.tensor(COPY_SPECIALS[1:], dtype=torch.float64)
        value = picks[torch.randint(len(picks), (1,), generator=generator)].reshape(case.axes["shape"]).to(dtype)
    else:
        value = inputs.draw(case.axes["shape"], dtype, case.distribution, generator)
        value = torch.where(value == 0, torch.ones_like(value), value)  # 0 is what fresh memory holds
    if case.axes["offset"]:
        neighbours = inputs.draw((8,), dtype, "D2", generator)
        if dtype is torch.bool:
            neighbours.zero_()
        value = neighbours[5:6].reshape(case.axes["shape"]).copy_(value)
    return Call((value,))


_ITEM_PUBLIC = {
    "overload": ("",),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "shape": ((), (1,)),
    "offset": (False,),
}
_ITEM_SMOKE = {
    "overload": ("",),
    "dtype": _ALL,
    "distribution": ("D1", "D2", "D3", "D6"),
    "shape": ((), (1,), (1, 1), (1, 1, 1, 1)),
    "offset": (False, True),
}
_ITEM_LARGE = [
    {"overload": "", "dtype": dtype, "shape": (), "offset": False} for dtype in ("float32", "bfloat16", "int64")
]


@family.operator(
    "aten::item(Tensor self) -> Scalar",
    plan=Plan(_ITEM_PUBLIC, _ITEM_SMOKE, _ITEM_SMOKE, _ITEM_LARGE, _item_fits),
    make=_make_item,
    tolerance=EXACT,
    traits=Traits(
        result="host_scalar",
        kernel_free=True,
        difficulty=1,
        allowed_functions=frozenset({"host_read"}),
        canary_omissions={
            "ignored strides": "one element has no strides; a wrong offset is caught by the off-by-one canary",
        },
    ),
)
def item(self: torch.Tensor) -> Bounded:
    """Return the only element of ``self`` as a Python number: float, int or bool, by its dtype.

    ``self`` has one element and any number of dimensions; it may start anywhere in its storage. The number is
    exact (a bfloat16 of 0.1 gives 0.10009765625). No kernel is needed: copy the element to the CPU and read it
    there with ``.tolist()``.

    Example: ``item([[2.5]])`` is ``2.5``.
    """
    return Bounded(wide(self).reshape(()))
