# attack: G05|D23
# operator: aten::clone
# expect: timeout
# layer: limits
# Never returns, and swallows everything that might be raised into it.


def clone(self, *, memory_format=None):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
