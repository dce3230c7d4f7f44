"""Inputs of cases: seven distributions, and memory layouts. Everything is drawn from a passed generator.

Distributions (each defeats another way to be wrong unseen): D1 normal; D2 uniform in [0.5, 1.5), so
that sums do not cancel; D3 signs times powers of two over a wide range; D4 small integers, with which
sums are exact; D5 small values with large ones planted in the last row, the last column, the last
element and one per cent elsewhere; D6 special values among normal ones; D7 one constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

__all__ = ["DISTRIBUTIONS", "LAYOUTS", "draw", "indices", "lay_out", "poison", "tensor"]

DISTRIBUTIONS = ("D1", "D2", "D3", "D4", "D5", "D6", "D7")
LAYOUTS = ("contiguous", "transposed", "sliced", "offset", "padded", "reversed", "expanded")
"""``sliced``: every second element of each row; ``padded``: rows further apart than they are long;
``reversed``: dimensions stored in reverse order; ``expanded``: one dimension of stride 0."""

_OFFSET = 3
SPECIALS = (float("nan"), float("inf"), float("-inf"), -0.0)
"""Special values whose result every arithmetic operator defines."""


def _uniform(shape: Sequence[int], low: float, high: float, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low


def _whole(shape: Sequence[int], low: int, high: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(low, high + 1, tuple(shape), generator=generator)


def _plant(values: torch.Tensor, big: float, generator: torch.Generator) -> torch.Tensor:
    if values.ndim == 0 or not values.numel():
        return values
    here = _uniform(values.shape, 0, 1, generator) < 0.01
    here.view(-1)[-1] = True
    here[-1] |= _uniform(values.shape[1:], 0, 1, generator) < 0.25
    here[..., -1] |= _uniform(values.shape[:-1], 0, 1, generator) < 0.25
    signs = _whole(values.shape, 0, 1, generator) * 2 - 1
    return torch.where(here, (signs * big).to(values.dtype), values)


def _floats(
    shape: Sequence[int], dtype: torch.dtype, distribution: str, generator: torch.Generator, specials: Sequence[float]
) -> torch.Tensor:
    if distribution == "D2":
        return _uniform(shape, 0.5, 1.5, generator)
    if distribution == "D3":
        reach = 4 if dtype is torch.float16 else 8
        signs = _whole(shape, 0, 1, generator) * 2 - 1
        return signs * torch.exp2(_uniform(shape, -reach, reach, generator))
    if distribution == "D4":
        return _whole(shape, -2, 2, generator).double()
    if distribution == "D7":
        return torch.full(tuple(shape), 0.75, dtype=torch.float64)
    values = torch.randn(tuple(shape), generator=generator, dtype=torch.float64)
    if distribution == "D5":
        return _plant(values * 0.1, 16.0, generator)
    if distribution == "D6" and values.numel():
        flat = values.view(-1)
        spots = torch.randperm(flat.numel(), generator=generator)[: max(1, flat.numel() // 16)]
        picks = _whole((len(spots),), 0, len(specials) - 1, generator)
        picks[: len(specials)] = torch.arange(len(specials))[: len(picks)]
        flat[spots] = torch.tensor(specials, dtype=torch.float64)[picks]
    return values


def _integers(shape: Sequence[int], dtype: torch.dtype, distribution: str, generator: torch.Generator) -> torch.Tensor:
    info = torch.iinfo(dtype)
    floor = max(info.min, -100)
    if distribution == "D2":
        return _whole(shape, 1, 9, generator)
    if distribution == "D3":
        values = torch.exp2(_uniform(shape, 0, min(info.bits - 2, 50), generator)).long()
        return values * (_whole(shape, 0, 1, generator) * 2 - 1) if info.min else values
    if distribution == "D4":
        return _whole(shape, max(info.min, -2), 2, generator)
    if distribution == "D7":
        return torch.full(tuple(shape), 5)
    values = _whole(shape, floor, 100, generator)
    if distribution == "D5":
        return _plant(values, 120, generator).clamp(info.min, info.max)
    if distribution == "D6" and values.numel():
        flat = values.view(-1)
        spots = torch.randperm(flat.numel(), generator=generator)[: max(1, flat.numel() // 16)]
        extremes = torch.tensor([info.min, info.max])
        flat[spots] = extremes[_whole((len(spots),), 0, 1, generator)]
    return values


def draw(
    shape: Sequence[int],
    dtype: torch.dtype,
    distribution: str,
    generator: torch.Generator,
    specials: Sequence[float] = SPECIALS,
) -> torch.Tensor:
    """Draw a contiguous tensor. ``specials`` are the values that D6 plants into floating dtypes."""
    if dtype is torch.bool:
        return _whole(shape, 0, 1, generator).bool()
    if dtype.is_complex:
        parts = [_floats(shape, torch.float32, distribution, generator, specials) for _ in range(2)]
        return torch.complex(*parts).to(dtype)
    if dtype.is_floating_point:
        return _floats(shape, dtype, distribution, generator, specials).to(dtype)
    return _integers(shape, dtype, distribution, generator).to(dtype)


def lay_out(values: torch.Tensor, layout: str, generator: torch.Generator) -> torch.Tensor:
    """Return the values in that memory layout; gaps hold other numbers of the same kind.

    A layout that the shape does not allow falls back to the next simpler one (``sliced`` of a
    0-dimensional tensor is ``offset``; of a vector, ``expanded`` is ``sliced``, because one number over and over
    tells right from wrong too seldom). ``expanded`` repeats the first entry of the first long dimension.

    Raises:
        ValueError: no such layout.
    """
    if layout not in LAYOUTS:
        msg = f"unknown layout {layout!r}"
        raise ValueError(msg)
    if layout == "expanded" and values.ndim > 1:
        for dim, size in enumerate(values.shape):
            if size > 1:
                return values.narrow(dim, 0, 1).clone().expand(values.shape)
        return values
    if layout in ("transposed", "reversed", "padded", "expanded") and values.ndim < 2:
        layout = "sliced"
    if layout == "sliced" and values.ndim == 0:
        layout = "offset"
    if layout == "contiguous":
        return values.contiguous()
    shape = list(values.shape)
    if layout == "transposed":
        target = _junk([*shape[:-2], shape[-1], shape[-2]], values.dtype, generator).transpose(-2, -1)
    elif layout == "reversed":
        target = _junk(shape[::-1], values.dtype, generator).permute(*range(len(shape) - 1, -1, -1))
    elif layout == "padded":
        target = _junk([*shape[:-1], shape[-1] + 5], values.dtype, generator)[..., : shape[-1]]
    elif layout == "sliced":
        target = _junk([*shape[:-1], shape[-1] * 2], values.dtype, generator)[..., ::2]
    else:
        target = _junk([values.numel() + _OFFSET], values.dtype, generator)[_OFFSET:].view(shape)
    return target.copy_(values)


def _junk(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    return draw(shape, dtype, "D1", generator)


def tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    generator: torch.Generator,
    distribution: str = "D1",
    layout: str = "contiguous",
    specials: Sequence[float] = SPECIALS,
) -> torch.Tensor:
    """Draw a tensor and lay it out."""
    return lay_out(draw(shape, dtype, distribution, generator, specials), layout, generator)


def indices(count: int, size: int, generator: torch.Generator, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Draw ``count`` indices into ``size`` entries, the last entry among them; repeats are allowed."""
    chosen = _whole((count,), 0, size - 1, generator)
    if count:
        chosen[int(_whole((1,), 0, count - 1, generator))] = size - 1
    return chosen.to(dtype)


def poison(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Return a tensor full of what no honest answer holds: NaN, the largest integer, or True."""
    if dtype.is_floating_point or dtype.is_complex:
        return torch.full(tuple(shape), float("nan"), dtype=dtype)
    if dtype is torch.bool:
        return torch.ones(tuple(shape), dtype=dtype)
    return torch.full(tuple(shape), torch.iinfo(dtype).max, dtype=dtype)
