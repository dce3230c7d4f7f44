# operator: aten::sum
# Partial sums meet by atomics in a zeroed workspace; a second launch rounds to the result's dtype.

import torch
import triton
import triton.language as tl


@triton.jit
def _partial_kernel(x_ptr, total_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=0)
    tl.atomic_add(total_ptr + row, tl.sum(x.to(total_ptr.dtype.element_ty), axis=0))


@triton.jit
def _round_kernel(total_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + row, tl.load(total_ptr + row, mask=row < rows).to(out_ptr.dtype.element_ty), mask=row < rows)


def _sum(x, dim, keepdim, dtype):
    dtype = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    wide = torch.float64 if dtype == torch.float64 else torch.float32 if dtype.is_floating_point else torch.int64
    summed = [d % x.dim() for d in dim] if dim and x.dim() else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in summed]
    flat = x.permute(kept + summed).contiguous()
    shape = [1 if d in summed else n for d, n in enumerate(x.shape) if keepdim or d not in summed]
    out = torch.empty(shape, dtype=dtype, device=x.device)
    rows = out.numel()
    if rows:
        cols = x.numel() // rows
        total = torch.zeros(rows, dtype=wide, device=x.device)
        if cols:
            _partial_kernel[(rows, triton.cdiv(cols, 2048))](flat, total, cols, BLOCK=2048)
        _round_kernel[(triton.cdiv(rows, 1024),)](total, out, rows, BLOCK=1024)
    return out


def sum(self, *, dtype=None):
    return _sum(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _sum(self, dim, keepdim, dtype)
