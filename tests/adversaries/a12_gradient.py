# attack: A12
# operator: aten::softmax
# expect: policy_violation
# layer: audit
# Autograd as the computer: the answer is the gradient of logsumexp.


def softmax_int(self, dim, dtype=None):
    x = self.to(dtype or self.dtype).clone()
    x.requires_grad_()
    x.logsumexp(dim).sum().backward()
    return x.grad
