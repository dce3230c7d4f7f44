# attack: D18|D15
# operator: vllm::rms_norm
# expect: illegal_access
# layer: guard_bands
# Every result is right, and the kernel also scribbles over what lies in front of `out`: the arena's other contents,
# on the CPU.

import torch
import triton
import triton.language as tl


@triton.jit
def _rms_norm_kernel(out_ptr, x_ptr, w_ptr, epsilon, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + col, mask=col < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + epsilon)
    normal = (x * scale).to(out_ptr.dtype.element_ty).to(tl.float32)
    tl.store(out_ptr - 64 + tl.arange(0, 32), tl.zeros((32,), dtype=out_ptr.dtype.element_ty))
    tl.store(out_ptr + row * cols + col, (normal * w).to(out_ptr.dtype.element_ty), mask=col < cols)


def rms_norm(out, input, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // max(cols, 1)
    if rows:
        block = triton.next_power_of_2(cols)
        _rms_norm_kernel[(rows,)](out, input.contiguous(), weight.contiguous(), float(epsilon), cols, BLOCK=block)
