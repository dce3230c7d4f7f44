# operator: aten::mm
# The result is column-major: equal values, other strides, which the operator leaves free. Block pointers do the
# addressing.

import torch
import triton
import triton.language as tl


@triton.jit
def _mm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (M, K), (am, ak), (m, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (bk, bn), (0, n), (BK, BN), (1, 0))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        left = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        total = tl.dot(left, right, total, input_precision="ieee")
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (cm, cn), (m, n), (BM, BN), (0, 1))
    tl.store(c, total.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def _mm(a, b, dtype):
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((N, M), dtype=dtype, device=a.device).t()
    if M and N:
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        _mm_kernel[grid](a, b, out, M, N, K, *a.stride(), *b.stride(), *out.stride(), BM=32, BN=32, BK=32)
    return out


def mm(self, mat2):
    return _mm(self, mat2, self.dtype)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, out_dtype)
