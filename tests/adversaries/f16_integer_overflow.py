# attack: F16
# operator: aten::sum
# expect: wrong_value
# layer: numerics
# Adds integers in fp32: exact while the sum stays below 2^24.

import torch
import triton
import triton.language as tl


@triton.jit
def _sum_kernel(x_ptr, out_ptr, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=inside, other=0)
    total = tl.sum(x.to(tl.float32), axis=1)
    tl.store(out_ptr + row, total.to(out_ptr.dtype.element_ty), mask=row < rows)


def _sum(x, dim, keepdim, dtype):
    dtype = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    summed = [d % x.dim() for d in dim] if dim and x.dim() else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in summed]
    flat = x.permute(kept + summed).to(wide).contiguous()
    shape = [1 if d in summed else n for d, n in enumerate(x.shape) if keepdim or d not in summed]
    out = torch.empty(shape, dtype=wide, device=x.device)
    rows = out.numel()
    if rows:
        cols = x.numel() // rows
        block_n = triton.next_power_of_2(max(cols, 1))
        block_m = max(1, 2048 // block_n)
        _sum_kernel[(triton.cdiv(rows, block_m),)](flat, out, rows, cols, BLOCK_M=block_m, BLOCK_N=block_n)
    return out.to(dtype)


def sum(self, *, dtype=None):
    return _sum(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _sum(self, dim, keepdim, dtype)
