# operator: vllm::reshape_and_cache
# One program per token, head and tensor: a 3-D grid, with keys and values told apart by its last axis.

import triton
import triton.language as tl


@triton.jit
def _store(x, at, inside, scale_ptr, FP8: tl.constexpr):
    if FP8 == "auto":
        tl.store(at, x, mask=inside)
    else:
        scaled = x.to(tl.float32) / tl.load(scale_ptr)
        scaled = tl.where(scaled > 448.0, 448.0, tl.where(scaled < -448.0, -448.0, scaled))
        tl.store(at, scaled.to(tl.float8e4nv).to(at.dtype.element_ty, bitcast=True), mask=inside)


@triton.jit
def _kernel(
    key_ptr, value_ptr, key_cache_ptr, value_cache_ptr, slots_ptr, slots_step, k_scale_ptr, v_scale_ptr,
    kt, kh, kd, vt, vh, vd, head_size, block_size, x,
    FP8: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    token, head, which = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    heads = tl.num_programs(1)
    slot = tl.load(slots_ptr + token * slots_step)
    if slot >= 0:
        d = tl.arange(0, BLOCK)
        inside = d < head_size
        base = (slot // block_size * heads + head) * head_size * block_size
        place = slot % block_size
        if which == 0:
            key = tl.load(key_ptr + token * kt + head * kh + d * kd, mask=inside)
            _store(key, key_cache_ptr + base + (d // x * block_size + place) * x + d % x, inside, k_scale_ptr, FP8)
        else:
            value = tl.load(value_ptr + token * vt + head * vh + d * vd, mask=inside)
            _store(value, value_cache_ptr + base + d * block_size + place, inside, v_scale_ptr, FP8)


def reshape_and_cache(key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype, k_scale, v_scale):
    heads, head_size = key.shape[1:]
    grid = (slot_mapping.numel(), heads, 2)
    if slot_mapping.numel() and heads and head_size:
        _kernel[grid](
            key,
            value,
            key_cache,
            value_cache,
            slot_mapping,
            slot_mapping.stride(0),
            k_scale,
            v_scale,
            *key.stride(),
            *value.stride(),
            head_size,
            value_cache.shape[3],
            key_cache.shape[4],
            FP8=kv_cache_dtype,
            BLOCK=triton.next_power_of_2(head_size),
        )
