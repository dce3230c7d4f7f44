"""Layer L1: what a submission's text shows, without running it.

The scan proves intent, cheaply, and never absence: what it cannot see (the type of a tensor expression, a name put
together at run time) is left to the fence and to the audit in the worker.
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Collection
from dataclasses import dataclass

from kgb_env.errors import did_you_mean
from kgb_env.judge.scan_rules import Rules
from kgb_env.operators.helpers import Helpers
from kgb_env.records import Violation
from kgb_env.worker import names

__all__ = ["MAX_CHARACTERS", "ScanResult", "scan"]

MAX_CHARACTERS = 100_000
"""Longest source that is read; a longer one is a parse error."""

_MAX_DEPTH = 250
_WARNINGS = threading.Lock()
"""``warnings.catch_warnings`` changes the whole process, so one thread parses at a time."""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What the text shows."""

    violations: tuple[Violation, ...] = ()
    """In the order of lines; at most 50."""
    functions: frozenset[str] = frozenset()
    """Names that the module binds to something that may be called (definitions and assignments)."""
    parse_error: str | None = None
    """Why the text cannot be read as a submission; then the other fields are empty."""


def scan(source: str, helpers: Helpers, *, expected_functions: Collection[str] = ()) -> ScanResult:
    """Apply every static rule to a source. Never raises, whatever the text.

    Args:
        source: any text, lone surrogates and null characters included.
        helpers: what of torch the submission may use.
        expected_functions: names that must be there; a missing one is a parse error.
    """
    if len(source) > MAX_CHARACTERS:
        return ScanResult(parse_error=f"the source has {len(source)} characters; at most {MAX_CHARACTERS} are read")
    try:
        tree = _parse(source)
        if _depth(tree) > _MAX_DEPTH:
            return ScanResult(parse_error=f"the source is nested more than {_MAX_DEPTH} levels deep")
        rules = Rules(helpers)
        rules.run(names.without_demo(tree))
    except SyntaxError as error:
        return ScanResult(parse_error=f"line {error.lineno or 0}: {error.msg}")
    except ValueError as error:  # null characters, lone surrogates
        return ScanResult(parse_error=f"the source is not readable text: {_printable(error)}")
    except (RecursionError, MemoryError, OverflowError):
        return ScanResult(parse_error="the source is nested too deeply")
    missing = [name for name in expected_functions if name not in rules.functions]
    if missing:
        hint = did_you_mean(missing[0], rules.functions)
        return ScanResult(parse_error=f"the function `{missing[0]}` is missing{hint}")
    found = sorted(rules.violations, key=lambda violation: violation.line)
    return ScanResult(tuple(dict.fromkeys(found))[:50], frozenset(rules.functions))


def _parse(source: str) -> ast.Module:
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, "<submission>")
        compile(source, "<submission>", "exec", dont_inherit=True)  # sees what the parser alone does not
    return tree


def _depth(tree: ast.AST) -> int:
    """Return the depth of the tree, without recursion."""
    level, depth = [tree], 0
    while level and depth <= _MAX_DEPTH:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _printable(error: Exception) -> str:
    return str(error).encode("ascii", "backslashreplace").decode()[:200]
