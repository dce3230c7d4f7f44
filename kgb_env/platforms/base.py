"""What a platform is, and which ones are known. Imports neither torch nor triton."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Literal

from ..errors import UnknownPlatformError, did_you_mean

__all__ = ["Platform", "get", "names"]

_MODULES = {"cpu": "cpu"}
"""Name of a platform -> module of this package whose ``PLATFORM`` describes it."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A device that submissions run on, and what can be judged there.

    Attributes:
        name: The name that callers use, for example ``cpu``.
        device: The torch device type of every tensor argument.
        dispatch_key: The torch dispatch key that ATen candidates are mounted on.
        mode: ``interpret`` runs kernels in Triton's interpreter, ``compile`` on a device.
        zygote_env: Environment variables that its zygote must be started with.
        target: Backend, architecture and warp size that the compile gate compiles for.
        layers: Names of the integrity layers that exist there. An absent layer is ``not_run``.
        unsupported: Feature -> why the platform cannot judge it. The only source of that status.
        functional_only_notes: What a pass there does not prove, one sentence each.
        constraints: What a prompt must tell the author of a kernel for this platform.
    """

    name: str
    device: str
    dispatch_key: str
    mode: Literal["interpret", "compile"]
    zygote_env: tuple[tuple[str, str], ...]
    target: tuple[str, int, int]
    layers: frozenset[str]
    unsupported: tuple[tuple[str, str], ...]
    functional_only_notes: tuple[str, ...]
    constraints: str

    @property
    def timed(self) -> bool:
        """Whether times measured there say anything about the kernel."""
        return self.mode == "compile"


def names() -> tuple[str, ...]:
    """Return the names of all platforms, sorted."""
    return tuple(sorted(_MODULES))


def get(name: str) -> Platform:
    """Return the platform called ``name``.

    Raises:
        UnknownPlatformError: no platform has that name.

    >>> get("cpu").device
    'cpu'
    """
    module = _MODULES.get(name)
    if module is None:
        msg = f"unknown platform {name!r}{did_you_mean(name, _MODULES)}; known: {', '.join(names())}"
        raise UnknownPlatformError(msg)
    return importlib.import_module(f"{__package__}.{module}").PLATFORM
