"""Counting, describing and emptying kernel launches, at every door that leads to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import triton_internals as internals
from .launch_description import Launch, bind, describe, encode, normalize_grid, parameters
from .registry import JitRegistry, install_registry
from .surroundings import surroundings
from .unsupported import UnsupportedFeature

__all__ = ["Launch", "LaunchRecorder", "install"]

_MOST_DISTINCT = 1000
Listener = Callable[[int, dict[str, Any], tuple[int, int, int]], None]


class LaunchRecorder:
    """What was launched in this process.

    Attributes:
        registry: The kernels of the current submission.
        enabled: Launches are neither counted nor emptied while this is false.
        ghost: Kernels are counted and described, but not executed.
        launches: Distinct launches since the last :meth:`reset`, in order of first appearance.
        count: Launches of any kernel.
        own: Launches of kernels whose code is the submission's.
        dropped: Launches not described because there were too many distinct ones. A gate must fail
            on any.
        listener: Called with the kernel's number, arguments and grid at each launch, if there is one.
        failed: Launches that raised an error.
        bypassed: Executions that went past every launcher, straight to the interpreter's executor.
    """

    def __init__(self, *, ghost: bool = False, enabled: bool = True) -> None:
        self.registry = JitRegistry()
        self.ghost = ghost
        self.enabled = enabled
        self.listener: Listener | None = None
        self._parameters: dict[Any, tuple[Any, ...]] = {}
        self._names: dict[Any, frozenset[str]] = {}
        self.reset()

    def begin_submission(self, filename: str) -> None:
        """Start over: number from now on the jit functions whose code comes from ``filename``."""
        self.registry.begin_submission(filename)
        self._parameters.clear()
        self.reset()

    def reset(self) -> None:
        """Forget all launches, not the kernels."""
        self.launches: list[Launch] = []
        self.count = self.own = self.dropped = self.bypassed = self.failed = 0
        self._known: dict[str, Launch] = {}

    def arguments(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a launch by parameter name, defaults included."""
        return bind(parameters(function, self._parameters), args, kwargs)

    def record(self, function: Any, bound: dict[str, Any], kwargs: dict[str, Any], grid: tuple[int, int, int]) -> None:
        """Count one launch and describe it, unless it was described before."""
        params = parameters(function, self._parameters)
        launch = describe(function, params, bound, kwargs, grid, self.registry)
        launch["surroundings"] = surroundings([function, *bound.values()], self.registry, self._names)
        if self.listener is not None:
            self.listener(launch["index"], bound, grid)
        self.add(launch)

    def add(self, launch: Launch) -> None:
        """Count a described launch."""
        self.count += 1
        self.own += launch["own"]
        key = repr(launch)
        known = self._known.get(key)
        if known is not None:
            known["count"] += 1
        elif len(self.launches) < _MOST_DISTINCT:
            self._known[key] = launch
            self.launches.append(launch)
        else:
            self.dropped += 1


class _State:
    """The recorder of this process, and how deep inside a recorded launch it is."""

    recorder = LaunchRecorder(enabled=False)
    depth = 0
    installed = False


def install(recorder: LaunchRecorder) -> None:
    """Record all launches of this process in ``recorder``, which replaces an earlier one.

    Launchers are wrapped in their classes, so a bound method that a submission saves is the wrapped
    one; call this before it loads, and after :func:`kgb_env.platforms.interpreter.install`.

    Raises:
        InfrastructureError: Triton lacks a launcher that must be wrapped.
    """
    _State.recorder = recorder
    install_registry(recorder.registry)
    if _State.installed:
        return
    _State.installed = True
    if internals.interpreting():
        _wrap_interpreted()
    _wrap_compiled()


class _WarmKernel:
    """What ``kernel.warmup(...)`` returns in the interpreter: it can be launched, and not inspected."""

    def __init__(self, function: Any, kwargs: dict[str, Any]) -> None:
        self._launch = function
        self._kwargs = kwargs

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, stream: Any = None) -> Any:
            given = self._launch.arg_names[: len(args)]
            rest = {k: v for k, v in self._kwargs.items() if k not in given}
            return self._launch.run(*args, grid=grid, warmup=False, **rest)

        return launch

    def __getattr__(self, name: str) -> Any:
        feature = "compiled kernel attribute"
        raise UnsupportedFeature(feature, f"attribute {name} of a compiled kernel")


