"""The policy that knows: it answers with golden kernels from a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from kgb_env.errors import UsageError
from kgb_env.policies.base import Budget, Message, Task
from kgb_env.policies.scripted import paid
from kgb_env.tokens import Completion
from kgb_env.tokens import tokenizer as find_tokenizer

__all__ = ["OraclePolicy", "golden_kernel", "kernel_folder"]


def kernel_folder() -> Path:
    """Return the folder of golden kernels: ``examples/kernels`` of a checkout, or the packaged copy.

    Raises:
        UsageError: this installation has neither.
    """
    package = Path(str(resources.files("kgb_env")))
    for folder in (package.parent / "examples" / "kernels", package / "golden"):
        if folder.is_dir():
            return folder
    msg = (
        "this installation holds no golden kernels; run from a checkout of kgb_env, "
        "or pass a folder with <source>.<operator>.py files"
    )
    raise UsageError(msg)


def golden_kernel(operator: str, folder: Path | None = None) -> str:
    """Return the golden source of an operator, from ``<source>.<operator>.py`` or ``<source>/<operator>.py``.

    Raises:
        UsageError: the folder holds none for this operator.
    """
    where = folder or kernel_folder()
    source, _, name = operator.partition("::")
    for file in (where / f"{source}.{name}.py", where / source / f"{name}.py"):
        if file.is_file():
            return file.read_text(encoding="utf-8")
    msg = f"there is no golden kernel for {operator} in {where} (looked for {source}.{name}.py)"
    raise UsageError(msg)


class OraclePolicy:
    """Submits the golden kernel at once: the upper end of what a policy can do.

    Example:
        >>> OraclePolicy().name
        'oracle'
    """

    name = "oracle"

    def __init__(self, folder: str | Path | None = None, *, tokenizer: str = "auto") -> None:
        """Make one.

        Args:
            folder: Where the kernels lie; None: :func:`kernel_folder`.
            tokenizer: How to count; see :func:`kgb_env.tokens.tokenizer`.

        Raises:
            UsageError: there is no such folder.
        """
        self._folder = Path(folder) if folder is not None else kernel_folder()
        if not self._folder.is_dir():
            msg = f"there is no folder {self._folder} with golden kernels"
            raise UsageError(msg)
        self.tokenizer = find_tokenizer(tokenizer).name

    @property
    def version(self) -> str:
        """A digest of all kernels in the folder, and the tokenizer."""
        digest = hashlib.sha256()
        for file in sorted(self._folder.rglob("*.py")):
            digest.update(str(file.relative_to(self._folder)).encode() + b"\0" + file.read_bytes() + b"\0")
        return f"{digest.hexdigest()[:16]}:{self.tokenizer}"

    def act(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], budget: Budget, task: Task
    ) -> Completion:
        """Return the golden kernel of the operator in a fenced block.

        Raises:
            UsageError: there is none.
        """
        text = f"```python\n{golden_kernel(task.operator, self._folder)}```"
        return paid(text, messages, budget, self.tokenizer, "golden")
