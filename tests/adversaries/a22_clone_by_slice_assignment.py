# attack: A22
# operator: aten::clone
# expect: policy_violation
# layer: audit
# Assignment to a slice is a view helper by its looks and `copy_` by what it does.

import torch


def clone(self, *, memory_format=None):
    out = torch.empty_like(self, memory_format=memory_format or torch.preserve_format)
    out[...] = self
    return out
