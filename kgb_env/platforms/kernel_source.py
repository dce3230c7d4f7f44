"""Reading the source of a kernel, and refusing what no compiled kernel can do.

Lowering alone does not see a branch that the compiler folds away and the interpreter takes (a
compile-time argument is a number in one and a ``constexpr`` in the other). So every name and
attribute in the text is looked at, reachable or not.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
import types
from collections.abc import Iterator
from typing import Any

from . import triton_internals as internals

__all__ = ["FACADE_PREFIX", "KernelError", "check_source", "parse"]

FACADE_PREFIX = "kgb_facade."
"""What a fence puts before the name of a module when it hands out a reduced copy of it."""

_BUILTINS = frozenset((
    "len", "range", "float", "int", "bool", "getattr", "print", "min", "max", "abs",
))  # fmt: skip
_PRIVATE = frozenset({"handle", "fn", "builder", "semantic", "knobs", "runtime", "compiler", "numpy", "data_ptr"})
_STATEMENTS = {
    ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.ClassDef: "class", ast.Try: "try", ast.Delete: "del", ast.Await: "await", ast.Yield: "yield",
    ast.YieldFrom: "yield", ast.AsyncFunctionDef: "async def", ast.Raise: "raise",
}  # fmt: skip


class KernelError(Exception):
    """A kernel does not lower or compile. The author's fault, told in terms of the submission.

    Attributes:
        line: Line of the submission, from 1; 0 where none is known.
        message: What is wrong.
        stage: ``source``, ``arguments``, ``lowering``, ``compile`` or ``resources``.
    """

    def __init__(self, line: int, message: str, stage: str) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line
        self.message = message
        self.stage = stage


def parse(function: types.FunctionType) -> ast.FunctionDef:
    """Return the definition of ``function`` without decorators, with line numbers of its file.

    Raises:
        ValueError: its source cannot be found, or is no plain function.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        msg = f"the source of kernel {function.__qualname__} cannot be found: define it in the submission's text"
        raise ValueError(msg) from error
    tree = ast.parse(textwrap.dedent("".join(lines)))
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        msg = f"kernel {function.__qualname__} is not a plain function"
        raise ValueError(msg)
    node.decorator_list = []
    ast.increment_lineno(tree, first - 1)
    return node


def check_source(function: types.FunctionType, filename: str, seen: set[object] | None = None) -> None:
    """Refuse a kernel whose text, or that of a function it calls, names something that only Python could do.

    Args:
        function: The kernel, or a function that it calls, as its author wrote it.
        filename: File name of the submission's code.
        seen: Functions that need no other look; grows.

    Raises:
        KernelError: it names a module outside ``triton``, ``triton.language`` and ``math``, a plain
            Python function, a Python builtin that Triton lacks, or an underscore attribute.
    """
    seen = set() if seen is None else seen
    if function in seen:
        return
    seen.add(function)
    try:
        node = parse(function)
    except (ValueError, SyntaxError) as error:
        raise KernelError(function.__code__.co_firstlineno, str(error), "source") from error
    _Checker(function, filename, node, seen).check()


