# attack: F12|F10
# operator: vllm::moe_align_block_size
# expect: wrong_value
# layer: numerics
# Pads the groups with zeros instead of the sentinel: slot 0 is listed again and again.

import torch
import triton
import triton.language as tl


@triton.jit
def _expert(ids_ptr, map_ptr, i, n, experts, MAPPED: tl.constexpr):
    expert = tl.load(ids_ptr + i, mask=i < n, other=-1).to(tl.int32)
    known = (expert >= 0) & (expert < experts)
    if MAPPED:
        expert = tl.load(map_ptr + expert, mask=known, other=-1).to(tl.int32)
        known = known & (expert >= 0)
    return expert, known


@triton.jit
def _count_kernel(
    ids_ptr, map_ptr, counts_ptr, sorted_ptr, n, length, experts, MAPPED: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sorted_ptr + i, tl.zeros((BLOCK,), dtype=tl.int32), mask=i < length)
    expert, known = _expert(ids_ptr, map_ptr, i, n, experts, MAPPED)
    tl.atomic_add(counts_ptr + expert, 1, mask=known, sem="relaxed")


@triton.jit
def _layout_kernel(
    counts_ptr, next_ptr, expert_ids_ptr, total_ptr, experts, block_size, blocks,
    BLOCK_E: tl.constexpr, BLOCK_B: tl.constexpr,
):  # fmt: skip
    e = tl.arange(0, BLOCK_E)
    counts = tl.load(counts_ptr + e, mask=e < experts, other=0)
    padded = (counts + block_size - 1) // block_size * block_size
    ends = tl.cumsum(padded, axis=0)
    tl.store(next_ptr + e, ends - padded, mask=e < experts)
    total = tl.sum(padded, axis=0)
    tl.store(total_ptr, total)
    for first in range(0, blocks, BLOCK_B):
        b = first + tl.arange(0, BLOCK_B)
        start = b * block_size
        behind = ((ends[None, :] <= start[:, None]) & (e < experts)[None, :]).to(tl.int32)
        owner = tl.where(start < total, tl.sum(behind, axis=1), 0)
        tl.store(expert_ids_ptr + b, owner, mask=b < blocks)


@triton.jit
def _scatter_kernel(
    ids_ptr, map_ptr, next_ptr, sorted_ptr, n, length, experts, MAPPED: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert, known = _expert(ids_ptr, map_ptr, i, n, experts, MAPPED)
    place = tl.atomic_add(next_ptr + expert, 1, mask=known, sem="relaxed")
    tl.store(sorted_ptr + place, i, mask=known & (place < length))


def moe_align_block_size(
    topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad, expert_map=None
):
    ids = topk_ids.contiguous()
    n, length = ids.numel(), sorted_token_ids.numel()
    blocks = min(triton.cdiv(length, block_size), experts_ids.numel())
    counts, cursor = torch.zeros((2, num_experts), dtype=torch.int32, device=ids.device).unbind()
    mapped = expert_map is not None
    table = expert_map if mapped else ids
    block = min(1024, triton.next_power_of_2(max(n, length, 1)))
    grid = (max(1, triton.cdiv(max(n, length), block)),)
    _count_kernel[grid](ids, table, counts, sorted_token_ids, n, length, num_experts, MAPPED=mapped, BLOCK=block)
    _layout_kernel[(1,)](
        counts,
        cursor,
        experts_ids,
        num_tokens_post_pad,
        num_experts,
        block_size,
        blocks,
        BLOCK_E=triton.next_power_of_2(num_experts),
        BLOCK_B=64,
    )
    if n:
        grid = (triton.cdiv(n, block),)
        _scatter_kernel[grid](ids, table, cursor, sorted_token_ids, n, length, num_experts, MAPPED=mapped, BLOCK=block)
