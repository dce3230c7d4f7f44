# operator: vllm::rms_norm
# Copies the input into `out` and normalises in place: where a row is its own answer, it is right before any kernel.

import torch
import triton
import triton.language as tl


@triton.jit
def inplace(x_ptr, w_ptr, H, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = c < H
    x = tl.load(x_ptr + row * H + c, mask=m, other=0.0).to(tl.float32)
    var = tl.sum(x * x, 0) / H
    w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(x_ptr + row * H + c, (x * tl.rsqrt(var + eps) * w).to(x_ptr.dtype.element_ty), mask=m)


def rms_norm(out, input, weight, epsilon):
    out.copy_(input)
    H = out.shape[-1]
    n = out.numel() // H if H else 0
    if n:
        inplace[(n,)](out, weight.contiguous(), H, epsilon, BLOCK=triton.next_power_of_2(H))
