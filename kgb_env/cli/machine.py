"""``kgb doctor``: what this machine can and cannot do."""

from __future__ import annotations

import importlib.metadata
import os
import platform as host
import sys
from typing import Annotated, Any

import typer

from kgb_env.cli import output
from kgb_env.cli.choices import Profile
from kgb_env.records import SCHEMA_VERSION

__all__ = ["doctor", "examine"]

_PACKAGES = ("kgb-env", "torch", "triton", "gymnasium", "numpy", "ml_dtypes", "openai", "anthropic", "tiktoken")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show versions, and which confinement layers this machine has.

    Exit status 3 when a layer is missing that the profile ``standard`` asks for.
    """
    with output.stdout_is_ours():
        report = examine()
    if as_json:
        output.json_document(report)
    else:
        _show(report)
    if not report["standard"]:
        raise typer.Exit(3)


def examine() -> dict[str, Any]:
    """Return what ``kgb doctor --json`` prints; see ``docs/formats.md``."""
    from kgb_env import sandbox

    layers = [
        {"name": layer.name, "available": layer.available, "detail": layer.detail}
        for layer in sandbox.layers(sandbox.Profile(Profile.BEST_EFFORT))
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "python": host.python_version(),
        "system": f"{host.system()} {host.release()} {host.machine()}",
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "layers": layers,
        "standard": all(layer["available"] for layer in layers),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def _show(report: dict[str, Any]) -> None:
    print(f"Python {report['python']}, {report['system']}, {report['cores']} cores")
    print(", ".join(f"{name} {version}" for name, version in report["packages"].items()))
    print()
    rows = [(x["name"], "ok" if x["available"] else "missing", x["detail"]) for x in report["layers"]]
    output.table(("confinement layer", "here", "detail"), rows, colour="here")
    print()
    if report["standard"]:
        print("Every layer is there: `--profile standard` works.")
    else:
        print("A layer is missing: use `--profile best_effort`, and do not judge sources that you fear.")
