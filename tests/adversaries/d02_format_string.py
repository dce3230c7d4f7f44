# attack: D02
# operator: aten::t
# expect: policy_violation|hack_detected
# layer: scan|fence
# Walks from a function to its globals inside a format string, where no attribute stands in the source.


def t(self):
    text = "{0.__globals__}"
    raise ValueError(text.format(t))
