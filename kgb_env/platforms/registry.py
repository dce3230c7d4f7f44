"""Which kernels a submission defines, numbered in the order in which they are created.

The number names a kernel in both processes: the one that interprets it and the one that lowers it.
"""

from __future__ import annotations

from typing import Any

from . import triton_internals as internals

__all__ = ["JitRegistry", "install_registry"]


class JitRegistry:
    """The ``@triton.jit`` functions whose code is the submission's own text.

    Attributes:
        filename: The file name that the submission's code carries; empty before the first submission.
        functions: The functions, in order of creation.
    """

    def __init__(self) -> None:
        self.filename = ""
        self.functions: list[Any] = []

    def begin_submission(self, filename: str) -> None:
        """Forget earlier functions; number from now on those whose code comes from ``filename``."""
        self.filename = filename
        self.functions = []

    def add(self, function: Any) -> None:
        """Number a new function, if it is the submission's own."""
        if self.is_own(function):
            self.functions.append(function)

    def is_own(self, function: Any) -> bool:
        """Whether the code of a jit function comes from the submission."""
        code = getattr(getattr(function, "fn", None), "__code__", None)
        return code is not None and bool(self.filename) and code.co_filename == self.filename

    def index_of(self, function: Any) -> int:
        """Return the number of a function, or -1."""
        return next((i for i, known in enumerate(self.functions) if known is function), -1)


_active: list[JitRegistry] = []


def install_registry(registry: JitRegistry) -> None:
    """Number every jit function that is created from now on in ``registry``, which replaces an earlier one.

    Raises:
        InfrastructureError: Triton lacks the class whose instances are to be numbered.
    """
    first = not _active
    _active[:] = [registry]
    if not first:
        return
    owner = internals.resolve(
        "triton.runtime.interpreter:InterpretedFunction"
        if internals.interpreting()
        else "triton.runtime.jit:JITFunction"
    )
    stock = internals.original(owner, "__init__")

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        stock(self, *args, **kwargs)
        _active[0].add(self)

    internals.replace(owner, "__init__", init)
