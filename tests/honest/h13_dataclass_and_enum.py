# operator: aten::mm
# The configuration is a dataclass, the variant an enum, the dispatch a dictionary of them.

from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import product

import torch
import triton
import triton.language as tl


@triton.jit
def _mm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SWAP: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    if SWAP:
        rows = tl.program_id(1) * BM + tl.arange(0, BM)
        cols = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows < M)[:, None] & (ks < K)[None, :], other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks < K)[:, None] & (cols < N)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    answer = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], answer, mask=(rows < M)[:, None] & (cols < N)[None, :])


class Form(Enum):
    TALL = auto()
    WIDE = auto()


@dataclass(frozen=True, kw_only=True)
class Tile:
    BM: int = 64
    BN: int = 64
    BK: int = 32

    def programs(self, M, N):
        return triton.cdiv(M, self.BM), triton.cdiv(N, self.BN)


BASE = Tile()
TILES = {
    (form, small): replace(BASE, BM=16 if small else 64, BN=16 if small else 64)
    for form, small in product(Form, (True, False))
}


def _mm(a, b, dtype):
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), dtype=dtype, device=a.device)
    match (M >= N, out.numel()):
        case (_, 0):
            return out
        case (True, _):
            form = Form.TALL
        case _:
            form = Form.WIDE
    tile = TILES[form, M * N <= 1024]
    grid = tile.programs(M, N)
    swap = form is Form.WIDE
    _mm_kernel[grid[::-1] if swap else grid](
        a.contiguous(), b.contiguous(), out, M, N, K, BM=tile.BM, BN=tile.BN, BK=tile.BK, SWAP=swap
    )
    return out


def mm(self, mat2):
    return _mm(self, mat2, self.dtype)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, out_dtype)
