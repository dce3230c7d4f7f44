# operator: aten::add
# The overloads are instances and closures, made by a factory; the work is in methods.

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def _add_kernel(x_ptr, y_ptr, alpha_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + tl.load(alpha_ptr) * y, mask=i < n)


def _prepare(x, y, alpha):
    """Return contiguous operands of one shape in the dtype of the arithmetic, and the dtype of the result."""
    dtype = torch.result_type(x, y)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    x, y, alpha = (v.to(wide) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=wide) for v in (x, y, alpha))
    x, y = (v.contiguous() for v in torch.broadcast_tensors(x, y))
    return x, y, alpha, dtype


@dataclass(frozen=True)
class Launch:
    """How a pointwise kernel is launched."""

    kernel: Any
    block: int = 1024

    def grid(self, n: int) -> tuple[int]:
        return (triton.cdiv(n, self.block),)

    def __call__(self, x, y, alpha):
        x, y, alpha, dtype = _prepare(x, y, alpha)
        out = torch.empty_like(x)
        if n := out.numel():
            self.kernel[self.grid(n)](x, y, alpha, out, n, BLOCK=self.block)
        return out.to(dtype)


class _Overloads:
    """Makes one function per overload."""

    _launch = Launch(_add_kernel)

    @classmethod
    def make(cls, keyword_only: bool) -> Callable[..., torch.Tensor]:
        launch = cls._launch
        if keyword_only:

            def overload(self, other, *, alpha=1):
                return launch(self, other, alpha)

        else:

            def overload(self, other, alpha=1):
                return launch(self, other, alpha)

        return overload


add_Tensor = _Overloads.make(keyword_only=True)
add_Scalar = _Overloads.make(keyword_only=False)
