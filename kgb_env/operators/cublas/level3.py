"""Matrices with matrices: Sgemm_v2."""

from __future__ import annotations

from typing import Any

import torch

from kgb_env.operators import inputs
from kgb_env.operators.arithmetic import number, wide
from kgb_env.operators.cases import Plan
from kgb_env.operators.family import Family
from kgb_env.operators.model import Bounded, Call, Case, Traits
from kgb_env.operators.tolerance import MATMUL

__all__ = ["Sgemm_v2", "matrix"]

family = Family("cublas", "blas3")


def matrix(flat: torch.Tensor, rows: int, columns: int, ld: int) -> torch.Tensor:
    """Return the column-major matrix in a flat buffer as a view of shape (rows, columns)."""
    return flat.as_strided((rows, columns), (1, ld))


def _stored(rows: int, columns: int, ld: int, distribution: str, generator: torch.Generator) -> torch.Tensor:
    """Draw a flat buffer with NaN wherever the matrix is not."""
    flat = inputs.poison((ld * columns + 5,), torch.float32)
    matrix(flat, rows, columns, ld).copy_(inputs.draw((rows, columns), torch.float32, distribution, generator))
    return flat


def _make(case: Case, generator: torch.Generator) -> Call:
    axes = case.axes
    (m, n, k), (transa, transb), (alpha, beta) = axes["size"], axes["trans"], axes["scalars"]
    shape_a = (m, k) if transa == "N" else (k, m)
    shape_b = (k, n) if transb == "N" else (n, k)
    lda, ldb, ldc = (max(1, rows) + gap for rows, gap in zip((shape_a[0], shape_b[0], m), axes["gaps"], strict=True))
    a = _stored(*shape_a, lda, case.distribution, generator)
    b = _stored(*shape_b, ldb, case.distribution, generator)
    c = _stored(m, n, ldc, case.distribution, generator)
    if beta == 0.0:
        c.fill_(float("nan"))
    return Call((transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))


