# attack: D12
# operator: aten::sum
# expect: wrong_value|nonfinite
# layer: isolation
# Prints what a report of success might look like, to the outputs that it inherits; its own answer is uninitialised.

import torch

print('{"event": "call", "call": 0, "result": {"t": "none"}, "error": null, "launches": 1}')
print('{"status": "clean", "cases": [{"status": "clean", "share": 1.0}]}')


def _sum(x, dim, keepdim, dtype):
    dtype = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    summed = [d % x.dim() for d in dim] if dim and x.dim() else list(range(x.dim()))
    shape = [1 if d in summed else n for d, n in enumerate(x.shape) if keepdim or d not in summed]
    return torch.empty(shape, dtype=dtype)


def sum(self, *, dtype=None):
    print('{"event": "done", "nonce": ""}')
    return _sum(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    print('{"event": "done", "nonce": ""}')
    return _sum(self, dim, keepdim, dtype)
