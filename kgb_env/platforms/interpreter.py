"""Triton's interpreter, made fit for judging: call :func:`install` once, before a submission loads.

Afterwards the interpreter computes in the right precision, emits no torch operator of its own,
leaves the submission's namespace alone, pins autotuning, and says plainly what it cannot run.
Kernel bodies, grid callables and hooks stay ordinary Python: no torch mode is exempted for them.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import interpreter_libdevice, interpreter_memory, interpreter_numerics, interpreter_reductions
from . import triton_internals as internals
from .interpreter_rewriter import rewrite
from .unsupported import NoDriver, UnsupportedFeature, refuse_device_queries

__all__ = ["install"]

_SCALARS = frozenset(
    ("float16", "bfloat16", "float32", "float64", *(f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)))
)


class _Language:
    """The patches that turn ``triton.language`` into its interpreted form, computed once.

    The stock interpreter searches the modules anew for every launch and every call of a device
    function; here the search is done once, and nested calls change nothing.
    """

    def __init__(self, interpreter: Any) -> None:
        self._changes: list[tuple[Any, str, Any, Any]] = []
        self._counterparts: dict[int, Any] = {}
        self._missing = interpreter._MISSING
        self.depth = 0
        tl = internals.module("triton.language")
        scope = internals.original(interpreter, "_patch_lang")(_module_function({"tl": tl, "core": tl.core}))
        scope.set_attr(tl.core.tensor, "__bool__", interpreter_reductions.truth)
        first: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        for owner, name, before in scope._changes:
            first.setdefault((id(owner), name), (owner, name, before))
        for owner, name, before in first.values():
            after = vars(owner)[name]
            self._changes.append((owner, name, before, after))
            if inspect.ismodule(owner) and callable(before):
                self._counterparts[id(before)] = after
        scope.restore()

    def counterpart(self, value: object) -> Any:
        """Return the interpreted form of a builtin that a kernel imported by name, or ``None``."""
        return self._counterparts.get(id(value))

    def enter(self, _function: Any = None) -> _Language:
        """Take the place of ``_patch_lang``: patch at the outermost level only."""
        self.depth += 1
        if self.depth == 1:
            for owner, name, _, after in self._changes:
                setattr(owner, name, after)
        return self

    def restore(self) -> None:
        """Undo :meth:`enter`."""
        self.depth -= 1
        if self.depth == 0:
            for owner, name, before, _ in self._changes:
                if before is self._missing:
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)


def _module_function(namespace: dict[str, Any]) -> Any:
    """Return an object whose globals hold ``namespace``, which is all that ``_patch_lang`` looks at."""
    return type("Visible", (), {"__globals__": namespace})


_installed: list[_Language] = []


def install() -> None:
    """Adapt the interpreter of this process. A second call changes nothing.

    Must run in a process that imported Triton under ``TRITON_INTERPRET=1``, single-threaded, before
    any submission is loaded. Warms Triton's own helpers, so that their source is not needed later.

    Raises:
        InfrastructureError: the process is not interpreting, or Triton lacks a private name.
    """
    if _installed:
        return
    internals.check("interpret")
    interpreter = internals.module("triton.runtime.interpreter")
    np.seterr(all="ignore")
    interpreter_numerics.install()
    interpreter_memory.install()
    interpreter_reductions.install()
    interpreter_libdevice.install()
    language = _Language(interpreter)
    _installed.append(language)
    _adapt_launching(interpreter, language)
    internals.replace(internals.resolve("triton.runtime.autotuner:Autotuner"), "_bench", _pinned)
    internals.resolve("triton.runtime.driver:driver").set_active(NoDriver())
    refuse_device_queries()
    internals.extend(interpreter.InterpreterBuilder, "create_inline_asm", _no_inline_assembly)
    _warm(interpreter)


def _adapt_launching(interpreter: Any, language: _Language) -> None:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if language.depth == 0:
            msg = "Cannot call @triton.jit'd outside of the scope of a kernel"
            raise RuntimeError(msg)
        return self.rewrite()(*args, **kwargs)

    executor = interpreter.GridExecutor
    stock_init = internals.original(executor, "__init__")
    stock_call = internals.original(executor, "__call__")
    convert = _Converter(interpreter)

    def init(self: Any, fn: Any, arg_names: list[str], grid: Any, *rest: Any) -> None:
        stock_init(self, fn, arg_names, grid, *rest)
        # An annotation may be text (a __future__ import), spelt any way.
        texts = {name: _annotation_text(fn.__annotations__.get(name, "")) for name in arg_names}
        self.constexprs = [name for name, text in texts.items() if "constexpr" in text]
        self.typed = {name: dtype for name, text in texts.items() if (dtype := convert.named(text)) is not None}

    def execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.typed:
            named = zip((*self.arg_names, *[""] * len(args)), args, strict=False)
            args = tuple(convert(v, self.typed[k]) if k in self.typed else v for k, v in named)
            kwargs = {k: convert(v, self.typed[k]) if k in self.typed else v for k, v in kwargs.items()}
        return stock_call(self, *args, **kwargs)

    internals.replace(executor, "__init__", init)
    internals.replace(executor, "__call__", execute)
    internals.replace(executor, "_init_args_hst", lambda _self, args, kwargs: (list(args), dict(kwargs)))
    internals.replace(executor, "_restore_args_dev", lambda _self, *_args: None)
    internals.replace(interpreter.InterpretedFunction, "__call__", call)
    internals.replace(interpreter.FunctionRewriter, "rewrite_ast", lambda self: rewrite(self.fn, language.counterpart))
    internals.replace(interpreter, "_patch_lang", language.enter)
    internals.replace(interpreter, "_implicit_cvt", convert)


def _annotation_text(annotation: object) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type):
        return annotation.__name__
    names = {dtype.name: name for name in _SCALARS if (dtype := getattr(internals.module("triton.language"), name))}
    return names.get(getattr(annotation, "name", ""), "")


class _Converter:
    """Take the place of ``_implicit_cvt``: make the arguments of a launch what the compiler would make them."""

    def __init__(self, interpreter: Any) -> None:
        self._stock = internals.original(interpreter, "_implicit_cvt")
        self._handle = interpreter.TensorHandle
        self._tl = internals.module("triton.language")
        self._mangle = internals.resolve("triton.runtime.jit:mangle_type")

    def named(self, annotation: str) -> Any:
        """Return the scalar type that a parameter is annotated with, or ``None``."""
        name = annotation.rpartition(".")[2]
        return getattr(self._tl, name) if name in _SCALARS else None

    def __call__(self, value: Any, dtype: Any = None) -> Any:
        """Return the Triton tensor for a Python number, of ``dtype`` where the kernel's author names one.

        Tensors, tuples and descriptors are left to Triton.
        """
        if type(value) not in (bool, int, float):
            return self._stock(value)
        if dtype is None:
            dtype = self._tl.int1 if type(value) is bool else self._tl.str_to_ty(self._mangle(value), None)
        data = interpreter_numerics.cast(np.array([value]), interpreter_numerics.numpy_dtype(dtype))
        return self._tl.core.tensor(self._handle(data, dtype), dtype)


def _pinned(self: Any, *_args: Any, config: Any, **meta: Any) -> list[float]:
    """Take the place of the autotuner's measurement: all configurations tie, so the first one is kept.

    Raises:
        ValueError: a launch passes what a configuration also sets, as without pinning.
    """
    if conflicts := meta.keys() & config.kwargs.keys():
        msg = f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}."
        raise ValueError(msg + " Make sure that you don't re-define auto-tuned symbols.")
    return [1.0, 1.0, 1.0]


def _no_inline_assembly(_builder: Any, *_args: Any) -> None:
    feature = "inline assembly"
    raise UnsupportedFeature(feature, "tl.inline_asm_elementwise")


def _warm(interpreter: Any) -> None:
    """Rewrite every helper that Triton itself defines with ``@jit``, while sources can still be read."""
    tl = internals.module("triton.language")
    for module in (tl, tl.standard, tl.random, tl.math):
        for value in vars(module).values():
            if isinstance(value, interpreter.InterpretedFunction):
                value.rewrite()
