"""Program that a zygote process starts with: ``python bootstrap.py CONFIG``.

It makes an empty ``kgb_env`` package that points at the installed folders, so that neither the façade (Gymnasium,
registration) nor the checkout around an editable installation becomes part of what a submission is forked from.
Then it hands over to :mod:`kgb_env.sandbox.server`.
"""

from __future__ import annotations

import json
import sys
import types

__all__ = ["main"]


def main() -> None:
    """Set up the import path from the configuration (JSON, first argument) and run the server."""
    config = json.loads(sys.argv.pop())
    package = types.ModuleType("kgb_env")
    package.__path__ = list(config["package"])
    sys.modules["kgb_env"] = package
    known = set(sys.path)
    sys.path += [path for path in config["path"] if path not in known]
    from kgb_env.sandbox import server  # only importable from here on

    server.main(config)


if __name__ == "__main__":
    main()
