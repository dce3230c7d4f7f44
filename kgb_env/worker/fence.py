"""Loads a submission into a namespace of its own: own builtins, own import, facades for modules.

What it hands out cannot be told from the source text alone, which is why it exists beside the static scan: names
that are put together at run time, objects that come back from calls. It is no proof against native code.
"""

from __future__ import annotations

import ast
import builtins
import io
import linecache
from types import FunctionType, ModuleType
from typing import Any

import torch

from kgb_env.operators.helpers import Helpers
from kgb_env.worker import names
from kgb_env.worker.facade import PREFIX, Facades
from kgb_env.worker.names import MODULE_NAME
from kgb_env.worker.offences import FenceViolation, Offences

__all__ = ["FenceViolation", "load", "violations"]

_STORE_GUARD = "__kgb_store__"
_REMEDY = "this name is not available to submissions"
_UNKNOWN = Offences("", FenceViolation)
_current: list[Offences] = [_UNKNOWN]


def violations() -> list[dict[str, Any]]:
    """Return what was refused to the submission that was loaded last: a live list, to be emptied by the caller."""
    return _current[-1].found


def load(source: str, filename: str, helpers: Helpers) -> dict[str, Any]:
    """Execute a submission and return its namespace.

    Args:
        source: the text; the static scan has passed it.
        filename: a made-up name. It is registered in ``linecache``, so that Triton and tracebacks find the text.
        helpers: what of torch the submission may use.

    Raises:
        FenceViolation: a name was read that no submission may have; also recorded in :func:`violations`.
        SyntaxError: the source is not Python.
        BaseException: whatever the submission raises.
    """
    offences = Offences(filename, FenceViolation)
    _current[:] = [offences]
    lines = io.StringIO(source, newline=None).readlines()  # only what Python takes for the end of a line
    linecache.cache[filename] = (len(source), None, lines, filename)
    tree = names.without_demo(ast.parse(source, filename))
    _refuse_names(tree, offences)
    tree = ast.fix_missing_locations(_GuardStores().visit(tree))
    code = compile(tree, filename, "exec", dont_inherit=True)
    facades = Facades(helpers, offences)
    namespace: dict[str, Any] = {"__name__": MODULE_NAME, "__doc__": None, "__builtins__": _builtins(facades, offences)}
    exec(code, namespace)  # noqa: S102 - running the submission is the purpose
    return namespace


def _refuse_names(tree: ast.AST, offences: Offences) -> None:
    """Refuse every attribute and special name that the scan refuses, so that the fence does not depend on it.

    Leading single underscores are left to the scan: facades hold none.
    """
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Attribute):
            of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            if names.is_open_format(node):
                offences.refuse("open-format", f"`.{node.attr}`", _REMEDY, line=node.lineno)
            found = [] if node.attr == "__class__" and of_self else [node.attr]
        elif isinstance(node, ast.MatchClass):
            found = list(node.kwd_attrs)
        elif isinstance(node, ast.ImportFrom):
            found = [alias.name for alias in node.names]
        for name in names.identifiers(node):
            if names.is_dunder(name) and name not in names.DUNDER_NAMES:
                hack = name in names.FRAME_NAMES or name.startswith("__torch_")
                offences.refuse("dunder-name", f"`{name}`", _REMEDY, hack=hack, line=getattr(node, "lineno", 0))
        for name in found:
            rule = names.forbidden_attribute(name, own=True, from_super=True)
            if rule:
                line = getattr(node, "lineno", 0)
                offences.refuse(rule, f"`{name}`", _REMEDY, hack=rule == "frame-access", line=line)


