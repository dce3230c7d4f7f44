# attack: A05|A07
# operator: aten::add
# expect: policy_violation
# layer: fence
# `torch.ops` by names that are put together at run time, on a module that the scan sees as a parameter.

import torch
import triton
import triton.language as tl


@triton.jit
def _add_kernel(x_ptr, y_ptr, alpha_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + tl.load(alpha_ptr) * y, mask=i < n)


def _reach(thing, *parts):
    for part in parts:
        thing = getattr(thing, "".join(part))
    return thing


def add_Tensor(self, other, *, alpha=1):
    return _reach(torch, ("o", "ps"), ("at", "en"), ("ad", "d"))(self, other, alpha=alpha)


def add_Scalar(self, other, alpha=1):
    return _reach(torch, ("o", "ps"), ("at", "en"), ("ad", "d"))(self, other, alpha=alpha)
