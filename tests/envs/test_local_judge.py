"""The environment with the real judge: Gymnasium's own checks, determinism, and the reward order."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import kgb_env  # noqa: F401 - registers the ids
from kgb_env.judge import Judge


def make(judge: Judge, name: str, **options: Any) -> gym.Env[Any, Any]:
    """Make an environment that shares the session's judge."""
    return gym.make(f"kgb/{name}-v0", judge=judge, **options)


def test_check_env_with_warnings_as_errors() -> None:
    env = gym.make("kgb_env:kgb/aten.t-v0", profile="best_effort", render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What Gymnasium 1.4 always says of an environment that gym.make wrapped.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        warnings.filterwarnings("ignore", message=".*not able to test alternative render modes.*")
        check_env(env)


@pytest.fixture
def messages(kernels: Path) -> list[str]:
    """A message without code, a wrong kernel, a cheat and the golden kernel, for ``aten::mm``."""
    golden = (kernels / "aten.mm.py").read_text()
    wrong = golden.replace("total = tl.dot(", "total = 2 * tl.dot(")
    assert wrong != golden
    cheat = "import torch\n\ndef mm(self, mat2):\n    return torch.mm(self, mat2)\n\nmm_dtype = mm\n"
    return ["I am thinking about tiles.", f"```python\n{cheat}```", f"```python\n{wrong}```", f"```python\n{golden}```"]


def play(judge: Judge, messages: list[str]) -> list[Any]:
    """Play the messages and return everything that came back."""
    env = make(judge, "aten.mm")
    returned: list[Any] = [env.reset(seed=7)]
    returned += [env.step(message) for message in messages]
    return returned


def test_the_same_seed_and_actions_give_the_same_bytes(judge: Judge, messages: list[str]) -> None:
    first, second = play(judge, messages), play(judge, messages)
    assert pickle.dumps(first) == pickle.dumps(second)


def test_rewards_are_ordered_by_class(judge: Judge, messages: list[str]) -> None:
    steps = play(judge, messages)[1:]
    statuses = [info["status"] for *_, info in steps]
    nothing, cheat, wrong, clean = (reward for _, reward, *_ in steps)
    assert statuses == ["parse_error", "policy_violation", "wrong_value", "clean"]
    assert cheat < nothing < 0 < wrong < clean == 1.0
    assert [terminated for _, _, terminated, *_ in steps] == [False, False, False, True]
