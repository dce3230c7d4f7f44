"""``kgb operators`` and ``kgb prompt``: what there is to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgb_env.cli import output
from kgb_env.cli.choices import Style, select
from kgb_env.records import SCHEMA_VERSION

if TYPE_CHECKING:
    from kgb_env.operators.model import Operator

__all__ = ["describe", "operators", "prompt"]

_TIERS = ("smoke", "full", "large")


def operators(
    globs: Annotated[list[str] | None, typer.Argument(help="Names or patterns, for example 'aten::*'.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the operators that can be judged."""
    with output.stdout_is_ours():
        from kgb_env import operators as registry

        chosen = [registry.get(name) for name in select(globs or ["*"])]
        rows = [describe(operator) for operator in chosen]
    if as_json:
        output.json_document({"schema_version": SCHEMA_VERSION, "operators": rows})
    else:
        cells = [(r["name"], r["category"], r["result"], _counts(r["cases"]), r["difficulty"]) for r in rows]
        output.table(("operator", "category", "result", "cases (smoke/full/large)", "difficulty"), cells)


def describe(operator: Operator) -> dict[str, Any]:
    """Return one row of ``kgb operators --json``; see ``docs/formats.md``."""
    return {
        "name": operator.name,
        "source": operator.source,
        "category": operator.category,
        "result": operator.traits.result,
        "overloads": [overload.function for overload in operator.overloads],
        "cases": {tier: len(operator.cases(tier)) for tier in _TIERS},
        "difficulty": operator.traits.difficulty,
    }


def prompt(
    operator: Annotated[str, typer.Argument(help="Name of an operator, for example aten::add.")],
    platform: Annotated[str, typer.Option(help="Where it will be judged.")] = "cpu",
    style: Annotated[Style, typer.Option(help="Whole sources, or tool calls.")] = Style.CHAT,
) -> None:
    """Print the task statement that a policy is given."""
    with output.stdout_is_ours():
        from kgb_env import operators as registry
        from kgb_env.judge import Judge
        from kgb_env.judge.prompt import statement

        with Judge(platform) as judge:
            text = statement(registry.get(operator), judge.platform, style=style.value, limits=judge.limits)
    print(text, end="")


def _counts(cases: Mapping[str, int]) -> str:
    return "/".join(str(cases[tier]) for tier in _TIERS)
