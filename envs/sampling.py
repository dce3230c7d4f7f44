"""Which operator an episode is about."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence

from kgb_env import operators
from kgb_env.errors import UsageError

__all__ = ["choose"]


def choose(among: Sequence[str], group_seed: int, group_id: str, kernel_free: Callable[[str], bool]) -> str:
    """Draw an operator by group seed and group alone.

    Args:
        among: Names to draw from, kernel-free ones included; empty: every operator that needs a kernel.
        group_seed: Seed of the run.
        group_id: Which group of repetitions this is.
        kernel_free: Whether an operator needs no kernel; asked only of those drawn.

    Raises:
        UsageError: no operator is left to draw.
    """
    digest = hashlib.sha256(f"{group_seed}\0{group_id}".encode("utf-8", "surrogatepass")).digest()
    names = list(among or operators.names())
    random.Random(digest).shuffle(names)
    for name in names:
        if among or not kernel_free(name):
            return name
    msg = "there is no operator to sample from"
    raise UsageError(msg)
