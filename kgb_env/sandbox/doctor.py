"""Which confinement layers this machine has, found by trying them in a throw-away process."""

from __future__ import annotations

import sys

from kgb_env.errors import ConfinementError
from kgb_env.sandbox.limits import LayerStatus, Profile

__all__ = ["layers"]


def layers(profile: Profile | str = Profile.BEST_EFFORT) -> tuple[LayerStatus, ...]:
    """Start a bare zygote, let its probe enter every layer and try what must not work, and return what it saw.

    Args:
        profile: With ``standard`` a missing layer raises instead of being listed.

    Raises:
        ConfinementError: The profile is ``standard`` and a layer is missing, or this is not Linux.
        ZygoteError: The probe itself could not run.
    """
    if sys.platform != "linux":
        msg = f"confinement needs Linux, and this is {sys.platform}"
        raise ConfinementError(msg)
    from kgb_env.sandbox.zygote import Zygote  # imports Linux-only modules

    with Zygote(entry="kgb_env.sandbox.probe:run", warm=None, profile=profile, harden=False) as zygote:
        return zygote.layers
