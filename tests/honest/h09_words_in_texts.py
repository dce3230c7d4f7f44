# operator: aten::clone
# Docstrings, comments and strings are full of words that a careless check would punish.

"""Do not exec or eval anything; compile() is Triton's job.

A reader may look for torch.add, os._exit(0), __import__("ctypes"), subprocess, threading.Thread,
gc.get_objects(), sys._getframe and open("/proc/self/mem") here. They all pass.
"""

import torch
import triton
import triton.language as tl

NOTE = "torch.clone(x) would be cheating; so would x.contiguous() or globals()['torch']"


@triton.jit
def _copy_kernel(x_ptr, out_ptr, size, x_step, out_step, x_start, out_start, BLOCK: tl.constexpr):
    """Copy one strided run. No try, no except, no fallback; `eval` stands for evaluation."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_start + i * x_step, mask=i < size)  # not torch.load
    tl.store(out_ptr + out_start + i * out_step, x, mask=i < size)


def _copy(x, out, x_start, out_start, dim):
    """Walk all dimensions but the last on the host. This may pass over empty ones."""
    if 0 in x.shape:
        pass
    elif dim >= x.dim() - 1:
        size = x.shape[-1] if x.dim() else 1
        steps = (x.stride(-1), out.stride(-1)) if x.dim() else (1, 1)
        _copy_kernel[(triton.cdiv(size, 4096),)](x, out, size, *steps, x_start, out_start, BLOCK=4096)
    else:
        for index in range(x.shape[dim]):
            _copy(x, out, x_start + index * x.stride(dim), out_start + index * out.stride(dim), dim + 1)


def clone(self, *, memory_format=None):
    """A cache of compiled code is not a cache of results; see exec, eval and pickle.loads elsewhere."""
    out = torch.empty_like(self, memory_format=memory_format or torch.preserve_format)
    _copy(self, out, 0, 0, 0)
    return out
