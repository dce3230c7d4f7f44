"""``python -m kgb_env`` is the ``kgb`` command."""

from __future__ import annotations

from kgb_env.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
