# operator: aten::sum
# Type hints everywhere, and a layout that no formatter would leave: tabs, semicolons, continuations.

# fmt: off
from __future__ import annotations
from typing import Optional, Sequence
import math; import torch; import triton; import triton.language as tl

@triton . jit
def _sum_kernel (x_ptr, out_ptr, rows : int, cols : "tl.int32",
		BLOCK_M : tl.constexpr, BLOCK_N : "tl.constexpr") :
	row = tl.program_id (axis = 0) * BLOCK_M \
		+ tl.arange (0, BLOCK_M) ; col = tl.arange (0, BLOCK_N)
	inside = (
		(row < rows) [:, None]

		& (col < cols) [None, :]
	)
	x = tl.load (x_ptr + row [:, None] * cols + col [None, :], mask = inside, other = 0) ; total = tl.sum (x, axis = 1)
	if True : tl.store (out_ptr + row, total, mask = row < rows)

def _sum (x : torch.Tensor, dim : Optional [Sequence [int]], keepdim : bool, dtype : Optional [torch.dtype]) -> torch.Tensor :
	dtype = dtype or (x.dtype if x.is_floating_point () else torch.int64)
	wide : torch.dtype = {torch.float16 : torch.float32, torch.bfloat16 : torch.float32}.get (dtype, dtype)
	summed = ([d % x.ndim for d in dim] if x.ndim else []) if dim else [*range (x.ndim)]
	kept = [d for d in range (x.ndim) if not d in summed]
	shape = [(n, 1) [d in summed] for d, n in enumerate (x.shape) if keepdim or not d in summed]
	out = torch.empty (shape, dtype = wide, device = x.device)
	if (rows := out.numel ()) : cols = x.numel () // rows ; n = 1 << max (0, math.ceil (math.log2 (max (cols, 1)))) ; \
		_sum_kernel [triton.cdiv (rows, m := max (1, 2048 // n)),] (
			x.permute ([*kept, *summed]).to (wide).contiguous (), out, rows, cols, BLOCK_M = m, BLOCK_N = n)
	return out.to (dtype)

sum, sum_dim_IntList = \
	(lambda self, *, dtype = None : _sum (self, None, False, dtype)), \
	(lambda self, dim, keepdim = False, *, dtype = None : _sum (self, dim, keepdim, dtype))
