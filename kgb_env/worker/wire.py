"""The arena: one sealed memory file that carries a job to a worker and its answers back.

Layout: 16 bytes (offset and length of the header, little-endian), regions, then the header as
JSON. A region is 64-byte aligned and stands between guard bands. The worker maps the file; each argument gets a
storage of its own over exactly its region, so no argument shows another through its storage.
Nothing here is pickled, and the judge never builds anything but plain values from what comes back.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

__all__ = [
    "ALIGN",
    "DTYPES",
    "GUARD",
    "HEADER",
    "Opened",
    "Region",
    "TensorRef",
    "decode",
    "dtype_name",
    "encode",
    "read_header",
    "round_up",
    "span_elements",
]

ALIGN = 64
"""Alignment of every region, in bytes."""
GUARD = 4096
"""Guard bytes between regions: an unmasked store of a whole block lands in them."""
HEADER = 16
"""Bytes in front: offset and length of the JSON header, 8 each."""

_NAMES = (
    *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"),
    *("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
)
DTYPES: Mapping[str, torch.dtype] = {name: getattr(torch, name) for name in _NAMES}
"""Every dtype that travels, by name."""
_BY_DTYPE = {dtype: name for name, dtype in DTYPES.items()}
_FORMATS = {
    str(value).removeprefix("torch."): value
    for value in (
        torch.contiguous_format,
        torch.preserve_format,
        torch.channels_last,
        torch.channels_last_3d,
        torch.strided,
    )
}


def dtype_name(dtype: torch.dtype) -> str:
    """Return the wire name of a dtype (its ``str`` where it does not travel)."""
    return _BY_DTYPE.get(dtype, str(dtype).removeprefix("torch."))


def round_up(value: int, step: int = ALIGN) -> int:
    """Return the least multiple of ``step`` that is not below ``value``."""
    return -(-value // step) * step


def span_elements(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from the first to the last one touched; 0 for an empty tensor.

    >>> span_elements((2, 3), (8, 2))
    13
    """
    if any(n == 0 for n in shape):
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))


@dataclass(frozen=True, slots=True)
class Region:
    """``nbytes`` bytes of the arena, from ``offset``."""

    offset: int
    nbytes: int

    @property
    def end(self) -> int:
        """First byte behind the region."""
        return self.offset + self.nbytes


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor on its own region: ``lead`` elements before the first one, then its span."""

    region: Region
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    lead: int = 0

    @property
    def span(self) -> Region:
        """The bytes between the smallest and the largest element."""
        size = DTYPES[self.dtype].itemsize
        return Region(self.region.offset + self.lead * size, span_elements(self.shape, self.stride) * size)

    def to_wire(self) -> dict[str, Any]:
        """Return JSON values."""
        place = [self.region.offset, self.region.nbytes, self.lead]
        return {"t": "tensor", "at": place, "dtype": self.dtype, "shape": self.shape, "stride": self.stride}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> TensorRef:
        """Rebuild from JSON values."""
        offset, nbytes, lead = data["at"]
        return cls(Region(offset, nbytes), data["dtype"], tuple(data["shape"]), tuple(data["stride"]), lead)

    def open(self, memory: mmap.mmap) -> torch.Tensor:
        """Return the tensor over the mapped arena, on a storage of its own."""
        dtype = DTYPES[self.dtype]
        if self.region.nbytes == 0:
            return torch.empty_strided(self.shape, self.stride, dtype=dtype)
        raw = torch.frombuffer(memory, dtype=torch.uint8, offset=self.region.offset, count=self.region.nbytes)
        empty = torch.empty(0, dtype=dtype)
        return empty.set_(raw.untyped_storage(), self.lead, self.shape, self.stride)  # type: ignore[call-overload]


@dataclass(slots=True)
class Opened:
    """What :func:`decode` met on its way, in order."""

    tensors: list[tuple[TensorRef, torch.Tensor]] = field(default_factory=list)


def encode(value: Any, tensor: Any) -> Any:
    """Turn an argument into JSON values; ``tensor(x)`` places a tensor and returns its reference.

    Raises:
        TypeError: a value of a kind that no operator takes.
    """
    if isinstance(value, torch.Tensor):
        return tensor(value).to_wire()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"t": "int", "v": str(value)}
    if isinstance(value, float):
        return {"t": "float", "v": value.hex()}
    if isinstance(value, complex):
        return {"t": "complex", "v": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, list | tuple):
        return {"t": "list" if isinstance(value, list) else "tuple", "v": [encode(v, tensor) for v in value]}
    if isinstance(value, torch.dtype):
        return {"t": "dtype", "v": dtype_name(value)}
    if isinstance(value, torch.memory_format | torch.layout):
        return {"t": "format", "v": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"t": "device", "v": str(value)}
    if hasattr(value, "seed"):
        return {"t": "generator", "v": value.seed}
    msg = f"no argument can be a {type(value).__name__}"
    raise TypeError(msg)


def decode(value: Any, memory: mmap.mmap, opened: Opened, generator: Any) -> Any:
    """Inverse of :func:`encode` in the worker; ``generator(seed)`` supplies random generators."""
    if not isinstance(value, dict):
        return value
    kind: str = value["t"]
    inner: Any = value.get("v")
    if kind == "tensor":
        ref = TensorRef.from_wire(value)
        opened.tensors.append((ref, ref.open(memory)))
        return opened.tensors[-1][1]
    if kind in ("list", "tuple"):
        items = [decode(v, memory, opened, generator) for v in inner]
        return items if kind == "list" else tuple(items)
    if kind == "int":
        return int(inner)
    if kind == "float":
        return float.fromhex(inner)
    if kind == "complex":
        return complex(float.fromhex(inner[0]), float.fromhex(inner[1]))
    if kind == "dtype":
        return DTYPES[inner]
    if kind == "format":
        return _FORMATS[inner]
    if kind == "device":
        return torch.device(inner)
    if kind == "generator":
        return generator(inner)
    msg = f"unknown wire kind {kind!r}"
    raise ValueError(msg)


def read_header(memory: mmap.mmap) -> dict[str, Any]:
    """Read the JSON header of a mapped arena."""
    offset, length = (int.from_bytes(memory[i : i + 8], "little") for i in (0, 8))
    return json.loads(memory[offset : offset + length])
