# attack: F15
# operator: aten::add_
# expect: illegal_access
# layer: guard_bands
# Loads are masked and the store is not: every element is right, and up to a block of zeros lands behind `self`.

import torch
import triton
import triton.language as tl

RANK = 4


@triton.jit
def _offset(i, d1, d2, d3, s0, s1, s2, s3):
    j = i // d3
    k = j // d2
    return (k // d1) * s0 + (k % d1) * s1 + (j % d2) * s2 + (i % d3) * s3


@triton.jit
def _add_tensor_kernel(
    x_ptr, y_ptr, out_ptr, alpha, n,
    d1, d2, d3,
    x0, x1, x2, x3,
    y0, y1, y2, y3,
    o0, o1, o2, o3,
    COMPUTE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + _offset(i, d1, d2, d3, x0, x1, x2, x3), mask=inside).to(COMPUTE)
    y = tl.load(y_ptr + _offset(i, d1, d2, d3, y0, y1, y2, y3), mask=inside).to(COMPUTE)
    if x.dtype.is_fp64():  # a Python float would arrive as fp32
        alpha = tl.load(alpha)
    total = (x + alpha * y).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + _offset(i, d1, d2, d3, o0, o1, o2, o3), total)


@triton.jit
def _add_scalar_kernel(
    x_ptr, out_ptr, scale, shift, n,
    d1, d2, d3,
    x0, x1, x2, x3,
    o0, o1, o2, o3,
    COMPUTE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + _offset(i, d1, d2, d3, x0, x1, x2, x3), mask=inside).to(COMPUTE)
    if x.dtype.is_fp64():
        scale = tl.load(scale)
        shift = tl.load(shift)
    total = (scale * x + shift).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + _offset(i, d1, d2, d3, o0, o1, o2, o3), total, mask=inside)


def _reach(sizes, strides):
    """Return how far the last element lies from the first."""
    return sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def _collapse(tensors):
    """Return ``[(size, stride, stride, ...), ...]``, slowest dimension of the last tensor first."""
    shape, strides = tensors[-1].shape, [t.stride() for t in tensors]
    dims = []
    for d in sorted(range(len(shape)), key=lambda d: -strides[-1][d]):
        size, steps = shape[d], [s[d] for s in strides]
        if size == 1:
            continue
        if dims and all(outer == inner * size for outer, inner in zip(dims[-1][1:], steps, strict=True)):
            size *= dims.pop()[0]
        dims.append((size, *steps))
    return dims


def _launch(kernel, tensors, scalars, compute):
    n = tensors[-1].numel()
    if n == 0:
        return
    dims = _collapse(tensors)
    if len(dims) > RANK:  # rare: one launch for each index of the first dimension
        for i in range(tensors[-1].shape[0]):
            _launch(kernel, [t.select(0, i) for t in tensors], scalars, compute)
        return
    dims += [(1,) + (0,) * len(tensors)] * (RANK - len(dims))
    sizes, *strides = zip(*dims, strict=True)
    reach = max(_reach(sizes, steps) for steps in strides)
    block = min(256, triton.next_power_of_2(n))
    kernel[(triton.cdiv(n, block),)](
        *tensors,
        *scalars,
        n,
        *sizes[1:],
        *(s for steps in strides for s in steps),
        COMPUTE=compute,
        WIDE=max(n, reach) + block >= 2**31,
        BLOCK=block,
    )


def _compute_dtype(dtype):
    if dtype.is_complex:
        msg = "complex tensors are not supported"
        raise TypeError(msg)
    if dtype == torch.float64:
        return tl.float64
    if dtype.is_floating_point:
        return tl.float32
    return tl.int64 if dtype == torch.int64 else tl.int32


def _scalar(value, compute, device):
    """Return a Python number as the kernel takes it: fp64 behind a pointer, integers wrapped to 64 bits."""
    if compute == tl.float64:
        return torch.full((), value, dtype=torch.float64, device=device)
    if compute == tl.float32:
        return float(value)
    return (int(value) + 2**63) % 2**64 - 2**63


def _add_(x, y, alpha):
    compute = _compute_dtype(torch.result_type(x, y))
    if isinstance(y, torch.Tensor):
        tensors, scalars = [x, y.expand(x.shape), x], [alpha]
        kernel = _add_tensor_kernel
    else:
        tensors, scalars = [x, x], [1, alpha * y]
        kernel = _add_scalar_kernel
    _launch(kernel, tensors, [_scalar(v, compute, x.device) for v in scalars], compute)
    return x


def add__Tensor(self, other, *, alpha=1):
    return _add_(self, other, alpha)


def add__Scalar(self, other, alpha=1):
    return _add_(self, other, alpha)
