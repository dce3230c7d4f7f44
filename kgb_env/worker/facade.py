"""Modules as a submission sees them: fresh module objects that hold what is allowed, and nothing else.

``triton.language`` and what lies below it are handed out as they are: Triton finds them by identity. There the
name tables of :mod:`kgb_env.worker.names` have to do.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import torch
import triton
import triton.language

from kgb_env.errors import did_you_mean
from kgb_env.operators.helpers import Helpers
from kgb_env.worker import names, safe_stdlib
from kgb_env.worker.offences import Offences

__all__ = ["PREFIX", "Facades"]

PREFIX = "kgb_facade."
"""Names of facades begin so. Were one called ``torch``, ``from torch import ops`` would be answered out of
``sys.modules`` past it."""

_SAFE: dict[str, Any] = {
    "contextlib.contextmanager": safe_stdlib.contextmanager,
    "functools.wraps": safe_stdlib.wraps,
    **{
        f"dataclasses.{n}": getattr(safe_stdlib, n)
        for n in ["asdict", "astuple", "dataclass", "field", "fields", "replace"]
    },
}


# Triton's module of mathematical functions holds the real ``wraps``, which it needs only while it is imported.
triton.language.math.wraps = safe_stdlib.wraps


class Facades:
    """All modules that one submission may import, by name; each is made at its first import."""

    def __init__(self, helpers: Helpers, offences: Offences) -> None:
        """Keep the list of helpers, and where to record what is refused."""
        self._helpers = helpers
        self._offences = offences
        self._made: dict[str, ModuleType] = {}
        self.tensor = _tensor_class(offences)
        """Stands for ``torch.Tensor`` in annotations and ``isinstance``."""

    def get(self, name: str) -> ModuleType:
        """Return the module of that name, which must be one of ``names.MODULES``."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> ModuleType:
        root, _, below = name.partition(".")
        if root == "torch":
            return self._tree("torch", self._torch_names(), below)
        if root == "triton" and not name.startswith("triton.language"):
            return self._tree("triton", self._triton_names(), below)
        module = importlib.import_module(name)
        return module if root == "triton" else self._module(name, names.STDLIB[name], module)

    def _module(self, name: str, public: Iterable[str], real: ModuleType) -> ModuleType:
        held = {n: getattr(real, n) for n in public if hasattr(real, n)}
        held |= {n: _SAFE[f"{name}.{n}"] for n in held if f"{name}.{n}" in _SAFE}
        if name == "collections":
            held["abc"] = self.get("collections.abc")
        return _module(name, held, self._refuser(name, real, held))

    def _tree(self, root: str, found: Mapping[str, Any], below: str) -> ModuleType:
        made: dict[str, ModuleType] = {}
        real = {"torch": torch, "triton": triton}[root]

        def build(path: str) -> ModuleType:
            prefix = f"{path}." if path else ""
            held: dict[str, Any] = {}
            for name, value in found.items():
                if not name.startswith(prefix):
                    continue
                first, _, rest = name.removeprefix(prefix).partition(".")
                if not rest:
                    held[first] = value
                elif first not in held:
                    held[first] = build(prefix + first)
            full = f"{root}.{path}" if path else root
            behind = None if path.startswith("runtime.driver") else _resolve(real, path)  # asking may raise
            made[path] = _module(full, held, self._refuser(full, behind, held))
            return made[path]

        build("")
        self._made |= {f"{root}.{path}" if path else root: module for path, module in made.items()}
        return made[below]

    def _torch_names(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self._helpers.torch:
            value = _resolve(torch, name)
            if value is not None:
                found[name] = value
        return found | {
            "Tensor": self.tensor,
            "no_grad": _harmless("no_grad"),
            "inference_mode": _harmless("inference_mode"),
            "cuda.device": _device,
            "cuda.synchronize": _synchronize,
        }

    def _triton_names(self) -> dict[str, Any]:
        importlib.import_module("triton.tools.tensor_descriptor")
        found = {name: _resolve(triton, name) for name in names.TRITON if not name.startswith("runtime.driver.")}
        found |= {n: functools.partial(_ask_driver, n) for n in names.TRITON if n.startswith("runtime.driver.")}
        return {name: value for name, value in found.items() if value is not None}

    def _refuser(self, name: str, real: Any, held: Mapping[str, Any]) -> Callable[[str], Any]:
        def refuse(attribute: str) -> Any:
            if names.is_dunder(attribute) or not hasattr(real, attribute):
                msg = f"module {name!r} has no attribute {attribute!r}{did_you_mean(attribute, held)}"
                raise AttributeError(msg)
            full = f"{name}.{attribute}"
            remedy = "this name is not available to submissions"
            if name.startswith("torch"):
                remedy = self._helpers.why_not(full.removeprefix("torch."))
            return self._offences.refuse("forbidden-attribute", full, remedy)

        return refuse


def _module(name: str, held: Mapping[str, Any], refuse: Callable[[str], Any]) -> ModuleType:
    module = ModuleType(PREFIX + name, f"What a submission may use of {name}.")
    vars(module).update(held)
    vars(module).update(__getattr__=refuse, __all__=sorted(held), __dir__=lambda: sorted(held))
    return module


def _resolve(root: Any, path: str) -> Any:
    try:
        return functools.reduce(getattr, path.split("."), root) if path else root
    except AttributeError:  # this version or build does not have it
        return None


def _ask_driver(path: str, *args: Any) -> Any:
    from triton.runtime import driver

    return _resolve(driver, path.removeprefix("runtime.driver."))(*args)


def _tensor_class(offences: Offences) -> Any:
    def refuse(what: str) -> Any:
        return offences.refuse(
            "forbidden-attribute",
            what,
            "`torch.Tensor` is for annotations and isinstance; make tensors with `torch.empty`",
        )

    class TensorType(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, torch.Tensor)

        def __call__(cls, *_: Any, **__: Any) -> Any:
            return refuse("torch.Tensor()")

        def __getattr__(cls, name: str) -> Any:
            if names.is_dunder(name):
                raise AttributeError(name)
            return refuse(f"torch.Tensor.{name}")

    return TensorType("Tensor", (), {"__module__": "torch", "__doc__": "Stands for torch.Tensor."})


def _harmless(name: str) -> type:
    """Return a context manager and decorator that does nothing: submissions never run under autograd."""

    def __init__(self: Any, mode: Any = True) -> None:
        self.function = mode if callable(mode) else None

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs) if self.function else args[0]

    held = {
        "__init__": __init__,
        "__call__": __call__,
        "__enter__": lambda self: None,
        "__exit__": lambda self, *_: None,
    }
    return type(name, (), held)


def _synchronize(device: Any = None) -> None:
    """Like ``torch.cuda.synchronize``; without CUDA there is nothing to wait for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize(device)


def _device(device: Any) -> Any:
    """Like ``torch.cuda.device``; does nothing for a device that is no CUDA device."""
    index = device if isinstance(device, int) else torch.device(device)
    if isinstance(index, torch.device) and index.type != "cuda":
        return contextlib.nullcontext()
    return torch.cuda.device(index)
