"""Which names of a source stand for modules, by scope.

``import torch as t``, ``from torch import add``, ``f = torch.sum`` make aliases; parameters and other assignments
hide them. A name bound both ways in one scope counts as the alias.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["Scope", "bind"]

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Scope:
    """Names bound in one module, class or function; a value of ``None`` means: not a module's."""

    def __init__(self, outer: Scope | None = None, is_class: bool = False) -> None:
        """Open a scope inside another."""
        self.outer = outer
        self.is_class = is_class
        self.names: dict[str, str | None] = {}

    def lookup(self, name: str) -> tuple[bool, str | None]:
        """Return whether the name is bound in the source, and the dotted path that it stands for."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if name in scope.names and (first or not scope.is_class):
                return True, scope.names[name]
            scope, first = scope.outer, False
        return False, None

    def path(self, node: ast.AST) -> str | None:
        """Return the dotted path that an expression stands for: ``torch.sum`` for ``t.sum``, or ``None``."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.NamedExpr):
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        root = self.lookup(node.id)[1]
        return ".".join([root, *reversed(parts)]) if root else None


def bind(scope: Scope, nodes: list[ast.AST]) -> None:
    """Enter into ``scope`` what the statements of its body bind, nested scopes excluded."""
    aliases: list[tuple[str, ast.expr]] = []
    for node in nodes:
        for inner in _same_scope(node):
            _bind_one(scope, inner, aliases)
    for _ in range(3):  # aliases of aliases, in any order
        for name, value in aliases:
            path = scope.path(value)
            if path:
                scope.names[name] = path


def _bind_one(scope: Scope, node: ast.AST, aliases: list[tuple[str, ast.expr]]) -> None:
    names = scope.names
    if isinstance(node, ast.Import):
        for alias in node.names:
            names[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            names[alias.asname or alias.name] = (
                f"{node.module}.{alias.name}" if node.module and not node.level else None
            )
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        names.setdefault(node.name, None)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        names.setdefault(node.id, None)
    elif isinstance(node, ast.arg):
        names.setdefault(node.arg, None)
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        names.setdefault(node.name, None)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        names.setdefault(node.rest, None)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            aliases += _pairs(target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return ``name = value`` pairs; element by element for ``a, b = c, d``."""
    if isinstance(target, ast.Name):
        return [(target.id, value)] if isinstance(value, ast.Name | ast.Attribute) else []
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        return [pair for t, v in zip(target.elts, value.elts, strict=False) for pair in _pairs(t, v)]
    return []


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a node without entering the bodies of nested functions and classes."""
    yield node
    if isinstance(node, _SCOPES):
        return
    for child in ast.iter_child_nodes(node):
        yield from _same_scope(child)
