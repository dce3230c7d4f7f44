# attack: G05|D12
# operator: aten::t
# expect: timeout|launch_error|out_of_memory
# layer: limits
# Prints for ever, so that the judge's own buffers overflow.


def t(self):
    while True:
        print("x" * 65536)
