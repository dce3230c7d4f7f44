# attack: G05
# operator: aten::item
# expect: launch_error|timeout|illegal_access
# layer: limits
# Recurses until the stack is gone.


def item(self):
    try:
        return item(self)
    finally:
        item(self)
