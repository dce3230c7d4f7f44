"""A policy that fails first and learns: a syntax error, then a wrong result, then the golden kernel."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgb_env.policies.base import Budget, Message, Task, turn_of
from kgb_env.policies.oracle import OraclePolicy, golden_kernel, kernel_folder
from kgb_env.policies.scripted import FINISH, paid
from kgb_env.tokens import Completion

__all__ = ["StumblingPolicy", "spoiled"]


class _Spoil(ast.NodeTransformer):
    """Replaces what each ``tl.store`` stores by something wrong of the same type."""

    def __init__(self) -> None:
        self.changed = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "store" and len(node.args) >= 2:
            nothing = ast.BinOp(node.args[1], ast.Mult(), ast.Constant(0))
            node.args[1] = ast.BinOp(nothing, ast.Add(), ast.Constant(3))
            self.changed += 1
        return node


def spoiled(source: str) -> str:
    """Return a kernel that compiles and runs, and stores 3 where it stored its result.

    Returns:
        The spoiled source; empty if nothing in it stores (kernel-free operators).

    Raises:
        SyntaxError: the source is not Python.
    """
    transformer = _Spoil()
    tree = ast.fix_missing_locations(transformer.visit(ast.parse(source)))
    return ast.unparse(tree) + "\n" if transformer.changed else ""


class StumblingPolicy:
    """Submits a syntax error, a wrong result, and at last the golden kernel.

    Operators whose kernel stores nothing (views, allocations) have no wrong result to show: there
    the second step is left out.
    """

    name = "stumbling"

    def __init__(self, folder: str | Path | None = None, *, tokenizer: str = "auto") -> None:
        """Take the same arguments as :class:`~kgb_env.policies.oracle.OraclePolicy`, and raise the same."""
        self._folder = Path(folder) if folder is not None else kernel_folder()
        oracle = OraclePolicy(self._folder, tokenizer=tokenizer)
        self.tokenizer = oracle.tokenizer
        self.version = oracle.version

    def script(self, task: Task) -> tuple[str, ...]:
        """Return the messages for an episode, in order."""
        golden = golden_kernel(task.operator, self._folder)
        sources = (f"{golden}\ndef unfinished(:\n", spoiled(golden), golden)
        return tuple(f"```python\n{source}```" for source in sources if source)

    def act(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], budget: Budget, task: Task
    ) -> Completion:
        """Return the message of this turn, or a call of ``finish`` when there is none left."""
        script, turn = self.script(task), turn_of(messages)
        text = script[turn] if turn < len(script) else FINISH
        return paid(text, messages, budget, self.tokenizer, "stumbling")
