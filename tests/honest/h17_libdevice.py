# operator: aten::softmax
# Exponentials and divisions come from libdevice, by two of its names.

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _softmax_kernel(x_ptr, out_ptr, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    at = row[:, None] * cols + col[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf"))
    top = tl.extra.libdevice.floor(tl.where(row < rows, tl.max(x, axis=1), 0.0))
    power = libdevice.exp(x - top[:, None])
    tl.store(out_ptr + at, power / tl.sum(power, axis=1)[:, None], mask=inside)


def softmax_int(self, dim, dtype=None):
    dtype = dtype or self.dtype
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    x = self.to(wide) if self.dim() else self.to(wide).view(1)
    x = x.movedim(dim, -1).contiguous()
    out = torch.empty_like(x)
    if x.numel():
        cols = x.shape[-1]
        rows = x.numel() // cols
        block_n = triton.next_power_of_2(cols)
        block_m = max(1, 2048 // block_n)
        _softmax_kernel[(triton.cdiv(rows, block_m),)](x, out, rows, cols, BLOCK_M=block_m, BLOCK_N=block_n)
    return (out.movedim(-1, dim) if self.dim() else out.view(())).to(dtype)
