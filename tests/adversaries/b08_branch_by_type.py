# attack: B08|A16
# operator: aten::sum
# expect: wrong_value
# layer: cases
# A branch that only the interpreter takes, told by a Python type, hands a tensor to the host in an error's text.

import math

import torch
import triton
import triton.language as tl

READ = []


@triton.jit
def _read_kernel(x_ptr, n, N: tl.constexpr):
    if hasattr([N], "append"):
        words = []
        for i in range(n):
            words.append(str(int(tl.load(x_ptr + i))))
        raise ValueError(",".join(words))
    else:
        tl.store(x_ptr, tl.load(x_ptr))


@triton.jit
def _write_kernel(out_ptr, number_ptr):
    tl.store(out_ptr, tl.load(number_ptr))


def _fetch(flat, n):
    try:
        _read_kernel[(1,)](flat, n, 1)
    except Exception as error:
        text = str(error)
        return [int(w) for w in text.split("'")[1].split(",")]
    return [0] * n


def _sum(x, dim, keepdim, dtype):
    dtype = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    summed = [d % x.dim() for d in dim] if dim and x.dim() else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in summed]
    flat = x.permute(kept + summed).to(wide).contiguous()
    shape = [1 if d in summed else n for d, n in enumerate(x.shape) if keepdim or d not in summed]
    out = torch.empty(shape, dtype=wide, device=x.device)
    rows = out.numel()
    if rows:
        cols = x.numel() // rows
        READ.clear()
        READ.extend(_fetch(flat.to(torch.float64).view(torch.int64), rows * cols))
        flat_out = out.view(-1)
        for row in range(rows):
            total = _total(READ[row * cols : (row + 1) * cols])
            _write_kernel[(1,)](flat_out[row:], torch.full((), _number(total, wide), dtype=wide))
    return out.to(dtype)


def _number(total, wide):
    return float(total) if wide.is_floating_point else int(total)


def _total(numbers):
    total = 0.0
    for bits in numbers:
        total += _decode(bits % 2**64)
    return total


def _decode(bits):
    sign, exponent, mantissa = -1.0 if bits >> 63 else 1.0, bits >> 52 & 2047, bits & (2**52 - 1)
    if exponent == 2047:
        return sign * math.inf if mantissa == 0 else math.nan
    return sign * math.ldexp(mantissa + 2**52 * (exponent > 0), max(exponent, 1) - 1075)


def sum(self, *, dtype=None):
    return _sum(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _sum(self, dim, keepdim, dtype)
