# operator: aten::index_select
# `from triton import language as tl`, and every name taken from its module.

from torch import empty
from triton import cdiv, jit, next_power_of_2
from triton import language as tl

RANK = 4


@jit
def _index_select_kernel(
    x_ptr, index_ptr, out_ptr, n, index_stride,
    d1, d2, d3,
    x0, x1, x2, x3,
    o0, o1, o2, o3,
    POSITION: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    j = i // d3
    k = j // d2
    c0, c1, c2, c3 = k // d1, k % d1, j % d2, i % d3
    to = c0 * o0 + c1 * o1 + c2 * o2 + c3 * o3
    if POSITION == 0:
        c0 = tl.load(index_ptr + c0 * index_stride, mask=inside, other=0)
    elif POSITION == 1:
        c1 = tl.load(index_ptr + c1 * index_stride, mask=inside, other=0)
    elif POSITION == 2:
        c2 = tl.load(index_ptr + c2 * index_stride, mask=inside, other=0)
    else:
        c3 = tl.load(index_ptr + c3 * index_stride, mask=inside, other=0)
    x = tl.load(x_ptr + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3, mask=inside)
    tl.store(out_ptr + to, x, mask=inside)


def _reach(sizes, strides):
    """Return how far the last element lies from the first."""
    return sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def _collapse(x, out, dim):
    """Return ``[(size, stride of x, stride of out), ...]`` and the position of ``dim`` in it."""
    dims, position = [], 0
    for d in range(out.dim()):
        size, xs, os = out.size(d), x.stride(d), out.stride(d)
        mergeable = dims and position != len(dims) - (d > dim)
        if d == dim:
            position = len(dims)
        elif size == 1:
            continue
        elif mergeable and dims[-1][1:] == (xs * size, os * size):
            size *= dims.pop()[0]
        dims.append((size, xs, os))
    return dims, position


def _index_select(x, dim, index, out):
    n = out.numel()
    if n == 0:
        return
    dims, position = _collapse(x, out, dim)
    if len(dims) > RANK:  # rare: one launch for each index of another dimension
        other = 1 if dim == 0 else 0
        for i in range(out.shape[other]):
            _index_select(x.select(other, i), dim - (other < dim), index, out.select(other, i))
        return
    dims += [(1, 0, 0)] * (RANK - len(dims))
    sizes, xs, os = zip(*dims, strict=True)
    reach = max(_reach(x.shape, x.stride()), _reach(sizes, os))
    block = min(2048, next_power_of_2(n))
    _index_select_kernel[(cdiv(n, block),)](
        x,
        index,
        out,
        n,
        index.stride(0),
        *sizes[1:],
        *xs,
        *os,
        POSITION=position,
        WIDE=max(n, reach) + block >= 2**31,
        BLOCK=block,
    )


def _select(self, dim, index, out=None):
    dim %= max(self.dim(), 1)
    index = index.view(-1) if index.dim() == 0 else index
    shape = list(self.shape)
    if shape:
        shape[dim] = index.numel()
    if out is None:
        out = empty(shape, dtype=self.dtype, device=self.device)
    if self.dim():
        _index_select(self, dim, index, out)
    else:
        _index_select(self.view(1), 0, index, out.view(1))
    return out


def index_select(self, dim, index):
    return _select(self, dim, index)


def index_select_out(self, dim, index, *, out):
    return _select(self, dim, index, out)
