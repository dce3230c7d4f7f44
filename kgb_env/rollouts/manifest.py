"""Under which circumstances a run was made."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from typing import Any

from kgb_env.records import SCHEMA_VERSION
from kgb_env.rollouts.config import RolloutConfig
from kgb_env.tokens import available_tokenizer

__all__ = ["make_manifest", "operator_set_hash", "versions"]

_PACKAGES = ("torch", "triton", "gymnasium", "numpy", "scipy", "ml_dtypes")


def make_manifest(config: RolloutConfig, policy_version: str, layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest.

    Args:
        config: What the run does; the whole of it is kept.
        policy_version: The policy's own word on what it is.
        layers: Confinement layers by name, as the sandbox reports them; empty where nothing is confined.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": platform.machine(),
        "system": platform.release(),
        "driver": "none",
        "device": config.platform,
        "operator_set": operator_set_hash(),
        "confinement": dict(layers),
        "policy_version": policy_version,
        "tokenizer": available_tokenizer(),
        "seed": config.seed,
        "config": config.to_json(),
    }


def versions() -> dict[str, str]:
    """Return versions by package from their metadata, without importing them; ``absent`` if not installed."""
    import kgb_env

    found = {"kgb_env": kgb_env.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "absent"
    return found


def operator_set_hash() -> str:
    """Return a SHA-256 over every file that defines operators, cases and tolerances."""
    digest = hashlib.sha256()
    for name, file in _files(resources.files("kgb_env.operators"), ""):
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".py", ".txt", ".toml", ".json")):
            yield f"{prefix}{entry.name}", entry
