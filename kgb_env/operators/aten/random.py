"""Random numbers: bernoulli."""

from __future__ import annotations

from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Call, Case, Drawn, GeneratorSpec, Traits
from kgb_env.operators.tolerance import EXACT

__all__ = ["bernoulli"]

family = Family("aten", "random")

_DTYPES = ("float32", "float16", "bfloat16")
_BY_TENSOR = ("Tensor", "Tensor_out")
_BY_NUMBER = ("p", "float_out")


def _fits(point: dict[str, Any]) -> bool:
    if point["overload"] in _BY_NUMBER:
        return point["distribution"] in ("D1", "D7")
    return point["p"] == 0.3


def _probabilities(shape: tuple[int, ...], distribution: str, generator: torch.Generator) -> torch.Tensor:
    """D1 anywhere between 0.1 and 0.9, D2 high ones, D4 certain ones (0 or 1), D7 one for all."""
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    if distribution == "D2":
        return 0.7 + 0.25 * uniform
    if distribution == "D4":
        return (uniform < 0.5).double()
    if distribution == "D7":
        return torch.full(shape, 0.3125, dtype=torch.float64)
    return 0.1 + 0.8 * uniform


def _make(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    shape, layout = axes["shape"], axes["layout"]
    chances = _probabilities(shape, case.distribution, generator)
    if case.overload in (*_BY_TENSOR, *_BY_NUMBER):
        one = inputs.tensor(shape, dtype, generator, "D1", layout)
    else:
        one = inputs.lay_out(chances.to(dtype), layout, generator)
        _clamp_gaps(one)
    call = Call((one,))
    if case.overload in _BY_TENSOR:
        kind = torch.float32 if axes["p_dtype"] == "float32" else dtype
        call.args = (one, inputs.lay_out(chances.to(kind), "contiguous", generator))
    elif case.overload in _BY_NUMBER:
        call.args = (one, axes["p"])  # 0.5, the default of float_out, is dropped by the dispatcher
    if axes["seeded"]:
        call.kwargs["generator"] = GeneratorSpec(int(torch.randint(1 << 31, (1,), generator=generator)))
    if "out" in case.overload:
        call.kwargs["out"] = inputs.poison(shape, dtype)
    return call


def _clamp_gaps(values: torch.Tensor) -> None:
    """Make gaps between elements probabilities too: a kernel that reads them must not fault."""
    flat = torch.empty(0, dtype=values.dtype).set_(values.untyped_storage())  # type: ignore[call-overload]
    flat.abs_().clamp_(max=1)


_PUBLIC = {
    "overload": ("", "p", "Tensor", "out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D4"),
    "shape": ((1200,), (32, 48)),
    "p": (0.3,),
    "p_dtype": ("same",),
    "seeded": (True,),
    "layout": ("contiguous",),
}
_SMOKE = {
    "overload": ("", "out", "p", "Tensor", "Tensor_out", "float_out"),
    "dtype": _DTYPES,
    "distribution": ("D1", "D2", "D4", "D7"),
    "shape": ((33, 79), (4001,), (5, 13, 41), (0, 4)),
    "p": (0.3, 0.5, 0.9),
    "p_dtype": ("same", "float32"),
    "seeded": (True, False),
    "layout": ("contiguous", "transposed", "sliced"),
}
_FULL = {
    **_SMOKE,
    "dtype": (*_DTYPES, "float64"),
    "shape": ((2, 3), (128, 256), (512, 512), (1021, 67), ()),
    "p": (0.1, 0.3, 0.5, 0.8, 0.9),
    "layout": inputs.LAYOUTS,
}
_LARGE = [
    {"overload": overload, "dtype": dtype, "shape": shape, "p": 0.3, "p_dtype": "same", "seeded": True}
    | {"layout": "contiguous"}
    for overload, dtype, shape in (
        ("p", "float32", (4096, 4096)),
        ("", "bfloat16", (4096, 2048)),
        ("Tensor", "float16", (512, 8191)),
    )
]


@family.operator(
    "aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    "aten::bernoulli.out(Tensor self, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    "aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    "aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
    "aten::bernoulli.Tensor_out(Tensor self, Tensor p, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    "aten::bernoulli.float_out(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE, _fits),
    make=_make,
    tolerance=EXACT,
    traits=Traits(
        result="distribution",
        difficulty=2,
        allowed_functions=frozenset({"rng_seed"}),
    ),
)
def bernoulli(
    self: torch.Tensor, p: torch.Tensor | float | None = None, *, generator: GeneratorSpec | None = None
) -> Drawn:
    """Draw independent zeros and ones; return them in the shape and dtype of ``self``.

    An element is 1 with probability ``self`` (default and ``out``), or ``p``: one number, or one for each element of
    a tensor of the same shape (any floating dtype); ``self`` then gives shape and dtype only. ``float_out``
    without ``p`` means 0.5. Draws come from ``generator`` (the default one without): two calls
    differ, and the same generator state gives the same draws. Take the seed of your kernel from it with
    ``torch.empty((), dtype=torch.int64).random_(generator=generator)``. Judged by statistics, not by torch's stream.

    Example: ``bernoulli([0., 1.])`` is always ``[0., 1.]``.
    """
    del generator
    if isinstance(p, torch.Tensor):
        mean = wide(p).expand(self.shape)
    elif p is not None:
        mean = torch.full(self.shape, float(p), dtype=torch.float64)
    else:
        mean = wide(self)
    return Drawn(mean, mean * (1 - mean), support=(0.0, 1.0))
