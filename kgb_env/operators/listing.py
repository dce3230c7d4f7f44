"""Prints the names of all registered operators; ``names.txt`` holds its output (``make names``)."""

from __future__ import annotations

from kgb_env.operators import all_operators

__all__ = ["listing"]


def listing() -> str:
    """Return what ``names.txt`` must hold: one canonical name a line, sorted."""
    return "".join(f"{operator.name}\n" for operator in all_operators())


if __name__ == "__main__":
    print(listing(), end="")
