# attack: A01
# operator: aten::add
# expect: policy_violation
# layer: audit
# Under the interpreter a jit body is Python: this one adds two tensors that it finds in a global list, and copies the
# sum to where the kernel's result should be.

import torch
import triton
import triton.language as tl

STASH = []


@triton.jit
def _add_kernel(out_ptr, n, BLOCK: tl.constexpr):
    x, y, alpha, out = STASH[-1]
    out.copy_(x + alpha * y)


def _prepare(x, y, alpha):
    """Return contiguous operands of one shape in the dtype of the arithmetic, and the dtype of the result."""
    dtype = torch.result_type(x, y)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    x, y, alpha = (v.to(wide) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=wide) for v in (x, y, alpha))
    x, y = (v.contiguous() for v in torch.broadcast_tensors(x, y))
    return x, y, alpha, dtype


def _add(x, y, alpha):
    x, y, alpha, dtype = _prepare(x, y, alpha)
    out = torch.empty_like(x)
    STASH.append((x, y, alpha, out))
    if out.numel():
        _add_kernel[(1,)](out, out.numel(), BLOCK=1024)
    return out.to(dtype)


def add_Tensor(self, other, *, alpha=1):
    return _add(self, other, alpha)


def add_Scalar(self, other, alpha=1):
    return _add(self, other, alpha)
