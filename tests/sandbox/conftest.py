"""A zygote without torch, shared by the tests of one module, and a way to ask it for one worker."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kgb_env.sandbox import Exit, Limits, Zygote

PROBE = "kgb_env.sandbox.probe:run"

Ask = Callable[..., Exit]


def make_arena(command: dict[str, Any]) -> int:
    """Return a file in memory that holds one command."""
    arena = os.memfd_create("arena", os.MFD_CLOEXEC)
    os.write(arena, json.dumps(command).encode())
    return arena


def ask_zygote(zygote: Zygote, do: str, limits: Limits | None = None, **arguments: Any) -> Exit:
    """Run one command in one worker and return how it ended."""
    arena = make_arena({"do": do, **arguments})
    try:
        return zygote.spawn(arena, limits or Limits(cpu_seconds=2)).wait()
    finally:
        os.close(arena)


def answer(ended: Exit) -> dict[str, Any]:
    """Return the worker's one-line answer."""
    assert ended.kind == "exited", ended
    return json.loads(ended.report)


def descendants(pid: int) -> set[int]:
    """Return every living process below ``pid``."""
    children = {int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return children.union(*(descendants(child) for child in children)) if children else set()


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote(PROBE, None) as handle:
        yield handle


@pytest.fixture
def ask(zygote: Zygote) -> Iterator[Ask]:
    """Ask for one worker; afterwards the next worker of the same zygote must answer right."""
    before = zygote.pid
    yield lambda do, limits=None, **arguments: ask_zygote(zygote, do, limits, **arguments)
    assert answer(ask_zygote(zygote, "echo", value=[1, "ä"])) == {"ok": [1, "ä"]}
    assert zygote.pid == before
