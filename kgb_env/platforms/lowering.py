"""Lowering a recorded launch to Triton IR, and compiling it for a GPU, without either.

Runs in a process that imported Triton without ``TRITON_INTERPRET``, after the submission was loaded
there a second time. What the interpreter executes happily (torch, NumPy, open files) fails here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import triton_internals as internals
from .kernel_source import KernelError, check_source
from .launch_description import Launch, decode
from .registry import JitRegistry
from .surroundings import surroundings

__all__ = ["SM90_SHARED_LIMIT", "Compiled", "KernelError", "check", "compile_sm90", "find", "lower"]

SM90_SHARED_LIMIT = 232448
"""Shared memory that one block of a compute capability 9.0 device may use, in bytes (CUDA C++ Programming Guide)."""

_SM90 = ("cuda", 90, 32)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel compiled for sm_90.

    Attributes:
        name: Name of the entry point.
        ptx: The assembly.
        cubin: The machine code.
        shared: Shared memory of one block, in bytes.
        num_warps: Warps of one block.
    """

    name: str
    ptx: str
    cubin: bytes
    shared: int
    num_warps: int


def check() -> None:
    """Make sure that this process can lower.

    Raises:
        InfrastructureError: Triton lacks a private name, or is interpreting in this process.
    """
    internals.check("compile")


def find(launch: Launch | Mapping[str, Any], registry: JitRegistry) -> Any:
    """Return the function of this process that was launched in the other one.

    Raises:
        KernelError: the submission defined other kernels here than there.
    """
    index, functions = launch.get("index"), registry.functions
    line = launch.get("line") if isinstance(launch.get("line"), int) else 0
    if not launch.get("own"):
        raise KernelError(0, f"kernel {launch.get('kernel')} is not the submission's own", "arguments")
    if not isinstance(index, int) or not 0 <= index < len(functions):
        message = f"kernel {launch.get('kernel')} is made while the submission runs: define kernels at module level"
        raise KernelError(line or 0, message, "arguments")
    function = functions[index]
    if (function.fn.__qualname__, function.fn.__code__.co_firstlineno) != (launch.get("kernel"), launch.get("line")):
        message = "the submission defines other kernels when it is loaded for compiling"
        raise KernelError(line or 0, message, "arguments")
    return function


def lower(jit_function: Any, launch: Launch | Mapping[str, Any], registry: JitRegistry) -> str:
    """Lower a launch to Triton IR: 3 to 8 ms once warm.

    Args:
        jit_function: The kernel, from :func:`find`; ``None`` to look it up.
        launch: What was recorded of the launch.
        registry: The kernels of the submission in this process.

    Returns:
        The text of the module.

    Raises:
        KernelError: the kernel does not lower.
    """
    function = find(launch, registry) if jit_function is None else jit_function
    module, _, _ = _front_end(function, launch, registry, internals.resolve("triton._C.libtriton:ir.context")())
    return str(module)


def compile_sm90(jit_function: Any, launch: Launch | Mapping[str, Any], registry: JitRegistry) -> Compiled:
    """Compile a launch for sm_90: 0.2 to 1 s, with ``ptxas`` in a process of its own.

    Args:
        jit_function: The kernel, from :func:`find`; ``None`` to look it up.
        launch: What was recorded of the launch.
        registry: The kernels of the submission in this process.

    Raises:
        KernelError: the kernel does not compile, or needs more shared memory than a block has.
    """
    function = find(launch, registry) if jit_function is None else jit_function
    context = internals.resolve("triton._C.libtriton:ir.context")()
    module, backend, options = _front_end(function, launch, registry, context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, internals.resolve("triton.backends.compiler:Language").TRITON)
    metadata: dict[str, Any] = {"target": _target(), **options.__dict__}
    products: dict[str, Any] = {}
    for name, stage in stages.items():
        try:
            module = stage(module, metadata)
        except Exception as error:  # boundary: passes and ptxas fail in many ways, all of them the kernel's
            message = f"{name} stage: {_first_lines(str(error) or type(error).__name__)}"
            raise KernelError(_definition_line(function), message, "compile") from error
        products[name] = module
    shared = int(metadata.get("shared", 0))
    if shared > SM90_SHARED_LIMIT:
        message = f"needs {shared} bytes of shared memory, the limit is {SM90_SHARED_LIMIT}: use smaller blocks"
        raise KernelError(_definition_line(function), message, "resources")
    name = str(metadata.get("name", function.fn.__name__))
    return Compiled(name, str(products["ptx"]), bytes(products["cubin"]), shared, int(metadata["num_warps"]))


