# attack: A17
# operator: aten::add
# expect: policy_violation|hack_detected
# layer: scan
# Switches PyTorch's dispatch modes off before it computes.

import torch


def add_Tensor(self, other, *, alpha=1):
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        return torch.add(self, other, alpha=alpha)


def add_Scalar(self, other, alpha=1):
    return add_Tensor(self, other, alpha=alpha)
