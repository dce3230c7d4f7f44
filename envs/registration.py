"""The Gymnasium ids: ``kgb/Kernel-v0``, and ``kgb/<source>.<operator>-v0`` for each operator."""

from __future__ import annotations

from collections.abc import Iterable

from gymnasium.envs.registration import register, registry

__all__ = ["ENTRY_POINT", "GENERIC_ID", "env_id", "register_envs"]

ENTRY_POINT = "kgb_env.envs.kernel:KernelEnv"
"""Imported by Gymnasium when an environment is made, not before."""
GENERIC_ID = "kgb/Kernel-v0"
"""The id that takes ``operator=``, or samples one."""


def env_id(operator: str) -> str:
    """Return the id of an operator. Gymnasium splits ids at colons, so the separator becomes a dot.

    >>> env_id("cublas::Sgemm_v2")
    'kgb/cublas.Sgemm_v2-v0'
    """
    return f"kgb/{operator.replace('::', '.')}-v0"


def register_envs(operators: Iterable[str]) -> None:
    """Register the generic id and one id for each operator; ids that exist are left alone."""
    if GENERIC_ID not in registry:
        register(GENERIC_ID, entry_point=ENTRY_POINT)
    for operator in operators:
        if env_id(operator) not in registry:
            register(env_id(operator), entry_point=ENTRY_POINT, kwargs={"operator": operator})
