"""Fresh tensors: clone, empty_strided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import EXACT

__all__ = ["COPY_SPECIALS", "clone", "empty_strided"]

family = Family("aten", "creation")

COPY_SPECIALS = (*inputs.SPECIALS, 6.0e-8, -6.5e4)
"""Values that a copy must carry bit by bit: the common ones, a denormal of float16 and a large number."""

_DTYPES = ("float32", "float16", "bfloat16")
_COPIED = (*_DTYPES, "float64", "int32", "int64", "bool")


def _clone_fits(point: dict[str, Any]) -> bool:
    if point["memory_format"] == "channels_last" and len(point["shape"]) != 4:
        return False
    if point["overload"] == "out" and point["memory_format"] == "channels_last":
        return False
    return point["distribution"] != "D6" or point["dtype"] != "bool"


def _make_clone(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    source = inputs.tensor(axes["shape"], dtype, generator, case.distribution, axes["layout"], COPY_SPECIALS)
    call = Call((source,))
    if axes["memory_format"] is not None:
        call.kwargs["memory_format"] = getattr(torch, axes["memory_format"])
    if case.overload == "out":
        call.kwargs["out"] = inputs.poison(axes["shape"], dtype)
    return call


_CLONE_PUBLIC = {
    "overload": ("", "out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "shape": ((1000,), (24, 40)),
    "memory_format": (None, "contiguous_format"),
    "layout": ("contiguous", "transposed"),
}
_CLONE_SMOKE = {
    "overload": ("", "out"),
    "dtype": _COPIED,
    "distribution": ("D1", "D3", "D4", "D6"),
    "shape": ((31, 67), (2049,), (3, 5, 7, 11), (), (0, 4)),
    "memory_format": (None, "contiguous_format", "preserve_format", "channels_last"),
    "layout": ("contiguous", "transposed", "sliced", "reversed", "offset", "padded", "expanded"),
}
_CLONE_FULL = {
    **_CLONE_SMOKE,
    "shape": ((), (1,), (1024, 1024), (20, 320, 15), (16, 128, 64, 60), (16, 7, 57, 32, 29), (0, 4)),
}
_CLONE_LARGE = [
    {"overload": "", "dtype": dtype, "shape": shape, "memory_format": None, "layout": layout}
    for dtype, shape, layout in (
        ("float32", (4096, 4096), "contiguous"),
        ("bfloat16", (16, 128, 64, 60), "transposed"),
        ("float16", (8192, 2047), "padded"),
    )
]


@family.operator(
    "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_CLONE_PUBLIC, _CLONE_SMOKE, _CLONE_FULL, _CLONE_LARGE, _clone_fits),
    make=_make_clone,
    tolerance=EXACT,
    traits=Traits(
        narrowed_helpers=frozenset({"copy", "cast", "gather"}),
        exact_layout=True,
        difficulty=1,
    ),
)
def clone(self: torch.Tensor, *, memory_format: torch.memory_format | None = None) -> Bounded:
    """Return a fresh tensor with the elements of ``self``, bit by bit.

    The strides of the result are part of the answer. Without ``memory_format``, or with
    ``torch.preserve_format``, a tensor whose elements lie densely and without overlap (in any order of
    dimensions) keeps its strides; any other gets those of ``torch.empty_like(self)``.
    ``torch.contiguous_format`` gives row-major strides, ``torch.channels_last`` those of NHWC. The ``out``
    form writes into ``out``.

    Example: the clone of a transposed (3, 2) view with strides (1, 3) has strides (1, 3).
    """
    return Bounded(wide(self).clone())


def _strides(size: Sequence[int], kind: str) -> list[int]:
    order = range(len(size)) if kind == "reversed" else range(len(size) - 1, -1, -1)
    strides, step = [0] * len(size), 2 if kind == "padded2" else 1
    for dim in order:
        strides[dim] = step
        step *= max(size[dim], 1)
    return strides


def _make_empty(case: Case, _generator: torch.Generator) -> Call:
    size, dtype = case.axes["size"], dtype_of(case.dtype)
    strides = _strides(size, case.axes["stride_kind"])
    call = Call((list(size), strides))
    if case.overload == "out":
        call.kwargs["out"] = torch.empty_strided(size, strides, dtype=dtype).fill_(3)
    elif dtype is not torch.float32 or case.axes["explicit"]:
        call.kwargs["dtype"] = dtype
    return call


_EMPTY_PUBLIC = {
    "overload": ("", "out"),
    "dtype": _DTYPES,
    "distribution": ("D1",),
    "size": ((2, 3), (1024,)),
    "stride_kind": ("contig", "reversed"),
    "explicit": (True,),
}
_EMPTY_SMOKE = {
    "overload": ("", "out"),
    "dtype": (*_DTYPES, "float64", "int64", "int32", "uint8", "bool"),
    "distribution": ("D1",),
    "size": ((7,), (33, 17), (8, 16, 4), (), (0, 5)),
    "stride_kind": ("contig", "reversed", "padded2"),
    "explicit": (True, False),
}
_EMPTY_FULL = {**_EMPTY_SMOKE, "size": ((1024,), (2, 3), (128, 256), (512, 512), (8, 16, 4), (), (0, 5))}
_EMPTY_LARGE = [
    {"overload": "", "dtype": dtype, "size": size, "stride_kind": "contig", "explicit": True}
    for dtype, size in (("float32", (8192, 8192)), ("bfloat16", (4096, 4096)), ("float16", (512, 512)))
]


@family.operator(
    "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::empty_strided.out(SymInt[] size, SymInt[] stride, *, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_EMPTY_PUBLIC, _EMPTY_SMOKE, _EMPTY_FULL, _EMPTY_LARGE),
    make=_make_empty,
    tolerance=EXACT,
    traits=Traits(
        result="uninitialised",
        kernel_free=True,
        exact_layout=True,
        difficulty=1,
        canary_omissions={
            "zero output": "the elements are undefined, so zeros are right",
            "no-op": "the elements are undefined, so whatever was there is right",
            "off-by-one element": "the elements are undefined",
            "skipped last block": "the elements are undefined",
        },
    ),
)
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> Bounded:
    """Return an uninitialised tensor of the given size and strides (in elements).

    Only shape, strides, dtype and device count. ``dtype`` is float32 unless given. The storage must be
    large enough for the last element. No kernel is needed. Use another way to allocate than
    ``empty_strided`` itself, for example ``torch.empty`` and ``as_strided``.

    Example: ``empty_strided([2, 3], [1, 2])`` is column-major.
    """
    del stride, dtype, layout, device, pin_memory
    return Bounded(torch.zeros(tuple(size), dtype=torch.float64))
