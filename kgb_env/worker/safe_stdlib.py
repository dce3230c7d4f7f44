"""Stand-ins for functions of the standard library that would lead out of a restricted namespace.

``dataclasses`` builds its methods by ``exec`` of text that it makes of field names, and a field name can be any
string. ``wraps`` and ``contextmanager`` copy the ``__dict__`` of whatever they are given, modules included.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ClassVar, get_origin

from kgb_env.worker.names import MODULE_NAME

__all__ = ["Field", "asdict", "astuple", "contextmanager", "dataclass", "field", "fields", "replace", "wraps"]

_MISSING = dataclasses.MISSING
_FIELDS = "__kgb_fields__"


def wraps(wrapped: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
    """Like ``functools.wraps``, but copies only name, module and docstring, and only onto functions."""

    def decorate(wrapper: Any) -> Any:
        if type(wrapper) is FunctionType and wrapper.__module__ == MODULE_NAME:
            for name in ("__name__", "__qualname__", "__doc__"):
                text = getattr(wrapped, name, None)
                if type(text) is str:
                    setattr(wrapper, name, text)
        return wrapper

    return decorate


def contextmanager(function: Any) -> Any:
    """Like ``contextlib.contextmanager``, for functions only.

    Raises:
        TypeError: the argument is not a function.
    """
    if type(function) is not FunctionType:
        msg = "contextmanager takes a generator function"
        raise TypeError(msg)
    return contextlib.contextmanager(function)


class Field:
    """One field of a class made by :func:`dataclass`."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "name", "repr")

    def __init__(
        self,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        kw_only: bool = False,
    ) -> None:
        """Keep the choices; the name follows when the class is made."""
        self.name = ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare, self.kw_only = init, repr, compare, kw_only


def field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    repr: bool = True,
    hash: Any = None,
    compare: bool = True,
    metadata: Any = None,
    kw_only: Any = False,
) -> Any:
    """Like ``dataclasses.field``; ``hash`` and ``metadata`` are accepted and not kept."""
    return Field(default, default_factory, init, repr, compare, kw_only is True)


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """Like ``dataclasses.dataclass``, made of closures instead of text; slots and weak references are ignored."""
    if cls is None:
        return lambda owner: dataclass(owner, **options)
    if type(cls) is not type or cls.__module__ != MODULE_NAME:
        msg = "dataclass takes a class of your own"
        raise TypeError(msg)
    found = _collect(cls, options.get("kw_only", False))
    _define(cls, found, options)
    return cls


def fields(of: Any) -> tuple[Field, ...]:
    """Return the fields of such a class or of its instance.

    Raises:
        TypeError: it was not made by :func:`dataclass`.
    """
    owner = of if isinstance(of, type) else type(of)
    table = getattr(owner, _FIELDS, None)
    if table is None:
        msg = "must be called with a dataclass or an instance of one"
        raise TypeError(msg)
    return tuple(table.values())


def asdict(of: Any) -> dict[str, Any]:
    """Return ``{field: value}``; nested dataclasses too, other containers as they are."""
    return {f.name: _nested(getattr(of, f.name), asdict) for f in fields(of)}


def astuple(of: Any) -> tuple[Any, ...]:
    """Return the values in order; nested dataclasses too, other containers as they are."""
    return tuple(_nested(getattr(of, f.name), astuple) for f in fields(of))


def replace(of: Any, /, **changes: Any) -> Any:
    """Return a copy with some fields changed."""
    kept = {f.name: getattr(of, f.name) for f in fields(of) if f.init}
    return type(of)(**{**kept, **changes})


def _nested(value: Any, convert: Callable[[Any], Any]) -> Any:
    return convert(value) if getattr(type(value), _FIELDS, None) is not None else value


def _collect(cls: type, kw_only: bool) -> Mapping[str, Field]:
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(base.__dict__.get(_FIELDS, {}))
    for name, kind in cls.__dict__.get("__annotations__", {}).items():
        if get_origin(kind) is ClassVar or kind is ClassVar or (type(kind) is str and "ClassVar" in kind):
            continue
        given = cls.__dict__.get(name, _MISSING)
        made = given if type(given) is Field else Field(default=given)
        made.name, made.kw_only = name, made.kw_only or kw_only
        found[name] = made
        if type(given) is Field and given.default is _MISSING:
            delattr(cls, name)
        elif type(given) is Field:
            setattr(cls, name, given.default)
    return found


def _define(cls: type, found: Mapping[str, Field], options: Mapping[str, Any]) -> None:
    frozen = options.get("frozen", False)
    own = cls.__dict__
    compared = [f.name for f in found.values() if f.compare]
    setattr(cls, _FIELDS, dict(found))
    if "__match_args__" not in own:
        cls.__match_args__ = tuple(f.name for f in found.values() if f.init and not f.kw_only)  # type: ignore[attr-defined]
    if options.get("init", True):
        cls.__init__ = _initialiser(cls.__name__, found)  # type: ignore[misc]
    if options.get("repr", True) and "__repr__" not in own:
        shown = [f.name for f in found.values() if f.repr]
        cls.__repr__ = lambda self: (  # type: ignore[method-assign]
            f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"
        )

    def key(self: Any) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in compared)

    def comparison(compare: Callable[[Any, Any], bool]) -> Any:
        return lambda self, other: compare(key(self), key(other)) if type(other) is type(self) else NotImplemented

    if options.get("eq", True) and "__eq__" not in own:
        cls.__eq__ = comparison(operator.eq)  # type: ignore[method-assign]
        if "__hash__" not in own or own["__hash__"] is None:
            hashed = frozen or options.get("unsafe_hash", False)
            cls.__hash__ = (lambda self: hash(key(self))) if hashed else None  # type: ignore[assignment]
    if options.get("order", False):
        for name in ("lt", "le", "gt", "ge"):
            setattr(cls, f"__{name}__", comparison(getattr(operator, name)))
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _frozen  # type: ignore[method-assign,assignment]


def _frozen(self: Any, name: str, *_: Any) -> None:
    msg = f"cannot change field {name!r}"
    raise dataclasses.FrozenInstanceError(msg)


def _initialiser(owner: str, found: Mapping[str, Field]) -> Callable[..., None]:
    positional = [f for f in found.values() if f.init and not f.kw_only]
    taken = {f.name for f in found.values() if f.init}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(positional):
            msg = f"{owner}() takes {len(positional)} positional arguments, {len(args)} were given"
            raise TypeError(msg)
        given = {f.name: value for f, value in zip(positional, args, strict=False)}
        wrong = [name for name in kwargs if name not in taken or name in given]
        if wrong:
            msg = f"{owner}() got an unexpected or repeated argument {wrong[0]!r}"
            raise TypeError(msg)
        given.update(kwargs)
        for f in found.values():
            if f.name in given:
                value = given[f.name]
            elif f.default is not _MISSING:
                value = f.default
            elif f.default_factory is not _MISSING:
                value = f.default_factory()
            elif f.init:
                msg = f"{owner}() misses the argument {f.name!r}"
                raise TypeError(msg)
            else:
                continue
            object.__setattr__(self, f.name, value)
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()

    return __init__
