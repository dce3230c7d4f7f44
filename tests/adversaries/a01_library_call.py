# attack: A01
# operator: aten::add
# expect: policy_violation
# layer: scan
# The plain library call, beside a kernel that nobody launches.

import torch
import triton
import triton.language as tl


@triton.jit
def _add_kernel(x_ptr, y_ptr, alpha_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + tl.load(alpha_ptr) * y, mask=i < n)


def add_Tensor(self, other, *, alpha=1):
    return torch.add(self, other, alpha=alpha)


def add_Scalar(self, other, alpha=1):
    return torch.add(self, other, alpha=alpha)
