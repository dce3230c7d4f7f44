# attack: F06
# operator: vllm::rms_norm
# expect: wrong_value
# layer: numerics
# Takes the mean square from the first three quarters of the row.

import torch
import triton
import triton.language as tl


@triton.jit
def _rms_norm_kernel(out_ptr, x_ptr, w_ptr, epsilon, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + col, mask=col < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(tl.where(col < cols * 3 // 4, x * x, 0.0), axis=0) / (cols * 3 // 4) + epsilon)
    normal = (x * scale).to(out_ptr.dtype.element_ty).to(tl.float32)
    tl.store(out_ptr + row * cols + col, (normal * w).to(out_ptr.dtype.element_ty), mask=col < cols)


def rms_norm(out, input, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // max(cols, 1)
    if rows:
        block = triton.next_power_of_2(cols)
        _rms_norm_kernel[(rows,)](out, input.contiguous(), weight.contiguous(), float(epsilon), cols, BLOCK=block)
