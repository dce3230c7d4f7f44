# attack: F15
# operator: aten::mm
# expect: compile_error
# layer: compile_gate
# Tiles that need more shared memory than the chip has: the interpreter does not mind, and every value is right.

import torch
import triton
import triton.language as tl


@triton.jit
def _mm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows < M)[:, None] & (ks < K)[None, :], other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks < K)[:, None] & (cols < N)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    answer = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], answer, mask=(rows < M)[:, None] & (cols < N)[None, :])


def _mm(a, b, dtype):
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), dtype=dtype, device=a.device)
    if out.numel():
        grid = (triton.cdiv(M, 256), triton.cdiv(N, 128))
        _mm_kernel[grid](
            a.contiguous(), b.contiguous(), out, M, N, K, BM=256, BN=128, BK=256, num_stages=4, num_warps=8
        )
    return out


def mm(self, mat2):
    return _mm(self, mat2, self.dtype)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, out_dtype)
