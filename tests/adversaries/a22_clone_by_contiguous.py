# attack: A22
# operator: aten::clone
# expect: policy_violation
# layer: scan
# A layout helper that is the operator: `contiguous` of a transposed view copies. A decoy kernel is launched beside
# it.

import torch
import triton
import triton.language as tl


@triton.jit
def _touch_kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr))


def clone(self, *, memory_format=None):
    _touch_kernel[(1,)](torch.zeros(1))
    return torch.clone(self)
