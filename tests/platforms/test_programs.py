"""What the programs of this folder found: numerics, libdevice, behaviour, launches and lowering."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Outcomes = Callable[[str, bool], dict[str, str]]

PROGRAMS = {
    "numerics": (True, 160),
    "libdevice": (True, 120),
    "behaviour": (True, 12),
    "calls": (True, 10),
    "launches": (True, 12),
    "lowering": (False, 20),
    "compiled_launches": (False, 3),
}
"""Program -> whether it runs in the interpreter, and the fewest checks it must have made."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_check_of_a_program_passes(program: str, outcomes: Outcomes) -> None:
    interpret, fewest = PROGRAMS[program]
    found = outcomes(program, interpret)
    assert len(found) >= fewest
    failed = {name: text for name, text in found.items() if text}
    assert not failed, "\n\n".join(f"== {name}\n{text}" for name, text in failed.items())
