"""Trajectories on disk: one append-only JSONL file per run, and a manifest.

Every line is one JSON object with ``v`` (the format's version) and ``type``:

``episode``   an attempt at an episode begins; holds the first observation
``reserve``   tokens were set aside for a call
``action``    what the policy answered, with its usage; written before it is judged
``step``      what came of it: observation, reward and its terms, verdict, seconds
``end``       the attempt is complete; only then does the episode count
``lost``      tokens of a call that ended without usage

``action`` and ``step`` are nodes of a message graph (``node``, ``parent``). A write is one system call;
``end`` is followed by fsync. A process that is killed can leave at most one torn last line, which
readers ignore and the next writer removes; anything else that is no record is corruption.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kgb_env.errors import StoreError

__all__ = ["FORMAT", "MANIFEST", "TRAJECTORIES", "RunStore", "read_manifest", "read_records"]

FORMAT = 1
"""Version of the format; readers refuse later ones."""
TRAJECTORIES = "trajectories.jsonl"
MANIFEST = "manifest.json"


class RunStore:
    """Appends records to a run's folder. One writer at a time; thread-safe; a context manager."""

    def __init__(self, folder: Path) -> None:
        """Open a run for writing, and remove a torn last line.

        Raises:
            StoreError: the folder cannot be written, or another process writes to it.
        """
        self.folder = folder
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(folder / TRAJECTORIES, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            msg = f"cannot write to {folder}: {error.strerror}"
            raise StoreError(msg) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            msg = f"another process is writing to {folder}"
            raise StoreError(msg) from error
        self._cut_torn_line()

    def __enter__(self) -> RunStore:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close."""
        self.close()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record. It survives a kill of this process at once, and a power cut after :meth:`sync`.

        Raises:
            StoreError: the disk does not take it.
            ValueError: it holds NaN, or something that is no JSON.
        """
        line = json.dumps({"v": FORMAT, **record}, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError as error:
                msg = f"cannot write to {self.folder}: {error.strerror}"
                raise StoreError(msg) from error

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Sync, and let others write. Safe to call twice."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)
            self._fd = -1

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, whole or not at all."""
        draft = self.folder / f"{MANIFEST}.new"
        with draft.open("w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=2, sort_keys=True, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / MANIFEST)

    def _cut_torn_line(self) -> None:
        data = (self.folder / TRAJECTORIES).read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._fd, whole)


def read_records(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a run in order, without a torn last line.

    Raises:
        StoreError: there is no such run, a whole line is no record, or its version is later than ours.
    """
    path = folder / TRAJECTORIES
    try:
        file = path.open("rb")
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror}"
        raise StoreError(msg) from error
    with file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield _record(line, f"{path}, line {number}")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run.

    Raises:
        StoreError: there is none, or it is no JSON object of a known version.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"cannot read {path}: {error}"
        raise StoreError(msg) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("config"), dict):
        msg = f"{path} is not the manifest of a run"
        raise StoreError(msg)
    return manifest


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        msg = f"{where}: damaged: {error}"
        raise StoreError(msg) from error
    if not isinstance(record, dict) or not isinstance(record.get("type"), str) or not isinstance(record.get("v"), int):
        msg = f"{where}: not a record"
        raise StoreError(msg)
    if record["v"] > FORMAT:
        msg = f"{where}: format {record['v']} is later than this package's {FORMAT}; update kgb_env"
        raise StoreError(msg)
    return record
