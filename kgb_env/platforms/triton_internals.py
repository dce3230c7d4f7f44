"""Every private name of Triton that this package touches, in one place, checked before use.

Triton promises nothing about these names. :func:`check` compares them with what is installed and
fails at start-up, naming each missing one, instead of letting a verdict go wrong later.
Known to fit 3.6, 3.7 and 3.9.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Literal

from ..errors import InfrastructureError

__all__ = [
    "REQUIRED",
    "check",
    "extend",
    "interpreting",
    "missing",
    "module",
    "original",
    "replace",
    "resolve",
    "version",
]

_INTERPRETER = "triton.runtime.interpreter"

REQUIRED: dict[str, tuple[str, ...]] = {
    "common": (
        "triton:knobs.runtime.interpret",
        "triton.language:core.is_builtin",
        "triton.language:core.tensor",
        "triton.language:core.extern_elementwise",
        "triton.language:standard._sum_combine",
        "triton.language:standard._prod_combine",
        "triton.language.extra.libdevice:tanh",
        "triton.language.extra.cuda.libdevice:tanh",
        "triton.runtime.autotuner:Autotuner._bench",
        "triton.runtime.autotuner:Heuristics.run",
        "triton.runtime.driver:driver.set_active",
        "triton.runtime.jit:JITFunction.run",
        "triton.runtime.jit:KernelParam",
        "triton.runtime.jit:_normalize_ty",
        "triton.runtime.jit:mangle_type",
        "triton.compiler.compiler:CompiledKernel.run",
    ),
    "interpret": (
        f"{_INTERPRETER}:FunctionRewriter.rewrite_ast",
        f"{_INTERPRETER}:FunctionRewriter.ast_transformer",
        f"{_INTERPRETER}:GridExecutor.__call__",
        f"{_INTERPRETER}:GridExecutor._init_args_hst",
        f"{_INTERPRETER}:GridExecutor._restore_args_dev",
        f"{_INTERPRETER}:InterpretedFunction.__call__",
        f"{_INTERPRETER}:InterpretedFunction.rewrite",
        f"{_INTERPRETER}:InterpretedFunction.run",
        f"{_INTERPRETER}:InterpreterBuilder.binary_op",
        f"{_INTERPRETER}:InterpreterBuilder.cast_impl",
        f"{_INTERPRETER}:InterpreterBuilder.create_atomic_cas",
        f"{_INTERPRETER}:InterpreterBuilder.create_atomic_rmw",
        f"{_INTERPRETER}:InterpreterBuilder.create_dot",
        f"{_INTERPRETER}:InterpreterBuilder.create_extern_elementwise",
        f"{_INTERPRETER}:InterpreterBuilder.create_fp_to_fp",
        f"{_INTERPRETER}:InterpreterBuilder.create_masked_load",
        f"{_INTERPRETER}:InterpreterBuilder.create_masked_store",
        f"{_INTERPRETER}:InterpreterOptions",
        f"{_INTERPRETER}:ReduceOps.generic_reduce",
        f"{_INTERPRETER}:ReduceOps.min_max",
        f"{_INTERPRETER}:ReduceOps.sum",
        f"{_INTERPRETER}:ReduceScanOpInterface.to_tensor",
        f"{_INTERPRETER}:ScanOps.cumprod",
        f"{_INTERPRETER}:ScanOps.cumsum",
        f"{_INTERPRETER}:ScanOps.generic_scan",
        f"{_INTERPRETER}:TensorHandle",
        f"{_INTERPRETER}:_LangPatchScope.set_attr",
        f"{_INTERPRETER}:_get_np_dtype",
        f"{_INTERPRETER}:_implicit_cvt",
        f"{_INTERPRETER}:_interpreter.atomic_cas",
        f"{_INTERPRETER}:_interpreter.atomic_rmw",
        f"{_INTERPRETER}:_interpreter.load",
        f"{_INTERPRETER}:_interpreter.store",
        f"{_INTERPRETER}:_patch_lang",
        f"{_INTERPRETER}:interpreter_builder",
        f"{_INTERPRETER}:interpreter_semantic",
    ),
    "compile": (
        "triton._C.libtriton:ir.context",
        "triton._C.libtriton:ir.load_dialects",
        "triton.backends.compiler:GPUTarget",
        "triton.backends.compiler:Language.TRITON",
        "triton.compiler.compiler:ASTSource.make_ir",
        "triton.compiler.compiler:make_backend",
        "triton.compiler.errors:CompilationError",
        "triton.runtime.errors:OutOfResources",
        "triton.runtime.errors:PTXASError",
    ),
}
"""Mode -> ``module:attribute.path`` of every private name that the mode needs."""


def version() -> str:
    """Return the installed version of Triton."""
    return module("triton").__version__


def interpreting() -> bool:
    """Whether ``@triton.jit`` makes interpreted functions in this process."""
    return bool(module("triton").knobs.runtime.interpret)


def module(name: str) -> ModuleType:
    """Import and return a module of Triton.

    Raises:
        InfrastructureError: it does not exist in the installed version.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"Triton's module {name} cannot be imported: {error}"
        raise InfrastructureError(msg) from error


