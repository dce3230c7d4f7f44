# attack: F14
# operator: aten::add_
# expect: wrong_value|illegal_access
# layer: guard_bands
# Takes `self` for contiguous: right where it is, and elsewhere it writes between the elements.

import torch
import triton
import triton.language as tl


@triton.jit
def _add_kernel(x_ptr, y_ptr, alpha_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + tl.load(alpha_ptr) * y, mask=i < n)


def _add_(x, y, alpha):
    y = y.expand(x.shape).to(x.dtype).contiguous() if isinstance(y, torch.Tensor) else torch.full_like(x, y)
    n = x.numel()
    if n:
        _add_kernel[(triton.cdiv(n, 1024),)](x, y, torch.full((), alpha, dtype=x.dtype), x, n, BLOCK=1024)
    return x


def add__Tensor(self, other, *, alpha=1):
    return _add_(self, other, alpha)


def add__Scalar(self, other, alpha=1):
    return _add_(self, other, alpha)
