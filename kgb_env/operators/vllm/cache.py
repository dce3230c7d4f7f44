"""Paged key-value caches: reshape_and_cache."""

from __future__ import annotations

from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import dtype_of, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import EXACT

__all__ = ["reshape_and_cache"]

family = Family("vllm", "kv-cache")

_FP8_MAX = 448.0


def _fits(point: dict[str, Any]) -> bool:
    # the compiled operator writes at most 512 (head, chunk) pairs of a token: stay within them
    _, heads, size, *_ = point["shape"]
    chunk = 16 if point["kv_cache_dtype"] != "auto" else 16 // dtype_of(point["dtype"]).itemsize
    if size % chunk or heads * size // chunk > 512:
        return False
    return point["scale"] == 1.0 or point["kv_cache_dtype"] != "auto"


def _make(case: Case, generator: torch.Generator) -> Call:
    axes, dtype = case.axes, dtype_of(case.dtype)
    tokens, heads, size, blocks, block = axes["shape"]
    kind = dtype if axes["kv_cache_dtype"] == "auto" else torch.uint8
    chunk = 16 // kind.itemsize
    key, value = (_tokens(case, (tokens, heads, size), dtype, generator) for _ in range(2))
    key_cache = inputs.draw((blocks, heads, size // chunk, block, chunk), kind, "D1", generator)
    value_cache = inputs.draw((blocks, heads, size, block), kind, "D1", generator)
    slots = torch.randperm(blocks * block, generator=generator)[:tokens]
    if axes["skips"] and tokens > 1:
        slots[torch.rand(tokens, generator=generator) < 0.25] = -1
        slots[0] = -1
        slots[-1] = blocks * block - 1 if blocks * block - 1 not in slots else slots[-1]
        slots = slots[: tokens - 1] if axes["skips"] == "short" else slots
    scales = [torch.tensor([axes["scale"] * f], dtype=torch.float32) for f in (1.0, 2.0)]
    return Call((key, value, key_cache, value_cache, slots, axes["kv_cache_dtype"], *scales))


def _tokens(case: Case, shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Rows may lie apart (as slices of a fused projection do), but a token is contiguous."""
    values = inputs.draw(shape, dtype, case.distribution, generator)
    if case.axes["layout"] == "contiguous":
        return values
    wider = inputs.draw((shape[0], 2, *shape[1:]), dtype, "D1", generator)
    return wider[:, 1].copy_(values)


def _addresses(slots: torch.Tensor, block: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    tokens = torch.nonzero(slots >= 0).flatten()
    places = slots[tokens]
    return tokens, places // block, places % block


def _stored(values: torch.Tensor, kv_cache_dtype: str, scale: torch.Tensor) -> torch.Tensor:
    """What one element looks like in the cache: itself, or the bits of an e4m3."""
    if kv_cache_dtype == "auto":
        return values
    scaled = (values.float() / scale).clamp(-_FP8_MAX, _FP8_MAX)
    return scaled.to(torch.float8_e4m3fn).view(torch.uint8)


def _portable(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    kv_cache_dtype: str,
    k_scale: torch.Tensor,
    v_scale: torch.Tensor,
) -> None:
    """Indexed assignment into both caches."""
    _, heads, chunks, block, chunk = key_cache.shape
    tokens, page, offset = _addresses(slot_mapping, block)
    keys = _stored(key[tokens], kv_cache_dtype, k_scale).reshape(len(tokens), heads, chunks, chunk)
    key_cache[page, :, :, offset] = keys
    value_cache[page, :, :, offset] = _stored(value[tokens], kv_cache_dtype, v_scale)


_PUBLIC = {
    "overload": ("",),
    "dtype": ("float16", "bfloat16", "float32"),
    "distribution": ("D1", "D4"),
    "shape": ((4, 2, 32, 3, 8), (6, 1, 64, 2, 16)),
    "kv_cache_dtype": ("auto",),
    "scale": (1.0,),
    "skips": ("", "some"),
    "layout": ("contiguous",),
}
_SMOKE = {
    "overload": ("",),
    "dtype": ("float16", "bfloat16", "float32"),
    "distribution": ("D1", "D2", "D4"),
    "shape": ((5, 3, 16, 4, 4), (7, 2, 80, 2, 8), (1, 2, 32, 1, 16), (11, 1, 48, 3, 5)),
    "kv_cache_dtype": ("auto", "fp8", "fp8_e4m3"),
    "scale": (1.0, 0.5),
    "skips": ("", "some", "short"),
    "layout": ("contiguous", "strided"),
}
_FULL = {
    **_SMOKE,
    "shape": (
        (4, 8, 64, 16, 16),
        (32, 8, 64, 32, 16),
        (128, 8, 64, 64, 16),
        (128, 16, 128, 64, 16),
        (256, 16, 128, 64, 16),
        (512, 32, 128, 128, 16),
        (1024, 16, 128, 256, 16),
        (37, 3, 80, 9, 8),
    ),
}
_LARGE = [
    {"overload": "", "dtype": dtype, "shape": shape, "kv_cache_dtype": kind, "scale": 1.0, "skips": ""}
    | {"layout": "contiguous"}
    for dtype, shape, kind in (
        ("float16", (1024, 16, 128, 256, 16), "auto"),
        ("bfloat16", (4096, 8, 128, 512, 16), "auto"),
        ("bfloat16", (1024, 16, 128, 256, 16), "fp8"),
    )
]


@family.operator(
    "reshape_and_cache(key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor, "
    "slot_mapping: torch.Tensor, kv_cache_dtype: str, k_scale: torch.Tensor, v_scale: torch.Tensor) -> None",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE, _fits),
    make=_make,
    tolerance=EXACT,
    traits=Traits(narrowed_helpers=frozenset({"copy", "cast", "gather"}), difficulty=3),
    mutates=("key_cache", "value_cache"),
    baseline=_portable,
    bytes=lambda _case, call: 4 * call.args[0].numel() * call.args[0].element_size(),
)
def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    kv_cache_dtype: str,
    k_scale: torch.Tensor,
    v_scale: torch.Tensor,
) -> tuple[Bounded, Bounded]:
    """Write the keys and values of new tokens into paged caches, in place.

    ``key`` and ``value`` have shape (T, H, D), contiguous within a token. ``key_cache`` is (blocks, H, D/x, B, x) with
    x = 16 bytes worth of elements, ``value_cache`` (blocks, H, D, B); both contiguous. Token t with slot
    s = ``slot_mapping[t]`` >= 0 goes to block s // B, offset s % B:
    ``key_cache[s//B, h, d//x, s%B, d%x] = key[t, h, d]`` and ``value_cache[s//B, h, d, s%B] = value[t, h, d]``.
    A negative slot is skipped. The number of tokens is the length of ``slot_mapping`` (int64); ``key`` may be
    longer. Everything else in the caches stays.

    ``kv_cache_dtype`` "auto": the caches have the dtype of ``key`` and the bits are copied. "fp8" and "fp8_e4m3": the
    caches are uint8 and hold the bits of float8_e4m3fn(float32(x) / scale), rounded to nearest even and clamped to
    +-448; ``k_scale`` and ``v_scale`` are float32 tensors of one element.

    Example: H=1, D=4, x=2, B=2, slot 3, key [a, b, c, d]: key_cache[1,0,0,1] = [a, b], key_cache[1,0,1,1] = [c, d].
    """
    _, heads, chunks, block, chunk = key_cache.shape
    tokens, page, offset = _addresses(slot_mapping, block)
    keys, values = wide(key_cache).clone(), wide(value_cache).clone()
    for token, p, o in zip(tokens.tolist(), page.tolist(), offset.tolist(), strict=True):
        row = wide(_stored(key[token], kv_cache_dtype, k_scale))
        keys[p, :, :, o, :] = row.reshape(heads, chunks, chunk)
        values[p, :, :, o] = wide(_stored(value[token], kv_cache_dtype, v_scale))
    return Bounded(keys), Bounded(values)
