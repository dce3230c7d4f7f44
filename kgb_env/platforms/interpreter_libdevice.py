"""libdevice for the interpreter: each symbol computed with NumPy or SciPy, and rounded once.

Triton's own table decides which types a function takes and which symbol that selects, so a call
that would not compile fails here with the same message. fp32 symbols are computed in fp64.
Names and meanings follow NVIDIA's "libdevice User's Guide".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from . import triton_internals as internals
from .libdevice_tables import FLOATING, INTEGER
from .libdevice_tables import directed as directed_symbol
from .unsupported import UnsupportedFeature

__all__ = ["compute", "install", "known"]


def known(symbol: str) -> bool:
    """Whether :func:`compute` knows the libdevice symbol."""
    return _find(symbol) is not None


def compute(symbol: str, arguments: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Return ``symbol`` applied elementwise to ``arguments``, as ``dtype``.

    Raises:
        UnsupportedFeature: the symbol has no counterpart.
    """
    function = _find(symbol)
    if function is None:
        feature = "external library call"
        raise UnsupportedFeature(feature, symbol)
    return function(arguments, dtype)


def _find(symbol: str) -> Callable[[list[np.ndarray], np.dtype], np.ndarray] | None:
    name = symbol.removeprefix("__nv_")
    if name in INTEGER:
        integer = INTEGER[name]
        return lambda arguments, dtype: np.asarray(integer(*arguments)).astype(dtype)
    if (directed := directed_symbol(name)) is not None:
        return directed
    for candidate in (name, name.removeprefix("fast_"), name.removeprefix("fast_").removesuffix("f")):
        if candidate in FLOATING:
            real = FLOATING[candidate]
            return lambda arguments, dtype: np.asarray(real(*map(_wide, arguments))).astype(dtype)
    if name.removesuffix("d") in FLOATING:
        return _find("__nv_" + name.removesuffix("d"))
    return None


def _wide(data: np.ndarray) -> np.ndarray:
    return data.astype(np.float64) if data.dtype == np.float32 else data


def install() -> None:
    """Make ``triton.language.extra.libdevice`` and its CUDA form work in the interpreter.

    Raises:
        InfrastructureError: Triton keeps libdevice elsewhere.
    """
    interpreter = internals.module("triton.runtime.interpreter")
    generic = internals.module("triton.language.extra.libdevice")
    cuda = internals.module("triton.language.extra.cuda.libdevice")
    is_builtin = internals.resolve("triton.language:core.is_builtin")
    semantic = interpreter.interpreter_semantic

    def create_extern_elementwise(
        _self: Any, _lib: str, _path: str, symbol: str, arguments: list[Any], result: Any, _pure: bool
    ) -> Any:
        from .interpreter_numerics import numpy_dtype

        data = compute(symbol, [x.data for x in arguments], numpy_dtype(result))
        return interpreter.TensorHandle(data, result.scalar)

    internals.replace(interpreter.InterpreterBuilder, "create_extern_elementwise", create_extern_elementwise)
    for name, function in list(vars(cuda).items()):
        if inspect.isfunction(function) and is_builtin(function):
            internals.replace(cuda, name, _bind(function, semantic, function))
            if hasattr(generic, name):
                internals.replace(generic, name, _bind(function, semantic, getattr(generic, name)))


def _bind(function: Callable[..., Any], semantic: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands for ``original`` and goes by its names: lowering compares them."""

    def call(*args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs, _semantic=semantic)

    call.__name__, call.__qualname__ = original.__name__, original.__qualname__
    call.__module__ = original.__module__
    return call
