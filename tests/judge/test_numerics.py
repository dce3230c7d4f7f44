"""Bounds tell wrong kernels from honest ones; structure, specials and statistics are seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kgb_env import operators
from kgb_env.judge import bounds, draws, numerics
from kgb_env.operators import inputs
from kgb_env.operators.model import Bounded, Call, Case, Drawn
from kgb_env.operators.tolerance import EXACT, MATMUL, QUANTIZED, REDUCTION
from kgb_env.records import Status

torch.set_num_threads(1)

MM = operators.get("aten::mm")
SIZE = 48


def mm_case(dtype: str, distribution: str, k: int) -> Case:
    axes = {"size": (SIZE, k, SIZE), "layout_a": "contiguous", "layout_b": "contiguous"}
    return Case("probe", "", dtype, axes, distribution)


def ready(case: Case, seed: int = 0) -> numerics.Prepared:
    return numerics.prepare(MM, case, MM.make(case, torch.Generator().manual_seed(seed)))


def truncated(value: torch.Tensor, bits: int) -> torch.Tensor:
    return (value.view(torch.int32) & ~((1 << bits) - 1)).view(torch.float32)


def blocked(a: torch.Tensor, b: torch.Tensor, block: int) -> torch.Tensor:
    total = torch.zeros(SIZE, SIZE)
    for start in range(0, a.shape[1], block):
        total += a[:, start : start + block].float() @ b[start : start + block].float()
    return total.to(a.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor, parts: int) -> torch.Tensor:
    chunks = zip(a.float().chunk(parts, 1), b.float().chunk(parts, 0), strict=True)
    return torch.stack([x @ y for x, y in chunks]).sum(0).to(a.dtype)


HONEST: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "torch": lambda a, b: (a.float() @ b.float()).to(a.dtype),
    "blocks of 32": lambda a, b: blocked(a, b, 32),
    "blocks of 16": lambda a, b: blocked(a, b, 16),
    "split-K 8": lambda a, b: split_k(a, b, 8),
    "one by one": lambda a, b: blocked(a, b, 1),
}
WRONG_FP32: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "TF32 operands": lambda a, b: truncated(a, 13) @ truncated(b, 13),
    "fp16 operands": lambda a, b: a.half().float() @ b.half().float(),
    "bf16 operands": lambda a, b: a.bfloat16().float() @ b.bfloat16().float(),
}


def sixteen_bit_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(SIZE, SIZE, dtype=a.dtype)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k : k + 1]
    return total


def without_tail(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    result = HONEST["torch"](a, b)
    result[-1, -3:] = 0
    return result


def without_terms(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    keep = a.shape[1] - max(1, a.shape[1] // 100)
    return HONEST["torch"](a[:, :keep], b[:keep])


@pytest.mark.parametrize("k", [64, 256, 1024])
@pytest.mark.parametrize("distribution", ["D1", "D2", "D3"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_honest_products_pass_and_wrong_ones_fail(dtype: str, distribution: str, k: int) -> None:
    prepared = ready(mm_case(dtype, distribution, k))
    a, b = prepared.call.args

    def verdict(kernel: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> numerics.Outcome:
        return numerics.compare(prepared, {"return": kernel(a, b)})

    for name, kernel in HONEST.items():
        outcome = verdict(kernel)
        assert outcome.right, (name, outcome)
    assert not verdict(without_tail).right
    assert not verdict(without_terms).right
    if dtype == "float32":
        for name, kernel in WRONG_FP32.items():
            assert not verdict(kernel).right, name
    elif k >= 256:
        assert not verdict(sixteen_bit_sum).right


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_one_dropped_term_shows_on_small_integers(dtype: str) -> None:
    prepared = ready(mm_case(dtype, "D4", 256))
    assert prepared.checks["return"].bound is None
    a, b = prepared.call.args
    assert numerics.compare(prepared, {"return": HONEST["split-K 8"](a, b)}).right
    assert not numerics.compare(prepared, {"return": HONEST["torch"](a[:, 1:], b[1:])}).right


def sums(dtype: torch.dtype, distribution: str, length: int) -> tuple[torch.Tensor, bounds.Check]:
    values = inputs.draw((96, length), dtype, distribution, torch.Generator().manual_seed(3))
    wide = values.double()
    answer = Bounded(wide.sum(1), wide.abs().sum(1), length)
    return values, bounds.build(answer, dtype, REDUCTION, distribution, values.sum(1))


@pytest.mark.parametrize("distribution", ["D1", "D2", "D3", "D5"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_order_of_a_sum_is_free(dtype: torch.dtype, distribution: str) -> None:
    values, check = sums(dtype, distribution, 4096)
    single = values.float()
    one_by_one = torch.zeros(96)
    for column in single.T:
        one_by_one = one_by_one + column
    strided = single.view(96, 64, 64)
    lanes = torch.zeros(96, 64)
    for block in strided.unbind(1):
        lanes = lanes + block
    for total in (one_by_one, single.flip(1).sum(1), lanes.sum(1)):
        seen = bounds.look(check, total.to(dtype))
        assert bool(seen.right.all()), seen.share
        assert seen.error is not None
        assert bounds.rms(seen.error) <= check.rms
    assert not bool(bounds.look(check, single[:, :-64].sum(1).to(dtype)).right.all())


def test_zero_is_not_the_sum_of_normals() -> None:
    _, check = sums(torch.float32, "D1", 10000)
    assert not bool(bounds.look(check, torch.zeros(96)).right.all())


@pytest.mark.parametrize(
    ("spoil", "status"),
    [
        (lambda out: None, Status.WRONG_SHAPE),
        (lambda out: out.tolist(), Status.WRONG_SHAPE),
        (lambda out: out.double(), Status.WRONG_DTYPE),
        (lambda out: out[:-1], Status.WRONG_SHAPE),
        (lambda out: out[:1].expand_as(out), Status.WRONG_LAYOUT),
        (lambda out: out + 1, Status.WRONG_VALUE),
        (lambda out: torch.where(out > 1, math.nan, out), Status.NONFINITE),
        (lambda out: torch.where(out > 1, math.inf, out), Status.NONFINITE),
        (lambda out: out.t().contiguous().t(), Status.CLEAN),
    ],
)
def test_first_difference_names_the_status(spoil: Callable[[torch.Tensor], Any], status: Status) -> None:
    prepared = ready(mm_case("float32", "D1", 32))
    outcome = numerics.compare(prepared, {"return": spoil(prepared.baseline["return"].clone())})
    assert outcome.status is status
    assert outcome.right == (status is Status.CLEAN)
    assert outcome.right or (outcome.message and outcome.coarse)


def test_messages_say_where_and_how_large_but_coarse_ones_do_not() -> None:
    prepared = ready(mm_case("float32", "D1", 32))
    spoiled = prepared.baseline["return"].clone()
    spoiled[3, 7] = 1234.5
    outcome = numerics.compare(prepared, {"return": spoiled})
    assert "[3, 7]" in outcome.message
    assert "1234.5" in outcome.message
    assert outcome.coarse == f"return: 1 of {SIZE * SIZE} elements are wrong"


def operator_call(name: str, *args: Any, overload: str = "", distribution: str = "D1") -> numerics.Prepared:
    operator = operators.get(name)
    dtype = next((str(a.dtype) for a in args if isinstance(a, torch.Tensor)), "float32").removeprefix("torch.")
    return numerics.prepare(operator, Case("probe", overload, dtype, {}, distribution), Call(args))


def test_special_values_match_by_mask() -> None:
    one, two = torch.tensor([math.nan, math.inf, -math.inf, math.inf, 1.0]), torch.tensor([1, 1, 1, -math.inf, 1.0])
    prepared = operator_call("aten::add", one, two, overload="Tensor")
    right = torch.tensor([math.nan, math.inf, -math.inf, math.nan, 2.0])
    assert numerics.compare(prepared, {"return": right}).right
    for place, value in ((0, 0.0), (1, math.nan), (2, math.inf), (3, 0.0)):
        wrong = right.clone()
        wrong[place] = value
        assert not numerics.compare(prepared, {"return": wrong}).right


def test_overflow_gives_the_same_infinity() -> None:
    top = torch.tensor([60000.0], dtype=torch.float16)
    prepared = operator_call("aten::add", top, top, overload="Tensor")
    assert numerics.compare(prepared, {"return": torch.tensor([math.inf], dtype=torch.float16)}).right
    assert not numerics.compare(prepared, {"return": torch.tensor([65504.0], dtype=torch.float16)}).right


def test_signs_of_zero_count_only_in_copies() -> None:
    added = operator_call("aten::add", torch.zeros(2), torch.zeros(2), overload="Tensor")
    assert numerics.compare(added, {"return": -torch.zeros(2)}).right
    cloned = operator_call("aten::clone", torch.zeros(2))
    assert not numerics.compare(cloned, {"return": -torch.zeros(2)}).right


def test_views_and_copies() -> None:
    matrix = torch.randn(3, 4)
    prepared = operator_call("aten::t", matrix)
    assert not prepared.needs_kernel
    assert numerics.compare(prepared, {"return": matrix.t()}).right
    assert numerics.compare(prepared, {"return": matrix.t().clone()}, {"return": "self"}).right
    assert numerics.compare(prepared, {"return": matrix.t().clone()}).status is Status.WRONG_LAYOUT
    assert numerics.compare(prepared, {"return": matrix}).status is Status.WRONG_SHAPE
    cloned = operator_call("aten::clone", matrix)
    assert cloned.needs_kernel
    assert numerics.compare(cloned, {"return": matrix}).status is Status.WRONG_LAYOUT
    dense = operator_call("aten::clone", matrix.t())
    assert numerics.compare(dense, {"return": matrix.t().contiguous()}).status is Status.WRONG_LAYOUT


def test_host_scalars() -> None:
    prepared = operator_call("aten::item", torch.tensor([2.5]))
    assert not prepared.needs_kernel
    assert numerics.compare(prepared, {"return": 2.5}).right
    assert numerics.compare(prepared, {"return": 2.25}).status is Status.WRONG_VALUE
    assert numerics.compare(prepared, {"return": math.nan}).status is Status.NONFINITE
    assert numerics.compare(prepared, {"return": 2}).status is Status.WRONG_DTYPE
    assert numerics.compare(prepared, {"return": torch.tensor(2.5)}).status is Status.WRONG_SHAPE
    assert numerics.still_right(prepared, {}, {"return": 2.5}) == (1, 1)
    whole = operator_call("aten::item", torch.tensor([7]))
    assert numerics.compare(whole, {"return": 7}).right
    assert numerics.compare(whole, {"return": True}).status is Status.WRONG_DTYPE
    assert numerics.compare(whole, {"return": 10**30}).status is Status.WRONG_VALUE
    assert numerics.still_right(prepared, {}, {"return": math.nan}) == (0, 1)


def test_untouched_memory_is_compared_exactly() -> None:
    a, b = torch.randn(4), torch.randn(4)
    c = torch.tensor([1.0, 2, math.nan, 3, 4, -5])
    prepared = operator_call("cublas::Sgemm_v2", "N", "N", 2, 2, 2, 1.0, a, 2, b, 2, 0.0, c, 3)
    right = prepared.baseline["C"]
    assert numerics.compare(prepared, {"C": right}).right
    for place in (2, 5):
        wrong = right.clone()
        wrong[place] = -5.000001
        assert not numerics.compare(prepared, {"C": wrong}).right


def test_sets_are_free_within_a_segment_only() -> None:
    ids = torch.tensor([[0, 1], [1, 2], [1, 0]], dtype=torch.int32)
    buffers = [torch.full((n,), -7, dtype=torch.int32) for n in (9, 5, 1)]
    prepared = operator_call("vllm::moe_align_block_size", ids, 3, 2, *buffers)
    rest = {"experts_ids": torch.tensor([0, 1, 1, 2, 0], dtype=torch.int32)}
    rest["num_tokens_post_pad"] = torch.tensor([8], dtype=torch.int32)

    def verdict(*places: int) -> bool:
        return numerics.compare(prepared, {"sorted_token_ids": torch.tensor(places, dtype=torch.int32), **rest}).right

    assert verdict(5, 0, 4, 1, 6, 2, 6, 3, 6)
    assert not verdict(5, 1, 4, 0, 6, 2, 6, 3, 6)
    assert not verdict(5, 5, 4, 1, 6, 2, 6, 3, 6)


def drawn(seed: int, shape: tuple[int, ...] = (64, 64), p: float = 0.3) -> torch.Tensor:
    return (torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < p).float()


def test_draws() -> None:
    prepared = operator_call("aten::bernoulli", torch.full((64, 64), 0.3))
    one, two = drawn(1), drawn(2)

    def verdict(*samples: torch.Tensor) -> numerics.Outcome:
        return numerics.compare_distribution(prepared, [{"return": s} for s in samples])

    assert verdict(one, two, one).right
    assert "does not advance" in verdict(one, one, one).message
    assert "other draws" in verdict(one, two, two).message
    assert "test of mean" in verdict(drawn(1, p=0.4), drawn(2, p=0.4)).message
    assert "cannot be drawn" in verdict(one * 2, two).message
    repeated = [drawn(seed, (4, 64)).repeat(16, 1) for seed in (1, 2)]
    assert "test of lags" in verdict(*repeated).message
    assert numerics.compare(prepared, {"return": one}).right
    assert numerics.still_right(prepared, {}, {"return": one}) == (4096, 4096)
    assert numerics.still_right(prepared, {}, {"return": torch.full_like(one, math.nan)}) == (0, 4096)


def test_honest_draws_are_never_doubted() -> None:
    chances = torch.linspace(0.02, 0.98, 4000, dtype=torch.float64)
    law = Drawn(chances, chances * (1 - chances), (0.0, 1.0))
    sample = torch.empty(0)
    for seed in range(200):
        uniform = torch.rand(4000, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        sample = (uniform < chances).float()
        assert all(p > draws.P_LIMIT for p in draws.p_values(law, sample).values())
    shuffled = sample[torch.randperm(4000, generator=torch.Generator().manual_seed(0))]
    assert draws.p_values(law, shuffled)["trend"] < draws.P_LIMIT


def test_continuous_laws() -> None:
    shape = (2000,)
    law = Drawn(torch.full(shape, 0.5).double(), torch.full(shape, 1 / 12).double(), None, lambda x: x.clamp(0, 1))
    sample = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    assert all(p > draws.P_LIMIT for p in draws.p_values(law, sample).values())
    assert draws.p_values(law, sample.square())["ks"] < draws.P_LIMIT


def test_quantized_integers_may_be_one_step_off_here_and_there() -> None:
    check = bounds.build(Bounded(torch.arange(4000) % 100), torch.int8, QUANTIZED, "D1", None)
    got = (torch.arange(4000) % 100).to(torch.int8)
    got[:4] += 1
    assert bool(bounds.look(check, got).right.all())
    got[4:9] += 1
    assert not bool(bounds.look(check, got).right.all())
    got = (torch.arange(4000) % 100).to(torch.int8)
    got[0] += 2
    assert not bool(bounds.look(check, got).right.all())


def test_ghost_replay_counts_what_changed_and_is_right() -> None:
    prepared = ready(mm_case("float32", "D1", 32))
    right = prepared.baseline["return"]
    total = SIZE * SIZE
    assert numerics.still_right(prepared, {}, {"return": right}) == (total, total)
    half = right.clone()
    half[: SIZE // 2] = math.nan
    assert numerics.still_right(prepared, {}, {"return": half}) == (total // 2, total)
    want = prepared.checks["return"].want
    assert numerics.still_right(prepared, {"return": want}, {"return": want}) == (0, 0)
    assert numerics.still_right(prepared, {}, {"return": right[:-1]}) == (0, total)
    assert numerics.still_right(prepared, {}, {}) == (0, total)


def test_nothing_to_do_needs_no_kernel() -> None:
    empty = operator_call("aten::mm", torch.zeros(0, 3), torch.zeros(3, 4))
    assert not empty.needs_kernel
    still = [torch.zeros(1, 1, 1, 1, 4), torch.zeros(1, 1, 4, 1)]
    key = torch.ones(1, 1, 4)
    one = torch.ones(1)
    skipped = operator_call("vllm::reshape_and_cache", key, key, *still, torch.tensor([-1]), "auto", one, one)
    assert not skipped.needs_kernel


def test_exact_policies_need_equality() -> None:
    check = bounds.build(Bounded(torch.tensor([1.0, math.nan]).double()), torch.float32, EXACT, "D1", None)
    assert bool(bounds.look(check, torch.tensor([1.0, math.nan])).right.all())
    assert bounds.look(check, torch.tensor([1.0000001, math.nan])).right.tolist() == [False, True]


def test_doubles_are_bounded_by_their_own_roundoff() -> None:
    values = torch.randn(8, 1000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    answer = Bounded(values.sum(1), values.abs().sum(1), 1000)
    check = bounds.build(answer, torch.float64, MATMUL, "D1", values.sum(1))
    assert bool(bounds.look(check, values.flip(1).sum(1)).right.all())
    assert not bool(bounds.look(check, values.float().sum(1).double()).right.any())


def test_a_verdicts_comparisons_are_cheap() -> None:
    operator = operators.get("aten::add")
    calls = []
    for case in operator.cases("smoke"):
        made = operator.make(case, torch.Generator().manual_seed(1))
        calls.append(numerics.prepare(operator, case, made))
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        assert all(numerics.compare_native(prepared).right for prepared in calls)
        best = min(best, time.perf_counter() - start)
    assert best < 0.05  # 3 ms on an idle machine