def resolve(name: str) -> Any:
    """Return the object called ``module:attribute.path``.

    Raises:
        InfrastructureError: the installed Triton has no such name.
    """
    where, _, path = name.partition(":")
    current: Any = module(where)
    for part in path.split("."):
        try:
            current = getattr(current, part)
        except AttributeError as error:
            msg = f"Triton {version()} has no {name} (missing: {part}); kgb_env must be adapted to it"
            raise InfrastructureError(msg) from error
    return current


def missing(required: Iterable[str]) -> tuple[str, ...]:
    """Return those of ``required`` that the installed Triton lacks."""
    lacking = []
    for name in required:
        try:
            resolve(name)
        except InfrastructureError:
            lacking.append(name)
    return tuple(lacking)


def check(mode: Literal["interpret", "compile"], required: dict[str, tuple[str, ...]] | None = None) -> None:
    """Make sure that every private name that ``mode`` needs exists.

    Args:
        mode: Which list to check besides the common one.
        required: Instead of :data:`REQUIRED`, for tests.

    Raises:
        InfrastructureError: names are missing, or ``mode`` is ``interpret`` in a process where
            Triton was imported without ``TRITON_INTERPRET=1``.
    """
    table = REQUIRED if required is None else required
    lacking = missing((*table["common"], *table[mode]))
    if lacking:
        msg = f"Triton {version()} lacks private names that kgb_env needs: {', '.join(lacking)}"
        raise InfrastructureError(msg)
    if interpreting() != (mode == "interpret"):
        msg = f"mode {mode!r} does not fit: TRITON_INTERPRET is {'on' if interpreting() else 'off'} in this process"
        raise InfrastructureError(msg)


_originals: dict[tuple[int, str], tuple[Any, Any]] = {}
"""Identity of an owner and a name -> the owner, kept alive so that its identity stays its own, and what stood there."""


def replace(owner: Any, name: str, value: Any) -> Any:
    """Set ``owner.name``, which must exist, and return what stood there before.

    Raises:
        InfrastructureError: there is nothing to replace.
    """
    if not hasattr(owner, name):
        msg = f"Triton {version()}: {getattr(owner, '__name__', owner)} has no {name} to replace"
        raise InfrastructureError(msg)
    before = vars(owner)[name] if name in vars(owner) else getattr(owner, name)
    _originals.setdefault((id(owner), name), (owner, before))
    setattr(owner, name, value)
    return before


def original(owner: Any, name: str) -> Any:
    """Return what stood at ``owner.name`` before the first :func:`replace`."""
    known = _originals.get((id(owner), name))
    return getattr(owner, name, None) if known is None else known[1]


def extend(owner: Any, name: str, value: Callable[..., Any]) -> None:
    """Set ``owner.name`` where some versions of Triton have it and others do not."""
    setattr(owner, name, value)
