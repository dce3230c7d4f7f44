"""From an operator's cases to a job for a worker: inputs, slots for results, and what to call."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from kgb_env.judge import numerics, seeds
from kgb_env.judge.arena import Arena, Layout
from kgb_env.operators.model import Call, Case, Operator, Overload
from kgb_env.platforms.base import Platform
from kgb_env.records import Submission
from kgb_env.worker.wire import Region, TensorRef, encode

__all__ = ["FILENAME", "Invocation", "Planned", "build", "plan", "provided", "with_repeats"]

FILENAME = "<submission>"
"""File name under which a submission's source is registered: tracebacks show its lines."""
_SLACK = 512
_TWIN_EVERY, _FEW_OVERLOADS = 6, 3
_DISTRIBUTION_CALLS = ((True, False, True), (True, True, False))
"""Calls with a fresh generator, and one that goes on with it: the fresh ones must repeat, the other must differ. The
secret picks the order for each case, so that a submission that counts its calls cannot stage them."""


@dataclass(slots=True)
class Invocation:
    """One call in one arena: where its arguments lie and where its results go."""

    fresh: bool = True
    """Whether random generators start anew from their seed."""
    arguments: list[tuple[str, TensorRef]] = field(default_factory=list)
    """Tensor arguments by name, in the order in which they travel."""
    slots: list[Region] = field(default_factory=list)

    def argument(self, name: str) -> TensorRef:
        """Return the tensor argument of that name. Raises KeyError."""
        return dict(self.arguments)[name]


@dataclass(slots=True)
class Planned:
    """A case with its data and its right answer. It never leaves the judge."""

    case: Case
    overload: Overload
    function: str
    """The name under which the submission provides the overload."""
    call: Call
    prepared: numerics.Prepared
    seed: int
    repeats: tuple[bool, ...] = (True,)


def provided(operator: Operator, functions: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Return overload name -> function found, and the required functions that are missing."""
    found: dict[str, str] = {}
    missing: list[str] = []
    for overload in operator.overloads:
        names = [n for n in (overload.function, *overload.aliases) if n in functions]
        if names:
            found[overload.name] = names[0]
        elif overload.required:
            missing.append(overload.function)
    return found, missing


def with_repeats(cases: Sequence[Case]) -> list[Case]:
    """Let some cases be followed by a hidden twin: the same shapes, dtypes and flags, other values.

    A submission that remembers answers by shape, by object or by "the last call" is wrong there. The
    first case of each overload has a twin; where overloads are few, every sixth case has one too.
    """
    chosen, seen = [], set()
    few = len({case.overload for case in cases}) < _FEW_OVERLOADS
    for number, case in enumerate(cases):
        chosen.append(case)
        if case.overload not in seen or (few and number % _TWIN_EVERY == _TWIN_EVERY - 1):
            seen.add(case.overload)
            chosen.append(replace(case, id=f"{case.id}.again", split="hidden"))
    return chosen


def plan(
    operator: Operator, cases: Sequence[Case], functions: dict[str, str], submission: Submission, secret: bytes
) -> list[Planned]:
    """Make inputs and right answers for the cases whose overload the submission provides."""
    planned = []
    random = operator.traits.result == "distribution"
    for case in cases:
        if case.overload not in functions:
            continue
        parts = (submission.digest, operator.name, case.id)
        call = operator.make(case, seeds.generator(secret, *parts))
        with torch.no_grad():
            prepared = numerics.prepare(operator, case, call)
        overload = operator.overload(case.overload)
        seed = seeds.derive(secret, *parts, "generator")
        order = seeds.derive(secret, *parts, "order") % len(_DISTRIBUTION_CALLS)
        repeats = _DISTRIBUTION_CALLS[order] if random else (True,)
        planned.append(Planned(case, overload, functions[case.overload], call, prepared, seed, repeats))
    return planned


def build(
    operator: Operator,
    planned: Sequence[Planned],
    submission: Submission,
    platform: Platform,
    secret: bytes,
    *,
    ghost: bool,
) -> tuple[Arena, list[list[Invocation]], str]:
    """Lay out one arena. Returns it with the invocations of each planned case, and the job's nonce."""
    layout = Layout()
    invocations: list[list[Invocation]] = []
    calls: list[dict[str, Any]] = []
    for number, item in enumerate(planned):
        made = []
        for fresh in item.repeats:
            invocation, wire = _invoke(layout, item, fresh)
            made.append(invocation)
            calls.append({"case": number, **wire})
        invocations.append(made)
    nonce = secrets.token_hex(16)
    header = {
        "mode": "ghost" if ghost else "main",
        "nonce": nonce,
        "source": submission.source,
        "filename": FILENAME,
        "operator": operator.name.partition("::")[2],
        "mounted": operator.source == "aten",
        "dispatch_key": platform.dispatch_key,
        "narrowed": sorted(operator.traits.narrowed_helpers),
        "extra": sorted(operator.traits.allowed_functions),
        "calls": calls,
    }
    return Arena(layout, header, seeds.guard_pattern(secret, submission.digest)), invocations, nonce


def _invoke(layout: Layout, item: Planned, fresh: bool) -> tuple[Invocation, dict[str, Any]]:
    invocation = Invocation(fresh)
    named = list(item.prepared.operator.arguments(item.call).items())
    current = ""

    def place(value: torch.Tensor) -> TensorRef:
        ref = layout.place(value)
        invocation.arguments.append((current, ref))
        return ref

    values = {}
    for name, value in named:
        current = name
        values[name] = encode(value, place)
    for name, structure in item.prepared.structures.items():
        if name.startswith("return") and structure.alias is None:
            invocation.slots.append(layout.reserve(_slot_bytes(structure)))
    if not invocation.slots:
        invocation.slots.append(layout.reserve(_SLACK))
    positional = [values[name] for name, _ in named[: len(item.call.args)]]
    keywords = {name: values[name] for name, _ in named[len(item.call.args) :]}
    wire = {
        "function": item.function,
        "overload": item.overload.name,
        "seed": item.seed,
        "fresh": fresh,
        "args": positional,
        "kwargs": keywords,
        "slots": [[slot.offset, slot.nbytes] for slot in invocation.slots],
    }
    return invocation, wire


def _slot_bytes(structure: numerics.Structure) -> int:
    if structure.shape is None or structure.dtype is None:
        return _SLACK
    count = 1
    for size in structure.shape:
        count *= size
    return 2 * count * structure.dtype.itemsize + _SLACK
