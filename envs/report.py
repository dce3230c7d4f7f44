"""From an episode's state to what Gymnasium hands out: observation and ``info``.

``info`` has the same keys with the same types after every ``reset`` and ``step``, so that vector
environments can merge it: no None, no NaN, nothing that a clock decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgb_env.envs.episode import Episode
from kgb_env.envs.feedback import bounded
from kgb_env.envs.parsing import Parsed
from kgb_env.envs.spaces import MAX_CASES, MAX_SPEEDUP, MAX_TOKENS, STATUSES
from kgb_env.envs.tools import Outcome
from kgb_env.records import Verdict
from kgb_env.rewards import TERMS, Reward, RewardFunction

__all__ = ["INFO", "info", "observation", "score"]

INFO: dict[str, type] = {
    "operator": str,
    "platform": str,
    "group_id": str,
    "split": str,
    "turn": int,
    "submissions": int,
    "status": str,
    "clean": bool,
    "parsed_as": str,
    "tool": str,
    "repeat": bool,
    "scored": bool,
    "score": float,
    "reward_terms": dict,
    "trainable": bool,
    "over": str,
    "cases_passed": int,
    "cases_total": int,
    "has_speedup": bool,
    "speedup": float,
    "speedup_low": float,
    "speedup_kind": str,
    "usage": dict,
    "usage_source": str,
    "budget_left": int,
}
"""Keys and types of ``info``. ``scored`` says whether the step earned
``score``, the reward without the repeat term; ``over`` says why the
episode ended (empty while it runs); ``usage`` counts the episode's tokens by meter."""


def score(function: RewardFunction, episode: Episode, outcome: Outcome) -> Reward:
    """Return the reward of an outcome; one that is not scored is worth 0.0 in every term."""
    if outcome.verdict is None or not outcome.scored:
        return Reward(0.0, "neutral", dict.fromkeys(TERMS, 0.0))
    return function(outcome.verdict, tokens=episode.spent, budget=episode.rules.token_budget, repeat=outcome.repeat)


def observation(episode: Episode, text: str, verdict: Verdict | None) -> dict[str, Any]:
    """Return a fresh observation; see :func:`kgb_env.envs.spaces.observation_space`."""
    status = verdict.status.value if verdict else "none"
    return {
        "text": bounded(text),
        "status": np.int64(STATUSES.index(status)),
        "turn": np.int64(episode.turn),
        "submissions_left": np.int64(episode.rules.max_submissions - episode.submissions),
        "cases_passed": np.int64(min(MAX_CASES, verdict.cases_passed if verdict else 0)),
        "cases_total": np.int64(min(MAX_CASES, len(verdict.cases) if verdict else 0)),
        "best_speedup": np.array([min(MAX_SPEEDUP, episode.best_speedup)], dtype=np.float32),
        "has_speedup": np.int64(episode.has_speedup),
        "budget_left": np.array([min(MAX_TOKENS, episode.tokens_left)], dtype=np.int64),
    }


def info(
    episode: Episode, parsed: Parsed | None = None, outcome: Outcome | None = None, reward: Reward | None = None
) -> dict[str, Any]:
    """Return a fresh ``info`` with exactly the keys and types of :data:`INFO`."""
    verdict = outcome.verdict if outcome else None
    speedup = verdict.speedup if verdict else None
    terms = reward.terms if reward else dict.fromkeys(TERMS, 0.0)
    usage = episode.usage
    return {
        "operator": episode.operator,
        "platform": episode.platform,
        "group_id": episode.group_id,
        "split": episode.split,
        "turn": episode.turn,
        "submissions": episode.submissions,
        "status": verdict.status.value if verdict else "none",
        "clean": bool(verdict and verdict.clean),
        "parsed_as": parsed.parsed_as if parsed else "",
        "tool": parsed.tool if parsed else "",
        "repeat": bool(outcome and outcome.repeat),
        "scored": bool(outcome and outcome.scored),
        "score": float(reward.value - terms["repeat"]) if reward else 0.0,
        "reward_terms": {key: float(value) for key, value in terms.items()},
        "trainable": verdict.status.trainable if verdict else True,
        "over": episode.over,
        "cases_passed": verdict.cases_passed if verdict else 0,
        "cases_total": len(verdict.cases) if verdict else 0,
        "has_speedup": speedup is not None,
        "speedup": float(speedup.value) if speedup else 0.0,
        "speedup_low": float(speedup.low) if speedup else 0.0,
        "speedup_kind": speedup.kind if speedup else "",
        "usage": {
            "input": usage.input,
            "cached": usage.cached,
            "output": usage.output,
            "reasoning": usage.reasoning,
        },
        "usage_source": usage.source,
        "budget_left": episode.tokens_left,
    }
