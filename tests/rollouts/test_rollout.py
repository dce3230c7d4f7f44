"""Rollouts: hard budgets, and runs that go on after a kill as if nothing had happened."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kgb_env.errors import BudgetError, InfrastructureError, StoreError, UsageError
from kgb_env.judge.fake import FakeJudge
from kgb_env.records import Usage, Verdict
from kgb_env.rollouts import RolloutConfig, Silent, read_manifest, read_records, resume_config, rollout
from kgb_env.rollouts.store import MANIFEST, TRAJECTORIES
from kgb_env.tokens import Completion

SCRIPT = Path(__file__).with_name("killed_rollout.py")
_spec = importlib.util.spec_from_file_location("killed_rollout", SCRIPT)
killed_rollout = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(killed_rollout)
config, OPERATORS = killed_rollout.config, killed_rollout.OPERATORS


def per_episode(summary):
    return {(e.key, e.operator, e.repetition, e.status, e.reward, e.turns, e.tokens) for e in summary.episodes}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return rollout(config(), run_dir=folder)


def test_a_rollout_plays_every_episode(whole):
    assert (len(whole.episodes), whole.clean, whole.stopped, whole.planned) == (6, 6, "done", 6)
    assert {(e.status, e.turns, e.over) for e in whole.episodes} == {("clean", 3, "clean")}
    assert [e.operator for e in whole.episodes] == [*OPERATORS, *OPERATORS]
    assert whole.tokens["lost"] == 0
    assert whole.tokens["total"] == sum(e.tokens for e in whole.episodes)
    line = json.loads(json.dumps(whole.to_json()))
    keys = {"schema_version", "run_dir", "episodes", "clean", "tokens", "budget", "wall_seconds"}
    assert keys <= set(line)
    assert set(line["tokens"]) == {"input", "cached", "output", "reasoning", "lost", "total"}


def test_trajectories_hold_everything_needed_to_score_again(whole):
    records = list(read_records(Path(whole.run_dir)))
    kinds = [r["type"] for r in records if r.get("key") == whole.episodes[0].key]
    assert kinds == ["episode", *["reserve", "action", "step"] * 3, "end"]
    steps = [r for r in records if r["type"] == "step"]
    assert all(r["parent"] == r["node"] - 1 for r in steps)
    assert Verdict.from_json(steps[2]["verdict"]).clean
    assert steps[2]["reward"] == pytest.approx(1.212, abs=0.01)


def test_the_manifest_says_under_which_circumstances(whole):
    manifest = read_manifest(Path(whole.run_dir))
    assert manifest["versions"]["torch"] != "absent"
    assert manifest["versions"]["kgb_env"]
    assert manifest["driver"] == "none"
    assert len(manifest["operator_set"]) == 64
    assert RolloutConfig.from_json(manifest["config"]) == config() == resume_config(whole.run_dir)
    assert manifest["confinement"] == {}


def test_a_run_cut_anywhere_resumes_to_the_same(tmp_path):
    """Every prefix of the file is what a kill can leave behind."""
    short = config(repetitions=1)
    whole = rollout(short, run_dir=tmp_path / "whole")
    lines = (Path(whole.run_dir) / TRAJECTORIES).read_bytes().splitlines(keepends=True)
    manifest = (Path(whole.run_dir) / MANIFEST).read_bytes()
    for cut in range(len(lines) + 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        torn = lines[cut][: cut * 7 % len(lines[cut])] if cut < len(lines) else b""
        (folder / TRAJECTORIES).write_bytes(b"".join(lines[:cut]) + torn)
        (folder / MANIFEST).write_bytes(manifest)
        judge = FakeJudge()
        summary = rollout(short, run_dir=folder, resume=True, judge=judge)
        assert per_episode(summary) == per_episode(whole), cut
        under_way = cut > 0 and json.loads(lines[cut - 1])["type"] == "reserve"
        assert summary.tokens["lost"] == (200 if under_way else 0), cut
        assert summary.tokens["total"] - summary.tokens["lost"] == whole.tokens["total"], cut
        ends = [r["key"] for r in read_records(folder) if r["type"] == "end"]
        assert len(ends) == len(set(ends)) == 3, cut
        again = rollout(short, run_dir=folder, resume=True, judge=FakeJudge())
        assert per_episode(again) == per_episode(whole)
        assert again.tokens == summary.tokens


def test_an_answer_is_paid_once_however_often_the_run_is_killed(whole, tmp_path):
    """Cut the resumed run, too: an answer that was replayed is still the one that was paid."""
    lines = (Path(whole.run_dir) / TRAJECTORIES).read_bytes().splitlines(keepends=True)
    (tmp_path / MANIFEST).write_bytes((Path(whole.run_dir) / MANIFEST).read_bytes())
    path = tmp_path / TRAJECTORIES
    path.write_bytes(b"".join(lines[:6]))
    for extra in (1, 2, 3, 4, 5):
        kept = path.read_bytes().count(b"\n")
        rollout(config(), run_dir=tmp_path, resume=True)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: kept + extra]))
    summary = rollout(config(), run_dir=tmp_path, resume=True)
    assert per_episode(summary) == per_episode(whole)
    assert summary.tokens["total"] - summary.tokens["lost"] == whole.tokens["total"]


@pytest.mark.parametrize("lines", [5, 23])
def test_sigkill_and_resume(whole, tmp_path, lines):
    process = subprocess.Popen([sys.executable, str(SCRIPT), str(tmp_path), "0.05"], cwd=Path.cwd())
    path = tmp_path / TRAJECTORIES
    deadline = time.monotonic() + 30
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = sum(r["type"] == "end" for r in read_records(tmp_path))
    assert done < 6
    summary = rollout(resume_config(tmp_path), run_dir=tmp_path, resume=True)
    assert per_episode(summary) == per_episode(whole)


@pytest.mark.parametrize("meter", ["output", "total"])
def test_the_budget_is_never_exceeded(whole, tmp_path, meter):
    full = whole.tokens["output"] if meter == "output" else whole.tokens["total"]
    for budget in (1, full // 10, full // 3, full - 1, full, full * 2):
        folder = tmp_path / str(budget)
        summary = rollout(config(budget=budget, meter=meter), run_dir=folder)
        assert summary.spent <= budget
        assert (summary.stopped, len(summary.episodes)) == ("done", 6) or budget < full
        resumed = rollout(resume_config(folder, budget=2 * full), run_dir=folder, resume=True)
        assert resumed.stopped == "done"
        assert len(resumed.episodes) == 6
        assert read_manifest(folder)["config"]["budget"] == 2 * full


def test_an_episode_without_tokens_for_a_call_ends(tmp_path):
    summary = rollout(config(repetitions=1, budget=1), run_dir=tmp_path)
    assert [(e.status, e.over) for e in summary.episodes] == [("budget_exhausted", "tokens")] or summary.spent == 1
    assert summary.stopped == "budget"


def test_an_episode_budget_is_kept(tmp_path):
    summary = rollout(config(repetitions=1, episode_budget=40), run_dir=tmp_path)
    ends = [r for r in read_records(tmp_path) if r["type"] == "end"]
    assert len(ends) == 3
    assert all(r["usage"]["output"] <= 40 and r["over"] == "tokens" for r in ends)
    assert summary.stopped == "done"


class Interrupting(Silent):
    """Presses Ctrl-C after some turns."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def turn(self, operator, turn, status, reward):
        self.turns -= 1
        if self.turns == 0:
            raise KeyboardInterrupt


