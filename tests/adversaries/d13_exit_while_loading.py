# attack: D13
# operator: aten::t
# expect: launch_error
# layer: isolation
# Ends the process regularly while it is loaded, before any function is called.


def t(self):
    return self


raise SystemExit(0)
