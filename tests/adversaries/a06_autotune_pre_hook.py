# attack: A01
# operator: aten::add
# expect: policy_violation
# layer: audit
# The library call stands in a hook of an autotuned configuration, which Triton calls before the launch.

import torch
import triton
import triton.language as tl


def _hook(arguments):
    arguments["x_ptr"].add_(arguments["y_ptr"])


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, pre_hook=_hook)], key=["n"])
@triton.jit
def _copy_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


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
    n = out.numel()
    if n:
        _copy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x.clone(), y * alpha, out, n)
    return out.to(dtype)


def add_Tensor(self, other, *, alpha=1):
    return _add(self, other, alpha)


def add_Scalar(self, other, alpha=1):
    return _add(self, other, alpha)
