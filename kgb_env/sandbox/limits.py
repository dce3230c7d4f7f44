"""What a worker may spend, and how complete its confinement must be."""

from __future__ import annotations

import enum
import math
from dataclasses import asdict, dataclass
from typing import Any

from kgb_env.errors import UsageError

__all__ = ["GIB", "KIB", "MIB", "LayerStatus", "Limits", "Profile"]

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

WALL_FACTOR = 10
"""The wall-clock backstop is this many times the CPU limit unless it is given."""


class Profile(enum.StrEnum):
    """How complete the confinement must be."""

    STANDARD = "standard"
    """Every layer must be there; a missing one raises :class:`kgb_env.errors.ConfinementError`."""
    BEST_EFFORT = "best_effort"
    """Run with the layers that this machine has, and say which are missing."""


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """One confinement layer on this machine.

    Attributes:
        name: A name of :data:`kgb_env.sandbox.confine.LAYERS`.
        available: True only if a probe process entered the layer and then saw it refuse something.
        detail: What was seen, or why the layer is missing and what stands in for it.
    """

    name: str
    available: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What one worker may spend.

    Attributes:
        cpu_seconds: CPU time (user and system) of the worker and its descendants, in seconds.
        wall_seconds: Wall-clock backstop in seconds; ``None`` means ten times ``cpu_seconds``.
        memory_bytes: Address space above that of the zygote; 0 means no limit (CUDA reserves far more than it uses).
        file_bytes: Size of the scratch folder, and of any single file.
        open_files: Largest number of open file descriptors.
        processes: Largest number of processes and threads; of interest only with ``allow_exec`` or ``allow_threads``.
        allow_exec: Let the worker fork and execute programs (a compile worker runs ptxas).
        allow_threads: Let the worker start threads, but no process (a GPU driver does).
        output_bytes: What is kept of standard output and standard error together; the rest is dropped.
        report_bytes: Largest report; a worker that writes more is killed.

    Raises:
        UsageError: A limit is not positive or not finite.
    """

    cpu_seconds: float = 10.0
    wall_seconds: float | None = None
    memory_bytes: int = 4 * GIB
    file_bytes: int = 64 * MIB
    open_files: int = 64
    processes: int = 16
    allow_exec: bool = False
    allow_threads: bool = False
    output_bytes: int = 64 * KIB
    report_bytes: int = 8 * MIB

    def __post_init__(self) -> None:
        """Refuse limits that cannot be enforced."""
        for name in ("cpu_seconds", "file_bytes", "open_files", "processes", "output_bytes", "report_bytes"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                msg = f"Limits.{name} must be positive and finite, not {value!r}"
                raise UsageError(msg)
        if self.memory_bytes < 0:
            msg = f"Limits.memory_bytes must be 0 (no limit) or positive, not {self.memory_bytes!r}"
            raise UsageError(msg)
        if not (self.wall > 0 and math.isfinite(self.wall)):
            msg = f"Limits.wall_seconds must be positive and finite, not {self.wall_seconds!r}"
            raise UsageError(msg)

    @property
    def wall(self) -> float:
        """The wall-clock backstop in seconds."""
        return self.cpu_seconds * WALL_FACTOR if self.wall_seconds is None else self.wall_seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as plain values, for the message to the zygote."""
        return asdict(self)
