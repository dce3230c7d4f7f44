# operator: vllm::rms_norm
# A reduction with a combine function of its own, and jit functions that call jit functions.

import triton
import triton.language as tl


@triton.jit
def _plus(a, b):
    return a + b


@triton.jit
def _square(x):
    return x * x


@triton.jit
def _mean_square(x, n):
    return tl.reduce(_square(x), axis=1, combine_fn=_plus) / n


@triton.jit
def _scaled(x, mean_square, epsilon):
    return x * tl.rsqrt(mean_square + epsilon)[:, None]


@triton.jit
def _kernel(out_ptr, x_ptr, w_ptr, epsilon, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.arange(0, BLOCK_N)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    at = row[:, None] * cols + col[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + col, mask=col < cols, other=0.0)
    y = _scaled(x, _mean_square(x, cols), epsilon).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + at, (y.to(tl.float32) * w.to(tl.float32)[None, :]).to(out_ptr.dtype.element_ty), mask=inside)


def rms_norm(out, input, weight, epsilon):
    cols = input.shape[-1]
    rows = input.numel() // cols if cols else 0
    if rows:
        block_n = triton.next_power_of_2(cols)
        block_m = max(1, 4096 // block_n)
        grid = (triton.cdiv(rows, block_m),)
        _kernel[grid](
            out, input.contiguous(), weight.contiguous(), float(epsilon), rows, cols, BLOCK_M=block_m, BLOCK_N=block_n
        )
