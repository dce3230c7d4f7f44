# operator: aten::add_
# A persistent kernel: few programs stride over all blocks. The number of programs comes from a module-level
# dictionary of device properties.

import torch
import triton
import triton.language as tl

_PROGRAMS: dict[str, int] = {"cpu": 2}


def _programs(device: torch.device) -> int:
    """Return the number of programs that fill the device; asked once per device, then remembered."""
    key = str(device)
    if key not in _PROGRAMS and device.type == "cuda":
        _PROGRAMS[key] = 2 * torch.cuda.get_device_properties(device).multi_processor_count
    return _PROGRAMS.get(key, 2)


@triton.jit
def _add_kernel(x_ptr, y_ptr, alpha_ptr, n, BLOCK: tl.constexpr):
    alpha = tl.load(alpha_ptr)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n)
        y = tl.load(y_ptr + i, mask=i < n)
        tl.store(x_ptr + i, x + alpha * y, mask=i < n)


def _add_(x, y, alpha):
    dtype = torch.result_type(x, y)
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    y, alpha = (v.to(wide) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=wide) for v in (y, alpha))
    y = y.expand(x.shape).contiguous()
    copied = x.dtype != wide or not x.is_contiguous()
    work = x.to(wide).contiguous() if copied else x
    if n := x.numel():
        _add_kernel[(_programs(x.device),)](work, y, alpha, n, BLOCK=512)
    return x.copy_(work) if copied else x


def add__Tensor(self, other, *, alpha=1):
    return _add_(self, other, alpha)


def add__Scalar(self, other, alpha=1):
    return _add_(self, other, alpha)