def _operands(args: tuple[Any, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    transa, transb, m, n, k, _, a, lda, b, ldb, *_ = args
    one = matrix(a, m, k, lda) if transa == "N" else matrix(a, k, m, lda).T
    two = matrix(b, k, n, ldb) if transb == "N" else matrix(b, n, k, ldb).T
    return one, two


def _portable(*args: Any) -> torch.Tensor:
    """torch.mm on the column-major views."""
    _, _, m, n, _, alpha, _, _, _, _, beta, c, ldc = args
    one, two = _operands(args)
    result = alpha * torch.mm(one, two)
    target = matrix(c, m, n, ldc)
    target.copy_(result if beta == 0.0 else result + beta * target)
    return c


def _tight(call: Call) -> Call:
    """Ignore the leading dimensions of A and B."""
    transa, transb, m, n, k, alpha, a, _, b, _, beta, c, ldc = call.args
    lda, ldb = m if transa == "N" else k, k if transb == "N" else n
    return Call((transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))


def _fits(point: dict[str, Any]) -> bool:
    return point["distribution"] != "D4" or all(s * 4 % 1 == 0 for s in point["scalars"])


_PUBLIC = {
    "overload": ("",),
    "dtype": ("float32",),
    "distribution": ("D1", "D4"),
    "size": ((16, 16, 16), (24, 40, 32)),
    "trans": (("N", "N"), ("T", "N"), ("N", "T")),
    "scalars": ((1.0, 0.0), (0.5, 0.5)),
    "gaps": ((0, 0, 0),),
}
_SMOKE = {
    "overload": ("",),
    "dtype": ("float32",),
    "distribution": ("D1", "D2", "D3", "D4", "D5"),
    "size": ((1, 1, 1), (17, 33, 65), (32, 64, 16), (25, 5, 129), (45, 50, 3)),
    "trans": (("N", "N"), ("N", "T"), ("T", "N"), ("T", "T"), ("C", "N")),
    "scalars": ((1.0, 0.0), (0.5, 0.5), (-1.0, 1.0), (2.0, -0.5), (0.001, 0.999), (100.001, -1.0)),
    "gaps": ((0, 0, 0), (3, 1, 2)),
}
_FULL = {
    **_SMOKE,
    "size": (
        (1, 1, 1),
        (16, 16, 16),
        (32, 64, 16),
        (64, 32, 48),
        (128, 256, 64),
        (256, 128, 128),
        (17, 33, 65),
        (128, 128, 128),
        (256, 256, 256),
        (71, 71, 71),
        (33, 71, 497),
    ),
    "trans": (("N", "N"), ("N", "T"), ("T", "N"), ("T", "T"), ("C", "N"), ("N", "C")),
    "scalars": (
        (1.0, 0.0),
        (0.0, 1.0),
        (0.5, 0.5),
        (-1.0, 1.0),
        (2.0, -0.5),
        (0.001, 0.999),
        (-0.999, 0.5),
        (100.001, -1.0),
    ),
}
_LARGE = [
    {"overload": "", "dtype": "float32", "size": size, "trans": trans, "scalars": scalars, "gaps": (0, 0, 0)}
    for size, trans, scalars in (
        ((2048, 2048, 2048), ("N", "N"), (1.0, 0.0)),
        ((1024, 4096, 512), ("T", "N"), (1.0, 1.0)),
        ((333, 711, 4097), ("N", "T"), (0.5, 0.5)),
    )
]


@family.operator(
    "Sgemm_v2(transa: str, transb: str, m: int, n: int, k: int, alpha: float, A: torch.Tensor, lda: int, "
    "B: torch.Tensor, ldb: int, beta: float, C: torch.Tensor, ldc: int) -> torch.Tensor",
    plan=Plan(_PUBLIC, _SMOKE, _FULL, _LARGE, _fits),
    make=_make,
    tolerance=MATMUL,
    traits=Traits(difficulty=2),
    mutates=("C",),
    baseline=_portable,
    strideless=_tight,
    flops=lambda case, _call: 2 * case.axes["size"][0] * case.axes["size"][1] * case.axes["size"][2],
)
def Sgemm_v2(
    transa: str,
    transb: str,
    m: int,
    n: int,
    k: int,
    alpha: float,
    A: torch.Tensor,
    lda: int,
    B: torch.Tensor,
    ldb: int,
    beta: float,
    C: torch.Tensor,
    ldc: int,
) -> Bounded:
    """Compute ``C = alpha * op(A) @ op(B) + beta * C`` in float32, in place; return ``C``.

    op(A) is m by k, op(B) k by n, C m by n; op is 'N' (as stored) or 'T', 'C' (transposed). Buffers are flat and
    column-major: element (i, j) of a stored matrix lies at ``i + j*ld``, and the tensors' own shapes mean nothing.
    A is stored with m (N) or k (T) rows, B with k or n. Elements between the rows and ld, and behind the
    last column, hold NaN and stay untouched. With beta 0 the old C must not be read (it is NaN). Sums
    are IEEE float32, no TF32 (``input_precision="ieee"`` in ``tl.dot``); alpha and beta count in float32.

    Example: flat A=[1,3,2,4] (matrix [[1,2],[3,4]]) and B=[1,2,0,1] give C=[5,11,2,4] for alpha 1, beta 0.
    """
    one, two = (wide(x) for x in _operands((transa, transb, m, n, k, alpha, A, lda, B, ldb)))
    a, b = number(alpha, C.dtype), number(beta, C.dtype)
    value, size = a * (one @ two), abs(a) * (one.abs() @ two.abs())
    old = matrix(wide(C), m, n, ldc)
    if b != 0.0:
        value, size = value + b * old, size + (b * old).abs()
    flat, magnitude, outside = wide(C).clone(), torch.zeros(C.shape, dtype=torch.float64), torch.ones(C.shape).bool()
    matrix(flat, m, n, ldc).copy_(value)
    matrix(magnitude, m, n, ldc).copy_(size)
    matrix(outside, m, n, ldc).fill_(False)
    return Bounded(flat, magnitude, k + 2, exact=outside)  # the scaled product and the scaled C are terms too
