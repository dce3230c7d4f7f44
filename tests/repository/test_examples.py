"""Every program that a reader may copy runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    """Run Python in the checkout and return what it prints."""
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_quickstart() -> None:
    printed = run("examples/quickstart.py")
    assert "Status: wrong_value" in printed
    assert "Status: clean" in printed


def test_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)
    first, wrong, right = run("-c", program).splitlines()
    assert first == "# Write `aten::mm` as a Triton kernel"
    assert wrong.startswith("wrong_value 0.")
    assert right == "clean 1.0"
    assert len([line for line in program.splitlines() if line.strip()]) <= 15


def test_readme_has_exactly_two_commands_for_setting_up() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## Set up\n")[1].split("\n## ")[0]
    (commands,) = re.findall(r"^```\n(.*?)^```$", section, re.S | re.M)
    assert commands.splitlines() == ["make demo", "make test"]
