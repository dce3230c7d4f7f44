# attack: F12
# operator: cublas::Zdotc_v2
# expect: wrong_value
# layer: numerics
# Forgets the conjugate.

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
    tl.store(out_ptr, tl.sum(a * c - b * d, axis=0))
    tl.store(out_ptr + 1, tl.sum(a * d + b * c, axis=0))


def Zdotc_v2(n, x, incx, y, incy, result):
    n = max(n, 0)
    first = (max(0, (1 - n) * incx), max(0, (1 - n) * incy))
    x, y, out = (torch.view_as_real(t) for t in (x, y, result))
    _dotc_kernel[(1,)](x, y, out, n, first[0], incx, first[1], incy, BLOCK=triton.next_power_of_2(max(n, 1)))
    return result
