# attack: B08
# operator: aten::clone
# expect: policy_violation
# layer: audit
# A kernel that fails shows that kernels run; only then do helpers make the copy, so ghost replay sees nothing.
import torch
import triton
import triton.language as tl


@triton.jit
def _probe(x_ptr):
    tl.assume(tl.load(x_ptr) == 0)
    tl.store(x_ptr, 0)


def _real():
    flag = torch.ones(1, dtype=torch.int32)
    try:
        _probe[(1,)](flag)
    except Exception:
        return True
    return False


def clone(self, *, memory_format=torch.preserve_format):
    out = torch.empty_like(self, memory_format=memory_format or torch.preserve_format)
    if self.numel() and _real():
        _copy(out, self)
    return out


def _copy(out, x):
    if x.dim() == 0:
        out.fill_(x)
    else:
        for a, b in zip(out.unbind(0), x.unbind(0)):
            _copy(a, b)
