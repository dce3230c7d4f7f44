# operator: cublas::Sgemm_v2
# A zeroed temporary is copied into a matrix with gaps; sums that are exactly zero are right before any kernel.

import torch
import triton
import triton.language as tl


@triton.jit
def sgemm(
    A,
    B,
    C,
    D,
    M,
    N,
    K,
    a0,
    a1,
    b0,
    b1,
    ldc,
    alpha,
    beta,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    HAS_BETA: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(
            A + rm[:, None] * a0 + (rk + k)[None, :] * a1, mask=(rm[:, None] < M) & ((rk + k)[None, :] < K), other=0.0
        )
        b = tl.load(
            B + (rk + k)[:, None] * b0 + rn[None, :] * b1, mask=((rk + k)[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    m = (rm[:, None] < M) & (rn[None, :] < N)
    r = alpha * acc
    if HAS_BETA:
        r += beta * tl.load(C + rm[:, None] + rn[None, :] * ldc, mask=m, other=0.0)
    tl.store(D + rm[:, None] + rn[None, :] * M, r, mask=m)


def cublasSgemm_v2(
    transa: str, transb: str, m: int, n: int, k: int, alpha: float, A, lda: int, B, ldb: int, beta: float, C, ldc: int
):
    a0, a1 = (1, lda) if transa.upper() == "N" else (lda, 1)
    b0, b1 = (1, ldb) if transb.upper() == "N" else (ldb, 1)
    if m == 0 or n == 0:
        return C
    tmp = torch.zeros(m * n, dtype=torch.float32, device=C.device)
    sgemm[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        A, B, C, tmp, m, n, k, a0, a1, b0, b1, ldc, alpha, beta, BM=32, BN=32, BK=32, HAS_BETA=beta != 0
    )
    C.as_strided((n, m), (ldc, 1)).copy_(tmp.view(n, m))
    return C
