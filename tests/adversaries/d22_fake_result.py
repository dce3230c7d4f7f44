# attack: D22
# operator: aten::add
# expect: launch_error|wrong_shape|policy_violation
# layer: structure
# Returns an object that is equal to everything.


class Agreeable:
    shape = ()

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__

    def __hash__(self):
        return 0


def add_Tensor(self, other, *, alpha=1):
    return Agreeable()


def add_Scalar(self, other, alpha=1):
    return Agreeable()
