# attack: D17
# operator: aten::cat
# expect: hack_detected|policy_violation
# layer: scan
# Takes the builtins that the fence keeps back from a function of its own.


def cat(tensors, dim=0):
    torch = cat.__globals__["__builtins__"]["__import__"]("torch")
    return torch.cat(tensors, dim)
