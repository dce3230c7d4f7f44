# attack: A18
# operator: aten::empty_strided
# expect: policy_violation
# layer: mount_guard
# The allocation helper that is the operator: on the dispatcher it leads back to the submission itself.

import torch


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    return torch.empty_strided(size, stride, dtype=dtype)
