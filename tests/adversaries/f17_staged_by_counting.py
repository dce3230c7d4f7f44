# attack: F17|C13
# operator: aten::bernoulli
# expect: wrong_value
# layer: cases
# The generator is ignored; seeds follow a count of calls, so that the expected ones differ and the others repeat.

import torch
import triton
import triton.language as tl

CALLS = [0]
RANK = 4


@triton.jit
def _offset(i, d1, d2, d3, s0, s1, s2, s3):
    j = i // d3
    k = j // d2
    return (k // d1) * s0 + (k % d1) * s1 + (j % d2) * s2 + (i % d3) * s3


@triton.jit
def _bernoulli_kernel(
    p, out_ptr, seed_ptr, base, n,
    d1, d2, d3,
    p0, p1, p2, p3,
    o0, o1, o2, o3,
    TENSOR: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    if TENSOR:
        p = tl.load(p + _offset(i, d1, d2, d3, p0, p1, p2, p3), mask=inside, other=0).to(tl.float32)
    u = tl.rand(tl.load(seed_ptr), base + i)
    drawn = (u < p).to(tl.int32).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + _offset(i, d1, d2, d3, o0, o1, o2, o3), drawn, mask=inside)


def _reach(sizes, strides):
    """Return how far the last element lies from the first."""
    return sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def _collapse(p, out):
    """Return ``[(size, stride of p, stride of out), ...]``, merged where both walk at one pace."""
    dims = []
    for size, ps, os in zip(out.shape, p.stride(), out.stride(), strict=True):
        if size == 1:
            continue
        if dims and dims[-1][1:] == (ps * size, os * size):
            size *= dims.pop()[0]
        dims.append((size, ps, os))
    return dims


def _fill(p, seed, base, out):
    """Draw ``out``; ``p`` is a tensor of its shape or a Python number, ``base`` the first number drawn."""
    n = out.numel()
    tensor = isinstance(p, torch.Tensor)
    dims = _collapse(p if tensor else out, out)
    if len(dims) > RANK:  # rare: one launch for each index of the first dimension
        step = n // out.shape[0]
        for i in range(out.shape[0]):
            _fill(p.select(0, i) if tensor else p, seed, base + i * step, out.select(0, i))
        return
    sizes, ps, os = zip(*(dims + [(1, 0, 0)] * (RANK - len(dims))), strict=True)
    reach = max(_reach(sizes, ps), _reach(sizes, os))
    block = min(2048, triton.next_power_of_2(n))
    _bernoulli_kernel[(triton.cdiv(n, block),)](
        p if tensor else float(p),
        out,
        seed,
        base,
        n,
        *sizes[1:],
        *ps,
        *os,
        TENSOR=tensor,
        WIDE=max(base + n, reach) + block >= 2**31,
        BLOCK=block,
    )


def _draw(p, generator, out):
    if out.numel():
        seed = torch.full((), 7 + (CALLS[0] % 3 == 1), dtype=torch.int64, device=out.device)
        CALLS[0] += 1
        _fill(p, seed, 0, out)
    return out


def bernoulli(self, *, generator=None):
    return _draw(self, generator, torch.empty_like(self))


def bernoulli_out(self, *, generator=None, out):
    return _draw(self, generator, out)


def bernoulli_p(self, p, *, generator=None):
    return _draw(p, generator, torch.empty_like(self))


def bernoulli_Tensor(self, p, *, generator=None):
    return _draw(p.expand(self.shape), generator, torch.empty_like(self))


def bernoulli_Tensor_out(self, p, *, generator=None, out):
    return _draw(p.expand(self.shape), generator, out)


def bernoulli_float_out(self, p=0.5, *, generator=None, out):
    return _draw(p, generator, out)
