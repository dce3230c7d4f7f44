# operator: vllm::moe_align_block_size
# One program and no atomics: ranks within an expert come from a running sum over a one-hot matrix.

import torch
import triton
import triton.language as tl


@triton.jit
def _align_kernel(
    ids_ptr, map_ptr, sorted_ptr, expert_ids_ptr, total_ptr, n, length, experts, block_size, blocks,
    MAPPED: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    e = tl.arange(0, BLOCK_E)
    t = tl.arange(0, BLOCK_T)
    for start in range(0, length, BLOCK_T):
        tl.store(sorted_ptr + start + t, tl.zeros((BLOCK_T,), dtype=tl.int32) + n, mask=start + t < length)
    tl.debug_barrier()
    counts = tl.zeros((BLOCK_E,), dtype=tl.int32)
    for start in range(0, n, BLOCK_T):
        expert = tl.load(ids_ptr + start + t, mask=start + t < n, other=-1)
        if MAPPED:
            expert = tl.load(map_ptr + expert, mask=(expert >= 0) & (expert < experts), other=-1)
        counts += tl.sum(((expert[:, None] == e[None, :]) & (e < experts)[None, :]).to(tl.int32), axis=0)
    padded = tl.cdiv(counts, block_size) * block_size
    ends = tl.cumsum(padded, axis=0)
    total = tl.sum(padded, axis=0)
    tl.store(total_ptr, total)
    for start in range(0, blocks, BLOCK_T):
        first = (start + t) * block_size
        owner = tl.sum(((ends[None, :] <= first[:, None]) & (e < experts)[None, :]).to(tl.int32), axis=1)
        tl.store(expert_ids_ptr + start + t, tl.where(first < total, owner, 0), mask=start + t < blocks)
    free = ends - padded
    for start in range(0, n, BLOCK_T):
        expert = tl.load(ids_ptr + start + t, mask=start + t < n, other=-1)
        if MAPPED:
            expert = tl.load(map_ptr + expert, mask=(expert >= 0) & (expert < experts), other=-1)
        mine = ((expert[:, None] == e[None, :]) & (e < experts)[None, :]).to(tl.int32)
        place = tl.sum(mine * (free[None, :] + tl.cumsum(mine, axis=0) - mine), axis=1)
        tl.store(sorted_ptr + place, start + t, mask=(tl.sum(mine, axis=1) > 0) & (place < length))
        free += tl.sum(mine, axis=0)


def moe_align_block_size(
    topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad, expert_map=None
):
    length = sorted_token_ids.numel()
    _align_kernel[(1,)](
        topk_ids.contiguous(),
        topk_ids if expert_map is None else expert_map,
        sorted_token_ids,
        experts_ids,
        num_tokens_post_pad,
        topk_ids.numel(),
        length,
        num_experts,
        block_size,
        min(triton.cdiv(length, block_size), experts_ids.numel()),
        MAPPED=expert_map is not None,
        BLOCK_T=64,
        BLOCK_E=triton.next_power_of_2(num_experts),
        num_warps=1,
    )