def test_ctrl_c_ends_cleanly_and_resumes(whole, tmp_path):
    summary = rollout(config(), run_dir=tmp_path, progress=Interrupting(5))
    assert (summary.stopped, len(summary.episodes), summary.tokens["lost"]) == ("interrupted", 1, 0)
    assert per_episode(rollout(config(), run_dir=tmp_path, resume=True)) == per_episode(whole)


class Flaky:
    """Its provider fails at the second call; then it gives up."""

    name, version = "flaky", "1"

    def __init__(self) -> None:
        self.calls = 0

    def act(self, messages, tools, budget, task):
        self.calls += 1
        if self.calls == 2:
            msg = "the provider is away"
            raise InfrastructureError(msg)
        return Completion('{"tool": "finish"}', usage=Usage(output=5))


def test_a_failing_provider_costs_one_episode_and_its_reservation(tmp_path):
    policy = Flaky()
    summary = rollout(config(repetitions=1), run_dir=tmp_path, policy=policy)
    assert (len(summary.episodes), summary.tokens["lost"], summary.tokens["output"]) == (2, 200, 10)
    again = rollout(config(repetitions=1), run_dir=tmp_path, resume=True, policy=policy)
    assert (len(again.episodes), again.tokens["lost"], again.tokens["output"]) == (3, 200, 15)


class Greedy(Flaky):
    """Uses more than it may."""

    def act(self, messages, tools, budget, task):
        return Completion("x", usage=Usage(output=budget.max_output_tokens + 1))


def test_a_policy_that_overdraws_ends_the_run_loudly(tmp_path):
    with pytest.raises(BudgetError, match="used 201 output tokens"):
        rollout(config(), run_dir=tmp_path, policy=Greedy())
    assert [r["tokens"] for r in read_records(tmp_path) if r["type"] == "lost"] == [201]


def test_the_machines_failure_is_judged_again_without_paying_again(tmp_path):
    broken = rollout(config(repetitions=1), run_dir=tmp_path, judge=FakeJudge(default="# verdict: raise"))
    assert broken.clean == 3
    script = {"actions": {}, "default": ["def f(): pass"], "tokenizer": "utf8_bytes/3"}
    once = config(repetitions=1, policy_options=script)
    folder = tmp_path / "again"
    first = rollout(once, run_dir=folder, judge=FakeJudge(default="# verdict: raise"))
    assert [e.over for e in first.episodes] == ["infrastructure"] * 3
    assert not any(e.trainable for e in first.episodes)
    second = rollout(once, run_dir=folder, resume=True, judge=FakeJudge(default="# verdict: clean"))
    assert second.clean == 3
    assert second.tokens == first.tokens


def test_a_run_is_neither_overwritten_nor_resumed_as_another(whole):
    with pytest.raises(UsageError, match="holds a run already"):
        rollout(config(), run_dir=whole.run_dir)
    with pytest.raises(UsageError, match="another configuration \\(seed differ"):
        rollout(config(seed=1), run_dir=whole.run_dir, resume=True)
    with pytest.raises(StoreError):
        resume_config(Path(whole.run_dir) / "nowhere")


def test_keys_name_what_decides_an_episode():
    def keys(settings, version="1"):
        return [plan.key for plan in settings.plans("p", version)]

    base = config()
    assert len(set(keys(base))) == 6
    assert keys(base) == keys(replace(base, budget=7))
    for other in (keys(base, "2"), keys(replace(base, seed=1)), keys(replace(base, max_turns=4))):
        assert not set(keys(base)) & set(other)
    with pytest.raises(BudgetError):
        config(budget=-1)
    with pytest.raises(UsageError):
        config(operators=())
