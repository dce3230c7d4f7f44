"""The judge's side of the arena: lay out a job, seal it, and read the answers once the worker is dead.

Every check here compares bytes that the judge kept for itself with bytes that it finds afterwards,
so it holds against native code in the worker.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from kgb_env.worker.wire import ALIGN, DTYPES, GUARD, HEADER, Region, TensorRef, dtype_name, round_up, span_elements

__all__ = ["Arena", "Layout", "bytes_of"]

_LEAD = 64
"""At most so many elements before a tensor's first one travel with it."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def bytes_of(storage: torch.UntypedStorage, start: int, count: int) -> np.ndarray:
    """Return ``count`` bytes of a storage from byte ``start`` as a uint8 array that shares its memory."""
    view = torch.empty(0, dtype=torch.uint8).set_(storage, start, (count,), (1,))  # type: ignore[call-overload]
    return view.numpy()


@dataclass(slots=True)
class Layout:
    """Places regions one behind the other, guard bands between them."""

    end: int = round_up(HEADER) + GUARD
    contents: list[tuple[Region, np.ndarray]] = field(default_factory=list)

    def reserve(self, nbytes: int) -> Region:
        """Take ``nbytes`` bytes; their contents stay the guard pattern."""
        region = Region(self.end, nbytes)
        self.end = round_up(region.end, ALIGN) + GUARD
        return region

    def place(self, value: torch.Tensor) -> TensorRef:
        """Give a CPU tensor its region: its span, with the gaps and a few elements in front of it."""
        value = value.detach().resolve_conj().resolve_neg()
        size = value.dtype.itemsize
        offset = int(value.storage_offset())
        lead = min(offset, _LEAD)
        count = (span_elements(value.shape, value.stride()) + lead) * size if value.numel() else 0
        region = self.reserve(count)
        if count:
            start = (offset - lead) * size
            self.contents.append((region, bytes_of(value.untyped_storage(), start, count)))
        return TensorRef(region, dtype_name(value.dtype), tuple(value.shape), tuple(value.stride()), lead)


class Arena:
    """A sealed memory file with a job in it, and the bytes that were put there."""

    def __init__(self, layout: Layout, header: dict[str, Any], guard: bytes) -> None:
        """Write everything; ``guard`` is the pattern of the guard bands and of untouched slots."""
        text = json.dumps(header).encode("utf-8", "surrogatepass")
        size = round_up(layout.end + len(text), mmap.PAGESIZE)
        self.original = np.resize(np.frombuffer(guard, dtype=np.uint8), size)
        for region, content in layout.contents:
            self.original[region.offset : region.end] = content
        place = layout.end.to_bytes(8, "little") + len(text).to_bytes(8, "little")
        self.original[:HEADER] = np.frombuffer(place, dtype=np.uint8)
        self.original[layout.end : layout.end + len(text)] = np.frombuffer(text, dtype=np.uint8)
        self.fd = os.memfd_create("kgb-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, size)
            self._memory = mmap.mmap(self.fd, size)
            np.frombuffer(self._memory, dtype=np.uint8)[:] = self.original
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, _SEALS)
        except BaseException:  # boundary: cleans up and raises it again
            os.close(self.fd)
            raise
        self._final: np.ndarray | None = None

    def freeze(self) -> None:
        """Copy the bytes out. Call it when the worker is dead: nothing changes them afterwards."""
        self._final = np.frombuffer(self._memory, dtype=np.uint8).copy()

    @property
    def final(self) -> np.ndarray:
        """The bytes that the worker left. Raises RuntimeError before :meth:`freeze`."""
        if self._final is None:
            msg = "the arena was not frozen: its worker may still write"
            raise RuntimeError(msg)
        return self._final

    def changed(self, region: Region) -> bool:
        """Whether any byte of the region differs from what was put there."""
        where = slice(region.offset, region.end)
        return not np.array_equal(self.final[where], self.original[where])

    def damaged_outside(self, writable: Iterable[Region]) -> int | None:
        """Return the first changed byte outside the writable regions, or ``None``."""
        start = 0
        for region in [*sorted(writable, key=lambda r: r.offset), Region(self.original.size, 0)]:
            gap = slice(start, region.offset)
            different = self.final[gap] != self.original[gap]
            if different.any():
                return start + int(different.argmax())
            start = max(start, region.end)
        return None

    def tensor(
        self, region: Region, dtype: str, shape: tuple[int, ...], stride: tuple[int, ...], *, original: bool = False
    ) -> torch.Tensor:
        """Return a copy of the elements in a region, with the given shape and strides.

        Raises:
            ValueError: shape and strides reach outside the region, or the dtype is unknown.
        """
        if dtype not in DTYPES or len(shape) != len(stride) or min((*shape, *stride, 0)) < 0:
            msg = f"no tensor: dtype {dtype}, shape {shape}, strides {stride}"
            raise ValueError(msg)
        kind = DTYPES[dtype]
        count = span_elements(shape, stride)
        if count * kind.itemsize > region.nbytes:
            msg = f"{count * kind.itemsize} bytes do not fit into {region.nbytes}"
            raise ValueError(msg)
        if not count:
            return torch.empty_strided(shape, stride, dtype=kind)
        source = self.original if original else self.final
        raw = torch.from_numpy(source[region.offset : region.offset + count * kind.itemsize].copy())
        return raw.view(kind).as_strided(shape, stride)

    def close(self) -> None:
        """Give the memory back. Copies made before stay valid."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self._memory.close()
