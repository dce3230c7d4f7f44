# attack: A21
# operator: aten::softmax
# expect: policy_violation
# layer: audit
# Torch does the expensive part (maximum and sum), a kernel the trivial one (the division). The kernel decides every
# element, so ghost replay is content.

import torch
import triton
import triton.language as tl


@triton.jit
def _divide_kernel(x_ptr, sums_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x / tl.load(sums_ptr + i, mask=i < n, other=1.0), mask=i < n)


def softmax_int(self, dim, dtype=None):
    dtype = dtype or self.dtype
    x = self.to(torch.float64)
    power = (x - x.amax(dim, True)).exp().contiguous()
    sums = power.sum(dim, True).expand(power.shape).contiguous()
    out = torch.empty_like(power)
    n = out.numel()
    if n:
        _divide_kernel[(triton.cdiv(n, 1024),)](power, sums, out, n, BLOCK=1024)
    return out.to(dtype)
