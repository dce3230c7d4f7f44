"""One episode: what was tried, what it cost, and when it is over.

An episode is **terminated** when a submission is clean (unless ``stop_on_clean`` is off), when the
last allowed submission was judged, when ``submit`` was called with ``final``, or by ``finish``. It is
**truncated** when turns or tokens run out, or when the machine failed. When it ends and nothing was
ever submitted, its last status is ``budget_exhausted``.
"""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass, field
from typing import Literal

from kgb_env.envs import backends, feedback
from kgb_env.envs.parsing import Parsed, parse
from kgb_env.envs.tools import Outcome, call
from kgb_env.errors import ConfinementError, InfrastructureError, UnsupportedError, UsageError
from kgb_env.records import RewardClass, Status, Submission, Usage, Verdict
from kgb_env.tokens import Completion, estimate

__all__ = ["Episode", "Rules"]

_log = logging.getLogger("kgb_env.envs")


@dataclass(frozen=True, slots=True)
class Rules:
    """What an episode allows."""

    max_turns: int = 5
    """Actions."""
    max_submissions: int = 5
    """Judged submissions."""
    token_budget: int = 0
    """Tokens by :attr:`meter`; 0 means no budget."""
    meter: Literal["output", "total"] = "output"
    """Which tokens count."""
    stop_on_clean: bool = True
    """Whether a clean submission ends the episode."""
    tier: Literal["smoke", "full", "large"] = "smoke"
    """Cases that a submission is tried on."""

    def __post_init__(self) -> None:
        """Refuse rules that no episode can follow.

        Raises:
            UsageError: a number is out of range or a name is unknown.
        """
        if self.max_turns < 1 or self.max_submissions < 1 or self.token_budget < 0:
            msg = "max_turns and max_submissions must be at least 1, token_budget at least 0"
            raise UsageError(msg)
        if self.meter not in ("output", "total") or self.tier not in ("smoke", "full", "large"):
            msg = f"meter must be output or total, tier must be smoke, full or large; not {self.meter}, {self.tier}"
            raise UsageError(msg)


