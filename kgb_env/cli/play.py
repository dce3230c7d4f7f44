"""``kgb rollout``: a policy, operators, and a token budget that is never exceeded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgb_env.cli import INTERRUPTED, MACHINE, output
from kgb_env.cli.choices import Profile, Tier, select
from kgb_env.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from kgb_env.rollouts import RolloutConfig

__all__ = ["rollout"]


def rollout(
    policy: Annotated[
        str, typer.Option(help="oracle, stumbling (both take :FOLDER of kernels), random, or scripted:FILE (JSON).")
    ] = "oracle",
    operators: Annotated[str, typer.Option(help="Names or patterns, separated by commas.")] = "*",
    tokens: Annotated[int | None, typer.Option(min=0, help="Budget of the run in output tokens; 0 is none.")] = None,
    repetitions: Annotated[int, typer.Option(min=1, help="Episodes of each operator.")] = 1,
    turns: Annotated[int, typer.Option(min=1, help="Messages, and submissions, in an episode.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the run.")] = 0,
    platform: Annotated[str, typer.Option(help="Where kernels are judged.")] = "cpu",
    tier: Annotated[Tier, typer.Option(help="Which cases are run.")] = Tier.SMOKE,
    profile: Annotated[Profile, typer.Option(help="How complete the confinement must be.")] = Profile.STANDARD,
    runs_dir: Annotated[Path, typer.Option(help="Where a folder for the run is made.")] = Path("runs"),
    resume: Annotated[str, typer.Option(help="Go on with this run (its folder, or its name in the runs folder).")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> None:
    """Roll a policy out over operators, and keep every step.

    A resumed run keeps its own settings; only --tokens may be new. Exit status 3 when the machine
    failed in an episode; --resume takes such an episode up again.
    """
    with output.stdout_is_ours(as_json):
        from kgb_env import rollouts
        from kgb_env.cli.watch import Watcher

        if resume:
            folder = _existing(resume, runs_dir)
            config = rollouts.resume_config(folder, budget=tokens)
        else:
            config = rollouts.RolloutConfig(
                operators=tuple(select([operators])),
                budget=tokens or 0,
                repetitions=repetitions,
                max_turns=turns,
                max_submissions=turns,
                seed=seed,
                platform=platform,
                tier=tier.value,
                profile=profile.value,
            )
            config = _with_policy(config, policy)
            folder = _new_folder(config, runs_dir)
        summary = rollouts.rollout(config, run_dir=folder, resume=bool(resume), progress=Watcher())
    if as_json:
        output.json_document(summary.to_json())
    if summary.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if any(not episode.trainable and episode.over == "infrastructure" for episode in summary.episodes):
        raise typer.Exit(MACHINE)


def _with_policy(config: RolloutConfig, text: str) -> RolloutConfig:
    """Return the configuration with the policy that ``NAME`` or ``NAME:ARGUMENT`` describes."""
    from kgb_env import policies

    name, _, argument = text.partition(":")
    if name not in policies.POLICIES:
        msg = f"unknown policy {name!r}{did_you_mean(name, policies.POLICIES)}; known: {', '.join(policies.POLICIES)}"
        raise UsageError(msg)
    if name == "scripted":
        return replace(config, policy=name, policy_options=_script(argument))
    return replace(config, policy=name, policy_options={"folder": argument} if argument else {})


def _script(path: str) -> dict[str, Any]:
    """Read a script: a JSON object from operator name (or ``*``) to the list of its messages.

    Raises:
        UsageError: it is no such file.
    """
    form = 'a script is a JSON object {"aten::add": ["first message", ...], "*": [...]}'
    if not path:
        msg = f"name the file, as in scripted:FILE; {form}"
        raise UsageError(msg)
    try:
        script = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"{path} cannot be read: {error}; {form}"
        raise UsageError(msg) from error
    listed = isinstance(script, dict) and all(isinstance(messages, list) for messages in script.values())
    if not listed or not all(isinstance(text, str) for messages in script.values() for text in messages):
        msg = f"{path} is no script; {form}"
        raise UsageError(msg)
    default = script.pop("*", [])
    return {"actions": script, "default": default, "name": Path(path).stem}


def _existing(name: str, runs_dir: Path) -> Path:
    for folder in (Path(name), runs_dir / name):
        if (folder / "manifest.json").is_file():
            return folder
    known = [path.parent.name for path in runs_dir.glob("*/manifest.json")]
    msg = f"there is no run {name!r}{did_you_mean(name, known)} (looked here and in {runs_dir})"
    raise UsageError(msg)


def _new_folder(config: RolloutConfig, runs_dir: Path) -> Path:
    """Return a folder that does not exist: the time, the policy, and a number where two runs begin in a second."""
    import time

    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{config.policy}"
    return next(
        folder
        for number in range(1, 1_000_000)
        if not (folder := runs_dir / (stem if number == 1 else f"{stem}-{number}")).exists()
    )