class _GuardStores(ast.NodeTransformer):
    """Turns ``a.b = c`` into ``guard(a).b = c``. Kernels keep their text: Triton reads it from ``linecache``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store | ast.Del):
            guard = ast.copy_location(ast.Name(_STORE_GUARD, ast.Load()), node)
            node.value = ast.copy_location(ast.Call(guard, [node.value], []), node.value)
        return node


def _builtins(facades: Facades, offences: Offences) -> dict[str, Any]:
    """Return the builtins of a submission."""

    def refuse(rule: str, what: str) -> Any:
        return offences.refuse(
            rule, what, "submissions cannot reach this; write a Triton kernel", hack=rule == "frame-access"
        )

    def check(target: Any, name: Any) -> str:
        if type(name) is not str:
            refuse("dynamic-attribute", "an attribute name that is no plain string")
        if name in ("format", "format_map") and isinstance(target, str | type):
            refuse("open-format", f"attribute {name!r}")
        rule = names.forbidden_attribute(name, own=_is_own(target))
        if rule:
            refuse(rule, f"attribute {name!r}")
        if isinstance(target, ModuleType) and target.__name__.startswith("triton."):
            value = getattr(target, name, None)
            if isinstance(value, ModuleType) and not _is_facade(value) and value.__name__ not in names.MODULES:
                refuse("forbidden-attribute", f"{target.__name__}.{name}")
        return name

    def guarded_getattr(target: Any, name: str, *default: Any) -> Any:
        check(target, name)
        if default and _is_facade(target) and name not in vars(target):
            return default[0]
        return getattr(target, name, *default)

    def guarded_hasattr(target: Any, name: str) -> bool:
        if type(name) is str and names.forbidden_attribute(name, own=_is_own(target)):
            return False
        return name in vars(target) if _is_facade(target) else hasattr(target, name)

    def store(target: Any) -> Any:
        if not _may_change(target):
            offences.refuse(
                "foreign-assignment",
                f"an attribute of {_describe(target)}",
                "attributes of foreign objects stay as they are; keep state in objects of your own",
                hack=isinstance(target, type | ModuleType | FunctionType),
            )
        return target

    def guarded_setattr(target: Any, name: str, value: Any) -> None:
        setattr(store(target), check(target, name), value)

    def guarded_delattr(target: Any, name: str) -> None:
        delattr(store(target), check(target, name))

    def class_of(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1:
            return _make_class(refuse, *args, **kwargs)
        kind = type(args[0])
        if issubclass(kind, torch.Tensor):
            return facades.tensor
        if issubclass(kind, type):
            return guarded_type
        if kind.__module__ in (MODULE_NAME, "builtins") or not _is_mutable_class(kind):
            return kind
        return refuse("foreign-class", f"the class of {_describe(args[0])}")

    guarded_type = _type_class(class_of)

    def guarded_import(name: str, *args: Any) -> Any:
        return _import(facades, refuse, name, *args)

    held = {name: getattr(builtins, name) for name in names.BUILTINS if hasattr(builtins, name)}
    guards = {
        "getattr": guarded_getattr,
        "hasattr": guarded_hasattr,
        "setattr": guarded_setattr,
        "delattr": guarded_delattr,
        "type": guarded_type,
        "__import__": guarded_import,
        _STORE_GUARD: store,
    }
    return held | guards


def _import(facades: Facades, refuse: Any, name: str, *args: Any) -> Any:
    wanted = args[2] if len(args) > 2 and args[2] else ()
    level = args[3] if len(args) > 3 else 0
    if level or name not in names.MODULES:
        refuse("forbidden-import", f"import {name}" if not level else "a relative import")
    module = facades.get(name)
    if not wanted:
        return facades.get(name.partition(".")[0])
    for item in wanted:
        if item == "*":
            refuse("star-import", f"from {name} import *")
        below = f"{name}.{item}"
        value = getattr(module, item, None) if not _is_facade(module) else vars(module).get(item)
        if below in names.MODULES and value is None:
            facades.get(below)
        elif isinstance(value, ModuleType) and not _is_facade(value) and value.__name__ not in names.MODULES:
            refuse("forbidden-import", f"from {name} import {item}")
        elif item.startswith("_") and name != "__future__":
            refuse("underscore-attribute", f"from {name} import {item}")
    return module


def _type_class(class_of: Any) -> Any:
    """Return what stands for ``type``: callable in both forms, good for ``isinstance``, no metaclass."""

    class TypeType(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return class_of(*args, **kwargs)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, type)

    return TypeType("type", (), {"__module__": "builtins", "__class_getitem__": classmethod(lambda cls, _: cls)})


def _make_class(refuse: Any, name: str, bases: tuple[type, ...], held: dict[str, Any], **kwargs: Any) -> Any:
    bad = [
        n for n in held if type(n) is not str or (names.is_dunder(n) and n not in names.OWN_DUNDERS | {"__module__"})
    ]
    if bad:
        refuse("dunder-attribute", f"a class with {bad[0]!r}")
    return type(name, bases, {**held, "__module__": MODULE_NAME}, **kwargs)  # what is foreign is told by this name


def _is_facade(target: Any) -> bool:
    return type(target) is ModuleType and target.__name__.startswith(PREFIX)


def _is_mutable_class(kind: type) -> bool:
    return bool(kind.__flags__ & (1 << 9)) and not kind.__flags__ & (1 << 8)  # a heap type that is not immutable


def _is_own(target: Any) -> bool:
    kind = target if isinstance(target, type) else type(target)
    return kind.__module__ == MODULE_NAME


def _may_change(target: Any) -> bool:
    """Own instances, classes and functions, and exceptions."""
    if isinstance(target, FunctionType):
        return target.__module__ == MODULE_NAME
    return _is_own(target) or isinstance(target, BaseException)


def _describe(target: Any) -> str:
    name = getattr(target, "__name__", None)
    return str(name).removeprefix(PREFIX) if isinstance(name, str) else f"a {type(target).__name__}"
