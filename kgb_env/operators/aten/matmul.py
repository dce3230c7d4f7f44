"""Matrix products: mm."""

from __future__ import annotations

from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import MATMUL

__all__ = ["mm"]

family = Family("aten", "matmul")

_DTYPES = ("float32", "float16", "bfloat16")
_WIDENING = ("dtype", "dtype_out")


def _fits(point: dict[str, Any]) -> bool:
    if point["overload"] in _WIDENING and point["dtype"] not in ("float16", "bfloat16"):
        return False
    m, k, n = point["size"]
    if point["distribution"] == "D6" and k == 0:
        return False
    return point["layout_a"] != "expanded" or m * k > 1


def _make(case: Case, generator: torch.Generator) -> Call:
    dtype, (m, k, n) = dtype_of(case.dtype), case.axes["size"]
    one = inputs.tensor((m, k), dtype, generator, case.distribution, case.axes["layout_a"])
    two = inputs.tensor((k, n), dtype, generator, case.distribution, case.axes["layout_b"])
    call = Call((one, two))
    result = dtype
    if case.overload in _WIDENING:
        result = torch.float32
        call.args = (*call.args, result)
    if case.overload in ("out", "dtype_out"):
        call.kwargs["out"] = inputs.poison((m, n), result)
    return call


def _portable(self: torch.Tensor, mat2: torch.Tensor, out_dtype: torch.dtype, out: Any = None) -> torch.Tensor:
    """Widen, multiply, round: the CPU has no native mm with an output dtype."""
    result = torch.mm(self.float(), mat2.float()).to(out_dtype)
    return result if out is None else out.copy_(result)


_PUBLIC = {
    "overload": ("", "dtype", "out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "size": ((32, 32, 32), (17, 48, 40)),
    "layout_a": ("contiguous",),
    "layout_b": ("contiguous", "transposed"),
}
_SMOKE = {
    "overload": ("", "dtype", "out", "dtype_out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D2", "D3", "D4", "D5", "D6"),
    "size": ((1, 33, 1), (45, 71, 35), (64, 16, 64), (3, 130, 31), (0, 5, 3)),
    "layout_a": ("contiguous", "transposed", "sliced"),
    "layout_b": ("contiguous", "transposed", "padded"),
}
_FULL = {
    **_SMOKE,
    "dtype": (*_DTYPES, "float64"),
    "size": ((1, 32, 1), (15, 1024, 160), (495, 71, 5333), (128, 256, 128), (127, 127, 129), (4, 0, 3), (0, 5, 3)),
    "layout_a": ("contiguous", "transposed", "sliced", "offset", "expanded"),
    "layout_b": ("contiguous", "transposed", "padded", "offset"),
}
_LARGE = [
    {"overload": "", "dtype": dtype, "size": size, "layout_a": "contiguous", "layout_b": layout}
    for dtype, size, layout in (
        ("bfloat16", (4096, 4096, 4096), "contiguous"),
        ("float16", (8192, 1024, 2048), "transposed"),
        ("float32", (2048, 2048, 2048), "contiguous"),
        ("bfloat16", (495, 71, 5333), "contiguous"),
    )
]


@family.operator(
    "aten::mm(Tensor self, Tensor mat2) -> Tensor",
    "aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",
    "aten::mm.dtype_out(Tensor self, Tensor mat2, ScalarType out_dtype, *, Tensor(a!) out) -> Tensor(a!)",
    "aten::mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE, _fits),
    make=_make,
    tolerance=MATMUL,
    traits=Traits(difficulty=2),
    baselines={"dtype": _portable, "dtype_out": _portable},
    flops=lambda case, _call: 2 * case.axes["size"][0] * case.axes["size"][1] * case.axes["size"][2],
)
def mm(self: torch.Tensor, mat2: torch.Tensor, out_dtype: torch.dtype | None = None) -> Bounded:
    """Return the matrix product of ``self`` (M, K) and ``mat2`` (K, N), of shape (M, N).

    Both have the same dtype and any strides; any size may be 0 or 1. Products are summed in float32
    for float32, float16 and bfloat16 (float64 for float64) and rounded once to the result's dtype:
    the inputs' own, or ``out_dtype`` (float32 for 16-bit inputs) of the ``dtype`` overloads. float32 means
    IEEE float32: with ``tl.dot`` say ``input_precision="ieee"``, because its default is TF32 on NVIDIA.

    Example: ``mm([[1., 2.], [3., 4.]], [[1., 2.], [0., 1.]])`` is ``[[1., 4.], [3., 10.]]``.
    """
    one, two = wide(self), wide(mat2)
    return Bounded(one @ two, one.abs() @ two.abs(), self.shape[1])
