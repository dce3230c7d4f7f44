"""The ``kgb`` command: everything wired together for a person, or for a script through ``--json``.

Exit status: 0 as asked, 1 judged and not clean, 2 wrong usage, 3 the machine failed, 130 interrupted.
"""

from __future__ import annotations

import sys

from kgb_env.errors import KgbError, UsageError

__all__ = ["main"]

NOT_CLEAN, USAGE, MACHINE, INTERRUPTED = 1, 2, 3, 130


def main() -> None:
    """Run the command line of this process and exit."""
    from kgb_env.cli.app import app

    try:
        app()
    except UsageError as error:
        _fail(str(error), USAGE)
    except KgbError as error:
        _fail(str(error), MACHINE)
    except Exception:  # boundary: a fault of ours must not exit with 1, which says "not clean"
        import traceback

        traceback.print_exc()
        _fail("this is a fault of kgb, please report it with the lines above", MACHINE)


def _fail(message: str, code: int) -> None:
    print(f"kgb: {message}", file=sys.stderr)
    sys.exit(code)
