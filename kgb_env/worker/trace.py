"""What the host code of a submission does in a call, as one digest: operators, tables, launches, the answer.

Host code cannot see what kernels wrote, so it must do the same things while kernels do nothing. Where it does not,
it found out, and then ghost replay says nothing about the call that counts.
"""

from __future__ import annotations

import hashlib
from typing import Any

import torch

__all__ = ["Trace"]

_LEAST_ADDRESS = 1 << 16


class Trace:
    """A digest of events. Tensors count by storage, in the order of their first appearance, and by their shape."""

    def __init__(self) -> None:
        """Start with no event."""
        self._digest = hashlib.blake2b(digest_size=16)
        self._numbers: dict[int, int] = {}
        self._spans: list[tuple[int, int, int]] = []
        self._kept: list[torch.Tensor] = []

    def note(self, name: str, *values: Any) -> None:
        """Take in one event. No code of the submission runs here: what is no plain value counts by its type."""
        with torch._C.DisableTorchFunction():
            text = f"{name}{[self._plain(value) for value in values]}\n"
        self._digest.update(text.encode("utf-8", "surrogatepass"))

    def launch(self, index: int, arguments: dict[str, Any], grid: tuple[int, int, int]) -> None:
        """Take in a launch."""
        self.note("launch", index, list(arguments), list(arguments.values()), grid)

    def release(self) -> None:
        """Let go of every tensor: memory is reused from call to call, as it is without a trace."""
        self._numbers.clear()
        self._spans.clear()
        self._kept.clear()

    @property
    def digest(self) -> str:
        """The digest so far, in hexadecimal."""
        return self._digest.hexdigest()

    def _plain(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, list | tuple):
            return [self._plain(item) for item in value]
        if isinstance(value, dict):
            return [[str(key), self._plain(item)] for key, item in value.items()]
        if type(value) is int and value >= _LEAST_ADDRESS:
            return self._number(value)
        if type(value) in (bool, int, float, complex, str, type(None), torch.dtype, torch.device):
            return repr(value)
        return type(value).__name__

    def _tensor(self, value: torch.Tensor) -> Any:
        storage = value.untyped_storage()
        number = self._numbers.setdefault(storage._cdata, len(self._numbers))
        if number == len(self._kept):
            self._kept.append(value)  # as long as it lives, nothing else has its identity
            self._spans.append((storage.data_ptr(), storage.nbytes(), number))
        return [number, str(value.dtype), list(value.shape), list(value.stride()), value.storage_offset()]

    def _number(self, value: int) -> Any:
        """Addresses differ from process to process: one within a known storage counts by its place there."""
        for start, size, number in self._spans:
            if start <= value < start + size:
                return ["at", number, value - start]
        return repr(value)
