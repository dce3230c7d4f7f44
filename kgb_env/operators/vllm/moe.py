"""Mixture of experts: moe_align_block_size."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import EXACT

__all__ = ["moe_align_block_size"]

family = Family("vllm", "moe")


def _make(case: Case, generator: torch.Generator) -> Call:
    axes = case.axes
    tokens, topk, experts, block = axes["tokens"], axes["topk"], axes["experts"], axes["block"]
    scores = torch.rand((tokens, experts), generator=generator)
    if axes["load"] == "skewed":  # some experts get most tokens and some get none
        scores[:, : experts // 2] += 1.0
        scores[:, 0] += 1.0
    ids = scores.topk(topk, dim=1).indices.to(torch.int32)
    length = tokens * topk + experts * (block - 1)
    stale = torch.randint(-(1 << 20), -1, (length,), generator=generator, dtype=torch.int32)
    blocks = torch.full((-(-length // block),), -7, dtype=torch.int32)
    total = torch.full((1,), -7, dtype=torch.int32)
    call = Call((ids, experts, block, stale, blocks, total))
    if axes["mapped"]:
        local = torch.randperm(experts, generator=generator)
        first = torch.nonzero(local == ids[0, 0]).item()
        local[[0, int(first)]] = local[[int(first), 0]]  # at least one pair stays
        local = local[: max(1, experts // 2)]
        renamed = torch.full((experts,), -1, dtype=torch.int32)
        renamed[local] = torch.arange(len(local), dtype=torch.int32)
        call.args = (*call.args, renamed)
    return call


def _aligned(
    topk_ids: torch.Tensor, num_experts: int, block: int, length: int, expert_map: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Return sorted ids (ascending within an expert), experts by block, and the padded total."""
    ids = topk_ids.flatten().long()
    if expert_map is not None:
        ids = expert_map.long()[ids]
    order = torch.argsort(ids, stable=True)
    order = order[ids[order] >= 0]
    counts = torch.bincount(ids[order], minlength=num_experts)
    padded = (counts + block - 1) // block * block
    starts = torch.cumsum(padded, 0) - padded
    within = torch.arange(len(order)) - (torch.cumsum(counts, 0) - counts)[ids[order]]
    places = torch.full((length,), topk_ids.numel(), dtype=torch.int64)
    places[starts[ids[order]] + within] = order
    experts = torch.zeros(-(-length // block), dtype=torch.int64)
    used = torch.repeat_interleave(torch.arange(num_experts), padded // block)
    experts[: len(used)] = used
    return places, experts, int(padded.sum())


def _portable(
    topk_ids: torch.Tensor,
    num_experts: int,
    block_size: int,
    sorted_token_ids: torch.Tensor,
    experts_ids: torch.Tensor,
    num_tokens_post_pad: torch.Tensor,
    expert_map: torch.Tensor | None = None,
) -> None:
    """Sort, count, pad; written with torch's own primitives."""
    places, experts, total = _aligned(topk_ids, num_experts, block_size, len(sorted_token_ids), expert_map)
    sorted_token_ids.copy_(places)
    experts_ids.copy_(experts[: len(experts_ids)])
    num_tokens_post_pad.fill_(total)


def _canonical(outputs: Mapping[str, torch.Tensor], call: Call) -> Mapping[str, torch.Tensor]:
    """Sort the ids within each expert's segment; the segments come from the call, never from the answer."""
    names = ("topk_ids", "num_experts", "block_size", "sorted_token_ids", "experts_ids", "num_tokens_post_pad")
    arguments = dict(zip(names, call.args, strict=False))
    mapping = call.args[len(names)] if len(call.args) > len(names) else None
    found = outputs["sorted_token_ids"]
    block, experts = arguments["block_size"], arguments["num_experts"]
    ids = arguments["topk_ids"].flatten().long()
    ids = ids if mapping is None else mapping.long()[ids]
    counts = torch.bincount(ids[ids >= 0], minlength=experts)
    padded = (counts + block - 1) // block * block
    segment = torch.bucketize(torch.arange(len(found)), torch.cumsum(padded, 0), right=True)
    keys = torch.sort(segment * (1 << 33) + found.long() + (1 << 31)).values
    ordered = keys - segment * (1 << 33) - (1 << 31)
    return {**outputs, "sorted_token_ids": ordered.to(found.dtype)}


_PUBLIC = {
    "overload": ("",),
    "dtype": ("int32",),
    "distribution": ("D4",),
    "tokens": (32, 50),
    "topk": (2,),
    "experts": (4, 8),
    "block": (8, 16),
    "load": ("even", "skewed"),
    "mapped": (False,),
}
_SMOKE = {
    "overload": ("",),
    "dtype": ("int32",),
    "distribution": ("D4",),
    "tokens": (1, 37, 128, 300),
    "topk": (2, 4, 1),
    "experts": (4, 7, 16, 32),
    "block": (8, 16, 32, 64),
    "load": ("even", "skewed"),
    "mapped": (False, True),
}
_FULL = {
    **_SMOKE,
    "tokens": (1, 128, 1024, 4096, 6152, 11575, 16384),
    "topk": (2, 4, 10),
    "experts": (4, 8, 16, 32, 64, 60),
}
_LARGE = [
    {"overload": "", "dtype": "int32", "distribution": "D4", "tokens": tokens, "topk": topk, "experts": experts}
    | {"block": block, "load": "even", "mapped": False}
    for tokens, topk, experts, block in ((16384, 4, 64, 64), (4096, 2, 8, 32), (11575, 10, 32, 16))
]


@family.operator(
    "moe_align_block_size(topk_ids: torch.Tensor, num_experts: int, block_size: int, sorted_token_ids: torch.Tensor, "
    "experts_ids: torch.Tensor, num_tokens_post_pad: torch.Tensor, expert_map: torch.Tensor | None = None) -> None",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE, lambda point: point["topk"] <= point["experts"]),
    make=_make,
    tolerance=EXACT,
    traits=Traits(
        result="set",
        narrowed_helpers=frozenset({"gather"}),
        difficulty=3,
        canary_omissions={"ignored strides": "the router hands over contiguous ids, and the buffers are flat"},
    ),
    mutates=("sorted_token_ids", "experts_ids", "num_tokens_post_pad"),
    baseline=_portable,
    normalise=_canonical,
)
def moe_align_block_size(
    topk_ids: torch.Tensor,
    num_experts: int,
    block_size: int,
    sorted_token_ids: torch.Tensor,
    experts_ids: torch.Tensor,
    num_tokens_post_pad: torch.Tensor,
    expert_map: torch.Tensor | None = None,
) -> tuple[Bounded, Bounded, Bounded]:
    """Group the (token, choice) pairs of ``topk_ids`` by expert, each group padded to whole blocks.

    ``topk_ids`` (T, k) int32 names the experts of each token; pair (t, j) has the flat index t*k + j. Three int32
    buffers are written whole. ``sorted_token_ids``: the flat indices of expert 0, filled up with the
    sentinel T*k to a multiple of ``block_size``, then those of expert 1, and so on; the sentinel to the end of
    the buffer. The order within one expert is free. ``experts_ids[b]``: the expert of block b; 0 for
    the blocks behind the last used one. ``num_tokens_post_pad[0]``: the padded total. With
    ``expert_map`` (num_experts,) int32, expert e is renamed ``expert_map[e]``, and pairs whose expert
    maps to -1 are dropped; groups and ``experts_ids`` then go by the new names.

    Example: ids [[0,1],[1,2],[1,0]], 3 experts, block 2, buffer of 9: sorted {0,5},{1,2,4,6},{3,6},6;
    experts [0,1,1,2,0]; total 8.
    """
    sentinel, length = topk_ids.numel(), len(sorted_token_ids)
    groups: list[list[int]] = [[] for _ in range(num_experts)]
    for flat, expert in enumerate(topk_ids.flatten().tolist()):
        renamed = expert if expert_map is None else int(expert_map[expert])
        if renamed >= 0:
            groups[renamed].append(flat)
    places: list[int] = []
    blocks: list[int] = []
    for expert, group in enumerate(groups):
        used = -(-len(group) // block_size)
        places += group + [sentinel] * (used * block_size - len(group))
        blocks += [expert] * used
    total = len(places)
    places += [sentinel] * (length - total)
    blocks += [0] * (len(experts_ids) - len(blocks))
    del num_tokens_post_pad
    return Bounded(torch.tensor(places)), Bounded(torch.tensor(blocks)), Bounded(torch.tensor([total]))
