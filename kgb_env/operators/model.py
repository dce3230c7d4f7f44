"""What an operator is: its overloads, cases, reference, and traits.

One :class:`Operator` per entry of the catalogue. The judge, the self-test, the prompt and the
documentation all read these tables; nothing else knows an operator by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from kgb_env.operators.tolerance import Tolerance

__all__ = [
    "Bounded",
    "Call",
    "Case",
    "Drawn",
    "Expected",
    "GeneratorSpec",
    "Operator",
    "Overload",
    "Result",
    "Traits",
]

Result = Literal["value", "view", "uninitialised", "host_scalar", "distribution", "set", "bits"]
"""How the answer is compared; see :attr:`Traits.result`."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One function that a submission provides."""

    name: str
    """Overload name in the dispatcher (``Tensor``); empty for the default, and for vLLM and cuBLAS."""
    function: str
    """The function that the submission defines, for example ``add_Tensor``."""
    schema: str
    """The schema, quoted in the prompt."""
    mutates: tuple[str, ...] = ()
    """Arguments that the call may change, by name."""
    required: bool = True
    """Whether a submission must provide it; ``out=`` forms are optional, and tested when present."""
    aliases: tuple[str, ...] = ()
    """Other accepted function names, for example ``cublasSgemm_v2``."""


@dataclass(frozen=True, slots=True)
class GeneratorSpec:
    """Stands for a ``torch.Generator`` in a call: the worker makes one on its device, seeded so."""

    seed: int


