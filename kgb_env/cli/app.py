"""The list of commands. Heavy packages are imported inside them."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from kgb_env.cli import INTERRUPTED, catalogue, check, machine, play

__all__ = ["app"]


class _Commands(TyperGroup):
    """Exits with a status of its own on Ctrl-C: left to Typer that is 1, which says "not clean"."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("kgb: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Commands,
    name="kgb",
    help="Judge Triton kernels, and roll out policies that write them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(machine.doctor)
app.command()(catalogue.operators)
app.command()(catalogue.prompt)
app.command()(check.verify)
app.command()(check.selftest)
app.command()(play.rollout)
