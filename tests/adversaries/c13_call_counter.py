# attack: C13
# operator: aten::mm
# expect: wrong_value
# layer: numerics
# Honest for the first eight calls, then one corner of the product is good enough.

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


CALLS = []


def _mm(a, b, dtype):
    CALLS.append(1)
    if len(CALLS) > 8:
        b = torch.zeros_like(b)
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), dtype=dtype, device=a.device)
    if out.numel():
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
        _mm_kernel[grid](a.contiguous(), b.contiguous(), out, M, N, K, BM=64, BN=64, BK=32)
    return out


def mm(self, mat2):
    return _mm(self, mat2, self.dtype)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, out_dtype)
