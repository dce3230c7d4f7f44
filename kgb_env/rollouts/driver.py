"""The loop policy x environment over operators and repetitions, with a hard budget and a memory."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym

from kgb_env import policies
from kgb_env.envs.registration import GENERIC_ID
from kgb_env.errors import InfrastructureError, UsageError
from kgb_env.policies.base import Policy
from kgb_env.rollouts.config import RolloutConfig
from kgb_env.rollouts.ledger import TokenLedger
from kgb_env.rollouts.manifest import make_manifest
from kgb_env.rollouts.play import Player
from kgb_env.rollouts.state import RunState, replay_state
from kgb_env.rollouts.store import MANIFEST, RunStore, read_manifest, read_records
from kgb_env.rollouts.summary import Progress, Silent, Stopped, Summary, rows

__all__ = ["resume_config", "rollout"]


def resume_config(run_dir: str | Path, *, budget: int | None = None) -> RolloutConfig:
    """Return the configuration of a run, for ``rollout(resume_config(d), run_dir=d, resume=True)``.

    Args:
        run_dir: The run's folder.
        budget: A new budget for the whole run; None keeps the old one.

    Raises:
        StoreError: there is no run.
    """
    config = RolloutConfig.from_json(read_manifest(Path(run_dir))["config"])
    return config if budget is None else replace(config, budget=budget)


def rollout(
    config: RolloutConfig,
    *,
    run_dir: str | Path | None = None,
    resume: bool = False,
    policy: Policy | None = None,
    judge: Any = None,
    progress: Progress | None = None,
) -> Summary:
    """Play every episode of a configuration that is not finished yet.

    The run's budget is never exceeded. A run that was killed, at whatever moment, goes on with
    ``resume=True``: finished episodes are kept, unfinished ones begin again with the answers that were
    already paid for. Ctrl-C ends the rollout cleanly (``stopped == "interrupted"``).

    Args:
        config: What to do.
        run_dir: Folder of the run; None: a new one below ``runs/``.
        resume: Whether to go on with the run in ``run_dir``.
        policy: A policy to use in place of the one that ``config`` names.
        judge: A judge to use in place of the one that ``config`` names.
        progress: Watches the rollout.

    Returns:
        Numbers over all finished episodes, those of earlier sessions included.

    Raises:
        UsageError: the folder holds a run already, or another configuration than the one to resume.
        StoreError: the folder is damaged, in use, or not writable.
        BudgetError: the policy used more tokens than it was allowed.
    """
    started = time.perf_counter()
    watcher = progress or Silent()
    actor = policy or policies.get(config.policy, config.policy_options)
    folder = Path(run_dir) if run_dir is not None else _new_folder(config)
    _check_folder(folder, config, resume)
    plans = list(config.plans(actor.name, actor.version))
    kwargs = {**config.env_kwargs(), **({"judge": judge} if judge is not None else {})}
    with RunStore(folder) as store:
        state = replay_state(read_records(folder))
        _write_manifest(store, config, actor.version, judge, resume)
        ledger = _ledger(config, state, store)
        watcher.begin(len(plans), sum(state.episode(plan.key).done for plan in plans))
        env = gym.make(GENERIC_ID, disable_env_checker=True, **kwargs)
        try:
            stopped = _play(Player(env, actor, config, store, ledger, state, watcher), plans)
        finally:
            env.close()
    summary = _summary(config, folder, state, [plan.key for plan in plans], ledger, stopped, started)
    watcher.end(summary)
    return summary


def _play(player: Player, plans: list[Any]) -> Stopped:
    try:
        for plan in plans:
            if player.state.episode(plan.key).done:
                continue
            if not player.affordable(plan):
                return "budget"
            try:
                player.play(plan)
            except InfrastructureError as error:
                player.failed(plan, error)
    except KeyboardInterrupt:
        return "interrupted"
    return "done"


def _write_manifest(store: RunStore, config: RolloutConfig, version: str, judge: Any, resume: bool) -> None:
    """Write the manifest of a new run; of a resumed one only the budget may be new."""
    if not resume:
        store.write_manifest(make_manifest(config, version, _confinement(config, judge)))
        return
    manifest = read_manifest(store.folder)
    store.write_manifest({**manifest, "config": {**manifest["config"], "budget": config.budget}})


def _new_folder(config: RolloutConfig) -> Path:
    digest = hashlib.sha256(json.dumps([config.to_json(), time.time_ns()]).encode()).hexdigest()
    return Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{digest[:6]}"


def _check_folder(folder: Path, config: RolloutConfig, resume: bool) -> None:
    if not resume:
        if (folder / MANIFEST).exists():
            msg = f"{folder} holds a run already; resume it, or choose another folder"
            raise UsageError(msg)
        return
    old = RolloutConfig.from_json(read_manifest(folder)["config"])
    if replace(old, budget=0) != replace(config, budget=0):
        changed = [k for k, v in old.to_json().items() if k != "budget" and config.to_json()[k] != v]
        msg = f"{folder} was made with another configuration ({', '.join(changed)} differ); only the budget may change"
        raise UsageError(msg)


def _ledger(config: RolloutConfig, state: RunState, store: RunStore) -> TokenLedger:
    """Return the ledger of the run so far; calls that were under way when it was killed become lost."""
    ledger = TokenLedger(config.budget, config.meter, entries=list(state.entries))
    ledger.journal = store.append
    for entry in state.open:
        ledger.charge(entry)
    return ledger


def _confinement(config: RolloutConfig, judge: Any) -> dict[str, Any]:
    """Return the confinement layers of the local judge by name; empty for another judge."""
    if judge is not None or config.judge != "local":
        return {}
    from kgb_env import sandbox

    return {
        layer.name: {"available": layer.available, "detail": layer.detail} for layer in sandbox.layers(config.profile)
    }


def _summary(
    config: RolloutConfig,
    folder: Path,
    state: RunState,
    keys: list[str],
    ledger: TokenLedger,
    stopped: Stopped,
    started: float,
) -> Summary:
    usage, lost = ledger.usage(), ledger.lost
    tokens = {
        "input": usage.input,
        "cached": usage.cached,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "lost": lost,
        "total": usage.total + lost,
    }
    return Summary(
        run_dir=str(folder),
        episodes=rows(state, keys),
        planned=len(keys),
        stopped=stopped,
        tokens=tokens,
        budget=config.budget,
        meter=config.meter,
        spent=ledger.spent + lost,
        wall_seconds=time.perf_counter() - started,
    )
