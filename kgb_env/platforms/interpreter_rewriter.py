"""Turning the source of a kernel into a function that the interpreter can run.

The stock rewriter executes the kernel's source in the submission's own globals, after putting its
own names (``np``, ``inspect``, ``time`` …) there, and runs a kernel unrewritten when it finds no
source. Here the kernel keeps its globals, live and untouched; what the interpreter needs reaches it
through closure cells whose names no source text can spell.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

from . import triton_internals as internals
from .kernel_source import parse

__all__ = ["rewrite"]

_INJECTED = ("interpreter_semantic", "_InterpreterComparison")


class _Logic(ast.NodeTransformer):
    """Give ``and``, ``or``, ``not`` and lists the meaning that the compiler gives them: its lists are tuples."""

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Tuple(elts=node.elts, ctx=ast.Load()), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        call = ast.Call(func=ast.Name(id="<tuple>", ctx=ast.Load()), args=[node], keywords=[])
        return ast.copy_location(call, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        operands: list[ast.expr] = [ast.Lambda(args=nothing, body=value) for value in node.values]
        name = "<and>" if isinstance(node.op, ast.And) else "<or>"
        call = ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=operands, keywords=[])
        return ast.copy_location(call, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        call = ast.Call(func=ast.Name(id="<not>", ctx=ast.Load()), args=[node.operand], keywords=[])
        return ast.copy_location(call, node)


class _Rename(ast.NodeTransformer):
    """Rename what is reached through cells: injected names, and builtins that were imported by name."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node


def _logical(method: str, stop_at: bool) -> Callable[..., Any]:
    def evaluate(*operands: Callable[[], Any]) -> Any:
        tensor = internals.module("triton.language").core.tensor
        result: Any = None
        value: Any = None
        for operand in operands:
            value = operand()
            if not isinstance(value, tensor):
                if bool(value) is stop_at:
                    return value
            else:
                result = value if result is None else getattr(result, method)(value)
        return value if result is None else result

    return evaluate


def _not(value: Any) -> Any:
    tensor = internals.module("triton.language").core.tensor
    return value.__not__() if isinstance(value, tensor) else not value


def rewrite(function: types.FunctionType, builtin: Callable[[object], Any]) -> types.FunctionType:
    """Return ``function`` rewritten for the interpreter, sharing its globals and closure.

    Args:
        function: The kernel, as its author wrote it.
        builtin: Returns the interpreted counterpart of a builtin of ``triton.language`` that the
            kernel's globals hold by name, or ``None`` for any other object.

    Raises:
        ValueError: its source cannot be found, so that rewriting is impossible.
        NameError: it uses a name that only the interpreter may use.
    """
    node = parse(function)
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if stolen := used & set(_INJECTED):
        msg = f"name {min(stolen)!r} is not defined"
        raise NameError(msg)
    interpreter = internals.module("triton.runtime.interpreter")
    cells = {f"<{name}>": getattr(interpreter, name) for name in _INJECTED if hasattr(interpreter, name)}
    cells |= {
        "<and>": _logical("logical_and", False),
        "<or>": _logical("logical_or", True),
        "<not>": _not,
        "<tuple>": tuple,
    }
    renames = {name: f"<{name}>" for name in _INJECTED}
    for name in used & function.__globals__.keys():
        counterpart = builtin(function.__globals__[name])
        if counterpart is not None:
            renames[name] = f"<tl.{name}>"
            cells[f"<tl.{name}>"] = counterpart
    node = _Logic().visit(node)
    node = interpreter.FunctionRewriter.ast_transformer.visit(node)
    node = _Rename(renames).visit(node)
    code = _compile(node, function, tuple(cells))
    return _bind(function, code, {name: types.CellType(value) for name, value in cells.items()})


def _compile(node: ast.FunctionDef, function: types.FunctionType, cells: tuple[str, ...]) -> types.CodeType:
    """Compile the kernel inside a function whose parameters are its cells, and return the kernel's code."""
    free = (*cells, *function.__code__.co_freevars)
    node.args.defaults = [ast.Constant(value=None) for _ in node.args.defaults]
    node.args.kw_defaults = [d and ast.Constant(value=None) for d in node.args.kw_defaults]
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    node.returns = None
    tree = ast.parse("def maker(): ...")
    maker = tree.body[0]
    assert isinstance(maker, ast.FunctionDef)
    maker.args.args = [ast.arg(arg=name) for name in free]
    maker.body = [node]
    ast.fix_missing_locations(ast.copy_location(maker, node))
    code = compile(tree, function.__code__.co_filename, "exec", dont_inherit=True)
    return _only_code(_only_code(code))


def _only_code(code: types.CodeType) -> types.CodeType:
    return next(x for x in code.co_consts if isinstance(x, types.CodeType))


def _bind(function: types.FunctionType, code: types.CodeType, cells: dict[str, types.CellType]) -> types.FunctionType:
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple((cells | own)[name] for name in code.co_freevars)
    result = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    result.__annotations__ = dict(function.__annotations__)
    result.__qualname__ = function.__qualname__
    result.__module__ = function.__module__
    return result
