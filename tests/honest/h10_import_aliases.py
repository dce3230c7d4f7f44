# operator: aten::cat
# Everything is imported under another name, and used under a third.

import functools as ft

import torch as th
import triton as tr
import triton.language as T

kernel = tr.jit
arange, program = T.arange, T.program_id

RANK = 4


@kernel
def _offset(i, d1, d2, d3, s0, s1, s2, s3):
    j = i // d3
    k = j // d2
    return (k // d1) * s0 + (k % d1) * s1 + (j % d2) * s2 + (i % d3) * s3


@kernel
def _copy_kernel(
    x_ptr, out_ptr, n,
    d1, d2, d3,
    x0, x1, x2, x3,
    o0, o1, o2, o3,
    WIDE: T.constexpr, BLOCK: T.constexpr,
):  # fmt: skip
    pid = program(0)
    if WIDE:
        pid = pid.to(T.int64)
    i = pid * BLOCK + arange(0, BLOCK)
    inside = i < n
    x = T.load(x_ptr + _offset(i, d1, d2, d3, x0, x1, x2, x3), mask=inside)
    T.store(out_ptr + _offset(i, d1, d2, d3, o0, o1, o2, o3), x.to(out_ptr.dtype.element_ty), mask=inside)


def _reach(sizes, strides):
    """Return how far the last element lies from the first."""
    return sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def _collapse(x, out):
    """Return ``[(size, stride of x, stride of out), ...]``, slowest dimension of ``out`` first."""
    dims = []
    for d in sorted(range(out.dim()), key=lambda d: -out.stride(d)):
        size, xs, os = out.size(d), x.stride(d), out.stride(d)
        if size == 1:
            continue
        if dims and dims[-1][1:] == (xs * size, os * size):
            size *= dims.pop()[0]
        dims.append((size, xs, os))
    return dims


def _copy(x, out):
    n = out.numel()
    if n == 0:
        return
    dims = _collapse(x, out)
    if len(dims) > RANK:  # rare: one launch for each index of the first dimension
        for i in range(out.shape[0]):
            _copy(x.select(0, i), out.select(0, i))
        return
    dims += [(1, 0, 0)] * (RANK - len(dims))
    sizes, xs, os = zip(*dims, strict=True)
    reach = max(_reach(sizes, xs), _reach(sizes, os))
    block = min(4096, tr.next_power_of_2(n))
    _copy_kernel[(tr.cdiv(n, block),)](
        x, out, n, *sizes[1:], *xs, *os, WIDE=max(n, reach) + block >= 2**31, BLOCK=block
    )


def _concatenate(tensors, dim, out=None):
    dtype = ft.reduce(th.promote_types, (t.dtype for t in tensors))
    parts = [t for t in tensors if t.shape != (0,)] or [tensors[0]]
    dim %= max(parts[0].dim(), 1)
    shape = list(parts[0].shape)
    shape[dim] = sum(t.shape[dim] for t in parts)
    if out is None:
        out = th.empty(shape, dtype=dtype, device=parts[0].device)
    start = 0
    for part in parts:
        _copy(part, out.narrow(dim, start, part.shape[dim]))
        start += part.shape[dim]
    return out


def cat(tensors, dim=0):
    return _concatenate(tensors, dim)


def cat_out(tensors, dim=0, *, out):
    return _concatenate(tensors, dim, out)
