"""Small floats in the interpreter against torch, bit for bit. Started with TRITON_INTERPRET=1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import triton
import triton.language as tl
from harness import run, same_bits
from numeric_kernels import (
    add_atomically,
    add_distinct,
    apply1,
    apply2,
    apply3,
    f_abs,
    f_add,
    f_argmax,
    f_argmin,
    f_clamp,
    f_cumsum,
    f_div,
    f_eq,
    f_exp,
    f_flip,
    f_fma,
    f_full,
    f_ge,
    f_lt,
    f_max,
    f_maximum,
    f_min,
    f_minimum,
    f_mul,
    f_ne,
    f_neg,
    f_same,
    f_scalar,
    f_sigmoid,
    f_sort,
    f_sqrt,
    f_sub,
    f_sum,
    f_where,
    map2d,
    matmul,
    matmul_cast,
    reduce1,
    scaled,
    transpose,
)

from kgb_env.platforms import interpreter

interpreter.install()

N = 64
DTYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
SIXTEEN = ("bf16", "fp16")


def data(dtype: torch.dtype, seed: int = 0, size: int = N) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(size, generator=generator) * 3).to(dtype)


def rounded(dtype: torch.dtype, function: Callable[..., torch.Tensor], *args: torch.Tensor) -> torch.Tensor:
    return function(*(a.float() for a in args)).to(dtype)


def check_binary(kernel: object, function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    x, y, o = data(dtype, 1), data(dtype, 2), torch.empty(N, dtype=dtype)
    y[:8] = x[:8]
    apply2[(1,)](x, y, o, F=kernel, N=N)
    same_bits(o, rounded(dtype, function, x, y))


def check_compare(kernel: object, function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    x, y, o = data(dtype, 1), data(dtype, 2), torch.empty(N, dtype=torch.int32)
    y[:8] = x[:8]
    x[0] = y[1] = float("nan")
    apply2[(1,)](x, y, o, F=kernel, N=N)
    same_bits(o, function(x.float(), y.float()).int())


def check_unary(kernel: object, function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    x, o = data(dtype, 3), torch.empty(N, dtype=dtype)
    apply1[(1,)](x, o, F=kernel, N=N)
    same_bits(o, rounded(dtype, function, x))


def check_ternary(kernel: object, function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    x, y, z, o = data(dtype, 1), data(dtype, 2), data(dtype, 3), torch.empty(N, dtype=dtype)
    apply3[(1,)](x, y, z, o, F=kernel, N=N)
    same_bits(o, function(*(t.double() for t in (x, y, z))).float().to(dtype))


def check_reduce(kernel: object, function: Callable[..., torch.Tensor], out: torch.dtype, dtype: torch.dtype) -> None:
    x, o = data(dtype, 5, 256).view(8, 32), torch.empty(8, dtype=out)
    reduce1[(1,)](x, o, F=kernel, R=8, C=32)
    same_bits(o, function(x.float()).to(out))


def check_map(kernel: object, function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    x, o = data(dtype, 5, 256).view(8, 32), torch.empty(8, 32, dtype=dtype)
    map2d[(1,)](x, o, F=kernel, R=8, C=32)
    same_bits(o, function(x.float()).to(dtype))


def check_transpose(dtype: torch.dtype) -> None:
    x, o = data(dtype, 5, 256).view(8, 32), torch.empty(32, 8, dtype=dtype)
    transpose[(1,)](x, o, R=8, C=32)
    same_bits(o, x.float().T.contiguous().to(dtype))


def check_dot(dtype: torch.dtype) -> None:
    # Small integers: every order of summation gives the same fp32 sum.
    a, b = (data(dtype, s, 1024).float().round().to(dtype).view(32, 32) for s in (7, 8))
    o = torch.empty(32, 32)
    matmul[(1,)](a, b, o, M=32, OUT=tl.float32)
    same_bits(o, a.float() @ b.float())
    narrow = torch.empty(32, 32, dtype=dtype)
    matmul_cast[(1,)](a, b, narrow, M=32)
    same_bits(narrow, (a.float() @ b.float()).clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max).to(dtype))


def check_dot_half() -> None:
    a, b = (data(torch.float16, s, 1024).view(32, 32) for s in (7, 8))
    o = torch.empty(32, 32, dtype=torch.float16)
    matmul[(1,)](a, b, o, M=32, OUT=tl.float16)
    want = (a.float() @ b.float()).half()
    assert ((o.float() - want.float()).abs() <= 2**-10 * want.float().abs()).all()


def check_tf32() -> None:
    """A dot of fp32 without a precision sees 10 bits of mantissa, as on a tensor core."""

    @triton.jit
    def plain(a, b, o, M: tl.constexpr):
        i = tl.arange(0, M)
        at = i[:, None] * M + i[None, :]
        tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at)))

    a, b = data(torch.float32, 1, 1024).view(32, 32), torch.eye(32)
    o = torch.empty(32, 32)
    plain[(1,)](a, b, o, M=32)
    same_bits(o, (a.view(torch.int32) & ~0x1FFF).view(torch.float32))


def check_casts(source: torch.dtype, dtype: torch.dtype) -> None:
    x, o = data(source, 3), torch.empty(N, dtype=dtype)
    apply1[(1,)](x, o, F=f_same, N=N)
    same_bits(o, x.float().to(dtype))


def check_overflow() -> None:
    x = torch.tensor([1e30, -1e30, 460.0, -500.0] * 16)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        o = torch.empty(N, dtype=dtype)
        apply1[(1,)](x, o, F=f_same, N=N)
        top = torch.finfo(dtype).max
        same_bits(o, x.clamp(-top, top).to(dtype))
    o = torch.empty(N, dtype=torch.float16)
    apply1[(1,)](x, o, F=f_same, N=N)
    same_bits(o, x.half())


def check_integers(dtype: torch.dtype) -> None:
    x = torch.arange(-3000, -3000 + N * 97, 97, dtype=torch.int32)
    o = torch.empty(N, dtype=dtype)
    apply1[(1,)](x, o, F=f_same, N=N)
    same_bits(o, x.to(dtype))
    back = torch.empty(N, dtype=torch.int32)
    apply1[(1,)](o, back, F=f_same, N=N)
    same_bits(back, o.to(torch.int32))


def check_saturation() -> None:
    x = torch.tensor([float("nan"), 1e30, -1e30, 2.9, -2.9, float("inf"), 0.5, -0.5] * 8)
    o = torch.empty(N, dtype=torch.int32)
    apply1[(1,)](x, o, F=f_same, N=N)
    same_bits(o, torch.tensor([0, 2**31 - 1, -(2**31), 2, -2, 2**31 - 1, 0, 0] * 8, dtype=torch.int32))


def check_atomic_add(dtype: torch.dtype) -> None:
    x, o, old = data(dtype, 4), torch.zeros(4, dtype=dtype), torch.zeros(N, dtype=dtype)
    add_atomically[(1,)](x, o, old, N=N)
    want = torch.zeros(4, dtype=dtype)
    before = torch.zeros(N, dtype=dtype)
    for i in range(N):
        if i % 3:
            before[i] = want[i % 4]
            want[i % 4] = want[i % 4] + x[i]
    same_bits(o, want)
    same_bits(old[torch.arange(N) % 3 != 0], before[torch.arange(N) % 3 != 0])
    base, other = data(dtype, 5), data(dtype, 6)
    total = base.clone()
    add_distinct[(1,)](other, total, N=N)
    same_bits(total, base + other)


def check_runtime_scalar(dtype: torch.dtype) -> None:
    """A float argument is fp32 in a compiled kernel, so the product with a bf16 block is fp32 too."""
    x, o = data(dtype, 4), torch.empty(N, dtype=torch.float32)
    scaled[(1,)](x, o, 0.1, N=N)
    same_bits(o, x.float() * torch.tensor(0.1))


def check_fma_single() -> None:
    x, y = (torch.randn(N, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    z = -(x * y)
    o = torch.empty(N)
    apply3[(1,)](x, y, z, o, F=f_fma, N=N)
    same_bits(o, (x.double() * y.double() + z.double()).float())


def check_fma_double() -> None:
    from fractions import Fraction

    x, y = (torch.randn(N, generator=torch.Generator().manual_seed(s), dtype=torch.float64) for s in (1, 2))
    z = -(x * y)
    z[1::2] = torch.randn(N // 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    o = torch.empty(N, dtype=torch.float64)
    apply3[(1,)](x, y, z, o, F=f_fma, N=N)
    exact = [
        float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in zip(*(t.tolist() for t in (x, y, z)), strict=True)
    ]
    same_bits(o, torch.tensor(exact, dtype=torch.float64))


def checks() -> dict[str, Callable[[], None]]:
    table: dict[str, Callable[[], None]] = {}
    for name, dtype in DTYPES.items():
        for op, kernel, function in (
            ("add", f_add, torch.add), ("sub", f_sub, torch.sub), ("mul", f_mul, torch.mul),
            ("where", f_where, torch.maximum), ("maximum", f_maximum, torch.maximum),
            ("minimum", f_minimum, torch.minimum),
        ):  # fmt: skip
            table[f"{op}[{name}]"] = partial(check_binary, kernel, function, dtype)
        for op, kernel, function in (
            ("lt", f_lt, torch.lt), ("eq", f_eq, torch.eq), ("ge", f_ge, torch.ge), ("ne", f_ne, torch.ne),
        ):  # fmt: skip
            table[f"{op}[{name}]"] = partial(check_compare, kernel, function, dtype)
        for op, kernel, function in (
            ("neg", f_neg, torch.neg), ("abs", f_abs, torch.abs),
            ("exp", f_exp, lambda x: x.double().exp().float()), ("sqrt", f_sqrt, lambda x: x.abs().sqrt()),
            ("sigmoid", f_sigmoid, lambda x: x.double().sigmoid().float()),
            ("full", f_full, lambda x, d=dtype: x + torch.tensor(0.7).to(d).float()),
        ):  # fmt: skip
            table[f"{op}[{name}]"] = partial(check_unary, kernel, function, dtype)
        table[f"scalar[{name}]"] = partial(check_unary, f_scalar, partial(scalar_reference, dtype), dtype)
        for op, kernel, function, out in (
            ("sum", f_sum, lambda x: x.double().sum(1).float(), dtype), ("max", f_max, lambda x: x.amax(1), dtype),
            ("min", f_min, lambda x: x.amin(1), dtype), ("argmax", f_argmax, lambda x: x.argmax(1), torch.int32),
            ("argmin", f_argmin, lambda x: x.argmin(1), torch.int32),
        ):  # fmt: skip
            table[f"{op}[{name}]"] = partial(check_reduce, kernel, function, out, dtype)
        table[f"sort[{name}]"] = partial(check_map, f_sort, lambda x: x.sort(1).values, dtype)
        table[f"flip[{name}]"] = partial(check_map, f_flip, lambda x: x.flip(1), dtype)
        table[f"transpose[{name}]"] = partial(check_transpose, dtype)
        table[f"dot[{name}]"] = partial(check_dot, dtype)
        for other, source in {**DTYPES, "fp32": torch.float32}.items():
            table[f"cast_{other}[{name}]"] = partial(check_casts, source, dtype)
            table[f"cast_to_{other}[{name}]"] = partial(check_casts, dtype, source)
        table[f"runtime_scalar[{name}]"] = partial(check_runtime_scalar, dtype)
    for name in SIXTEEN:
        dtype = DTYPES[name]
        table[f"div[{name}]"] = partial(check_binary, f_div, torch.div, dtype)
        table[f"fma[{name}]"] = partial(check_ternary, f_fma, lambda x, y, z: x * y + z, dtype)
        table[f"clamp[{name}]"] = partial(check_ternary, f_clamp, clamp_reference, dtype)
        table[f"cumsum[{name}]"] = partial(check_map, f_cumsum, lambda x: x.double().cumsum(1).float(), dtype)
        table[f"integers[{name}]"] = partial(check_integers, dtype)
        table[f"atomic_add[{name}]"] = partial(check_atomic_add, dtype)
    singles = (check_overflow, check_saturation, check_dot_half, check_tf32, check_fma_single, check_fma_double)
    return table | {single.__name__.removeprefix("check_"): single for single in singles}


def clamp_reference(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    return torch.minimum(torch.maximum(x, torch.minimum(y, z)), torch.maximum(y, z))


def scalar_reference(dtype: torch.dtype, x: torch.Tensor) -> torch.Tensor:
    """Each constant and each step is rounded to the block's type."""
    tenth, offset = (torch.tensor(v).to(dtype).float() for v in (0.1, 1.5))
    return (x * tenth).to(dtype).float() + offset


if __name__ == "__main__":
    run(checks())
