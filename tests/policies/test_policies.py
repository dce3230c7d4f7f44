"""Policies: what they say, what they report, and that they keep to the budget."""

from __future__ import annotations

import ast
import copy
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgb_env import policies
from kgb_env.errors import UsageError
from kgb_env.policies import Budget, OraclePolicy, RandomPolicy, ScriptedPolicy, StumblingPolicy, Task
from kgb_env.policies.stumbling import spoiled
from kgb_env.records import Usage
from kgb_env.tokens import ESTIMATE, Completion, Tokenizer, available_tokenizer, estimate, tokenizer

GOLDEN = """import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)  # stores


def add_Tensor(self, other):
    return self
"""
TASK = Task("aten::add", seed=3)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "aten").mkdir()
    (tmp_path / "aten" / "add.py").write_text(GOLDEN)
    (tmp_path / "vllm.rms_norm.py").write_text("def rms_norm(): ...\n")
    return tmp_path


def conversation(answers: int):
    messages = [{"role": "user", "content": "task"}]
    for i in range(answers):
        messages += [{"role": "assistant", "content": str(i)}, {"role": "user", "content": "feedback"}]
    return messages


def test_the_script_is_followed_by_turn_and_then_finished():
    policy = ScriptedPolicy({"aten::add": ["one", "two"]}, default=["other"], tokenizer=ESTIMATE)
    said = [policy.act(conversation(i), (), Budget(100), TASK) for i in range(3)]
    assert [str(s) for s in said] == ["one", "two", policies.scripted.FINISH]
    assert said[1].usage == Usage(input=2 + 1 + 3, output=1, source="estimated")
    assert policy.act(conversation(0), (), Budget(100), Task("aten::mm")) == "other"
    assert policy.version != ScriptedPolicy({"aten::add": ["one"]}, tokenizer=ESTIMATE).version


@given(st.text(max_size=200), st.integers(1, 50))
def test_no_answer_is_longer_than_its_budget(text, tokens):
    policy = ScriptedPolicy({"aten::add": [text]}, tokenizer=ESTIMATE)
    answer = policy.act(conversation(0), (), Budget(tokens), TASK)
    assert answer.usage.output <= tokens
    assert text.startswith(answer)
    assert answer.finish_reason == ("stop" if answer == text else "length")


def test_the_oracle_answers_with_the_golden_kernel(folder):
    policy = OraclePolicy(folder, tokenizer=ESTIMATE)
    assert GOLDEN in policy.act(conversation(0), (), Budget(10_000), TASK)
    assert "rms_norm" in policy.act(conversation(0), (), Budget(10_000), Task("vllm::rms_norm"))
    with pytest.raises(UsageError, match=r"no golden kernel for aten::mm .* aten\.mm\.py"):
        policy.act(conversation(0), (), Budget(10_000), Task("aten::mm"))
    before = policy.version
    (folder / "aten" / "add.py").write_text("x = 1\n")
    assert policy.version != before
    with pytest.raises(UsageError, match="no folder"):
        OraclePolicy(folder / "nowhere")


def test_the_stumbling_policy_fails_twice_and_then_knows(folder):
    policy = StumblingPolicy(folder, tokenizer=ESTIMATE)
    broken, wrong, right = (policy.act(conversation(i), (), Budget(10_000), TASK) for i in range(3))
    with pytest.raises(SyntaxError):
        ast.parse(broken.strip("`").removeprefix("python\n"))
    assert "* 0 + 3, mask=i < n)" in wrong
    assert right == f"```python\n{GOLDEN}```"
    assert len(policy.script(Task("vllm::rms_norm"))) == 2
    assert spoiled("x = 1\n") == ""


def test_the_random_policy_is_decided_by_seed_and_turn():
    policy = RandomPolicy(tokenizer=ESTIMATE)
    said = [policy.act(conversation(i), (), Budget(1000), TASK) for i in range(12)]
    assert said == [policy.act(conversation(i), (), Budget(1000), TASK) for i in range(12)]
    assert len(set(said)) > 6


def test_policies_by_name(folder):
    assert policies.get("oracle", {"folder": str(folder)}).name == "oracle"
    assert all(hasattr(make, "act") for make in policies.POLICIES.values())
    with pytest.raises(UsageError, match="did you mean 'oracle'"):
        policies.get("orcale")
    with pytest.raises(UsageError, match="do not fit"):
        policies.get("random", {"colour": "blue"})


def test_a_completion_is_a_string_that_survives_pickling_and_copying():
    said = Completion("x", usage=Usage(output=3, source="exact_ids"), token_ids=[1, 2], logprobs=[-0.5, -1.0])
    for other in (pickle.loads(pickle.dumps(said)), copy.deepcopy(said)):
        assert other == "x"
        assert type(other) is Completion
        assert (other.usage, other.token_ids, other.logprobs) == (said.usage, (1, 2), (-0.5, -1.0))
    assert Completion("abc").usage == estimate("abc")


def test_counting_is_never_silent():
    assert available_tokenizer() in ("tiktoken:o200k_base", "bpe-openai:o200k_base", ESTIMATE)
    assert tokenizer().name == available_tokenizer()
    assert tokenizer(ESTIMATE).count("≤≤") == 2
    assert tokenizer(ESTIMATE).count("\ud800") == 1
    assert tokenizer().count("<|endoftext|>") > 0
    assert estimate("abcdef", ESTIMATE) == Usage(output=2, source="estimated")
    with pytest.raises(ValueError, match="unknown tokenizer"):
        tokenizer("words")


def test_nothing_is_downloaded_in_order_to_count(tmp_path, capfd):
    import os
    import subprocess

    code = "from kgb_env.tokens import available_tokenizer; print(available_tokenizer())"
    env = {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert not done.stdout.startswith("tiktoken")
    assert not list(tmp_path.iterdir())


@given(st.text(max_size=60), st.integers(0, 30))
def test_truncation_fits_even_when_counts_jump(text, tokens):
    jumpy = Tokenizer("jumpy", lambda t: len(t) // 2 + len(t) % 2 * 2)
    assert jumpy.count(jumpy.truncate(text, tokens)) <= tokens or not jumpy.truncate(text, tokens)
