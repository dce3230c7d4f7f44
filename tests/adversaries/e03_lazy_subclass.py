# attack: E03
# operator: aten::softmax
# expect: policy_violation|launch_error|hack_detected
# layer: fence
# A tensor subclass that computes when somebody compares it.

import torch


class Lazy(torch.Tensor):
    def __init__(self, make):
        self.make = make

    def __eq__(self, other):
        return self.make() == other

    __hash__ = None


def softmax_int(self, dim, dtype=None):
    return Lazy(lambda: self.softmax(dim, dtype))
