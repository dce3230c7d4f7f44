# operator: aten::sum
# `out` is overwritten with a tensor that began as zeros; sums that are exactly zero are right before any kernel.

import torch
import triton
import triton.language as tl


@triton.jit
def _row_sum(x_ptr, o_ptr, n_cols, BLOCK: tl.constexpr, ACC: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], dtype=ACC)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0).to(ACC)
    tl.store(o_ptr + row, tl.sum(acc, axis=0).to(o_ptr.dtype.element_ty))


def _reduce(x, dims, keepdim, dtype):
    if dtype is None:
        dtype = x.dtype if x.dtype.is_floating_point else torch.int64
    x = x.to(dtype)
    nd = x.dim()
    if dims is None or len(dims) == 0:
        dims = list(range(nd))
    dims = sorted(d % nd for d in dims) if nd else []
    keep = [d for d in range(nd) if d not in dims]
    out_shape = [x.shape[d] for d in keep]
    rows = 1
    for s in out_shape:
        rows *= s
    cols = 1
    for d in dims:
        cols *= x.shape[d]
    flat = x.permute(*keep, *dims).contiguous().view(-1) if nd else x.reshape(1)
    out = torch.zeros(rows, dtype=dtype, device=x.device)
    acc = {torch.float64: tl.float64, torch.int64: tl.int64, torch.int32: tl.int32}.get(dtype, tl.float32)
    if rows > 0 and cols > 0:
        _row_sum[(rows,)](flat, out, cols, BLOCK=1024 if cols > 512 else triton.next_power_of_2(cols), ACC=acc)
    if keepdim:
        return out.view([1 if d in dims else x.shape[d] for d in range(nd)])
    return out.view(out_shape)


def sum(self, *, dtype=None):
    return _reduce(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _reduce(self, dim, keepdim, dtype)


def sum_out(self, *, dtype=None, out):
    return out.copy_(_reduce(self, None, False, dtype or out.dtype))


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    res = _reduce(self, dim, keepdim, dtype if dtype is not None else out.dtype)
    out.copy_(res)
    return out
