# attack: A03
# operator: aten::add
# expect: policy_violation
# layer: audit
# Python's own operators on tensors: the source holds no name of a library at all.


def add_Tensor(self, other, *, alpha=1):
    return self + other * alpha


def add_Scalar(self, other, alpha=1):
    return self + other * alpha
