# operator: cublas::Sgemm_v2
# Grids and tile sizes come from `functools.lru_cache` and `functools.partial`.

import functools

import triton
import triton.language as tl


@triton.jit
def _gemm_kernel(
    a_ptr, b_ptr, c_ptr, alpha, beta, M, N, K,
    am, ak, bk, bn, ldc,
    READ_C: tl.constexpr,
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
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = K - k
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(ks[:, None] < left) & (cols[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
        a_ptrs += BLOCK_K * ak
        b_ptrs += BLOCK_K * bk
    answer = alpha * total
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    c_ptrs = c_ptr + rows[:, None] + cols[None, :] * ldc
    if READ_C:
        answer += beta * tl.load(c_ptrs, mask=inside, other=0.0)
    tl.store(c_ptrs, answer, mask=inside)


def _transposed(operation):
    return operation not in ("N", "n", 0)


@functools.lru_cache(maxsize=256)
def _tile(size, largest):
    return max(16, min(largest, triton.next_power_of_2(size)))


_wide_tile = functools.partial(_tile, largest=32)
_deep_tile = functools.partial(_tile, largest=64)


@functools.cache
def _grid(m, n, block_m, block_n):
    def programs(meta):
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    return functools.partial(programs) if block_m != block_n else programs


def Sgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    if m <= 0 or n <= 0:
        return C
    depth = k if alpha != 0 else 0
    am, ak = (lda, 1) if _transposed(transa) else (1, lda)
    bk, bn = (ldb, 1) if _transposed(transb) else (1, ldb)
    block_m, block_n, block_k = _wide_tile(m), _wide_tile(n), _deep_tile(max(k, 1))
    _gemm_kernel[_grid(m, n, block_m, block_n)](
        A,
        B,
        C,
        float(alpha),
        float(beta),
        m,
        n,
        depth,
        am,
        ak,
        bk,
        bn,
        ldc,
        READ_C=beta != 0,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=8,
    )
    return C
