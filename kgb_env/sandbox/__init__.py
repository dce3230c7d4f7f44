"""Confined processes for hostile code: bytes in, bytes out, and the kernel's word on what happened.

A judge holds a :class:`Zygote` per mode and asks it for a :class:`Worker` per submission::

    with Zygote(entry="my.module:run", warm=None) as zygote:
        worker = zygote.spawn(arena_fd, Limits(cpu_seconds=2))
        ended = worker.wait()

Knows nothing of kernels, tensors or operators. The layers are listed in :mod:`kgb_env.sandbox.confine`.
"""

from __future__ import annotations

from kgb_env.sandbox.doctor import layers
from kgb_env.sandbox.limits import LayerStatus, Limits, Profile
from kgb_env.sandbox.worker import Exit, Worker
from kgb_env.sandbox.zygote import Zygote, harden_this_process

__all__ = ["Exit", "LayerStatus", "Limits", "Profile", "Worker", "Zygote", "harden_this_process", "layers"]
