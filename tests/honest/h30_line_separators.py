# operator: vllm::rms_norm
# Form feeds and Unicode line separators end no line in Python; kernels are read by line.

import torch
import triton
import triton.language as tl

SEPARATORS = "a bc"  #   form feed:

LIMIT = torch.inf


@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2, 4, 8)], key=["N"])
@triton.jit
def _rms(X, Y, W, stride_x, stride_y, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride_x
    Y += row * stride_y
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x * rstd).to(W.dtype.element_ty) * w
        tl.store(Y + cols, y, mask=mask)


def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    x = input.reshape(-1, input.shape[-1])
    y = out.view(-1, out.shape[-1])
    M, N = x.shape
    if M == 0:
        return
    MAX_FUSED_SIZE = 65536 // x.element_size()
    BLOCK_SIZE = min(MAX_FUSED_SIZE, triton.next_power_of_2(N))
    if N > BLOCK_SIZE:
        raise RuntimeError("This layer norm doesn't support feature dim >= 64KB.")
    _rms[(M,)](x, y, weight, x.stride(0), y.stride(0), N, epsilon, BLOCK_SIZE=BLOCK_SIZE)
