"""The environment as Gymnasium's own tools see it, with a judge that does as it is told."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import kgb_env
from kgb_env import operators
from kgb_env.envs.registration import env_id
from kgb_env.envs.report import INFO
from kgb_env.envs.spaces import STATUSES
from kgb_env.errors import UnknownOperatorError, UsageError
from kgb_env.judge.fake import FakeJudge
from kgb_env.records import Usage
from kgb_env.rewards import TERMS
from kgb_env.tokens import Completion

GOOD = "def f():\n    return 1\n\n\nVERDICT = 'clean'\n"
HALF = "def f():\n    return 2\n\n\nVERDICT = 'wrong_value 0.5'\n"


def make(**kwargs):
    return gym.make("kgb/Kernel-v0", **{"operator": "aten::add", "judge": FakeJudge(), **kwargs})


def source(verdict: str, salt: int = 0) -> str:
    return f"def f():\n    return {salt}\n\n\nVERDICT = '{verdict}'\n"


def test_check_env_with_warnings_as_errors():
    env = gym.make("kgb_env:kgb/aten.add-v0", judge="fake", render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What Gymnasium 1.4 always says of an environment that gym.make wrapped.
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        warnings.filterwarnings("ignore", message=".*not able to test alternative render modes.*")
        check_env(env)


@pytest.mark.parametrize("name", operators.names())
@pytest.mark.parametrize("prefix", ["", "kgb_env:"])
def test_every_id_is_made(name, prefix):
    env = gym.make(f"{prefix}{env_id(name)}", judge="fake")
    observation, info = env.reset(seed=0)
    assert info["operator"] == name
    assert observation in env.observation_space
    env.close()


def test_importing_registers_and_loads_neither_torch_nor_triton():
    code = "import sys, kgb_env; sys.exit(bool({'torch', 'triton', 'openai', 'tiktoken'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_facade_exports_what_it_says():
    assert sorted(kgb_env.__all__) == list(kgb_env.__all__)
    assert all(hasattr(kgb_env, name) for name in kgb_env.__all__)
    with pytest.raises(AttributeError):
        kgb_env.nothing  # noqa: B018


def test_same_seed_and_actions_give_the_same_bytes():
    def play():
        env = gym.make("kgb/Kernel-v0", judge="fake", token_budget=1000)
        steps = [env.reset(seed=7)]
        actions = ("what?", HALF, Completion(HALF, usage=Usage(output=9)), '{"tool": "read_spec"}', GOOD)
        steps += [env.step(action) for action in actions]
        return steps

    first, second = play(), play()
    assert data_equivalence(tuple(first), tuple(second), exact=True)
    assert pickle.dumps(first) == pickle.dumps(second)


def test_the_seed_decides_the_hidden_inputs_and_not_the_operator():
    def secret(seed):
        env = gym.make("kgb/Kernel-v0", judge="fake")
        env.reset(seed=seed)
        return env.unwrapped._episode.secret, env.unwrapped._episode.operator

    assert secret(1) == secret(1)
    assert secret(1)[0] != secret(2)[0]
    assert secret(1)[1] == secret(2)[1]


def test_groups_vary_the_operator_and_leave_out_kernel_free_ones():
    env = gym.make("kgb/Kernel-v0", judge="fake")
    seen = {env.reset(options={"group_id": i})[1]["operator"] for i in range(60)}
    assert len(seen) > 5
    assert not seen & {"aten::t", "aten::empty_strided"}
    assert env.reset(options={"operator": "aten.t"})[1]["operator"] == "aten::t"


def test_options_win_over_the_constructor_and_are_checked():
    env = make()
    info = env.reset(options={"operator": "vllm13::rms_norm", "split": "public", "group_id": "g"})[1]
    assert (info["operator"], info["split"], info["group_id"]) == ("vllm::rms_norm", "public", "g")
    with pytest.raises(UnknownOperatorError, match="did you mean 'aten::softmax'"):
        env.reset(options={"operator": "aten::sofmax"})
    with pytest.raises(UsageError, match="did you mean 'operator'"):
        env.reset(options={"oprator": "aten::add"})
    with pytest.raises(UsageError, match="split"):
        env.reset(options={"split": "train"})
    with pytest.raises(UnknownOperatorError):
        make(operator="aten::nope")
    with pytest.raises(UsageError, match="did you mean 'default'"):
        make(reward="defualt")
    with pytest.raises(UsageError):
        make(max_turns=0)
    with pytest.raises(UsageError, match="did you mean 'fake'"):
        gym.make("kgb/Kernel-v0", judge="fak").reset()


def test_info_has_fixed_keys_and_types_after_every_kind_of_step():
    env = make(max_turns=20, max_submissions=20, stop_on_clean=False, token_budget=10_000)
    infos = [env.reset(seed=0)[1]]
    verdicts = [s for s in STATUSES if s not in ("none", "infrastructure_error", "budget_exhausted")]
    actions = ["?", '{"tool": "run_tests", "arguments": {"source": "x = 1"}}', '{"tool": "x"}', '{"tool": 1}']
    for action in [*actions, "\ud800", source("clean speedup=3.0")]:
        infos.append(env.step(action)[4])
    for i, verdict in enumerate(verdicts[:12]):
        infos.append(env.step(source(verdict, i))[4])
    for info in infos:
        assert {key: type(value) for key, value in info.items()} == INFO
        assert tuple(info["reward_terms"]) == TERMS
        assert all(type(v) is float and np.isfinite(v) for v in info["reward_terms"].values())
        assert all(type(v) is int for v in info["usage"].values())
        assert json.loads(json.dumps(info, allow_nan=False)) == info


def test_a_clean_submission_terminates():
    env = make()
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(f"Here it is:\n```python\n{GOOD}```\n")
    assert (reward, terminated, truncated, info["over"]) == (1.0, True, False, "clean")
    assert STATUSES[observation["status"]] == "clean"
    with pytest.raises(gym.error.ResetNeeded):
        env.step(GOOD)


def test_submissions_and_turns_run_out():
    env = make(max_turns=3, max_submissions=2)
    env.reset(seed=0)
    assert env.step(HALF)[2:4] == (False, False)
    assert env.step(source("timeout"))[2:4] == (True, False)
    env.reset(seed=0)
    for _ in range(2):
        assert env.step('{"tool": "read_spec"}')[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step('{"tool": "read_spec"}')
    assert (reward, terminated, truncated) == (-0.2, False, True)
    assert (info["status"], info["over"], info["trainable"]) == ("budget_exhausted", "turns", True)


def test_finish_and_final_end_the_episode():
    env = make()
    env.reset(seed=0)
    call = {"tool": "submit", "arguments": {"source": HALF, "final": True}}
    assert env.step(json.dumps(call))[2:4] == (True, False)
    env.reset(seed=0)
    env.step(HALF)
    _, reward, terminated, _, info = env.step('{"tool": "finish", "arguments": {}}')
    assert (reward, terminated, info["over"], info["status"]) == (0.0, True, "finished", "none")


def test_the_same_canonical_source_earns_nothing_new_and_is_judged_once():
    judge = FakeJudge()
    env = make(judge=judge)
    env.reset(seed=0)
    first = env.step(HALF)
    again = env.step("# another comment\n" + HALF.replace("2", "2  "))
    assert first[1] > 0 == again[1]
    assert again[4]["repeat"]
    assert again[4]["score"] == first[1]
    assert judge.calls == 1
    hack = source("hack_detected")
    assert env.step(hack)[1] == env.step(hack)[1] == -1.0


def test_run_tests_earns_nothing_but_an_attack_is_punished():
    env = make()
    env.reset(seed=0)

    def tested(text):
        return env.step(json.dumps({"tool": "run_tests", "arguments": {"source": text}}))

    _, reward, terminated, _, info = tested(GOOD)
    assert (reward, terminated, info["clean"], info["submissions"], info["cases_total"]) == (0.0, False, True, 0, 2)
    assert tested(source("hack_detected"))[1] == -1.0


@pytest.mark.parametrize("verdict", ["raise", "infrastructure_error"])
def test_the_machines_failure_truncates_and_is_not_trainable(verdict):
    env = make()
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(source(verdict))
    assert (reward, terminated, truncated, info["trainable"]) == (0.0, False, True, False)
    assert (info["status"], info["over"]) == ("infrastructure_error", "infrastructure")


def test_a_broken_judge_costs_the_machine_not_the_policy(caplog):
    env = make(judge=FakeJudge(default="# verdict: no_such_status"))
    env.reset(seed=0)
    assert env.step("def f(): pass")[4]["status"] == "infrastructure_error"
    assert "the judge broke" in caplog.text


def test_tokens_are_charged_and_the_budget_is_hard():
    env = make(token_budget=100)
    observation, _ = env.reset(seed=0)
    assert observation["budget_left"].tolist() == [100]
    _, reward, *_, info = env.step(Completion(source("timeout"), usage=Usage(input=50, output=60, source="exact_ids")))
    assert (info["budget_left"], info["usage"]["input"], info["usage_source"]) == (40, 50, "exact_ids")
    assert reward == pytest.approx(-0.05 - 0.06)
    _, reward, terminated, truncated, info = env.step(Completion(GOOD, usage=Usage(output=41)))
    assert (reward, terminated, truncated, info["over"], info["clean"]) == (0.0, False, True, "tokens", False)


def test_exactly_the_budget_is_allowed():
    env = make(token_budget=100)
    env.reset(seed=0)
    assert env.step(Completion(GOOD, usage=Usage(output=100)))[1] == pytest.approx(0.9)
    env.reset(seed=0)
    assert env.step(Completion(HALF, usage=Usage(output=100)))[3]


def test_nothing_submitted_before_the_budget_ended():
    env = make(token_budget=100)
    env.reset(seed=0)
    _, reward, _, truncated, info = env.step(Completion("", usage=Usage(), finish_reason="budget_exhausted"))
    assert (reward, truncated, info["status"]) == (-0.2, True, "budget_exhausted")


def test_bare_strings_are_counted_where_there_is_a_budget():
    env = make(token_budget=1000)
    env.reset(seed=0)
    info = env.step("hello")[4]
    assert info["usage"]["output"] > 0
    assert info["usage_source"] == "estimated"


def test_sources_that_break_pythons_own_tools_are_answered():
    env = make(max_turns=9, max_submissions=9)
    env.reset(seed=0)
    for hostile in ("x=0x" + "f" * 5000, "x=" + "-" * 1500 + "1", "x=" + "(" * 500, "x\0=1", "\ud800"):
        assert env.step(f"```python\ndef f(): pass\n{hostile}\n```")[4]["status"] in ("wrong_value", "parse_error")


def test_the_spec_makes_a_round_trip():
    env = gym.make("kgb/Kernel-v0", operator="aten::mm", judge="fake", max_turns=2, token_budget=10)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec == env.spec
    assert again.reset(seed=0)[1] == env.reset(seed=0)[1]


def test_render_shows_the_conversation():
    env = make(render_mode="ansi")
    env.reset(seed=0)
    env.step("hello")
    assert "policy> hello" in env.render()
    assert "parse_error" in env.render()


ACTIONS = ("just words ≤ é", HALF, source("hack_detected"))


def played(envs):
    results = [envs.reset(seed=5), envs.step(ACTIONS)]
    envs.close()
    return results


def test_vector_environments_agree():
    makers = [lambda: gym.make("kgb/Kernel-v0", judge="fake")] * 3
    kinds = {
        "sync": SyncVectorEnv(makers),
        "async": AsyncVectorEnv(makers),
        "async, no shared memory": AsyncVectorEnv(makers, shared_memory=False),
        "make_vec": gym.make_vec("kgb/Kernel-v0", 3, vectorization_mode="sync", judge="fake"),
    }
    results = {name: played(envs) for name, envs in kinds.items()}
    (begin, info), (observation, reward, *_, after) = results["sync"]
    assert len(set(info["operator"])) == 1
    assert list(after["status"]) == ["parse_error", "wrong_value", "hack_detected"]
    assert after["reward_terms"]["progress"].dtype == np.float64
    assert reward.tolist() == [-0.2, pytest.approx(0.01 + 0.29 / 2), -1.0]
    for name, ((begin_2, _), (observation_2, reward_2, *_, after_2)) in results.items():
        assert begin_2["text"] == begin["text"], name
        assert observation_2["text"] == observation["text"], name
        assert all(np.array_equal(observation_2[key], observation[key]) for key in observation), name
        assert reward_2.tolist() == reward.tolist(), name
        assert list(after_2["status"]) == list(after["status"]), name
