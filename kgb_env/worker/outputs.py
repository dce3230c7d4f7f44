"""Describes what a call returned, and copies its bytes into the arena. Uses no ATen operator on them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from kgb_env.worker.wire import Region, TensorRef, dtype_name, span_elements

__all__ = ["Outputs"]


class Outputs:
    """Writes the results of one call into its slots."""

    def __init__(self, base: int, slots: Sequence[Region], arguments: Sequence[tuple[TensorRef, torch.Tensor]]) -> None:
        """Know the arena's address, the regions for results, and the arguments a result may alias."""
        self._base = base
        self._slots = list(slots)
        self._arguments = arguments

    def write(self, result: Any) -> dict[str, Any]:
        """Return the description of a result, as JSON values."""
        if result is None:
            return {"t": "none"}
        if isinstance(result, tuple | list) and not isinstance(result, torch.Size):
            return {"t": "tuple", "v": [self.write(item) for item in result[:8]], "n": len(result)}
        if isinstance(result, torch.Tensor):
            return self._tensor(result)
        if isinstance(result, bool | int):
            return {"t": "scalar", "py": type(result).__name__, "v": str(int(result))}
        if isinstance(result, float):
            return {"t": "scalar", "py": "float", "v": result.hex()}
        if isinstance(result, complex):
            return {"t": "scalar", "py": "complex", "v": [result.real.hex(), result.imag.hex()]}
        return {"t": "bad", "why": f"a {type(result).__name__}, not a tensor"}

    def _tensor(self, value: torch.Tensor) -> dict[str, Any]:
        problem = _unacceptable(value)
        if problem:
            return {"t": "bad", "why": problem}
        size = value.dtype.itemsize
        nbytes = span_elements(value.shape, value.stride()) * size
        facts: dict[str, Any] = {
            "t": "tensor",
            "dtype": dtype_name(value.dtype),
            "shape": list(value.shape),
            "stride": list(value.stride()),
        }
        storage = value.untyped_storage()
        for index, (ref, _) in enumerate(self._arguments):
            start = self._base + ref.region.offset
            if ref.region.nbytes and start <= storage.data_ptr() < start + ref.region.nbytes:
                return {**facts, "alias": index, "byte": value.data_ptr() - start}
        if not self._slots:
            return {"t": "bad", "why": "one result too many"}
        slot = self._slots.pop(0)
        place = {"slot": [slot.offset, slot.nbytes]}
        if nbytes > slot.nbytes:
            return {**facts, **place, "too_large": nbytes}
        if nbytes:
            ctypes.memmove(self._base + slot.offset, value.data_ptr(), nbytes)
        return {**facts, **place}


def _unacceptable(value: torch.Tensor) -> str:
    if type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter:
        return f"a {type(value).__name__}, not exactly a torch.Tensor"
    if value.layout != torch.strided or value.device.type == "meta":
        return f"a tensor of layout {value.layout} on {value.device}"
    if value.is_conj() or value.is_neg():
        return "a tensor with a lazy conj or neg bit: materialise it"
    return ""
