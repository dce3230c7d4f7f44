"""A submission as text, loaded the way a worker loads one."""

from __future__ import annotations

import linecache
from typing import Any

NAME = "<submission>"

TEXT = """\
import math

import numpy
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

SCALE = tl.constexpr(3)
PLAIN = 3


@triton.jit
def combine(a, b):
    return a * b + a + b


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def act(x, f: tl.constexpr):
    return f(x)


@triton.autotune(configs=[triton.Config({"B": 64}, num_warps=2), triton.Config({"B": 128})], key=["n"])
@triton.heuristics({"EVEN": lambda a: a["n"] % a["B"] == 0})
@triton.jit
def rich(x, o, n, alpha, DT: tl.constexpr, F: tl.constexpr, mode: tl.constexpr, maybe, pair, B: tl.constexpr,
         EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    if EVEN:
        v = tl.load(x + i)
    else:
        v = tl.load(x + i, mask=i < n, other=0.0)
    v = act(libdevice.tanh(v.to(tl.float32)) * alpha, F) * SCALE + pair[0] * tl.load(pair[1])
    s = tl.reduce(v, 0, combine)
    if mode == "twice":
        v = v * 2
    if maybe is not None:
        v = v + tl.load(maybe + i, mask=i < n)
    tl.store(o + i, (v + s * 0 + math.pi * 0).to(DT), mask=i < n)


@triton.jit
def simple(x, o, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) + 1)


@triton.jit
def copy(x, o, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))


@triton.jit(do_not_specialize=["b"])
def specialised(x, a, b, c):
    tl.store(x, a + b + c)


@triton.jit
def typed(o, wide: tl.int64, real: tl.float64, flag, big, B: tl.constexpr = 8):
    if flag:
        tl.store(o + tl.arange(0, B), (wide + big + real).to(tl.int64))


@triton.jit
def matmul(a, b, o, M: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    tl.store(o + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))


@triton.jit
def huge(a, b, o, M: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    k = tl.arange(0, K)
    acc = tl.zeros([M, M], tl.float32)
    for step in tl.range(0, 64, num_stages=6):
        x = tl.load(a + i[:, None] * K * 64 + k[None, :] + step * K)
        y = tl.load(b + (k[:, None] + step * K) * M + i[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(o + i[:, None] * M + i[None, :], acc)


@triton.jit
def descriptor(d, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i[:, None] * N + i[None, :], d.load([0, 0]))


@triton.jit
def device_descriptor(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    d = tl.make_tensor_descriptor(x, [N, N], [N, 1], [N, N])
    tl.store(o + i[:, None] * N + i[None, :], d.load([0, 0]))


LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def wide_language(x, n, B: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    c: tl.constexpr = math.pi
    v = tl.load(x + i, mask=i < n, other=float("-inf"))
    z: tl.constexpr = triton.cdiv(B, 2) + triton.next_power_of_2(3)
    for _ in tl.static_range(0, 2):
        v = libdevice.tanh(v) * LOG2E + c + tl.math.exp2(v) + libdevice.pow(v, v) + z
    for _ in range(0, n, B):
        v += tl.sum(v, axis=0).to(D)
    m, _ = tl.max(v, 0, return_indices=True)
    pair = (v, m)
    a, b = pair
    print("a", a)
    assert B > 1
    tl.store(x + i, (a + b).to(x.dtype.element_ty), mask=(i < n) & (i >= 0))


@triton.jit
def bad_torch(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    torch.add(PLAIN, 1)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def bad_numpy(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, numpy.abs(tl.load(x + i)))


@triton.jit
def bad_open(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    open("/etc/passwd")
    tl.store(o + i, tl.load(x + i))


@triton.jit
def bad_handle(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    v.handle.data[:] = v.handle.data + 1
    tl.store(o + i, v)


@triton.jit
def bad_global(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) * PLAIN)


@triton.jit
def bad_dead_branch(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    if B == 0:
        torch.add(PLAIN, 1)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def bad_alias(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    t = tl
    tl.store(o + i, t.semantic.numbers)


@triton.jit
def bad_path(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.core.inspect.stack())


def python_helper(x):
    return x + 1


python_helper.__module__ = "triton.language.core"


@triton.jit
def bad_helper(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, python_helper(tl.load(x + i)))


class Reach:
    def compute(self, x):
        return x


REACH = Reach()


@triton.jit
def bad_object(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    if B == 0:
        v = REACH.compute(v)
    tl.store(o + i, v)


HIDDEN = tl.constexpr(REACH)


@triton.jit
def bad_constexpr(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    if B == 0:
        v = HIDDEN.value.compute(v)
    tl.store(o + i, v)


@triton.constexpr_function
def compile_time(n):
    return torch.tensor(n).item()


@triton.jit
def bad_compile_time(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i) + compile_time(B))


@triton.jit
def bad_getattr(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    getattr(x, "han" + "dle")
    tl.store(o + i, tl.load(x + i))


@triton.jit
def broken(x, o, B: tl.constexpr):
    i = tl.arange(0, B)

    v = tl.load(x + i)
    tl.store(o + i, tl.trans(v, 3, 4))


@triton.jit
def inner(x):
    y = x + 1
    return tl.dot(y, y)


@triton.jit
def broken_inside(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, inner(tl.load(x + i)))


@triton.jit
def asserting(x, o, B: tl.constexpr):
    tl.static_assert(B < 8, "B is too large")
    tl.store(o, tl.load(x))


def factory():
    @triton.jit
    def made(x, o, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(o + i, tl.load(x + i))

    return made
"""


def load() -> dict[str, Any]:
    linecache.cache[NAME] = (len(TEXT), None, TEXT.splitlines(True), NAME)
    namespace: dict[str, Any] = {"__name__": "submission"}
    exec(compile(TEXT, NAME, "exec"), namespace)
    return namespace


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(TEXT.splitlines(), 1) if text in line)
