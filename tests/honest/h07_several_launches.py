# operator: aten::softmax
# Three launches with a workspace between them: maxima, sums, quotients.

import torch
import triton
import triton.language as tl


@triton.jit
def _rows(pid, rows, BLOCK: tl.constexpr):
    row = pid * BLOCK + tl.arange(0, BLOCK)
    return row, row < rows


@triton.jit
def _max_kernel(x_ptr, work_ptr, rows, cols, BLOCK: tl.constexpr):
    row, inside = _rows(tl.program_id(0), rows, BLOCK)
    top = tl.full((BLOCK,), float("-inf"), dtype=work_ptr.dtype.element_ty)
    for col in range(cols):
        top = tl.maximum(
            top, tl.load(x_ptr + row * cols + col, mask=inside, other=0.0), propagate_nan=tl.PropagateNan.ALL
        )
    tl.store(work_ptr + row, top, mask=inside)


@triton.jit
def _sum_kernel(x_ptr, work_ptr, rows, cols, BLOCK: tl.constexpr):
    row, inside = _rows(tl.program_id(0), rows, BLOCK)
    top = tl.load(work_ptr + row, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), dtype=work_ptr.dtype.element_ty)
    for col in range(cols):
        total += tl.exp(tl.load(x_ptr + row * cols + col, mask=inside, other=0.0) - top)
    tl.store(work_ptr + rows + row, total, mask=inside)


@triton.jit
def _divide_kernel(x_ptr, work_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < rows * cols
    x = tl.load(x_ptr + i, mask=inside)
    top = tl.load(work_ptr + i // cols, mask=inside)
    total = tl.load(work_ptr + rows + i // cols, mask=inside, other=1.0)
    tl.store(out_ptr + i, tl.exp(x - top) / total, mask=inside)


def softmax_int(self, dim, dtype=None):
    dtype = dtype or self.dtype
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    x = self.to(dtype).to(wide)
    x = x.movedim(dim, -1).contiguous() if x.dim() else x.view(1)
    out = torch.empty_like(x)
    if x.numel():
        cols = x.shape[-1]
        rows = x.numel() // cols
        work = torch.empty(2 * rows, dtype=wide, device=x.device)
        grid = (triton.cdiv(rows, 1024),)
        _max_kernel[grid](x, work, rows, cols, BLOCK=1024)
        _sum_kernel[grid](x, work, rows, cols, BLOCK=1024)
        _divide_kernel[(triton.cdiv(rows * cols, 1024),)](x, work, out, rows, cols, BLOCK=1024)
    return (out.movedim(-1, dim) if self.dim() else out.view(())).to(dtype)
