"""Cases: a seeded pairwise cover of an operator's axes.

An axis is anything that may matter: overload, dtype, distribution, shape, memory layout, and what the
operator means by its arguments. A pairwise cover holds every value, and every pair of values of two
axes that some valid point has, at least once (most faults need no more than two things at a time).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from kgb_env.operators.model import Case

__all__ = ["FULL_LIMIT", "SMOKE_LIMIT", "Axes", "Plan", "cover", "feasible_pairs"]

SMOKE_LIMIT = 24
FULL_LIMIT = 256
_PUBLIC_LIMIT = 6
_TRIES = 30
_LONG_SEARCH = 3000
"""Random completions after which a pair counts as impossible."""
_VALUE_WEIGHT = 40
"""How much more a value that has not appeared counts than a pair: a short cover shows every value first."""

Axes = Mapping[str, Sequence[Any]]
"""Values by axis; ``overload``, ``dtype`` and ``distribution`` are always there."""
Point = dict[str, Any]
Valid = Callable[[Point], bool]
Pair = tuple[tuple[str, int], tuple[str, int]]


def _always(_point: Point) -> bool:
    return True


def _pairs(names: Sequence[str], row: Mapping[str, int]) -> set[Pair]:
    return {((a, row[a]), (b, row[b])) for a, b in itertools.combinations(names, 2)}


def _point(axes: Axes, row: Mapping[str, int]) -> Point:
    return {name: axes[name][row[name]] for name in axes}


def feasible_pairs(axes: Axes, valid: Valid = _always, *, seed: int = 0, samples: int = 20000) -> set[Pair]:
    """Return the pairs of values (as axis name and position) that a random sample of valid points holds."""
    rng = random.Random(seed)
    found: set[Pair] = set()
    for _ in range(samples):
        row = {name: rng.randrange(len(values)) for name, values in axes.items()}
        if valid(_point(axes, row)):
            found |= _pairs(list(axes), row)
    return found


def cover(axes: Axes, valid: Valid = _always, *, seed: int = 0, limit: int | None = None) -> list[Point]:
    """Return points that hold every pair of values that some valid point has, or as many as ``limit`` points can.

    Greedy: each point starts from a pair that is still missing and is the best of a few random
    completions. The same arguments give the same points.
    """
    names = list(axes)
    rng = random.Random(seed)
    missing = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(names, 2)
        for i in range(len(axes[a]))
        for j in range(len(axes[b]))
    }
    unseen = {(name, i) for name in names for i in range(len(axes[name]))}
    rows: list[dict[str, int]] = []
    while missing and (limit is None or len(rows) < limit):
        start = _start(missing, unseen, rng)
        best = max(
            _attempts(axes, start, valid, rng, _TRIES),
            key=lambda row: _gain(names, row, missing, unseen),
            default=None,
        )
        if best is None:  # a valid point is rare, or there is none
            best = next(_attempts(axes, start, valid, rng, _LONG_SEARCH), None)
        if best is None:
            missing.discard(start)
            continue
        missing -= _pairs(names, best)
        unseen -= set(best.items())
        rows.append(best)
    return [_point(axes, row) for row in rows]


def _start(missing: set[Pair], unseen: set[tuple[str, int]], rng: random.Random) -> Pair:
    rare = [pair for pair in missing if pair[0] in unseen or pair[1] in unseen]
    return rng.choice(sorted(rare or missing))


def _gain(names: Sequence[str], row: Mapping[str, int], missing: set[Pair], unseen: set[tuple[str, int]]) -> int:
    return len(_pairs(names, row) & missing) + _VALUE_WEIGHT * len(set(row.items()) & unseen)


def _attempts(axes: Axes, start: Pair, valid: Valid, rng: random.Random, tries: int) -> Iterator[dict[str, int]]:
    for _ in range(tries):
        row = {name: rng.randrange(len(values)) for name, values in axes.items()} | dict(start)
        if valid(_point(axes, row)):
            yield row


@dataclass(frozen=True)
class Plan:
    """Which values an operator is tried on, by tier and split."""

    public: Axes
    """Smoke cases that the policy may see; distributions D1 and D4 only."""
    hidden: Axes
    """Smoke cases that it may not see: other shapes, all distributions that apply."""
    full: Axes
    """At least the peer's axis values; sizes of a GPU."""
    large: Sequence[Mapping[str, Any]] = ()
    """The timed cases, point by point."""
    valid: Valid = _always
    seed: int = 0
    public_limit: int = _PUBLIC_LIMIT
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Axes with the same single value in every tier."""

    def cases(self, tier: str) -> tuple[Case, ...]:
        """Return the cases of a tier: ``smoke``, ``full`` or ``large``.

        Raises:
            ValueError: no such tier.
        """
        return _cases(self, tier)

    def grid(self, axes: Axes) -> dict[str, Sequence[Any]]:
        """Return axes with the fixed ones added."""
        return {**{name: (value,) for name, value in self.fixed.items()}, **axes}

    def __hash__(self) -> int:
        """Plans are compared by identity: they are module constants."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        """See :meth:`__hash__`."""
        return self is other


@cache
def _cases(plan: Plan, tier: str) -> tuple[Case, ...]:
    if tier == "large":
        points = [{**plan.fixed, **point} for point in plan.large]
        return tuple(_case(point, "hidden", "large", number) for number, point in enumerate(points))
    public = cover(plan.grid(plan.public), plan.valid, seed=plan.seed, limit=plan.public_limit)
    if tier == "smoke":
        hidden = cover(plan.grid(plan.hidden), plan.valid, seed=plan.seed + 1, limit=SMOKE_LIMIT - len(public))
    elif tier == "full":
        hidden = cover(plan.grid(plan.full), plan.valid, seed=plan.seed + 2, limit=FULL_LIMIT - len(public))
    else:
        msg = f"unknown tier {tier!r}: smoke, full or large"
        raise ValueError(msg)
    split_points = [("public", p) for p in public] + [("hidden", p) for p in hidden]
    return tuple(_case(point, split, tier, number) for number, (split, point) in enumerate(split_points))  # type: ignore[arg-type]


def _case(
    point: Point, split: Literal["public", "hidden"], tier: Literal["smoke", "full", "large"], number: int
) -> Case:
    rest = {k: v for k, v in point.items() if k not in ("overload", "dtype", "distribution")}
    overload, dtype, distribution = point["overload"], point["dtype"], point.get("distribution", "D1")
    label = ".".join(part for part in (overload, dtype, distribution) if part)
    return Case(f"{tier}-{number:03d}-{label}", overload, dtype, rest, distribution, split, tier)
