"""aten::sum: over all elements, or over a list of dimensions.

The tensor is seen as rows (kept dimensions) by columns (summed ones), each merged to at most three strided
dimensions. A program sums a tile of rows in blocks of columns, lane by lane, and adds the lanes up at
the end. Few long rows are split over more programs: their partial sums go to a workspace that a second
launch adds up, in a fixed order. 16-bit floats add in fp32, integers and bool in int64.
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
def _sum_kernel(
    x_ptr, out_ptr, rows, cols, chunk, out_chunk,
    r1, r2, c1, c2,
    xr0, xr1, xr2, xc0, xc1, xc2, o0, o1, o2,
    ACC: tl.constexpr, WIDE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    first = tl.program_id(1) * chunk
    lane = tl.arange(0, BLOCK_N)
    if WIDE:
        row = row.to(tl.int64)
        lane = lane.to(tl.int64)
    x_rows = x_ptr + _offset(row, r1, r2, xr0, xr1, xr2)[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC)
    for start in range(first, min(first + chunk, cols), BLOCK_N):
        col = start + lane
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        x = tl.load(x_rows + _offset(col, c1, c2, xc0, xc1, xc2)[None, :], mask=inside, other=0)
        total += x.to(ACC)
    answer = tl.sum(total, axis=1).to(out_ptr.dtype.element_ty)
    out = out_ptr + _offset(row, r1, r2, o0, o1, o2) + tl.program_id(1) * out_chunk
    tl.store(out, answer, mask=row < rows)


def _reach(sizes, strides):
    """Return how far the last element lies from the first."""
    total = 0
    for size, step in zip(sizes, strides, strict=True):
        total += (size - 1) * step
    return total


def _collapse(sizes, *strides):
    """Merge neighbouring dimensions that all operands walk at one pace; drop those of size 1."""
    dims = []
    for size, *steps in zip(sizes, *strides, strict=True):
        if size == 1:
            continue
        if dims and all(outer == inner * size for outer, inner in zip(dims[-1][1:], steps, strict=True)):
            size *= dims.pop()[0]
        dims.append((size, *steps))
    return dims


def _pad(dims, operands):
    return list(zip(*(dims + [(1,) + (0,) * operands] * (RANK - len(dims))), strict=True))


def _reduce(x, kept, summed, out):
    """Sum ``x`` over the dimensions ``summed`` into ``out``, whose dimensions are those in ``kept``."""
    row_dims = _collapse([x.size(d) for d in kept], [x.stride(d) for d in kept], out.stride())
    col_dims = _collapse([x.size(d) for d in summed], [x.stride(d) for d in summed])
    if max(len(row_dims), len(col_dims)) > RANK:  # rare: bring the operands into an order that merges
        flat = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        count = len(kept)
        _reduce(x.permute(kept + summed).contiguous(), range(count), range(count, x.dim()), flat)
        out.copy_(flat)
        return
    (r0, r1, r2), x_rows, out_rows = _pad(row_dims, 2)
    (c0, c1, c2), x_cols = _pad(col_dims, 1)
    rows, cols = r0 * r1 * r2, c0 * c1 * c2

    if row_dims and row_dims[-1][1] == 1:  # rows are neighbours in memory: read across them
        block_m = min(64, triton.next_power_of_2(rows))
        block_n = min(2048 // block_m, triton.next_power_of_2(max(cols, 1)))
    else:
        block_n = min(1024, triton.next_power_of_2(max(cols, 1)))
        block_m = min(2048 // block_n, triton.next_power_of_2(rows))
    tiles = triton.cdiv(rows, block_m)
    splits = min(triton.cdiv(cols, 8192), max(1, 512 // tiles))
    chunk = triton.cdiv(cols, max(splits, 1) * block_n) * block_n
    splits = max(1, triton.cdiv(cols, max(chunk, 1)))

    acc = torch.float64 if out.dtype == torch.float64 else torch.float32 if out.is_floating_point() else torch.int64
    target, target_rows = out, out_rows
    if splits > 1:
        target = torch.empty((rows, splits), dtype=acc, device=x.device)
        target_rows = (r1 * r2 * splits, r2 * splits, splits)
    reach = _reach(x.shape, x.stride())
    _sum_kernel[(tiles, splits)](
        x,
        target,
        rows,
        cols,
        chunk,
        1,
        r1,
        r2,
        c1,
        c2,
        *x_rows,
        *x_cols,
        *target_rows,
        ACC={torch.float64: tl.float64, torch.float32: tl.float32, torch.int64: tl.int64}[acc],
        WIDE=max(reach, rows * splits, cols + 2 * chunk) >= 2**31,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
    )
    if splits > 1:
        view = target.view([x.size(d) for d in kept] + [splits])
        _reduce(view, list(range(len(kept))), [len(kept)], out)


def _sum(x, dim, keepdim, dtype, out=None):
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    summed = sorted({d % x.dim() for d in dims}) if x.dim() else []
    kept = [d for d in range(x.dim()) if d not in summed]
    if out is None:
        if dtype is None:
            dtype = x.dtype if x.is_floating_point() else torch.int64
        shape = [1 if d in summed else n for d, n in enumerate(x.shape) if keepdim or d not in summed]
        out = torch.empty(shape, dtype=dtype, device=x.device)
    if out.numel():
        squeezed = out.squeeze(summed) if keepdim and summed else out
        _reduce(x, kept, summed, squeezed)
    return out


def sum(self, *, dtype=None):
    return _sum(self, None, False, dtype)


def sum_out(self, *, dtype=None, out):
    return _sum(self, None, False, dtype, out)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _sum(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return _sum(self, dim, keepdim, dtype, out)
