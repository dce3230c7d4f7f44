# operator: aten::mm
# Autotuned over several configurations with early pruning; the grid is a lambda of the chosen one.

import torch
import triton
import triton.language as tl


def _fitting(configs, named_args, **kwargs):
    """Drop tiles much larger than the problem; keep at least one."""
    size = max(named_args["M"], named_args["N"])
    return [c for c in configs if c.kwargs["BM"] <= max(16, 2 * size)] or configs[:1]


@triton.autotune(
    configs=[
        triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_stages=stages, num_warps=warps)
        for bm, bn, bk, stages, warps in [
            (128, 128, 32, 3, 8),
            (64, 64, 32, 3, 4),
            (32, 32, 32, 2, 4),
            (16, 16, 32, 2, 2),
        ]
    ],
    key=["M", "N", "K"],
    prune_configs_by={"early_config_prune": _fitting},
)
@triton.jit
def _mm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rows[:, None] * am + ks[None, :] * ak, mask=(rows < M)[:, None] & (ks < K)[None, :], other=0.0
        )
        b = tl.load(
            b_ptr + ks[:, None] * bk + cols[None, :] * bn, mask=(ks < K)[:, None] & (cols < N)[None, :], other=0.0
        )
        total = tl.dot(a, b, total, input_precision="ieee")
    c = c_ptr + rows[:, None] * cm + cols[None, :] * cn
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=(rows < M)[:, None] & (cols < N)[None, :])


def _mm(a, b, dtype):
    M, K = a.shape
    N = b.shape[1]
    out = torch.empty((M, N), dtype=dtype, device=a.device)
    if out.numel():
        _mm_kernel[lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))](
            a, b, out, M, N, K, *a.stride(), *b.stride(), *out.stride()
        )
    return out


def mm(self, mat2):
    return _mm(self, mat2, self.dtype)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, out_dtype)
