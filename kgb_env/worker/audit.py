"""Sees every operator and every look at a tensor's data while a submission runs.

Two modes side by side. The dispatch mode sees each ATen operator, however it was spelled. The function mode sees
what never becomes an operator: ``numpy()``, ``tolist()``, DLPack, storages. Both ask the list of helpers.

Each mode is off while its own handler calls on, so a handler must not let code of the submission run: arguments are
plain values only (no ``__index__`` of one's own), and cyclic garbage is not collected any more: a generator in a
cycle would run its ``finally`` at a time of the collector's choosing, in a handler or after the audit. The process
that runs a submission is short-lived.
"""

from __future__ import annotations

import functools
import gc
from types import TracebackType
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from kgb_env.operators.helpers import Helpers, allowed, groups
from kgb_env.worker.offences import AuditViolation, Offences
from kgb_env.worker.trace import Trace

__all__ = [
    "MAX_SEEDED_VALUES",
    "MAX_SEED_ELEMENTS",
    "MAX_TABLE_ELEMENTS",
    "Audit",
    "AuditViolation",
    "operator_name",
    "plain_answer",
    "warm",
]

MAX_TABLE_ELEMENTS = 4096
"""Largest table that a helper of the group ``index`` may make."""
MAX_SEEDED_VALUES = 64
"""Elements of tables, and operators that are no views, of one call where seeds may be drawn. More of them could carry
draws that Python made, in whatever portions."""
MAX_SEED_ELEMENTS = 4
"""Largest tensor that ``random_`` may fill where drawing a seed is allowed."""

_PLAIN = frozenset(
    {
        torch.Tensor, torch.nn.Parameter, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Generator,
        int, float, bool, complex, str, type(None), type(Ellipsis),
    }
)  # fmt: skip
_READS = ("item", "_local_scalar_dense")


class _Table(NamedTuple):
    functions: dict[Any, str]
    """Allowed functions as the function mode meets them, with the name of the helper."""
    tables: frozenset[str]
    seeds_only: bool
    """Whether ``item`` reads drawn seeds only."""
    seeded: bool
    """Whether seeds may be drawn, so that what the host supplies in a call is counted."""
    views: frozenset[str]
    """Operators that make views."""


@functools.cache
def _table(helpers: Helpers) -> _Table:
    functions: dict[Any, str] = {}
    for name in helpers.torch:
        value: Any = torch
        for part in name.split("."):
            value = getattr(value, part, None)
        if callable(value):
            functions[value] = name
    for name in helpers.methods:
        value = getattr(torch.Tensor, name, None)
        for spelling in (value, getattr(torch._C.TensorBase, name, None), getattr(value, "__get__", None)):
            if spelling is not None:
                functions[spelling] = name
    index = groups()["index"]
    singles = {name.partition(".")[0] for name in helpers.extra}
    seeds = "rng_seed" in helpers.extra
    seeds_only = seeds and not singles & set(_READS)
    return _Table(functions, index.torch | index.methods, seeds_only, seeds, groups()["view"].aten)


class Audit:
    """Context manager; enter it inside the mounted function, right around the call of the submission.

    It switches the collector of cyclic garbage off and leaves it off.
    """

    def __init__(self, helpers: Helpers, filename: str) -> None:
        """Allow these helpers; report lines of that file."""
        self.helpers = helpers
        self.offences = Offences(filename, AuditViolation)
        self.table = _table(helpers)
        self.drawn: list[torch.Tensor] = []
        self.reading = False
        self.trace = Trace()
        self._supplied = 0
        self._function = _FunctionMode(self)
        self._dispatch = _DispatchMode(self)

    @property
    def violations(self) -> list[dict[str, Any]]:
        """What was seen, each ``{"rule", "what", "line", "remedy", "hack"}``; a live list."""
        return self.offences.found

    def __enter__(self) -> Audit:
        gc.disable()
        self._dispatch.__enter__()
        self._function.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._check_modes()
        self._function.__exit__(kind, error, trace)
        self._dispatch.__exit__(kind, error, trace)

    def _check_modes(self) -> None:
        depth = torch._C._len_torch_function_stack()
        functions_on = depth > 0 and torch._C._get_function_stack_at(depth - 1) is self._function
        stack = _get_current_dispatch_mode_stack()
        if not (functions_on and stack and stack[-1] is self._dispatch and torch._C._is_torch_function_enabled()):
            self.offences.refuse(
                "audit-disabled", "the audit was switched off", "leave PyTorch's modes alone", hack=True
            )

    def supply(self, count: int) -> None:
        """Count what the host puts into tensors; refuse too much of it where the host knows random numbers."""
        self._supplied += count
        if self.table.seeded and self._supplied > MAX_SEEDED_VALUES:
            what = f"helpers supplied more than {MAX_SEEDED_VALUES} values in a call"
            self.offences.refuse("host-values", what, "draw the numbers in a Triton kernel, with tl.rand and the seed")

    def check_arguments(self, name: str, values: Any, depth: int = 0) -> None:
        """Refuse arguments that could run code of their own: anything but plain values and containers of them."""
        for value in values:
            kind = type(value)
            if kind in _PLAIN:
                continue
            if kind in (list, tuple, torch.Size) and depth < 8:
                self.check_arguments(name, value, depth + 1)
            elif kind is slice:
                self.check_arguments(name, (value.start, value.stop, value.step), depth + 1)
            else:
                self.offences.refuse(
                    "odd-argument",
                    f"`{name}` with a {kind.__name__}",
                    "pass plain numbers, strings, dtypes and tensors",
                )


