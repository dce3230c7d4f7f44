"""kgb_env: a Gymnasium environment for writing GPU kernels in Triton, and a judge that can be trusted.

Importing it registers the Gymnasium ids ``kgb/Kernel-v0`` and ``kgb/<source>.<operator>-v0`` and
nothing else: torch, triton and the rest are imported where they are used.

>>> import gymnasium as gym
>>> env = gym.make("kgb_env:kgb/aten.add-v0", judge="fake")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kgb_env.envs.registration import register_envs
from kgb_env.operators import names

if TYPE_CHECKING:
    from kgb_env.envs.kernel import KernelEnv
    from kgb_env.errors import KgbError
    from kgb_env.judge import FakeJudge, Judge
    from kgb_env.policies.base import Budget, Policy, Task
    from kgb_env.policies.oracle import OraclePolicy
    from kgb_env.policies.random_policy import RandomPolicy
    from kgb_env.policies.scripted import ScriptedPolicy
    from kgb_env.records import Status, Submission, Usage, Verdict
    from kgb_env.rewards.default import default_reward
    from kgb_env.rollouts.config import RolloutConfig
    from kgb_env.rollouts.driver import rollout
    from kgb_env.rollouts.ledger import TokenLedger
    from kgb_env.tokens import Completion

__all__ = [
    "Budget",
    "Completion",
    "FakeJudge",
    "Judge",
    "KernelEnv",
    "KgbError",
    "OraclePolicy",
    "Policy",
    "RandomPolicy",
    "RolloutConfig",
    "ScriptedPolicy",
    "Status",
    "Submission",
    "Task",
    "TokenLedger",
    "Usage",
    "Verdict",
    "__version__",
    "default_reward",
    "rollout",
]

__version__ = "0.1.0"

_HOMES = {
    "Budget": "policies.base",
    "Completion": "tokens",
    "FakeJudge": "judge.fake",
    "Judge": "judge",
    "KernelEnv": "envs.kernel",
    "KgbError": "errors",
    "OraclePolicy": "policies.oracle",
    "Policy": "policies.base",
    "RandomPolicy": "policies.random_policy",
    "RolloutConfig": "rollouts.config",
    "ScriptedPolicy": "policies.scripted",
    "Status": "records",
    "Submission": "records",
    "Task": "policies.base",
    "TokenLedger": "rollouts.ledger",
    "Usage": "records",
    "Verdict": "records",
    "default_reward": "rewards.default",
    "rollout": "rollouts.driver",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)


register_envs(names())
