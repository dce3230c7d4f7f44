"""What a launch is, in plain JSON values: enough to lower the kernel in another process."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from . import triton_internals as internals
from .registry import JitRegistry

__all__ = ["Launch", "bind", "decode", "describe", "encode", "normalize_grid", "parameters"]

_LONGEST_TEXT = 1000
_SCALARS = (bool, int, float, str)


class Launch(TypedDict):
    """One kernel launch.

    ``kernel`` and ``line`` are the qualified name and first line of the kernel, ``index`` its number
    in the submission (-1 if it is not the submission's), ``file`` the file name of its code and
    ``own`` whether that is the submission. ``signature`` maps each parameter to its Triton type
    (``*fp32``, ``i32``, ``constexpr``, a list for a tuple; an integer 1 is a constexpr, as the
    compiler specialises it). ``constexprs`` maps a path (``BLOCK``, ``pair.1``) to an encoded value,
    ``divisible`` names the pointers and integers that 16 divides. ``grid`` has three numbers,
    ``surroundings`` holds what the kernel's code reads besides, see :mod:`.surroundings`,
    ``options`` holds ``num_warps`` and the like, ``count`` says how often this launch was seen.
    """

    kernel: str
    index: int
    file: str
    line: int
    own: bool
    signature: dict[str, Any]
    constexprs: dict[str, dict[str, Any]]
    divisible: list[str]
    grid: list[int]
    options: dict[str, Any]
    count: int
    surroundings: NotRequired[dict[str, Any]]


def normalize_grid(grid: Any, arguments: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the three dimensions of a grid, evaluating it as a compiled launch would.

    Raises:
        TypeError: it is no sequence of numbers.
        ValueError: it has no or more than three dimensions.
    """
    value: Any = grid(arguments) if callable(grid) else grid
    sizes = [operator.index(x) for x in value]
    if not 1 <= len(sizes) <= 3:
        msg = f"grid must have 1 to 3 dimensions, got {len(sizes)}"
        raise ValueError(msg)
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def encode(value: Any, registry: JitRegistry) -> dict[str, Any]:
    """Encode a compile-time value as ``{"k": kind, "v": value}``; ``opaque`` if it cannot be."""
    tl: Any = internals.module("triton.language")
    if isinstance(value, tl.constexpr):
        value = value.value
    if value is None:
        return {"k": "none", "v": None}
    if type(value) is float:
        return {"k": "float", "v": value.hex()}
    if type(value) in (bool, int) or (type(value) is str and len(value) <= _LONGEST_TEXT):
        return {"k": type(value).__name__, "v": value}
    if type(value) is tuple:
        return {"k": "tuple", "v": [encode(x, registry) for x in value]}
    if isinstance(value, tl.dtype):
        dtype: Any = value
        return {"k": "opaque", "v": "pointer"} if dtype.is_ptr() else {"k": "dtype", "v": dtype.name}
    if (index := registry.index_of(value)) >= 0:
        return {"k": "jit", "v": index}
    module, name = getattr(value, "__module__", ""), getattr(value, "__name__", "")
    function = getattr(value, "fn", value)
    module = getattr(function, "__module__", module) or ""
    if module.startswith("triton.language") and name:
        return {"k": "jit", "v": f"{module}:{name}"}
    return {"k": "opaque", "v": type(value).__name__}


def decode(encoded: Mapping[str, Any], registry: JitRegistry) -> Any:
    """Return the value that :func:`encode` encoded, with functions of this process's ``registry``.

    Raises:
        ValueError: the value is opaque, malformed or names an unknown function.
    """
    kind, value = encoded.get("k"), encoded.get("v")
    tl = internals.module("triton.language")
    if kind == "none":
        return None
    if kind == "float" and isinstance(value, str):
        return float.fromhex(value)
    if (kind == "bool" and type(value) is bool) or (kind == "int" and type(value) is int):
        return value
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "tuple" and isinstance(value, list):
        return tuple(decode(x, registry) for x in value)
    if kind == "dtype" and isinstance(value, str):
        return tl.dtype(value)
    if kind == "jit" and type(value) is int and 0 <= value < len(registry.functions):
        return registry.functions[value]
    if kind == "jit" and isinstance(value, str) and value.startswith("triton.language"):
        where, _, name = value.partition(":")
        found = getattr(internals.module(where), name, None) if name.isidentifier() else None
        if found is not None:
            return found
    msg = f"a compile-time argument of type {value!r} cannot be checked" if kind == "opaque" else f"malformed {kind!r}"
    raise ValueError(msg)


def parameters(function: Any, cache: dict[Any, tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return Triton's description of the parameters of a jit function, from ``cache`` when it is there."""
    known = cache.get(function.fn)
    if known is None:
        kernel_param = internals.resolve("triton.runtime.jit:KernelParam")
        signature = inspect.signature(function.fn)
        hints = getattr(function, "kwargs", None) or vars(function)
        free, unaligned = (hints.get(x) or () for x in ("do_not_specialize", "do_not_specialize_on_alignment"))
        known = tuple(
            kernel_param(i, p, i in free or p.name in free, i in unaligned or p.name in unaligned)
            for i, p in enumerate(signature.parameters.values())
        )
        cache[function.fn] = known
    return known


def bind(params: tuple[Any, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the argument of each parameter that has one; the launch itself complains about the others."""
    bound = {}
    for i, param in enumerate(params):
        if i < len(args):
            bound[param.name] = args[i]
        elif param.name in kwargs:
            bound[param.name] = kwargs[param.name]
        elif param.has_default:
            bound[param.name] = param.default
    return bound


def describe(
    function: Any,
    params: tuple[Any, ...],
    bound: Mapping[str, Any],
    kwargs: Mapping[str, Any],
    grid: tuple[int, int, int],
    registry: JitRegistry,
) -> Launch:
    """Describe the launch of a jit function from its arguments alone, without a driver."""
    signature: dict[str, Any] = {}
    constexprs: dict[str, dict[str, Any]] = {}
    for param in params:
        if param.name not in bound:
            continue
        value = bound[param.name]
        kind = "constexpr" if param.is_constexpr else _type_of(value, param)
        signature[param.name] = kind
        _collect(param.name, kind, value, registry, constexprs)
    names = {param.name for param in params}
    code = function.fn.__code__
    own = registry.is_own(function)
    return Launch(
        kernel=function.fn.__qualname__,
        index=registry.index_of(function) if own else -1,
        file=code.co_filename,
        line=code.co_firstlineno,
        own=own,
        signature=signature,
        constexprs=constexprs,
        divisible=[p.name for p in params if p.name in bound and _is_divisible(bound[p.name], p)],
        grid=list(grid),
        options={k: v for k, v in kwargs.items() if k not in names and type(v) in _SCALARS and _is_json(v)},
        count=1,
    )


def _is_json(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _is_divisible(value: Any, param: Any) -> bool:
    if param.is_constexpr or param.do_not_specialize or param.do_not_specialize_on_alignment:
        return False
    if type(value) is int:
        return value % 16 == 0
    return hasattr(value, "data_ptr") and value.data_ptr() % 16 == 0


def _type_of(value: Any, param: Any) -> Any:
    # A named tuple keeps its methods in the interpreter, which no compiler has seen.
    if value is None or (isinstance(value, tuple) and type(value) is not tuple) or _is_pretender(value):
        return "constexpr"
    if param.annotation_type and type(value) in (bool, int, float):
        return param.annotation_type
    try:
        kind = internals.resolve("triton.runtime.jit:mangle_type")(value, not param.do_not_specialize)
    except TypeError:
        return "constexpr"
    return _as_list(kind)


def _is_pretender(value: Any) -> bool:
    """Whether something that is no tensor says where data lies: its methods run while arguments are converted."""
    return hasattr(value, "data_ptr") and type(value).__module__.partition(".")[0] not in ("torch", "triton")


def _as_list(kind: Any) -> Any:
    return [_as_list(x) for x in kind] if isinstance(kind, tuple | list) else kind


def _collect(path: str, kind: Any, value: Any, registry: JitRegistry, into: dict[str, dict[str, Any]]) -> None:
    if kind == "constexpr":
        into[path] = encode(value, registry)
    elif isinstance(kind, list):
        for i, (inner, item) in enumerate(zip(kind, value, strict=True)):
            _collect(f"{path}.{i}", inner, item, registry, into)
