# operator: vllm::moe_align_block_size
# Fills the outputs with sentinels by torch, as vLLM does: most elements are right before any kernel.

import torch
import triton
import triton.language as tl


@triton.jit
def count(ids, cnt, emap, n, E: tl.constexpr, HAS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    e = tl.load(ids + i, mask=m, other=0)
    if HAS:
        e = tl.load(emap + e, mask=m, other=-1)
        m = m & (e >= 0)
    tl.atomic_add(cnt + e, 1, mask=m)


@triton.jit
def scan(cnt, start, total, experts, E, block, nblocks, EP: tl.constexpr):
    e = tl.arange(0, EP)
    c = tl.load(cnt + e, mask=e < E, other=0)
    padded = tl.cdiv(c, block) * block
    cum = tl.cumsum(padded, axis=0)
    tl.store(start + e, cum - padded, mask=e < E)
    tl.store(total, tl.sum(padded, axis=0))


@triton.jit
def blocks(start, cnt, experts, block):
    e = tl.program_id(0)
    s = tl.load(start + e) // block
    k = tl.cdiv(tl.load(cnt + e), block)
    for j in range(0, k):
        tl.store(experts + s + j, e)


@triton.jit
def place(ids, start, emap, out, n, HAS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    e = tl.load(ids + i, mask=m, other=0)
    if HAS:
        e = tl.load(emap + e, mask=m, other=-1)
        m = m & (e >= 0)
    pos = tl.atomic_add(start + e, 1, mask=m)
    tl.store(out + pos, i.to(tl.int32), mask=m)


def moe_align_block_size(
    topk_ids, num_experts, block_size, sorted_token_ids, experts_ids, num_tokens_post_pad, expert_map=None
):
    n = topk_ids.numel()
    sorted_token_ids.fill_(n)
    experts_ids.zero_()
    cnt = torch.zeros(num_experts, dtype=torch.int32, device=topk_ids.device)
    start = torch.empty_like(cnt)
    flat = topk_ids.contiguous().view(-1)
    has = expert_map is not None
    grid = (triton.cdiv(n, 128),)
    if n:
        count[grid](flat, cnt, expert_map, n, E=num_experts, HAS=has, B=128)
    scan[(1,)](
        cnt,
        start,
        num_tokens_post_pad,
        experts_ids,
        num_experts,
        block_size,
        experts_ids.numel(),
        EP=triton.next_power_of_2(num_experts),
    )
    blocks[(num_experts,)](start, cnt, experts_ids, block_size)
    if n:
        place[grid](flat, start, expert_map, sorted_token_ids, n, HAS=has, B=128)