@dataclass(slots=True)
class Episode:
    """The state of one episode. It is the :class:`~kgb_env.envs.tools.Bench` that tools work on."""

    operator: str
    platform: str
    split: Literal["all", "public"]
    group_id: str
    judge: backends.JudgeLike
    rules: Rules
    secret: bytes | None = field(default=None, repr=False)
    """Seeds the hidden inputs; None leaves it to the judge."""
    turn: int = 0
    submissions: int = 0
    usage: Usage = Usage()
    verdict: Verdict | None = None
    """The last verdict."""
    best_speedup: float = 0.0
    has_speedup: bool = False
    over: str = ""
    """Why the episode is over: ``clean``, ``submissions``, ``finished``, ``turns``, ``tokens``, ``infrastructure``."""
    seen: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts of earlier submissions by canonical digest."""

    @property
    def spent(self) -> int:
        """Tokens spent so far, by the meter of the budget."""
        return self.usage.output if self.rules.meter == "output" else self.usage.total

    @property
    def tokens_left(self) -> int:
        """Tokens left, at least 0; -1 without a budget."""
        return max(0, self.rules.token_budget - self.spent) if self.rules.token_budget else -1

    def act(self, action: str) -> tuple[Parsed, Outcome]:
        """Charge an action, then carry it out unless it was paid with tokens that were not there."""
        self.turn += 1
        self.usage = self.usage + self._price(action)
        overdrawn = bool(self.rules.token_budget) and self.spent > self.rules.token_budget
        if overdrawn or getattr(action, "finish_reason", "") == "budget_exhausted":
            self.over = "tokens"
            return Parsed("no_code"), Outcome("The token budget is spent; this message was not judged.")
        parsed = parse(action)
        return parsed, self._carry_out(parsed, action)

    def close(self, outcome: Outcome) -> tuple[Outcome, bool, bool]:
        """Decide whether the episode is over; returns the outcome, ``terminated`` and ``truncated``."""
        verdict = outcome.verdict
        self.verdict = verdict or self.verdict
        self._keep_speed(outcome)
        if verdict and verdict.status is Status.INFRASTRUCTURE_ERROR:
            self.over = "infrastructure"
        elif not self.over:
            self.over = self._ending(outcome)
        if self.over and not self.submissions and not outcome.scored and self.over != "infrastructure":
            exhausted = self._own_verdict(Status.BUDGET_EXHAUSTED, "Nothing was submitted before the episode ended.")
            text = f"{outcome.text}\n{exhausted.message}"
            self.verdict = exhausted
            outcome = dataclasses.replace(outcome, text=text, verdict=exhausted, scored=True)
        return outcome, self.over in ("clean", "submissions", "finished"), self.over in _TRUNCATED

    def statement(self) -> str:
        """Return the task statement."""
        return backends.statement(self.judge, self.operator, self.platform)

    def submit(self, source: str) -> Outcome:
        """Judge a source for a reward; the same canonical source is judged once."""
        submission = Submission(source)
        digest = _canonical(submission)
        repeat = digest in self.seen
        verdict = self.seen[digest] if repeat else self._verify(submission, self.split)
        self.seen[digest] = verdict
        self.submissions += verdict.status is not Status.INFRASTRUCTURE_ERROR
        text = feedback.describe(verdict, submission, limits=backends.limits(self.judge), repeat=repeat)
        return Outcome(text, verdict, True, True, repeat)

    def try_public(self, source: str) -> Outcome:
        """Judge a source on the public cases. Nothing is earned, but an attack is punished here as well."""
        submission = Submission(source)
        verdict = self._verify(submission, "public")
        text = feedback.describe(verdict, submission, limits=backends.limits(self.judge))
        return Outcome(text, verdict, scored=verdict.status.reward_class is RewardClass.HACK)

    def _price(self, action: str) -> Usage:
        if isinstance(action, Completion):
            return action.usage
        return estimate(action) if self.rules.token_budget else Usage()

    def _carry_out(self, parsed: Parsed, action: str) -> Outcome:
        if parsed.parsed_as == "no_code":
            verdict = self._own_verdict(Status.PARSE_ERROR, "The message holds no code and no tool call.")
            return Outcome(feedback.no_code(action), verdict, scored=True)
        answer = parsed.error or call(self, parsed.tool, parsed.arguments)
        return Outcome(answer) if isinstance(answer, str) else answer

    def _ending(self, outcome: Outcome) -> str:
        if outcome.submitted and outcome.verdict and outcome.verdict.clean and self.rules.stop_on_clean:
            return "clean"
        if outcome.final:
            return "finished"
        if self.submissions >= self.rules.max_submissions:
            return "submissions"
        if self.tokens_left == 0:
            return "tokens"
        return "turns" if self.turn >= self.rules.max_turns else ""

    def _keep_speed(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        if outcome.submitted and verdict and verdict.clean and verdict.speedup:
            self.has_speedup = True
            self.best_speedup = max(self.best_speedup, verdict.speedup.value)

    def _verify(self, submission: Submission, split: Literal["all", "public"]) -> Verdict:
        try:
            return self.judge.verify(self.operator, submission, tier=self.rules.tier, split=split, secret=self.secret)
        except (UsageError, ConfinementError):
            raise
        except UnsupportedError as error:
            return self._own_verdict(Status.UNSUPPORTED, str(error))
        except InfrastructureError as error:
            _log.warning("the machine failed while judging %s: %s", self.operator, error)
            return self._own_verdict(
                Status.INFRASTRUCTURE_ERROR, "The machine failed; this is not the submission's fault."
            )
        except Exception:  # boundary: a bug in the judge is the machine's failure, never the candidate's, and logged
            _log.exception("the judge broke while judging %s", self.operator)
            return self._own_verdict(
                Status.INFRASTRUCTURE_ERROR, "The judge failed; this is not the submission's fault."
            )

    def _own_verdict(self, status: Status, message: str) -> Verdict:
        return Verdict(self.operator, self.platform, status, message=message)


_TRUNCATED = frozenset({"turns", "tokens", "infrastructure"})


def _canonical(submission: Submission) -> str:
    """Return the canonical digest; the plain one for a source that Python's own tools cannot walk."""
    try:
        return submission.canonical_digest
    except (ValueError, RecursionError):
        return submission.digest
