"""A family: operators that share a module. One decorated function defines one operator."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch

from kgb_env.operators.cases import Plan
from kgb_env.operators.model import Call, Case, Operator, Overload, Traits
from kgb_env.operators.tolerance import Tolerance

__all__ = ["REGISTRY", "Family", "aten_overload"]

REGISTRY: dict[str, Operator] = {}
"""Every operator that was defined, by canonical name."""

_PLAIN = Traits()
Reference = TypeVar("Reference", bound=Callable[..., Any])
_SCHEMA = re.compile(r"aten::(?P<op>\w+)(?:\.(?P<overload>\w+))?\(")
_MUTATED = re.compile(r"Tensor\([a-z]+!\)(?:\[\])? (\w+)")


def aten_overload(schema: str) -> Overload:
    """Read an overload from its dispatcher schema.

    >>> o = aten_overload("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
    >>> o.name, o.function, o.mutates, o.required
    ('out', 'add_out', ('out',), False)

    Raises:
        ValueError: it is no schema of an ATen operator.
    """
    match = _SCHEMA.match(schema)
    if match is None:
        msg = f"no ATen schema: {schema!r}"
        raise ValueError(msg)
    operator, overload = match["op"], match["overload"] or ""
    mutates = tuple(_MUTATED.findall(schema.rpartition("->")[0]))
    function = f"{operator}_{overload}" if overload else operator
    return Overload(overload, function, schema, mutates, required="out" not in mutates)


@dataclass(frozen=True)
class Family:
    """Operators of one source and category."""

    source: Literal["aten", "vllm", "cublas"]
    category: str

    def operator(
        self,
        *schemas: str,
        plan: Plan,
        make: Callable[[Case, torch.Generator], Call],
        tolerance: Tolerance,
        traits: Traits = _PLAIN,
        mutates: tuple[str, ...] = (),
        baseline: Callable[..., Any] | None = None,
        baselines: Mapping[str, Callable[..., Any]] | None = None,
        bytes: Callable[[Case, Call], int] | None = None,
        flops: Callable[[Case, Call], int] | None = None,
        normalise: Callable[..., Any] | None = None,
        strideless: Callable[[Call], Call] | None = None,
    ) -> Callable[[Reference], Reference]:
        """Register the decorated reference function as an operator; its docstring is the task statement.

        Args:
            schemas: for ATen the dispatcher schemas, one an overload; otherwise one signature.
            plan: the values that cases take.
            make: inputs of a case.
            tolerance: how far an answer may be off.
            traits: how the operator differs from "a tensor of values comes back".
            mutates: arguments that the routine writes (vLLM and cuBLAS; ATen schemas say so themselves).
            baseline: called like the submission; left out, the native ATen operator.
            baselines: baselines of single overloads, by overload name.
            bytes: least traffic of a call, in bytes.
            flops: arithmetic operations of a call.
            normalise: canonical order of ``set`` results.
            strideless: for flat buffers, the call without its leading dimensions and increments.

        Raises:
            ValueError: the name is taken, or the function has no docstring.
        """

        def register(reference: Reference) -> Reference:
            overloads = self._overloads(schemas, mutates)
            name = self._name(schemas[0])
            doc = inspect.getdoc(reference)
            if name in REGISTRY or not doc:
                msg = f"{name} is defined twice" if doc else f"{name} has no task statement"
                raise ValueError(msg)
            REGISTRY[name] = Operator(
                name=name,
                source=self.source,
                category=self.category,
                overloads=overloads,
                reference=reference,
                make=make,
                cases=plan.cases,
                tolerance=tolerance,
                baseline=baseline or getattr(torch.ops.aten, name.partition("::")[2]),
                traits=traits,
                aliases=_aliases(name),
                doc=doc,
                bytes=bytes or _bytes,
                flops=flops,
                normalise=normalise,
                strideless=strideless,
                baselines=dict(baselines or {}) if baseline else _native(overloads, name) | dict(baselines or {}),
                plan=plan,
            )
            return reference

        return register

    def _name(self, schema: str) -> str:
        if self.source == "aten":
            match = _SCHEMA.match(schema)
            return f"aten::{match['op']}" if match else schema
        return f"{self.source}::{schema.partition('(')[0]}"

    def _overloads(self, schemas: tuple[str, ...], mutates: tuple[str, ...]) -> tuple[Overload, ...]:
        if self.source == "aten":
            return tuple(aten_overload(schema) for schema in schemas)
        routine = schemas[0].partition("(")[0]
        aliases = (f"cublas{routine}",) if self.source == "cublas" else ()
        return (Overload("", routine, schemas[0], mutates, aliases=aliases),)


def _aliases(name: str) -> tuple[str, ...]:
    source, _, routine = name.partition("::")
    if source == "vllm":
        return (f"vllm13::{routine}",)
    return (f"cublas::cublas{routine}",) if source == "cublas" else ()


def _native(overloads: tuple[Overload, ...], name: str) -> dict[str, Callable[..., Any]]:
    packet = getattr(torch.ops.aten, name.partition("::")[2])
    return {overload.name: getattr(packet, overload.name or "default") for overload in overloads}


def _bytes(_case: Case, call: Call) -> int:
    values: list[Any] = [*call.args, *call.kwargs.values()]
    tensors = [t for v in values for t in (v if isinstance(v, list | tuple) else (v,)) if isinstance(t, torch.Tensor)]
    return sum(t.numel() * t.element_size() for t in tensors)