def _contents(name: str, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Return what a table is made of: all arguments but the tensor that ``new_tensor`` or ``as_tensor`` begins with."""
    skipped = name in ("new_tensor", "as_tensor") and bool(args) and isinstance(args[0], torch.Tensor)
    return (*args[skipped:], *kwargs.values())


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or (isinstance(value, list | tuple) and any(map(_holds_tensor, value)))


def plain_answer(answer: Any) -> Any:
    """Return an answer of plain values and containers, the same as ``answer``; call it inside the audit.

    What comes back from a submission is looked at by code that no audit watches. Were it an object of the
    submission's own, its methods would run there. Subclasses of ``tuple`` and ``list`` become plain ones.

    Raises:
        TypeError: some part is neither a tensor nor a plain value.
    """
    if type(answer) in (torch.Tensor, int, float, bool, complex, type(None), torch.dtype, torch.Size):
        return answer
    if isinstance(answer, tuple):
        return tuple(plain_answer(part) for part in tuple.__iter__(answer))
    if isinstance(answer, list):
        return [plain_answer(part) for part in list.__iter__(answer)]
    msg = f"a {type(answer).__name__} was returned; return tensors, numbers, or tuples and lists of them"
    raise TypeError(msg)


def warm() -> None:
    """Run both modes once: the first dispatch imports parts of PyTorch, which takes seconds."""
    with torch.inference_mode(), Audit(allowed(), ""):
        torch.empty(1).shape  # noqa: B018 - the read is the point


class _FunctionMode(TorchFunctionMode):
    """Sees calls of torch functions and methods, and attribute reads, from Python."""

    def __init__(self, audit: Audit) -> None:
        super().__init__()
        self._audit = audit

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        audit = self._audit
        name = audit.table.functions.get(func)
        if name is None:
            name = _name(func)
            audit.offences.refuse("torch-function", f"`{name}`", audit.helpers.why_not(name))
        audit.check_arguments(name, args)
        if kwargs:
            audit.check_arguments(name, kwargs.values())
        if name in audit.table.tables and _holds_tensor(_contents(name, args, kwargs or {})):
            audit.offences.refuse("tensor-in-table", f"`{name}` of tensors", "tables are made of Python numbers only")
        if name in ("item", "random_") and audit.table.seeds_only:
            return self._seed(name, func, args, kwargs or {})
        if name in audit.table.tables:  # what a table is made of never becomes an operator's argument
            audit.trace.note(name, args, kwargs or {})
        result = func(*args, **kwargs) if kwargs else func(*args)
        if name in audit.table.tables:
            if result.numel() > MAX_TABLE_ELEMENTS:
                what = f"`{name}` made {result.numel()} elements"
                audit.offences.refuse("large-table", what, f"tables of up to {MAX_TABLE_ELEMENTS} elements are helpers")
            audit.supply(result.numel())
        return result

    def _seed(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        audit, tensor = self._audit, args[0]
        if name == "item":
            if not any(tensor is seed for seed in audit.drawn):
                audit.offences.refuse(
                    "host-read", "`item` of a tensor that is no drawn seed", "pass the tensor to a kernel"
                )
            audit.reading = True
            try:
                return func(*args, **kwargs)
            finally:
                audit.reading = False
        if tensor.numel() > MAX_SEED_ELEMENTS:
            what = f"`random_` on {tensor.numel()} elements"
            audit.offences.refuse("large-draw", what, f"draw a seed of at most {MAX_SEED_ELEMENTS}, then use tl.rand")
        result = func(*args, **kwargs)
        audit.drawn.append(result)
        return result


class _DispatchMode(TorchDispatchMode):
    """Sees ATen operators."""

    def __init__(self, audit: Audit) -> None:
        super().__init__()
        self._audit = audit

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        audit = self._audit
        name = operator_name(func)
        if name not in audit.helpers.aten or (name in _READS and audit.table.seeds_only and not audit.reading):
            base = name.partition(".")[0]
            audit.offences.refuse("torch-operator", f"`aten::{name}`", audit.helpers.why_not(base))
        if name not in audit.table.views:
            audit.supply(1)
        result = func(*args, **kwargs) if kwargs else func(*args)
        audit.trace.note(name, args, kwargs or {}, result)
        return result


@functools.cache
def operator_name(func: Any) -> str:
    """Return ``add.Tensor`` for ``aten::add.Tensor``; defaults have no suffix, other namespaces keep theirs."""
    name = func._schema.name.removeprefix("aten::")
    return f"{name}.{func._overloadname}" if func._overloadname != "default" else name


def _name(func: Any) -> str:
    """Return how the submission spelled a function, as well as can be told."""
    name = getattr(func, "__name__", str(func))
    if name in ("__get__", "__set__", "__delete__"):
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    return str(name)
