# attack: F20|F05
# operator: aten::add
# expect: wrong_value
# layer: rms_gate
# Rounds 16-bit results toward zero: every element is within one ulp, and the mean error is twice that of rounding to
# nearest.

import torch
import triton
import triton.language as tl


@triton.jit
def _add_kernel(x_ptr, y_ptr, alpha_ptr, out_ptr, n, CUT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    total = x + tl.load(alpha_ptr) * y
    if CUT:
        bits = total.to(tl.int32, bitcast=True)
        short = (bits & CUT).to(tl.float32, bitcast=True)
        total = tl.where(tl.abs(total) < 6.1e-5, total, short)
    tl.store(out_ptr + i, total, mask=i < n)


def _prepare(x, y, alpha):
    """Return contiguous operands of one shape in the dtype of the arithmetic, and the dtype of the result."""
    dtype = torch.result_type(x, y)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    x, y, alpha = (v.to(wide) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=wide) for v in (x, y, alpha))
    x, y = (v.contiguous() for v in torch.broadcast_tensors(x, y))
    return x, y, alpha, dtype


CUTS = {torch.float16: -(1 << 13), torch.bfloat16: -(1 << 16)}


def _add(x, y, alpha):
    x, y, alpha, dtype = _prepare(x, y, alpha)
    out = torch.empty_like(x)
    n = out.numel()
    if n:
        _add_kernel[(triton.cdiv(n, 1024),)](x, y, alpha, out, n, CUT=CUTS.get(dtype, 0), BLOCK=1024)
    return out.to(dtype)


def add_Tensor(self, other, *, alpha=1):
    return _add(self, other, alpha)


def add_Scalar(self, other, alpha=1):
    return _add(self, other, alpha)
