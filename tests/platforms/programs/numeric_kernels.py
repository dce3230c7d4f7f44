"""The kernels of ``numerics.py``. Imported with TRITON_INTERPRET=1."""

import triton
import triton.language as tl


@triton.jit
def apply1(x, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i)).to(o.dtype.element_ty))


@triton.jit
def apply2(x, y, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i), tl.load(y + i)).to(o.dtype.element_ty))


@triton.jit
def apply3(x, y, z, o, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, F(tl.load(x + i), tl.load(y + i), tl.load(z + i)).to(o.dtype.element_ty))


@triton.jit
def reduce1(x, o, F: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)
    j = tl.arange(0, C)
    v = tl.load(x + i[:, None] * C + j[None, :])
    tl.store(o + i, F(v, 1).to(o.dtype.element_ty))


@triton.jit
def map2d(x, o, F: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)
    j = tl.arange(0, C)
    v = F(tl.load(x + i[:, None] * C + j[None, :]))
    tl.store(o + i[:, None] * C + j[None, :], v.to(o.dtype.element_ty))


@triton.jit
def transpose(x, o, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)
    j = tl.arange(0, C)
    v = tl.trans(tl.load(x + i[:, None] * C + j[None, :]))
    tl.store(o + j[:, None] * R + i[None, :], v)


@triton.jit
def matmul(a, b, o, M: tl.constexpr, OUT: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee", out_dtype=OUT))


@triton.jit
def matmul_cast(a, b, o, M: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee").to(o.dtype.element_ty))


@triton.jit
def add_atomically(x, o, old, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, tl.atomic_add(o + i % 4, tl.load(x + i), mask=i % 3 != 0))


@triton.jit
def add_distinct(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(o + i, tl.load(x + i))


@triton.jit
def scaled(x, o, alpha, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, (tl.load(x + i) * alpha).to(o.dtype.element_ty))


@triton.jit
def f_add(a, b):
    return a + b


@triton.jit
def f_sub(a, b):
    return a - b


@triton.jit
def f_mul(a, b):
    return a * b


@triton.jit
def f_div(a, b):
    return a / b


@triton.jit
def f_scalar(a):
    return a * 0.1 + 1.5


@triton.jit
def f_where(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def f_maximum(a, b):
    return tl.maximum(a, b)


@triton.jit
def f_minimum(a, b):
    return tl.minimum(a, b)


@triton.jit
def f_lt(a, b):
    return (a < b).to(tl.int32)


@triton.jit
def f_eq(a, b):
    return (a == b).to(tl.int32)


@triton.jit
def f_ge(a, b):
    return (a >= b).to(tl.int32)


@triton.jit
def f_ne(a, b):
    return (a != b).to(tl.int32)


@triton.jit
def f_neg(a):
    return -a


@triton.jit
def f_abs(a):
    return tl.abs(a)


@triton.jit
def f_exp(a):
    return tl.exp(a.to(tl.float32))


@triton.jit
def f_sqrt(a):
    return tl.sqrt(tl.abs(a.to(tl.float32)))


@triton.jit
def f_sigmoid(a):
    return tl.sigmoid(a.to(tl.float32))


@triton.jit
def f_full(a):
    return a + tl.full(a.shape, 0.7, a.dtype)


@triton.jit
def f_fma(a, b, c):
    return tl.fma(a, b, c)


@triton.jit
def f_clamp(a, b, c):
    return tl.clamp(a, tl.minimum(b, c), tl.maximum(b, c))


@triton.jit
def f_sum(a, axis):
    return tl.sum(a, axis)


@triton.jit
def f_max(a, axis):
    return tl.max(a, axis)


@triton.jit
def f_min(a, axis):
    return tl.min(a, axis)


@triton.jit
def f_argmax(a, axis):
    return tl.argmax(a, axis)


@triton.jit
def f_argmin(a, axis):
    return tl.argmin(a, axis)


@triton.jit
def f_cumsum(a):
    return tl.cumsum(a, 1)


@triton.jit
def f_sort(a):
    return tl.sort(a)


@triton.jit
def f_flip(a):
    return tl.flip(a, 1)


@triton.jit
def f_same(a):
    return a
