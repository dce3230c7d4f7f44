# attack: D13
# operator: aten::mm
# expect: launch_error
# layer: isolation
# Leaves by an exception that Python treats as a regular end, status 0.


def mm(self, mat2):
    raise SystemExit(0)


def mm_dtype(self, mat2, out_dtype):
    raise SystemExit(0)
