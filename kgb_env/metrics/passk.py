"""Pass@k without bias."""

from __future__ import annotations

import math

__all__ = ["pass_at_k"]


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of ``k`` samples, drawn from ``n`` without return, is among the ``c`` good.

    The unbiased estimator of Chen et al. 2021 (arXiv:2107.03374), ``1 - C(n-c, k) / C(n, k)``.

    Args:
        n: Samples made.
        c: Samples that passed.
        k: Samples allowed, at most ``n``.

    Raises:
        ValueError: not ``0 <= c <= n`` and ``1 <= k <= n``.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not (0 <= c <= n and 1 <= k <= n):
        msg = f"pass@k needs 0 <= c <= n and 1 <= k <= n, not n={n}, c={c}, k={k}"
        raise ValueError(msg)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)
