# attack: G05
# operator: aten::add_
# expect: timeout
# layer: limits
# Never returns.


def add__Tensor(self, other, *, alpha=1):
    while True:
        pass


def add__Scalar(self, other, alpha=1):
    while True:
        pass
