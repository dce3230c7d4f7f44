"""Picking and joining: index_select, cat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.aten.creation import COPY_SPECIALS
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import EXACT

__all__ = ["cat", "index_select"]

family = Family("aten", "indexing")

_DTYPES = ("float32", "float16", "bfloat16")
_COPIED = (*_DTYPES, "float64", "int32", "int64", "bool")


def _select_fits(point: dict[str, Any]) -> bool:
    return point["distribution"] != "D6" or point["dtype"] != "bool"


def _make_select(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shape, dim, count = axes["pick"]
    source = inputs.tensor(shape, dtype, generator, case.distribution, axes["layout"], COPY_SPECIALS)
    size = shape[dim] if shape else 1
    index = inputs.indices(count, size, generator, dtype_of(axes["index_dtype"]))
    index = inputs.lay_out(index, axes["index_layout"], generator) if count else index
    if axes["index_layout"] == "sliced" and count:
        # the gaps of a sliced index must be indices too: a kernel that reads them must not fault
        index.as_strided((2 * count - 1,), (1,)).clamp_(0, size - 1)
    call = Call((source, dim, index))
    if case.overload == "out":
        result = list(shape)
        if result:
            result[dim] = count
        call.kwargs["out"] = inputs.poison(result, dtype)
    return call


_SELECT_PUBLIC = {
    "overload": ("", "out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "pick": (((20, 30), 0, 12), ((20, 30), 1, 40)),
    "index_dtype": ("int64",),
    "index_layout": ("contiguous",),
    "layout": ("contiguous",),
}
_SELECT_SMOKE = {
    "overload": ("", "out"),
    "dtype": _COPIED,
    "distribution": ("D1", "D3", "D4", "D6"),
    "pick": (((67, 19), 0, 33), ((9, 131), 1, 257), ((5, 17, 21), -2, 30), ((1000,), 0, 777), ((6, 7), 0, 0)),
    "index_dtype": ("int64", "int32"),
    "index_layout": ("contiguous", "sliced"),
    "layout": ("contiguous", "transposed", "sliced", "offset", "expanded"),
}
_SELECT_FULL = {
    **_SELECT_SMOKE,
    "pick": (
        ((1, 2), 0, 1),
        ((1, 2), 1, 3),
        ((4096, 256), 0, 1000),
        ((4096, 256), 1, 127),
        ((200, 40999, 3), 0, 50),
        ((200, 40999, 3), 1, 1025),
        ((), 0, 1),
        ((6, 7), 0, 0),
    ),
    "layout": inputs.LAYOUTS,
}
_SELECT_LARGE = [
    {"overload": "", "dtype": t, "pick": p, "index_dtype": "int64", "index_layout": "contiguous"}
    | {"layout": "contiguous"}
    for t, p in (
        ("float32", ((32000, 1024), 0, 8192)),
        ("bfloat16", ((8192, 4096), 1, 2048)),
        ("float16", ((200, 40999, 3), 1, 20000)),
    )
]


@family.operator(
    "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
    "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_SELECT_PUBLIC, _SELECT_SMOKE, _SELECT_FULL, _SELECT_LARGE, _select_fits),
    make=_make_select,
    tolerance=EXACT,
    traits=Traits(narrowed_helpers=frozenset({"gather"}), difficulty=2),
)
def index_select(self: torch.Tensor, dim: int, index: torch.Tensor) -> Bounded:
    """Return the slices of ``self`` along ``dim`` that the 1-dimensional ``index`` names, in its order.

    The result has ``index.numel()`` entries along ``dim`` and the size of ``self`` elsewhere; its elements
    are bit copies. ``index`` is int32 or int64, its values lie in ``[0, self.shape[dim])`` and may repeat; it may
    be strided, as may ``self``. ``dim`` may be negative. A 0-dimensional ``self`` counts as one entry.

    Example: ``index_select([[1, 2], [3, 4], [5, 6]], 0, [2, 0])`` is ``[[5, 6], [1, 2]]``.
    """
    if self.ndim == 0:
        return Bounded(wide(self).clone())
    picked = [slice(None)] * self.ndim
    picked[dim] = index.long()  # type: ignore[call-overload]
    return Bounded(wide(self[tuple(picked)]))


def _cat_fits(point: dict[str, Any]) -> bool:
    if point["dtype"] == "bool" and point["distribution"] == "D6":
        return False
    return not point["mixed"] or point["dtype"] in ("float16", "bfloat16", "int32")


def _make_cat(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shapes, dim = axes["join"]
    parts = []
    for number, shape in enumerate(shapes):
        kind = torch.float32 if axes["mixed"] and number == 1 else dtype
        # layouts alternate, so that no part can borrow its neighbour's strides
        layout = axes["layout"] if number % 2 == 0 else "contiguous"
        parts.append(inputs.tensor(shape, kind, generator, case.distribution, layout, COPY_SPECIALS))
    call = Call((parts, dim) if dim else (parts,))
    if case.overload == "out":
        result = torch.cat([p.to(torch.float32) for p in parts], dim).shape
        kind = torch.float32 if axes["mixed"] and len(parts) > 1 else dtype
        call.kwargs["out"] = inputs.poison(result, kind)
    return call


_CAT_PUBLIC = {
    "overload": ("", "out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "join": ((((4, 30), (7, 30)), 0), (((12, 16), (12, 20), (12, 5)), 1)),
    "mixed": (False,),
    "layout": ("contiguous",),
}
_CAT_SMOKE = {
    "overload": ("", "out"),
    "dtype": _COPIED,
    "distribution": ("D1", "D3", "D4", "D6"),
    "join": (
        (((0, 3), (2, 3)), 0),
        (((0, 3), (0, 3)), 0),
        (((0,), (5, 9)), 1),
        (((33, 17), (33, 40)), -1),
        (((5, 6, 7), (5, 3, 7)), -2),
        (((1021,), (1,), (515,)), 0),
        (((3, 5, 7), (3, 11, 7), (3, 2, 7), (3, 1, 7), (3, 4, 7)), 1),
        (((19, 23),), 0),
    ),
    "mixed": (False, True),
    "layout": ("contiguous", "transposed", "sliced", "offset", "expanded"),
}
_CAT_FULL = {
    **_CAT_SMOKE,
    "join": (
        (((0, 3), (2, 3)), 0),
        (((0, 3), (0, 3)), 0),
        (((0,), (0,)), 0),
        (((1024, 1024), (1023, 1024)), 0),
        (((127, 513), (127, 1), (127, 2048)), 1),
        (tuple((5, 7, 3) for _ in range(33)), 2),
    ),
    "layout": inputs.LAYOUTS,
}
_CAT_LARGE = [
    {"overload": "", "dtype": t, "join": j, "mixed": False, "layout": "contiguous"}
    for t, j in (
        ("float32", (((4096, 2048), (4096, 2048)), 0)),
        ("bfloat16", (((4096, 4096), (4096, 1024)), 1)),
        ("float16", (tuple((64, 128, 257) for _ in range(8)), 2)),
    )
]


@family.operator(
    "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_CAT_PUBLIC, _CAT_SMOKE, _CAT_FULL, _CAT_LARGE, _cat_fits),
    make=_make_cat,
    tolerance=EXACT,
    traits=Traits(narrowed_helpers=frozenset({"copy", "gather"}), difficulty=2),
)
def cat(tensors: Sequence[torch.Tensor], dim: int = 0) -> Bounded:
    """Join ``tensors`` (a list) along dimension ``dim``, in their order.

    All have the same size in every other dimension; they may differ in strides. A 1-dimensional tensor of
    size 0 is skipped whatever the others' number of dimensions is. Different dtypes promote as in torch.
    ``dim`` may be negative. Elements are copies, cast to the common dtype.

    Example: ``cat([[[1, 2]], [[3, 4], [5, 6]]], 0)`` is ``[[1, 2], [3, 4], [5, 6]]``.
    """
    common = tensors[0].dtype
    for part in tensors[1:]:
        common = torch.promote_types(common, part.dtype)
    parts = [wide(t.to(common)) for t in tensors if t.shape != (0,)]
    if not parts:
        return Bounded(wide(torch.empty(0, dtype=common)))
    sizes = list(parts[0].shape)
    sizes[dim] = sum(p.shape[dim] for p in parts)
    result = torch.empty(sizes, dtype=parts[0].dtype)
    start = 0
    for part in parts:
        result.narrow(dim, start, part.shape[dim]).copy_(part)
        start += part.shape[dim]
    return Bounded(result)
