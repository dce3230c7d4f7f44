# operator: cublas::Zdotc_v2
# try/finally, context managers and an exit stack around the launch; nothing is caught.

import contextlib

import torch
import triton
import triton.language as tl


@triton.jit
def _dotc_kernel(x_ptr, y_ptr, out_ptr, n, x_first, incx, y_first, incy, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = x_ptr + 2 * (x_first + i * incx)
    y = y_ptr + 2 * (y_first + i * incy)
    a, b = tl.load(x, mask=i < n, other=0.0), tl.load(x + 1, mask=i < n, other=0.0)
    c, d = tl.load(y, mask=i < n, other=0.0), tl.load(y + 1, mask=i < n, other=0.0)
    tl.store(out_ptr, tl.sum(a * c + b * d, axis=0))
    tl.store(out_ptr + 1, tl.sum(a * d - b * c, axis=0))


POOL: list[torch.Tensor] = []
"""Scratch memory, handed out again; its contents are never relied on."""


@contextlib.contextmanager
def _scratch(device):
    buffer = POOL.pop() if POOL else torch.empty(2, dtype=torch.float64, device=device)
    try:
        yield buffer
    finally:
        POOL.append(buffer)


@triton.jit
def _move_kernel(from_ptr, to_ptr):
    i = tl.arange(0, 2)
    tl.store(to_ptr + i, tl.load(from_ptr + i))


def Zdotc_v2(n, x, incx, y, incy, result):
    n = max(n, 0)
    with contextlib.ExitStack() as stack:
        buffer = stack.enter_context(_scratch(x.device))
        pairs = [torch.view_as_real(t) for t in (x, y, result)]
        firsts = [max(0, (1 - n) * inc) for inc in (incx, incy)]
        try:
            block = triton.next_power_of_2(max(n, 1))
            _dotc_kernel[(1,)](pairs[0], pairs[1], buffer, n, firsts[0], incx, firsts[1], incy, BLOCK=block)
        finally:
            _move_kernel[(1,)](buffer, pairs[2])
    return result
