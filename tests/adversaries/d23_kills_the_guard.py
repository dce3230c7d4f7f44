# attack: D23
# operator: aten::t
# expect: policy_violation
# layer: mount_guard
# Calls the operator that it is, through the view helper of the same name, and swallows the guard's exception; the
# view that it returns then is right.


def t(self):
    try:
        return self.t()
    except BaseException:
        return self.transpose(0, 0 if self.dim() < 2 else 1)
