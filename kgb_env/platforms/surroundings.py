"""What a kernel finds around itself: the globals, cells and defaults that its code reads, as JSON values.

A kernel is executed in one process and lowered in another. Its text is the same in both; a global that was bound
anew between loading and launching, or at loading according to the process, is not, and then something else was
checked than what ran. So a launch carries its surroundings, and lowering compares them with its own.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any

from .launch_description import encode
from .registry import JitRegistry

__all__ = ["surroundings"]


def surroundings(
    functions: list[Any], registry: JitRegistry, cache: dict[types.CodeType, frozenset[str]]
) -> dict[str, Any]:
    """Return what the submission's own functions among ``functions``, and those that they reach, read.

    Args:
        functions: a kernel, and what is passed to it at compile time; other values are passed over.
        registry: the kernels of the submission in this process.
        cache: names that a code object reads; grows.

    Returns:
        ``"qualified name:line:name"`` -> encoded value. Equal in two processes that are to run the same kernel.
    """
    found: dict[str, Any] = {}
    waiting, seen = list(functions), set()
    while waiting:
        value = waiting.pop()
        value = value.value if type(value).__name__ == "constexpr" else value
        if isinstance(value, tuple | list):
            waiting += value
            continue
        function = getattr(value, "fn", value)
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        code = function.__code__
        if code.co_filename != registry.filename:
            continue
        where = f"{code.co_name}:{code.co_firstlineno}"
        for name, read in _reads(function, cache):
            found[f"{where}:{name}"] = _describe(read, registry)
            waiting.append(read)
    return found


def _reads(function: types.FunctionType, cache: dict[types.CodeType, frozenset[str]]) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    if code not in cache:
        cache[code] = frozenset(_loaded(code))
    names = cache[code]
    yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # the cell is still empty
    yield from ((f"={i}", value) for i, value in enumerate(function.__defaults__ or ()))
    yield from ((f"={name}", value) for name, value in (function.__kwdefaults__ or {}).items())


def _loaded(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _loaded(constant)


def _describe(value: Any, registry: JitRegistry) -> Any:
    if isinstance(value, types.ModuleType):
        return {"k": "module", "v": value.__name__}
    if type(value) is tuple:
        return [_describe(item, registry) for item in value]
    function = getattr(value, "fn", value)
    if isinstance(function, types.FunctionType | types.BuiltinFunctionType | type):
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType) and code.co_filename == registry.filename:
            return {"k": "own", "v": [code.co_name, code.co_firstlineno, registry.index_of(value)]}
        return {"k": "name", "v": f"{function.__module__}:{function.__qualname__}"}
    return encode(value, registry)
