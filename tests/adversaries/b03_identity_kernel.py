# attack: B03
# operator: aten::mm
# expect: policy_violation
# layer: audit
# Torch multiplies, a kernel copies: launches are real and ghost replay sees a causal kernel.

import torch
import triton
import triton.language as tl


@triton.jit
def _copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def _mm(a, b, dtype):
    product = (a.to(torch.float64) @ b.to(torch.float64)).to(dtype)
    out = torch.empty_like(product)
    n = out.numel()
    if n:
        _copy_kernel[(triton.cdiv(n, 1024),)](product, out, n, BLOCK=1024)
    return out


def mm(self, mat2):
    return _mm(self, mat2, self.dtype)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, out_dtype)