@dataclass(slots=True)
class Call:
    """Arguments of one call. Tensors live on the CPU of the judge."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """One situation in which an operator is tried: values for its semantic axes, but no data."""

    id: str
    """Unique within the operator; stable from run to run."""
    overload: str
    """:attr:`Overload.name` of the function that is called."""
    dtype: str
    """Main dtype, for example ``float32``."""
    axes: Mapping[str, Any]
    """Everything else that the input maker needs: shapes, layouts, flags."""
    distribution: str = "D1"
    """D1 normal, D2 non-zero mean, D3 wide range, D4 small exact integers, D5 planted outliers,
    D6 specials, D7 constants."""
    split: Literal["public", "hidden"] = "hidden"
    tier: Literal["smoke", "full", "large"] = "smoke"


@dataclass(frozen=True, slots=True)
class Bounded:
    """The right answer for one output, and what an error bound needs to know of it.

    Attributes:
        value: float64, complex128, an integer or bool tensor; shape of the output.
        magnitude: float64, same shape: S, the sum of the magnitudes of the terms (or of the
            intermediates where they cancel). ``None`` means ``abs(value)``.
        length: L, the number of terms that each element sums.
        steps: documented roundings to the output dtype (1 for a single one).
        exact: bool, same shape: elements with nothing to round (never written, or copied), which
            must equal ``value`` whatever the policy allows elsewhere.
    """

    value: torch.Tensor
    magnitude: torch.Tensor | None = None
    length: int = 1
    steps: int = 1
    exact: torch.Tensor | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """The law that a random output follows, element by element; elements are independent.

    Attributes:
        mean: float64, shape of the output.
        variance: float64, same shape; an element without variance must equal its mean.
        support: the only values that may appear; ``None`` for a continuous law.
        cdf: maps samples (float64, shape of the output) to their probabilities; ``None`` for a discrete law.
    """

    mean: torch.Tensor
    variance: torch.Tensor
    support: tuple[float, ...] | None = None
    cdf: Callable[[torch.Tensor], torch.Tensor] | None = None

    @property
    def value(self) -> torch.Tensor:
        """The mean: it has the shape of the output."""
        return self.mean


Expected = dict[str, Bounded | Drawn]
"""Right answers by output: ``return`` (or ``return.0`` …) and the names of mutated arguments."""


@dataclass(frozen=True, slots=True)
class Traits:
    """How an operator differs from "a tensor of values comes back" (DESIGN 3.3)."""

    result: Result = "value"
    narrowed_helpers: frozenset[str] = frozenset()
    """Groups of helper functions that *are* this operator, so a submission may not use them."""
    canary_omissions: Mapping[str, str] = field(default_factory=dict)
    """Canaries that do not change the answer here, each with its reason."""
    native_wrong: tuple[tuple[str, str], ...] = ()
    """Inputs on which torch itself is wrong, with the source; the reference decides, cases avoid them."""
    fp32: Literal["ieee", "tf32"] = "ieee"
    kernel_free: bool = False
    """No case needs a kernel (views, allocations)."""
    exact_layout: bool = False
    """Whether the strides of the result are part of the contract (``clone``, ``empty_strided``)."""
    difficulty: int = 1
    """1 (pointwise) to 4 (fused, ragged or packed)."""
    allowed_functions: frozenset[str] = frozenset()
    """Optional helper groups (``rng_seed``, ``host_read``), or single names, that this operator allows besides."""


@dataclass(frozen=True)
class Operator:
    """One entry of the catalogue."""

    name: str
    """Canonical name, ``aten::add``."""
    source: Literal["aten", "vllm", "cublas"]
    category: str
    overloads: tuple[Overload, ...]
    reference: Callable[..., Any]
    """The decorated function. Called with the call's own arguments (``out`` removed); upcasts itself."""
    make: Callable[[Case, torch.Generator], Call]
    """Inputs of a case, from a seeded CPU generator."""
    cases: Callable[[str], Sequence[Case]]
    """Cases of a tier: ``smoke``, ``full`` or ``large``."""
    tolerance: Tolerance
    baseline: Callable[..., Any]
    """Native operator, or a straightforward torch function in the same dtype; called like the submission,
    on copies, and may change them."""
    traits: Traits = Traits()
    aliases: tuple[str, ...] = ()
    doc: str = ""
    """The task statement: the reference's docstring."""
    bytes: Callable[[Case, Call], int] | None = None
    flops: Callable[[Case, Call], int] | None = None
    normalise: Callable[[Mapping[str, torch.Tensor], Call], Mapping[str, torch.Tensor]] | None = None
    """For ``set`` results: brings outputs into a canonical order, given the call."""
    baselines: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Baselines of single overloads that need another one than :attr:`baseline`."""
    strideless: Callable[[Call], Call] | None = None
    """For flat buffers: the call as read by somebody who ignores leading dimensions and increments."""
    plan: Any = None
    """The :class:`kgb_env.operators.cases.Plan` behind :attr:`cases`, for tests and documentation."""

    def overload(self, name: str) -> Overload:
        """Return the overload of that dispatcher name.

        Raises:
            KeyError: there is none.
        """
        for overload in self.overloads:
            if overload.name == name:
                return overload
        raise KeyError(name)

    def native(self, overload: str) -> Callable[..., Any]:
        """Return the baseline of one overload."""
        return self.baselines.get(overload, self.baseline)

    def arguments(self, call: Call) -> dict[str, Any]:
        """Return the arguments of a call by parameter name (``out`` too), defaults left out.

        Raises:
            TypeError: the call does not fit the reference's signature.
        """
        keywords = {k: v for k, v in call.kwargs.items() if k != "out"}
        bound = dict(inspect.signature(self.reference).bind(*call.args, **keywords).arguments)
        return bound | ({"out": call.kwargs["out"]} if "out" in call.kwargs else {})

    def expected(self, case: Case, call: Call) -> Expected:
        """Compute the right answers of a call, keyed by output name.

        ``out=`` forms get the same answer under the name ``out``. A reference that answers with a
        single :class:`Bounded` answers for ``return``, or for the only mutated argument.
        """
        raw = self.reference(*call.args, **{k: v for k, v in call.kwargs.items() if k != "out"})
        overload = self.overload(case.overload)
        if isinstance(raw, dict):
            return raw
        many = raw if isinstance(raw, tuple) else (raw,)
        if overload.mutates:
            return dict(zip(overload.mutates, many, strict=True))
        if len(many) == 1:
            return {"return": many[0]}
        return {f"return.{i}": b for i, b in enumerate(many)}
