"""vllm::rms_norm: ``out = input * rsqrt(mean(input^2) + epsilon) * weight`` over the last dimension.

A program normalises a tile of rows; the leading dimensions are taken with their strides. The statistics
are fp32. As in vLLM the normalised value is rounded to the dtype of the tensor before it is multiplied
by the weight, and the product is rounded again. Rows of more than 8192 elements are read twice in blocks.
"""

import triton
import triton.language as tl

RANK = 3


@triton.jit
def _offset(i, d1, d2, s0, s1, s2):
    j = i // d2
    return (j // d1) * s0 + (j % d1) * s1 + (i % d2) * s2


@triton.jit
def _rms_norm_kernel(
    out_ptr, x_ptr, w_ptr, epsilon, rows, cols,
    d1, d2, o0, o1, o2, oc, x0, x1, x2, xc, wc,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    lane = tl.arange(0, BLOCK_N)
    x_rows = x_ptr + _offset(row, d1, d2, x0, x1, x2)[:, None]
    out_rows = out_ptr + _offset(row, d1, d2, o0, o1, o2)[:, None]
    squares = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, cols, BLOCK_N):
        col = start + lane
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        x = tl.load(x_rows + col[None, :] * xc, mask=inside, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=1) / cols + epsilon)
    for start in range(0, cols, BLOCK_N):
        col = start + lane
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        x = tl.load(x_rows + col[None, :] * xc, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + col * wc, mask=col < cols, other=0.0).to(tl.float32)
        normal = (x * scale[:, None]).to(out_ptr.dtype.element_ty).to(tl.float32)
        tl.store(out_rows + col[None, :] * oc, (normal * w[None, :]).to(out_ptr.dtype.element_ty), mask=inside)


def rms_norm(out, input, weight, epsilon):
    cols = input.shape[-1]
    if input.numel() == 0:
        return
    sizes = [*input.shape[:-1]]
    out_strides, x_strides = [*out.stride()[:-1]], [*input.stride()[:-1]]
    if len(sizes) > RANK:
        msg = f"at most {RANK + 1} dimensions are supported, got {input.dim()}"
        raise ValueError(msg)
    padding = RANK - len(sizes)
    sizes += [1] * padding
    rows = sizes[0] * sizes[1] * sizes[2]
    block_n = min(8192, triton.next_power_of_2(cols))
    block_m = min(max(1, 4096 // block_n), triton.next_power_of_2(rows))
    _rms_norm_kernel[(triton.cdiv(rows, block_m),)](
        out,
        input,
        weight,
        float(epsilon),
        rows,
        cols,
        *sizes[1:],
        *out_strides + [0] * padding,
        out.stride(-1),
        *x_strides + [0] * padding,
        input.stride(-1),
        weight.stride(0),
        BLOCK_M=block_m,
        BLOCK_N=block_n,
    )