def _wrap_interpreted() -> None:
    interpreted = internals.resolve("triton.runtime.interpreter:InterpretedFunction")
    executor = internals.resolve("triton.runtime.interpreter:GridExecutor")
    stock_run = vars(interpreted)["run"]
    stock_execute = vars(executor)["__call__"]

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        recorder = _State.recorder
        if warmup:
            return _WarmKernel(self, kwargs)
        if not recorder.enabled:
            return stock_run(self, *args, grid=grid, warmup=False, **kwargs)
        bound = recorder.arguments(self, args, kwargs)
        sizes = normalize_grid(grid, bound | {k: v for k, v in kwargs.items() if k not in bound})
        recorder.record(self, bound, kwargs, sizes)
        if recorder.ghost:
            return None
        return _inside(stock_run, self, *args, grid=sizes, warmup=False, **kwargs)

    def execute(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = _State.recorder
        if recorder.enabled and not _State.depth:
            recorder.bypassed += 1
            if recorder.ghost:
                return None
        return stock_execute(self, *args, **kwargs)

    internals.replace(interpreted, "run", run)
    internals.replace(executor, "__call__", execute)


def _wrap_compiled() -> None:
    jit_function = internals.resolve("triton.runtime.jit:JITFunction")
    compiled = internals.resolve("triton.compiler.compiler:CompiledKernel")
    stock_run = vars(jit_function)["run"]
    stock_kernel_run = vars(compiled)["run"]

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        recorder = _State.recorder
        if warmup or not recorder.enabled:
            return stock_run(self, *args, grid=grid, warmup=warmup, **kwargs)
        bound = recorder.arguments(self, args, kwargs)
        sizes = normalize_grid(grid, bound | {k: v for k, v in kwargs.items() if k not in bound})
        recorder.record(self, bound, kwargs, sizes)
        # A ghost is compiled and not launched, so that the caller gets the kernel it may ask for.
        return _inside(stock_run, self, *args, grid=sizes, warmup=recorder.ghost, **kwargs)

    def kernel_run(self: Any) -> Any:
        recorder = _State.recorder
        if not recorder.enabled or _State.depth:
            return stock_kernel_run.fget(self)

        def launch(x: int, y: int, z: int, *args: Any, **kwargs: Any) -> Any:
            recorder.add(_describe_compiled(self, (x, y, z), recorder.registry))
            return None if recorder.ghost else stock_kernel_run.fget(self)(x, y, z, *args, **kwargs)

        return launch

    internals.replace(jit_function, "run", run)
    internals.replace(compiled, "run", property(kernel_run))


def _inside(run: Any, *args: Any, **kwargs: Any) -> Any:
    _State.depth += 1
    _State.recorder.failed += 1
    try:
        result = run(*args, **kwargs)
        _State.recorder.failed -= 1
        return result
    finally:
        _State.depth -= 1


def _describe_compiled(kernel: Any, grid: tuple[int, int, int], registry: JitRegistry) -> Launch:
    """Describe the launch of a kernel that is compiled already; its source knows its types."""
    source = kernel.src
    names = source.fn.arg_names
    constexprs = {".".join([names[p[0]], *map(str, p[1:])]): encode(v, registry) for p, v in source.constants.items()}
    code = source.fn.fn.__code__
    return Launch(
        kernel=source.fn.fn.__qualname__,
        index=registry.index_of(source.fn),
        file=code.co_filename,
        line=code.co_firstlineno,
        own=registry.is_own(source.fn),
        signature=dict(source.signature),
        constexprs=constexprs,
        divisible=[names[p[0]] for p, attributes in source.attrs.items() if attributes and len(p) == 1],
        grid=list(grid),
        options={"num_warps": kernel.metadata.num_warps, "num_stages": kernel.metadata.num_stages},
        count=1,
    )
