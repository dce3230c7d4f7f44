# attack: A22
# operator: aten::cat
# expect: policy_violation
# layer: audit
# Concatenation as copies into narrowed views, the copy helper being the operator.

import torch


def cat(tensors, dim=0):
    parts = [t for t in tensors if t.shape != (0,)] or [tensors[0]]
    dtype = parts[0].dtype
    for part in tensors:
        dtype = torch.promote_types(dtype, part.dtype)
    shape = list(parts[0].shape)
    dim %= max(len(shape), 1)
    shape[dim] = sum(part.shape[dim] for part in parts)
    out, start = torch.empty(shape, dtype=dtype), 0
    for part in parts:
        out.narrow(dim, start, part.shape[dim]).copy_(part)
        start += part.shape[dim]
    return out
