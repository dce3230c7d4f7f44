"""The examples of ``docs/formats.md`` have the keys and types of what the program writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kgb_env import operators, records, rollouts
from kgb_env.cli import catalogue, check, machine
from kgb_env.judge.fake import FakeJudge
from kgb_env.judge.selftest import check_operator

TEXT = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
OPEN = {"packages", "versions", "config", "canaries", "confinement", "info", "verdict", "reward_terms"}
"""Keys whose values are open maps: the document shows some of their keys, or none."""


def example(heading: str) -> Any:
    """Return the example below a heading."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    return json.loads(re.findall(r"```json\n(.*?)```", section, re.S)[0])


def shape(value: Any) -> Any:
    """Return keys and types of a document; of lists that of the first item."""
    if isinstance(value, dict):
        return {key: "map" if key in OPEN else shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def test_a_verdict_survives_the_way_through_json() -> None:
    document = example("`kgb verify FILE --operator OP --json`")
    real = check.verdict_document(records.Verdict.from_json(document))
    assert json.loads(json.dumps(real)) == document


def test_operators() -> None:
    document = example("`kgb operators --json`")
    real = catalogue.describe(operators.get("aten::mm"))
    assert shape(document["operators"][0]) == shape(real)


def test_selftest() -> None:
    document = example("`kgb selftest --operators GLOB --json`")
    real = check_operator(operators.get("aten::t"))
    assert set(document["operators"][0]) == set(real)
    results = {canary["result"] for canary in real["canaries"].values()}
    assert results <= {"fails", "passes", "omitted"}
    assert all(set(canary) == {"result", "reason"} for canary in real["canaries"].values())


def test_doctor() -> None:
    assert shape(example("`kgb doctor --json`")) == shape(machine.examine())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, rollouts.Summary]:
    folder = tmp_path_factory.mktemp("runs") / "one"
    config = rollouts.RolloutConfig(
        operators=("aten::mm",),
        policy="scripted",
        policy_options={"actions": {"aten::mm": ["```python\n# verdict: clean\n```"]}},
        budget=1000,
    )
    return folder, rollouts.rollout(config, run_dir=folder, judge=FakeJudge())


def test_rollout(run: tuple[Path, rollouts.Summary]) -> None:
    assert shape(example("`kgb rollout --json`")) == shape(run[1].to_json())


def test_manifest(run: tuple[Path, rollouts.Summary]) -> None:
    real = json.loads((run[0] / "manifest.json").read_text(encoding="utf-8"))
    document = example("`runs/<id>/manifest.json`")
    assert shape(document) == shape(real)
    assert set(document["config"]) <= set(real["config"])


def test_trajectories(run: tuple[Path, rollouts.Summary]) -> None:
    lines = re.findall(r"```jsonl\n(.*?)```", TEXT, re.S)[0].splitlines()
    real = [json.loads(line) for line in (run[0] / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [shape(json.loads(line)) for line in lines] == [shape(record) for record in real]
