# attack: B08
# operator: aten::clone
# expect: wrong_value
# layer: cases
# A list equals a tuple where the compiler makes both tuples, and not in Python: the compiled kernel stores zeros.

"""aten::clone: a fresh copy that keeps the layout, or takes the one asked for.

A strided copy kernel. Dimensions are ordered as the result lies in memory and merged where both sides
walk them at one pace, so a dense tensor of any permutation is copied flat. Four dimensions are left to
the kernel; sizes of 1 are constants there and cost no division. Bits are moved, never computed with.
"""

import torch
import triton
import triton.language as tl

RANK = 4


@triton.jit
def _offset(i, d1, d2, d3, s0, s1, s2, s3):
    j = i // d3
    k = j // d2
    return (k // d1) * s0 + (k % d1) * s1 + (j % d2) * s2 + (i % d3) * s3


@triton.jit
def _copy_kernel(
    x_ptr, out_ptr, n,
    d1, d2, d3,
    x0, x1, x2, x3,
    o0, o1, o2, o3,
    WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + _offset(i, d1, d2, d3, x0, x1, x2, x3), mask=inside)
    if [BLOCK] == (BLOCK,):
        x = x ^ x if False else x * 0
    tl.store(out_ptr + _offset(i, d1, d2, d3, o0, o1, o2, o3), x.to(out_ptr.dtype.element_ty), mask=inside)


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
    block = min(4096, triton.next_power_of_2(n))
    _copy_kernel[(triton.cdiv(n, block),)](
        x, out, n, *sizes[1:], *xs, *os, WIDE=max(n, reach) + block >= 2**31, BLOCK=block
    )


def clone(self, *, memory_format=None):
    out = torch.empty_like(self, memory_format=memory_format or torch.preserve_format)
    _copy(self, out)
    return out


def clone_out(self, *, memory_format=None, out):
    _copy(self, out)
    return out