def _target() -> Any:
    return internals.resolve("triton.backends.compiler:GPUTarget")(*_SM90)


def _front_end(
    function: Any, launch: Launch | Mapping[str, Any], registry: JitRegistry, context: Any
) -> tuple[Any, Any, Any]:
    backend = internals.resolve("triton.compiler.compiler:make_backend")(_target())
    source = _source(function, launch, registry, backend)
    seen: set[object] = set()
    for reached in (function, *source.constants.values()):
        if registry.is_own(reached):
            check_source(reached.fn, registry.filename, seen)
    _compare_surroundings(function, launch, registry, list(source.constants.values()))
    options = _options(backend, launch)
    internals.resolve("triton._C.libtriton:ir.load_dialects")(context)
    backend.load_dialects(context)
    code_generation = backend.get_codegen_implementation(options)
    try:
        module = source.make_ir(_target(), options, code_generation, backend.get_module_map(), context)
    except Exception as error:  # boundary: the front end runs the author's code, which may raise anything
        line, message = _explain(error, function, registry)
        raise KernelError(line, message, "lowering") from error
    return module, backend, options


def _compare_surroundings(
    function: Any, launch: Launch | Mapping[str, Any], registry: JitRegistry, constants: list[Any]
) -> None:
    recorded = launch.get("surroundings")
    if recorded is None:  # described without a launch
        return
    found = surroundings([function, *constants], registry, {})
    for name in sorted(recorded.keys() | found.keys()):
        if recorded.get(name) != found.get(name):
            message = f"{name.rpartition(':')[2]!r} is not what it was when the submission was loaded: pass it instead"
            raise KernelError(_definition_line(function), f"kernel {function.__name__}: {message}", "source")


def _source(function: Any, launch: Launch | Mapping[str, Any], registry: JitRegistry, backend: Any) -> Any:
    """Build what Triton's compiler takes from a launch."""
    line = _definition_line(function)
    names = function.arg_names
    signature, encoded = launch["signature"], launch["constexprs"]
    if absent := [name for name in names if name not in signature]:
        raise KernelError(line, f"argument {absent[0]!r} of kernel {function.__name__} was not passed", "arguments")
    constants: dict[tuple[int, ...], Any] = {}
    for path, value in encoded.items():
        first, *rest = path.split(".")
        try:
            constants[(names.index(first), *map(int, rest))] = decode(value, registry)
        except ValueError as error:
            raise KernelError(line, f"argument {path!r} of kernel {function.__name__}: {error}", "arguments") from error
    types = {name: _as_tuple(signature[name]) for name in names}
    divisible = {(names.index(name),): backend.parse_attr("D") for name in launch.get("divisible", ()) if name in names}
    attributes = {path: value for path, value in divisible.items() if path not in constants}
    return internals.resolve("triton.compiler.compiler:ASTSource")(function, types, constants, attributes)


def _as_tuple(kind: Any) -> Any:
    return tuple(map(_as_tuple, kind)) if isinstance(kind, list) else kind


def _options(backend: Any, launch: Launch | Mapping[str, Any]) -> Any:
    known = backend.parse_options({}).__dict__
    return backend.parse_options({k: v for k, v in launch["options"].items() if k in known and k != "debug"})


def _definition_line(function: Any) -> int:
    """Return the line of ``def`` in the file, decorators skipped."""
    first = function.fn.__code__.co_firstlineno
    for i, text in enumerate(function.raw_src):
        if text.lstrip().startswith("def "):
            return first + i
    return first


def _explain(error: BaseException, function: Any, registry: JitRegistry) -> tuple[int, str]:
    """Return the line of the submission that an error points at, and its innermost message."""
    compilation_error = internals.resolve("triton.compiler.errors:CompilationError")
    by_source = {own.src: own for own in (function, *registry.functions)}
    line, message = _definition_line(function), ""
    current: Any = error
    while current is not None:
        if isinstance(current, compilation_error):
            own = by_source.get(current.src)
            if own is not None and getattr(current.node, "lineno", None):
                line = _definition_line(own) + current.node.lineno - 1
            message = current.error_message or message
        else:
            message = f"{type(current).__name__}: {current}"
        current = current.__cause__
    return line, _first_lines(message or str(error))


def _first_lines(text: str, lines: int = 12, characters: int = 1200) -> str:
    return "\n".join(text.strip().splitlines()[:lines])[:characters]
