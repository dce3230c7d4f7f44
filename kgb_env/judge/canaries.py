"""Spoiled answers that must fail: they show that an operator's cases can tell right from wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kgb_env.judge.prepared import Outputs, Prepared, copy_call, run_baseline
from kgb_env.operators import inputs
from kgb_env.operators.model import Call, Operator

__all__ = ["NAMES", "canaries"]

Spoil = Callable[[Prepared], Outputs | None]
_LAST_BLOCK = 16


def _each(prepared: Prepared, spoil: Callable[[str, Any], Any]) -> Outputs:
    return {name: spoil(name, value) for name, value in prepared.baseline.items()}


def _before(prepared: Prepared, name: str, value: Any) -> Any:
    """What the output's memory held before the call."""
    if name in prepared.initial:
        return prepared.initial[name].clone()
    if not isinstance(value, torch.Tensor):
        return type(value)(inputs.poison((), torch.tensor(value).dtype).item())
    return inputs.poison(value.shape, value.dtype)


def _zero(prepared: Prepared) -> Outputs:
    return _each(prepared, lambda _, v: torch.zeros_like(v) if isinstance(v, torch.Tensor) else type(v)(0))


def _nothing(prepared: Prepared) -> Outputs:
    return _each(prepared, lambda name, v: _before(prepared, name, v))


def _shifted(prepared: Prepared) -> Outputs:
    """Everything one element further; a single element is one too large."""

    def shift(_name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return not value if isinstance(value, bool) else value + 1
        return value + 1 if value.numel() == 1 else value.flatten().roll(1).reshape(value.shape)

    return _each(prepared, shift)


def _other_dtype(prepared: Prepared) -> Outputs:
    return _each(prepared, lambda _, v: _cast(v) if isinstance(v, torch.Tensor) else str(v))


def _cast(value: torch.Tensor) -> torch.Tensor:
    other = torch.float64 if value.dtype is torch.float32 else torch.float32
    real = value.real if value.is_complex() else value
    return real.to(other)  # keeps the strides


def _dense(value: Any) -> Any:
    """Read a tensor as if its elements lay side by side from its first one on."""
    if isinstance(value, list | tuple):
        return type(value)(_dense(v) for v in value)
    if not isinstance(value, torch.Tensor) or not value.numel() or value.is_contiguous():
        return value
    flat = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())  # type: ignore[call-overload]
    flat = flat[value.storage_offset() :]
    return flat.repeat(-(-value.numel() // len(flat)))[: value.numel()].view(value.shape).clone()


def _strideless(prepared: Prepared) -> Outputs | None:
    if prepared.operator.traits.result == "uninitialised":
        return _each(prepared, lambda _, v: torch.empty(v.shape, dtype=v.dtype))
    call = copy_call(prepared.call)
    if prepared.operator.strideless is not None:
        return run_baseline(prepared.operator, prepared.case, prepared.operator.strideless(call))[0]
    args = tuple(_dense(v) for v in call.args)
    if all(_is_same(a, b) for a, b in zip(args, call.args, strict=True)):
        return None  # every input is dense anyway
    return run_baseline(prepared.operator, prepared.case, Call(args, call.kwargs))[0]


def _is_same(one: Any, two: Any) -> bool:
    if isinstance(one, list | tuple):
        return all(_is_same(a, b) for a, b in zip(one, two, strict=True))
    return one is two


def _tailless(prepared: Prepared) -> Outputs:
    """The last elements are what they were before."""

    def cut(name: str, value: Any) -> Any:
        before = _before(prepared, name, value)
        if not isinstance(value, torch.Tensor) or not value.numel():
            return before
        spoiled, count = value.clone().flatten(), min(_LAST_BLOCK, -(-value.numel() // 2))
        spoiled[-count:] = before.flatten()[-count:]
        return spoiled.reshape(value.shape)

    return _each(prepared, cut)


_ALL: dict[str, Spoil] = {
    "zero output": _zero,
    "no-op": _nothing,
    "off-by-one element": _shifted,
    "wrong dtype": _other_dtype,
    "ignored strides": _strideless,
    "skipped last block": _tailless,
}
NAMES = tuple(_ALL)
"""Every canary of this module. A seventh, ``unmounted``, is made by the worker."""


def canaries(operator: Operator) -> dict[str, Spoil]:
    """Return the canaries that an operator must catch, by name.

    Each maps a :class:`Prepared` to spoiled outputs, or to ``None`` where it changes nothing in that case. At least
    one smoke case must reject them. Those in ``traits.canary_omissions`` are left out.
    """
    return {name: spoil for name, spoil in _ALL.items() if name not in operator.traits.canary_omissions}
