"""The CPU: kernels run in Triton's interpreter, and compile for a GPU that need not be there."""

from __future__ import annotations

from .base import Platform

__all__ = ["PLATFORM"]

PLATFORM = Platform(
    name="cpu",
    device="cpu",
    dispatch_key="CPU",
    mode="interpret",
    zygote_env=(
        ("TRITON_INTERPRET", "1"),
        # NumPy's BLAS would start threads, which neither survive a fork nor pass the sandbox.
        ("OPENBLAS_NUM_THREADS", "1"),
        ("OMP_NUM_THREADS", "1"),
        ("MKL_NUM_THREADS", "1"),
    ),
    target=("cuda", 90, 32),
    layers=frozenset(
        {
            "static_scan",
            "runtime_fence",
            "audit_hook",
            "dispatch_audit",
            "mount_guard",
            "memory_integrity",
            "launch_count",
            "ghost_replay",
            "compile_gate",
        }
    ),
    unsupported=(
        ("driver query", "there is no device to ask: take block sizes from shapes, not from device properties"),
        ("inline assembly", "PTX cannot run in the interpreter"),
        ("external library call", "only libdevice functions have a counterpart in the interpreter"),
        ("scaled dot", "this version of Triton's interpreter has no tl.dot_scaled"),
        ("compiled kernel attribute", "the interpreter compiles nothing that could be inspected"),
    ),
    functional_only_notes=(
        "data races and missing barriers: programs run one after another",
        "num_warps, num_stages and num_ctas change nothing",
        "limits of registers and of the grid are not enforced; shared memory is checked by the compile gate only",
        "autotuning is pinned to the first configuration that pruning leaves",
        "sums of 16-bit and 8-bit floats accumulate in fp32 and round once; a GPU may round more often",
        "tl.exp, tl.sin and other approximate instructions are computed accurately",
        "casts to fp8 saturate, as the conversion instruction of NVIDIA GPUs does",
    ),
    constraints=(
        "Kernels run in Triton's interpreter on the CPU and must also compile for sm_90. Tensors live on the CPU: "
        "allocate on the device of the inputs, never on 'cuda'. Do not query the driver or device properties. "
        "Every program costs about half a millisecond: prefer few, large blocks. "
        "tl.dot on fp32 defaults to TF32: pass input_precision='ieee'."
    ),
)
