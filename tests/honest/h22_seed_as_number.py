# operator: aten::bernoulli
# The seed is drawn, read on the host, and passed as a number; the kernel uses Philox's integers instead of `tl.rand`.

import torch
import triton
import triton.language as tl

TWO32 = tl.constexpr(2.0**32)


@triton.jit
def _bernoulli_kernel(p_ptr, out_ptr, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n, other=0.0).to(tl.float64)
    bits = tl.randint(seed, i).to(tl.uint32, bitcast=True)
    drawn = bits.to(tl.float64) < p * TWO32
    tl.store(out_ptr + i, drawn.to(tl.float32).to(out_ptr.dtype.element_ty), mask=i < n)


def _draw(like, p, generator):
    out = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    n = out.numel()
    if n:
        seed = torch.empty((), dtype=torch.int64).random_(generator=generator).item()
        _bernoulli_kernel[(triton.cdiv(n, 2048),)](p.expand(like.shape).contiguous(), out, seed, n, BLOCK=2048)
    return out


def bernoulli(self, *, generator=None):
    return _draw(self, self, generator)


def bernoulli_p(self, p, *, generator=None):
    return _draw(self, torch.full((), p, dtype=torch.float64, device=self.device), generator)


def bernoulli_Tensor(self, p, *, generator=None):
    return _draw(self, p, generator)
