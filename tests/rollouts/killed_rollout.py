"""A rollout for test_rollout.py to kill: ``python killed_rollout.py FOLDER DELAY``."""

from __future__ import annotations

import sys

from kgb_env.judge.fake import FakeJudge
from kgb_env.rollouts import RolloutConfig, rollout

OPERATORS = ("aten::add", "aten::mm", "vllm::rms_norm")


def source(verdict: str) -> str:
    return f"```python\ndef f():\n    return 1\n\n\nVERDICT = '{verdict}'\n```"


def config(**changes: object) -> RolloutConfig:
    script = [source("parse_error"), source("wrong_value 0.5"), source("clean speedup=2.0")]
    settings = {
        "operators": OPERATORS,
        "policy": "scripted",
        "policy_options": {"actions": {}, "default": script, "tokenizer": "utf8_bytes/3"},
        "repetitions": 2,
        "judge": "fake",
        "max_output_tokens": 200,
        **changes,
    }
    return RolloutConfig(**settings)  # type: ignore[arg-type]


if __name__ == "__main__":
    rollout(config(), run_dir=sys.argv[1], judge=FakeJudge(delay=float(sys.argv[2])))
