"""What the commands print: JSON alone on stdout, words for people, and progress on stderr."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["COLOURS", "json_document", "progress", "stdout_is_ours", "table"]

COLOURS: Mapping[str, str] = {"clean": "green", "pass": "green", "fails": "green", "ok": "green"} | dict.fromkeys(
    ("not_run", "omitted", "unsupported", "missing", "infrastructure_error", "budget_exhausted"), "yellow"
)
"""Colours of words in tables; every other status is red."""


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], *, colour: str = "") -> None:
    """Print aligned columns: coloured and fitted to a terminal, plain lines elsewhere.

    Args:
        headers: Column titles.
        rows: Cells, made into text by ``str``.
        colour: Title of the column whose words are coloured by :data:`COLOURS`.
    """
    lines = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _fitted(headers, lines, colour)
        return
    widths = [max(map(len, column)) for column in zip(headers, *lines, strict=True)]
    for line in [list(headers), *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _fitted(headers: Sequence[str], lines: Sequence[Sequence[str]], colour: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        grid.add_column(header, overflow="fold")
    for line in lines:
        styles = [
            COLOURS.get(cell, "red") if header == colour else "" for header, cell in zip(headers, line, strict=True)
        ]
        grid.add_row(*(Text(cell, style=style) for cell, style in zip(line, styles, strict=True)))
    Console(highlight=False).print(grid)


def json_document(document: Mapping[str, Any]) -> None:
    """Print one JSON document on one line of standard output."""
    print(json.dumps(document, allow_nan=False), flush=True)


@contextlib.contextmanager
def stdout_is_ours(when: bool = True) -> Iterator[None]:
    """Send what is printed inside to standard error, so that only our document reaches standard output."""
    with contextlib.redirect_stdout(sys.stderr) if when else contextlib.nullcontext():
        yield


def progress(total: int, what: str) -> tqdm[Any]:
    """Return a progress bar on standard error; nothing is drawn where that is no terminal."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, unit="", disable=None, leave=False, file=sys.stderr, dynamic_ncols=True)
