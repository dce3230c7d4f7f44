"""Normalisation: rms_norm."""

from __future__ import annotations

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, number, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import FUSED

__all__ = ["rms_norm"]

family = Family("vllm", "norm")

_DTYPES = ("float32", "float16", "bfloat16")


def _make(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shape = axes["shape"]
    rows = inputs.tensor(shape, dtype, generator, case.distribution, axes["layout"])
    weight = torch.ones(shape[-1], dtype=dtype)
    if axes["weight"] == "randn":
        weight = inputs.tensor(shape[-1:], dtype, generator, "D4" if case.distribution == "D4" else "D1")
    return Call((inputs.poison(shape, dtype), rows, weight, axes["epsilon"]))


def _portable(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    """Statistics in fp32, then vLLM's two roundings."""
    x = input.float()
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
    out.copy_((x * scale).to(input.dtype) * weight)


_PUBLIC = {
    "overload": ("",),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "shape": ((4, 128), (7, 300)),
    "epsilon": (1e-6,),
    "weight": ("randn", "ones"),
    "layout": ("contiguous",),
}
_SMOKE = {
    "overload": ("",),
    "dtype": _DTYPES,
    "distribution": ("D1", "D2", "D3", "D4", "D5", "D7"),
    "shape": ((1, 32), (7, 497), (2, 3, 129), (2, 2, 3, 64), (3, 1025), (0, 16)),
    "epsilon": (1e-6, 1e-5, 0.25),
    "weight": ("randn", "ones"),
    "layout": ("contiguous", "padded"),
}
_FULL = {
    **_SMOKE,
    "shape": ((1, 32), (71, 497), (128, 512), (1024, 4096), (5333, 8192), (2, 3, 129), (0, 16)),
    "epsilon": (1e-6, 1e-5),
}
_LARGE = [
    {"overload": "", "dtype": dtype, "shape": shape, "epsilon": 1e-6, "weight": "randn", "layout": "contiguous"}
    for dtype, shape in (
        ("bfloat16", (5333, 8192)),
        ("float16", (4096, 4096)),
        ("float32", (1024, 4096)),
        ("bfloat16", (71, 497)),
    )
]


@family.operator(
    "rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE),
    make=_make,
    tolerance=FUSED,
    traits=Traits(difficulty=2),
    mutates=("out",),
    baseline=_portable,
    flops=lambda _case, call: 4 * call.args[1].numel(),
)
def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> Bounded:
    """Write ``input * rsqrt(mean(input**2) + epsilon) * weight`` into ``out``; the mean runs over the last dimension.

    ``input`` (2 to 4 dimensions, unit stride in the last, rows possibly further apart than they are
    long), ``weight`` (H,) and ``out`` (contiguous, shape of ``input``) share one dtype: float16, bfloat16 or
    float32. Statistics are float32. vLLM 0.13 rounds twice: ``x * rsqrt(...)`` to the dtype, then the product with
    ``weight``; rounding once at the end is accepted too.

    Example (float16): input [1, 2, 3, 4], weight [1, .5, 2, 1], epsilon 1e-6 gives
    [0.3652, 0.3652, 2.1914, 1.4609].
    """
    del out
    x, w = wide(input), wide(weight)
    square = x.square().mean(-1, keepdim=True)
    return Bounded(x * torch.rsqrt(square + number(epsilon, torch.float32)) * w, None, max(x.shape[-1], 1), steps=2)
