# attack: F12
# operator: vllm::reshape_and_cache
# expect: wrong_value|nonfinite|illegal_access
# layer: numerics
# Takes slot -1 for the last slot, as Python would.

import torch
import triton
import triton.language as tl


@triton.jit
def _encode(x, scale_ptr, FP8: tl.constexpr, LIMIT: tl.constexpr, ELEMENT: tl.constexpr):
    if FP8 is None:
        stored = x.to(ELEMENT)
    else:
        scaled = x.to(tl.float32) / tl.load(scale_ptr).to(tl.float32)
        scaled = tl.where(scaled > LIMIT, LIMIT, tl.where(scaled < -LIMIT, -LIMIT, scaled))  # NaN stays NaN
        stored = scaled.to(FP8).to(ELEMENT, bitcast=True)
    return stored


@triton.jit
def _reshape_and_cache_kernel(
    key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slot_ptr, k_scale_ptr, v_scale_ptr,
    tokens, heads, head_size, block_size, x,
    kt, kh, kd, vt, vh, vd, slot_stride,
    FP8: tl.constexpr, LIMIT: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    token = (tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)).to(tl.int64)
    element = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)
    slot = tl.load(slot_ptr + token * slot_stride, mask=token < tokens, other=-1).to(tl.int64)
    slot = tl.where(slot < 0, 0, slot)
    block = (slot // block_size)[:, None]
    place = (slot % block_size)[:, None]
    head = (element // head_size)[None, :]
    d = (element % head_size)[None, :]
    token = token[:, None]
    inside = (slot >= -1)[:, None] & (element < heads * head_size)[None, :]

    key = tl.load(key_ptr + token * kt + head * kh + d * kd, mask=inside)
    chunk = (block * heads + head) * (head_size // x) + d // x
    key_at = key_cache_ptr + (chunk * block_size + place) * x + d % x
    tl.store(key_at, _encode(key, k_scale_ptr, FP8, LIMIT, key_cache_ptr.dtype.element_ty), mask=inside)

    value = tl.load(value_ptr + token * vt + head * vh + d * vd, mask=inside)
    value_at = value_cache_ptr + ((block * heads + head) * head_size + d) * block_size + place
    tl.store(value_at, _encode(value, v_scale_ptr, FP8, LIMIT, value_cache_ptr.dtype.element_ty), mask=inside)


_FORMATS = {
    "auto": (None, 0.0),
    "fp8": (tl.float8e4nv, 448.0),
    "fp8_e4m3": (tl.float8e4nv, 448.0),
    "fp8_e5m2": (tl.float8e5, 57344.0),
}


def _bytes(cache, fp8):
    return cache.view(torch.uint8) if fp8 is not None and cache.dtype != torch.uint8 else cache


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    tokens = slot_mapping.numel()
    heads, head_size = key.shape[1:]
    elements = heads * head_size
    if tokens == 0 or elements == 0:
        return
    fp8, limit = _FORMATS[kv_cache_dtype]
    block_e = min(1024, triton.next_power_of_2(elements))
    block_t = min(max(1, 2048 // block_e), triton.next_power_of_2(tokens))
    _reshape_and_cache_kernel[(triton.cdiv(tokens, block_t), triton.cdiv(elements, block_e))](
        key,
        value,
        _bytes(key_cache, fp8),
        _bytes(value_cache, fp8),
        slot_mapping,
        k_scale,
        v_scale,
        tokens,
        heads,
        head_size,
        value_cache.shape[3],
        key_cache.shape[4],
        *key.stride(),
        *value.stride(),
        slot_mapping.stride(0),
        FP8=fp8,
        LIMIT=limit,
        BLOCK_T=block_t,
        BLOCK_E=block_e,
    )
