"""What a rollout shows while it runs: a line for each episode, and a bar on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kgb_env.cli import output

if TYPE_CHECKING:
    from tqdm import tqdm

    from kgb_env.rollouts import EpisodeRow, Summary

__all__ = ["Watcher"]


class Watcher:
    """Prints one line per episode, with the verdict of each turn, and a summary."""

    def __init__(self) -> None:
        """Draw nothing before the rollout begins."""
        self._bar: tqdm[Any] | None = None
        self._statuses: list[str] = []
        self._done = 0
        self._planned = 0

    def begin(self, planned: int, done: int) -> None:
        """Start the bar."""
        self._planned, self._done = planned, done
        self._bar = output.progress(planned, "episodes")
        self._bar.update(done)
        if done:
            self._say(f"{done} of {planned} episodes were finished before.")

    def turn(self, operator: str, turn: int, status: str, reward: float) -> None:
        """Remember the verdict of a turn."""
        self._statuses.append("no verdict" if status == "none" else status)
        if self._bar is not None:
            self._bar.set_postfix_str(f"{operator}, turn {turn + 1}: {status}")

    def episode(self, row: EpisodeRow, spent: int, budget: int) -> None:
        """Print the episode's line."""
        self._done += 1
        width = len(str(self._planned))
        spending = f"{spent:,} of {budget:,} tokens" if budget else f"{spent:,} tokens"
        path = " > ".join(self._statuses) or row.status
        self._say(f"[{self._done:{width}}/{self._planned}] {row.operator:28} {row.reward:+.3f}  {path}  ({spending})")
        self._statuses.clear()
        if self._bar is not None:
            self._bar.update()

    def end(self, summary: Summary) -> None:
        """Print what the run came to."""
        if self._bar is not None:
            self._bar.close()
        episodes, mean = len(summary.episodes), _mean([row.reward for row in summary.episodes])
        tokens = summary.tokens
        budget = f" of a budget of {summary.budget:,}" if summary.budget else ", without a budget"
        lost = f", {tokens['lost']:,} of them lost" if tokens["lost"] else ""
        print()
        print(f"{summary.clean} of {episodes} episodes clean, mean reward {mean:+.3f}, {summary.wall_seconds:.1f} s")
        print(f"{summary.spent:,} {summary.meter} tokens spent{budget}{lost}; {tokens['input']:,} input tokens")
        if summary.stopped != "done":
            why = "the budget is spent" if summary.stopped == "budget" else "it was interrupted"
            print(f"{summary.planned - episodes} episodes are missing, because {why}; go on with --resume")
        print(f"Trajectories: {summary.run_dir}")

    def _say(self, line: str) -> None:
        if self._bar is None or self._bar.disable:
            print(line, flush=True)
        else:
            self._bar.write(line, file=sys.stdout)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
