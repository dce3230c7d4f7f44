# attack: A09
# operator: aten::softmax
# expect: policy_violation
# layer: audit
# An equivalent composition: shifted exponentials by methods and operators, not one of them named softmax.


def softmax_int(self, dim, dtype=None):
    x = self.to(dtype or self.dtype)
    power = (x - x.amax(dim, True)).exp()
    return power / power.sum(dim, True)
