"""aten::mm: the product of two matrices.

A tiled product: each program makes one tile of the result and walks K. Programs are numbered in groups of
rows, so that neighbours share tiles of both operands in the L2 cache. Strides are taken as they come
(transposed operands cost no copy); sums are kept in fp32 (fp64 for fp64), and fp32 operands are
multiplied as IEEE fp32, not TF32.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _mm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    am, ak, bk, bn, cm, cn,
    ACC: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * tiles_n)
    first = group * GROUP_M
    height = min(tiles_m - first, GROUP_M)
    tile_m = first + (pid % (GROUP_M * tiles_n)) % height
    tile_n = (pid % (GROUP_M * tiles_n)) // height

    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    cols = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + rows[:, None] * am + ks[None, :] * ak
    b_ptrs = b_ptr + ks[:, None] * bk + cols[None, :] * bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC)
    for k in range(0, K, BLOCK_K):
        left = K - k
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(ks[:, None] < left) & (cols[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=ACC)
        a_ptrs += BLOCK_K * ak
        b_ptrs += BLOCK_K * bk
    c_ptrs = c_ptr + rows[:, None] * cm + cols[None, :] * cn
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def _tile(size, largest):
    """Return a tile size: a power of two from 16 (the least that ``tl.dot`` takes) to ``largest``."""
    return max(16, min(largest, triton.next_power_of_2(size)))


def _mm(a, b, out):
    M, K = a.shape
    N = b.shape[1]
    if M == 0 or N == 0:
        return out
    large = 128 if a.element_size() == 2 else 64
    block_m, block_n, block_k = _tile(M, large), _tile(N, large), _tile(K, 64 if a.element_size() == 2 else 32)
    _mm_kernel[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
        a,
        b,
        out,
        M,
        N,
        K,
        *a.stride(),
        *b.stride(),
        *out.stride(),
        ACC=tl.float64 if a.dtype == torch.float64 else tl.float32,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=8,
        num_warps=8 if block_m * block_n >= 128 * 128 else 4,
    )
    return out


def mm(self, mat2):
    return _mm(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=self.dtype, device=self.device))


def mm_out(self, mat2, *, out):
    return _mm(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return _mm(self, mat2, out)
