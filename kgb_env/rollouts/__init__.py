"""Rollouts: the loop policy x environment, what it costs, what it leaves on disk, how it goes on."""

from __future__ import annotations

from kgb_env.rollouts.config import EpisodePlan, RolloutConfig
from kgb_env.rollouts.driver import resume_config, rollout
from kgb_env.rollouts.ledger import Reservation, TokenLedger, Turn
from kgb_env.rollouts.state import RunState, replay_state
from kgb_env.rollouts.store import RunStore, read_manifest, read_records
from kgb_env.rollouts.summary import EpisodeRow, Progress, Silent, Summary

__all__ = [
    "EpisodePlan",
    "EpisodeRow",
    "Progress",
    "Reservation",
    "RolloutConfig",
    "RunState",
    "RunStore",
    "Silent",
    "Summary",
    "TokenLedger",
    "Turn",
    "read_manifest",
    "read_records",
    "replay_state",
    "resume_config",
    "rollout",
]