class _Checker:
    def __init__(self, function: types.FunctionType, filename: str, node: ast.FunctionDef, seen: set[object]) -> None:
        self.function = function
        self.filename = filename
        self.seen = seen
        self.node = node
        closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.known = function.__globals__ | dict(_contents(closure))
        arguments = {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        self.local = arguments | stored
        self.name = function.__qualname__

    def check(self) -> None:
        for value in (*(self.function.__defaults__ or ()), *(self.function.__kwdefaults__ or {}).values()):
            self.allow(self.node, "a default", value)
        for statement in self.node.body:
            self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        if (keyword := _STATEMENTS.get(type(node))) is not None:
            self.refuse(node, f"{keyword!r} cannot be used in a kernel")
        if isinstance(node, ast.Attribute):
            self.visit_attribute(node)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self.local:
            value = self.look_up(node)
            if isinstance(value, types.ModuleType):
                self.refuse(node, f"module {node.id!r} cannot be a value in a kernel")
            self.allow(node, node.id, value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            self.check_getattr(node)
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def visit_attribute(self, node: ast.Attribute) -> None:
        """Follow ``a.b.c`` through modules; every module on the way and the value at its end must be allowed."""
        self.check_attribute(node, node.attr)
        chain = [node.attr]
        root: ast.AST = node.value
        while isinstance(root, ast.Attribute):
            self.check_attribute(root, root.attr)
            chain.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.local:
            self.visit(root)
            return
        value = self.look_up(root)
        path = root.id
        while isinstance(value, types.ModuleType) and chain:
            self.allow(node, path, value)
            path += f".{chain[-1]}"
            value = getattr(value, chain.pop(), None)
        if isinstance(value, types.ModuleType):
            self.refuse(node, f"module {path!r} cannot be a value in a kernel")
        self.allow(node, path, value)

    def check_attribute(self, node: ast.AST, name: str) -> None:
        if name.startswith("_") or name in _PRIVATE:
            self.refuse(node, f"attribute {name!r} cannot be used in a kernel")

    def check_getattr(self, node: ast.Call) -> None:
        name = node.args[1] if len(node.args) > 1 else None
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            self.refuse(node, "getattr in a kernel needs a literal name")
        else:
            self.check_attribute(node, name.value)

    def look_up(self, node: ast.Name) -> Any:
        if node.id in self.known:
            return self.known[node.id]
        if node.id in _BUILTINS:
            return None
        if hasattr(builtins, node.id):
            self.refuse(node, f"Python's {node.id}() cannot be used in a kernel")
        self.refuse(node, f"name {node.id!r} is not defined")
        return None

    def allow(self, node: ast.AST, path: str, value: Any) -> None:
        """Refuse a global value through which a kernel could reach Python."""
        if isinstance(value, types.ModuleType):
            name = value.__name__.removeprefix(FACADE_PREFIX)
            if not (name in ("triton", "math") or f"{name}.".startswith("triton.language.")):
                self.refuse(node, f"{path!r} is the Python module {name}: a kernel can use only triton, tl and math")
        elif isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
            module = getattr(value, "__module__", None) or ""
            own = getattr(getattr(value, "__code__", None), "co_filename", "") == self.filename
            if own or not (module.startswith("triton.") or getattr(math, path.rpartition(".")[2], None) is value):
                self.refuse(node, f"{path!r} is a Python function: decorate it with @triton.jit to call it here")
        elif isinstance(inner := _function_of(value), types.FunctionType):
            # A jit function, or a compile-time one, which is never lowered and so must be read.
            if inner.__code__.co_filename == self.filename:
                check_source(inner, self.filename, self.seen)
        elif isinstance(value, type):
            public = internals.module("triton.language")
            known = value.__module__.startswith("triton.language") or getattr(builtins, value.__name__, None) is value
            if not known and not any(getattr(public, name, None) is value for name in public.__all__):
                self.refuse(node, f"{path!r} is a Python class: a kernel cannot use it")
        elif not _is_plain(value):
            kind = type(value).__name__
            self.refuse(node, f"{path!r} is a Python {kind}: a kernel can use only tl.constexpr globals")

    def refuse(self, node: ast.AST, message: str) -> None:
        line = getattr(node, "lineno", self.node.lineno)
        raise KernelError(line, f"kernel {self.name}: {message}", "source")


def _function_of(value: Any) -> Any:
    """Return the function in one of Triton's wrappers; objects of the author's own may have an ``fn`` too."""
    return getattr(value, "fn", None) if type(value).__module__.startswith("triton.") else None


def _is_plain(value: Any) -> bool:
    """Whether a value is data without methods of the author's: a number, a text, a Triton type, or a tuple of them."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    if type(value) in (bool, int, float, str, types.NoneType, types.EllipsisType):
        return True
    if not type(value).__module__.startswith("triton.language"):
        return isinstance(_function_of(value), types.FunctionType)
    return _is_plain(value.value) if hasattr(value, "value") and type(value).__name__ == "constexpr" else True


def _contents(closure: Any) -> Iterator[tuple[str, Any]]:
    for name, cell in closure:
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # the cell is still empty: the name is not defined yet
