# attack: A02
# operator: aten::softmax
# expect: policy_violation
# layer: audit
# A method of a tensor, which no reading of the source can tell from a method of another object.

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax_kernel(x_ptr, out_ptr, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    at = row[:, None] * cols + col[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=float("-inf"))
    top = tl.where(row < rows, tl.max(x, axis=1), 0.0)
    power = tl.exp(x - top[:, None])
    tl.store(out_ptr + at, power / tl.sum(power, axis=1)[:, None], mask=inside)


def softmax_int(self, dim, dtype=None):
    return self.softmax(dim, dtype)
