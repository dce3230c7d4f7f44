"""aten::softmax: ``exp(x - max) / sum(exp(x - max))`` along one dimension, optionally in another dtype.

Rows (all other dimensions) are merged to at most three strided ones. A row of up to 8192 elements is held
in registers, several short rows to a program. Longer rows are read twice: once for the running maximum
and the sum rescaled to it (online softmax), once to write. Statistics are fp32, fp64 for fp64.
"""

import torch
import triton
import triton.language as tl

RANK = 3


@triton.jit
def _offset(i, d1, d2, s0, s1, s2):
    j = i // d2
    return (j // d1) * s0 + (j % d1) * s1 + (i % d2) * s2


@triton.jit
def _softmax_kernel(
    x_ptr, out_ptr, rows, cols, d1, d2,
    x0, x1, x2, xc, o0, o1, o2, oc,
    COMPUTE: tl.constexpr, WIDE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    if WIDE:
        row = row.to(tl.int64)
        col = col.to(tl.int64)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    x_ptrs = x_ptr + _offset(row, d1, d2, x0, x1, x2)[:, None] + col[None, :] * xc
    x = tl.load(x_ptrs, mask=inside, other=float("-inf")).to(COMPUTE)
    top = tl.max(x, axis=1)
    top = tl.where(row < rows, top, 0.0)  # lanes without a row: avoid inf - inf
    power = tl.exp(x - top[:, None])
    answer = power / tl.sum(power, axis=1)[:, None]
    out_ptrs = out_ptr + _offset(row, d1, d2, o0, o1, o2)[:, None] + col[None, :] * oc
    tl.store(out_ptrs, answer.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _long_softmax_kernel(
    x_ptr, out_ptr, cols, d1, d2,
    x0, x1, x2, xc, o0, o1, o2, oc,
    COMPUTE: tl.constexpr, WIDE: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK_N)
    if WIDE:
        row = row.to(tl.int64)
        lane = lane.to(tl.int64)
    x_row = x_ptr + _offset(row, d1, d2, x0, x1, x2)
    out_row = out_ptr + _offset(row, d1, d2, o0, o1, o2)
    top = tl.full((BLOCK_N,), float("-inf"), dtype=COMPUTE)
    total = tl.zeros((BLOCK_N,), dtype=COMPUTE)
    for start in range(0, cols, BLOCK_N):
        col = start + lane
        x = tl.load(x_row + col * xc, mask=col < cols, other=float("-inf")).to(COMPUTE)
        higher = tl.maximum(top, x)
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(top - base) + tl.exp(x - base)
        top = higher
    peak = tl.max(top, axis=0)
    base = tl.where(peak == float("-inf"), 0.0, peak)
    scale = 1.0 / tl.sum(total * tl.exp(top - base), axis=0)
    for start in range(0, cols, BLOCK_N):
        col = start + lane
        x = tl.load(x_row + col * xc, mask=col < cols, other=float("-inf")).to(COMPUTE)
        tl.store(out_row + col * oc, (tl.exp(x - base) * scale).to(out_ptr.dtype.element_ty), mask=col < cols)


def _reach(sizes, strides):
    """Return how far the last element lies from the first."""
    return sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def _collapse(x, out, dim):
    """Return ``[(size, stride of x, stride of out), ...]`` of all dimensions but ``dim``, merged."""
    dims = []
    for d in range(x.dim()):
        size, xs, os = x.size(d), x.stride(d), out.stride(d)
        if d == dim or size == 1:
            continue
        if dims and dims[-1][1:] == (xs * size, os * size):
            size *= dims.pop()[0]
        dims.append((size, xs, os))
    return dims


def _rows(x, dim, out):
    dims = _collapse(x, out, dim)
    if len(dims) > RANK:  # rare: one launch for each index of another dimension
        other = 1 if dim == 0 else 0
        for i in range(x.shape[other]):
            _rows(x.select(other, i), dim - (other < dim), out.select(other, i))
        return
    rows, cols = x.numel() // x.shape[dim], x.shape[dim]
    sizes, xs, os = zip(*(dims + [(1, 0, 0)] * (RANK - len(dims))), strict=True)
    reach = max(_reach(x.shape, x.stride()), _reach(out.shape, out.stride()))
    arguments = (cols, *sizes[1:], *xs, x.stride(dim), *os, out.stride(dim))
    compute = tl.float64 if torch.float64 in (x.dtype, out.dtype) else tl.float32
    if cols <= 8192:
        block_n = triton.next_power_of_2(cols)
        block_m = min(max(1, 4096 // block_n), triton.next_power_of_2(rows))
        _softmax_kernel[(triton.cdiv(rows, block_m),)](
            x, out, rows, *arguments, COMPUTE=compute, WIDE=reach >= 2**31, BLOCK_M=block_m, BLOCK_N=block_n
        )
    else:
        _long_softmax_kernel[(rows,)](x, out, *arguments, COMPUTE=compute, WIDE=reach >= 2**31, BLOCK_N=4096)


def _softmax(x, dim, dtype, out=None):
    if out is None:
        out = torch.empty_like(x, dtype=dtype or x.dtype)
    if x.numel():
        if x.dim():
            _rows(x, dim % x.dim(), out)
        else:
            _rows(x.view(1), 0, out.view(1))
    return out


def softmax_int(self, dim, dtype=None):
    return _softmax(self, dim, dtype)


def softmax_int_out(self, dim, dtype=None, *, out):
    return _softmax(self, dim, dtype, out)
