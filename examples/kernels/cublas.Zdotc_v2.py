"""cublas::Zdotc_v2: ``result[0] = sum(conj(x) * y)`` in complex128.

Complex numbers are seen as pairs of fp64. Each program sums a stretch of the vectors lane by lane; long
vectors are spread over more programs, whose partial sums a second launch adds up in a fixed order. A
vector with a negative increment is walked from its far end.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _dotc_kernel(x_ptr, y_ptr, out_ptr, n, chunk, x_first, incx, y_first, incy, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * chunk
    lane = tl.arange(0, BLOCK)
    real = tl.zeros((BLOCK,), dtype=tl.float64)
    imaginary = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(first, min(first + chunk, n), BLOCK):
        i = start + lane
        x = x_ptr + 2 * (x_first + i * incx)
        y = y_ptr + 2 * (y_first + i * incy)
        a = tl.load(x, mask=i < n, other=0.0)
        b = tl.load(x + 1, mask=i < n, other=0.0)
        c = tl.load(y, mask=i < n, other=0.0)
        d = tl.load(y + 1, mask=i < n, other=0.0)
        real += a * c + b * d
        imaginary += a * d - b * c
    out = out_ptr + 2 * tl.program_id(0)
    tl.store(out, tl.sum(real, axis=0))
    tl.store(out + 1, tl.sum(imaginary, axis=0))


@triton.jit
def _total_kernel(parts_ptr, out_ptr, count, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(parts_ptr + 2 * i, mask=i < count, other=0.0), axis=0))
    tl.store(out_ptr + 1, tl.sum(tl.load(parts_ptr + 2 * i + 1, mask=i < count, other=0.0), axis=0))


def Zdotc_v2(n, x, incx, y, incy, result):
    n = max(n, 0)
    block = min(1024, triton.next_power_of_2(max(n, 1)))
    programs = min(256, max(1, triton.cdiv(n, 8192)))
    chunk = triton.cdiv(triton.cdiv(n, programs), block) * block
    pairs = torch.view_as_real(result)
    parts = pairs if programs == 1 else torch.empty((programs, 2), dtype=torch.float64, device=x.device)
    _dotc_kernel[(programs,)](
        torch.view_as_real(x),
        torch.view_as_real(y),
        parts,
        n,
        chunk,
        max(0, (1 - n) * incx),
        incx,
        max(0, (1 - n) * incy),
        incy,
        BLOCK=block,
    )
    if programs > 1:
        _total_kernel[(1,)](parts, pairs, programs, BLOCK=triton.next_power_of_2(programs))
    return result
