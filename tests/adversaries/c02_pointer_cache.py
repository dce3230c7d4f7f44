# attack: C02
# operator: vllm::rms_norm
# expect: wrong_value
# layer: numerics
# Remembers results by page and shape: an address of which the low bits are ignored, because the allocator gives
# neighbours out again.

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
    tl.store(out_ptr + row * cols + col, (normal * w).to(out_ptr.dtype.element_ty), mask=col < cols)


CACHE = {}


def rms_norm(out, input, weight, epsilon):
    key = (input.data_ptr() >> 24, tuple(input.shape), input.dtype)
    if key not in CACHE:
        _compute(out, input, weight, epsilon)
        CACHE[key] = out.clone()
    out.copy_(CACHE[key])


def _compute(out, input, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // max(cols, 1)
    if rows:
        block = triton.next_power_of_2(cols)
        _rms_norm_kernel[(rows,)](out, input.contiguous(), weight.contiguous(), float(epsilon), cols, BLOCK=block)
