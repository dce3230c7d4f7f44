"""``kgb verify`` and ``kgb selftest``: verdicts on a submission, and on the judge itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgb_env import operators as registry
from kgb_env import platforms
from kgb_env.cli import MACHINE, NOT_CLEAN, output
from kgb_env.cli.choices import Profile, Tier, read_submission, select
from kgb_env.records import SCHEMA_VERSION, Status, Submission

if TYPE_CHECKING:
    from kgb_env.records import Verdict

__all__ = ["selftest", "verdict_document", "verify"]


def verify(
    file: Annotated[str, typer.Argument(help="Python source of the submission; - reads standard input.")],
    operator: Annotated[str, typer.Option(help="Name of the operator, for example aten::add.")],
    platform: Annotated[str, typer.Option(help="Where it is judged.")] = "cpu",
    tier: Annotated[Tier, typer.Option(help="Which cases are run.")] = Tier.SMOKE,
    profile: Annotated[Profile, typer.Option(help="How complete the confinement must be.")] = Profile.STANDARD,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Judge one submission.

    Exit status: 0 clean, 1 not clean, 2 wrong usage, 3 the machine failed.
    """
    submission = Submission(read_submission(file))
    name, _ = registry.canonical(operator), platforms.get(platform)
    with output.stdout_is_ours():
        from kgb_env.judge import Judge

        with Judge(platform, profile=profile.value) as judge:
            verdict, limits = judge.verify(name, submission, tier=tier.value), judge.limits
    if as_json:
        output.json_document(verdict_document(verdict))
    else:
        _show(verdict, submission, limits)
    if verdict.status is Status.INFRASTRUCTURE_ERROR:
        raise typer.Exit(MACHINE)
    if not verdict.clean:
        raise typer.Exit(NOT_CLEAN)


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Return what ``kgb verify --json`` prints: the verdict and its default reward."""
    from kgb_env.rewards import default_reward

    reward = default_reward(verdict)
    return {**verdict.to_json(), "reward": reward.value, "reward_terms": reward.terms}


def _show(verdict: Verdict, submission: Submission, limits: Mapping[str, str]) -> None:
    from kgb_env.envs.feedback import describe
    from kgb_env.rewards import default_reward

    print(describe(verdict, submission, limits=limits))
    print()
    output.table(
        ("layer", "result", "evidence"), [(x.name, x.result, x.evidence) for x in verdict.layers], colour="result"
    )
    print(f"\nReward {default_reward(verdict).value:+.3f}, in {verdict.seconds:.2f} s.")


def selftest(
    operators: Annotated[str, typer.Option(help="Names or patterns, separated by commas.")] = "*",
    profile: Annotated[Profile, typer.Option(help="How complete the confinement must be.")] = Profile.BEST_EFFORT,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check the judge: torch's own results must pass, every spoiled answer must fail.

    Exit status 1 when one does not.
    """
    with output.stdout_is_ours():
        names = select([operators])

        from kgb_env.judge import Judge
        from kgb_env.judge import selftest as checks

        with Judge(profile=profile.value) as judge, output.progress(len(names), "selftest") as bar:

            def done(name: str) -> None:
                bar.set_postfix_str(name)
                bar.update()

            rows = checks.selftest(names, judge=judge, progress=done)
    document = {"schema_version": SCHEMA_VERSION, "operators": rows, "ok": all(map(_holds, rows))}
    if as_json:
        output.json_document(document)
    else:
        _show_rows(document)
    if not document["ok"]:
        raise typer.Exit(NOT_CLEAN)


def _holds(row: Mapping[str, Any]) -> bool:
    return row["native"] == "pass" and all(canary["result"] != "passes" for canary in row["canaries"].values())


def _show_rows(document: Mapping[str, Any]) -> None:
    lines = []
    for row in document["operators"]:
        lines.append((row["name"], "torch itself", row["native"], ", ".join(row.get("native_wrong_cases", ()))))
        lines += [(row["name"], name, canary["result"], canary["reason"]) for name, canary in row["canaries"].items()]
    output.table(("operator", "answer", "result", "reason"), lines, colour="result")
    bad = [row["name"] for row in document["operators"] if not _holds(row)]
    print()
    print(
        f"The judge cannot be trusted with: {', '.join(bad)}"
        if bad
        else "torch passes, and every spoiled answer fails."
    )
