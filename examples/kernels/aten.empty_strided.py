"""aten::empty_strided: uninitialised memory with the given size and strides.

The least storage that the strides reach is allocated flat, then seen through them. Nothing is computed,
so no kernel is needed.
"""

import torch


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    flat = torch.empty(span, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return flat.as_strided(size, stride)


def empty_strided_out(size, stride, *, out):
    if list(out.shape) != list(size):
        msg = f"out has shape {list(out.shape)}, expected {list(size)}"
        raise ValueError(msg)
    return out
