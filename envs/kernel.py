"""The Gymnasium environment: one operator an episode, a message an action, a verdict a step."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Literal

import gymnasium as gym

from kgb_env import rewards
from kgb_env.envs import backends, feedback, report
from kgb_env.envs.episode import Episode, Rules
from kgb_env.envs.sampling import choose
from kgb_env.envs.spaces import MAX_ACTION, UnicodeText, observation_space
from kgb_env.envs.tools import schemas
from kgb_env.errors import UsageError, did_you_mean
from kgb_env.operators import canonical
from kgb_env.records import Verdict

__all__ = ["KernelEnv"]

_OPTIONS = ("operator", "split", "group_id")


class KernelEnv(gym.Env[dict[str, Any], str]):
    """Write a Triton kernel for an operator, read what the judge says of it, try again.

    The action is a message: a fenced code block (or bare code) is a submission, a JSON object
    ``{"tool": …, "arguments": {…}}`` is a tool call. The reward of a step is the absolute score of
    its verdict (:func:`kgb_env.rewards.default_reward`); a step without a verdict is worth 0.0. See
    :mod:`kgb_env.envs.episode` for when an episode ends.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("kgb_env:kgb/Kernel-v0", operator="aten::add", judge="fake")
        >>> observation, info = env.reset(seed=1)
        >>> _, reward, terminated, _, info = env.step("def add_Tensor(self, other): ...")
        >>> info["status"], terminated
        ('wrong_value', False)
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        operator: str = "",
        *,
        operators: Sequence[str] = (),
        platform: str = "cpu",
        judge: str | backends.JudgeLike = "local",
        profile: Literal["standard", "best_effort"] = "standard",
        reward: str = "default",
        max_turns: int = 5,
        max_submissions: int = 5,
        token_budget: int = 0,
        meter: Literal["output", "total"] = "output",
        stop_on_clean: bool = True,
        tier: Literal["smoke", "full", "large"] = "smoke",
        group_seed: int = 0,
        deterministic: bool = True,
        render_mode: str | None = None,
    ) -> None:
        """Describe the environment. Nothing is started before the first ``reset``.

        Args:
            operator: The operator of every episode, for example ``aten::add``; empty: sampled.
            operators: Operators to sample from; empty: all that need a kernel.
            platform: Chip, by name.
            judge: ``local``, ``fake``, or a judge (then the spec is no longer JSON).
            profile: What to do about missing confinement layers; see ``kgb doctor``.
            reward: Name of a preset of :mod:`kgb_env.rewards`.
            max_turns: Actions in an episode.
            max_submissions: Judged submissions in an episode.
            token_budget: Tokens of an episode; 0 means no budget.
            meter: Which tokens count.
            stop_on_clean: Whether a clean submission ends the episode.
            tier: Cases that a submission is tried on.
            group_seed: Decides, with the group, which operator is sampled.
            deterministic: Whether hidden inputs derive from the seed given to ``reset``.
            render_mode: ``ansi`` or None.

        Raises:
            UnknownOperatorError: an operator does not exist; the message suggests one.
            UsageError: another argument is out of range.
        """
        self._operator = canonical(operator) if operator else ""
        self._operators = tuple(canonical(name) for name in operators)
        self._platform = platform
        self._judge = judge
        self._profile = profile
        self._reward = _preset(reward)
        self._rules = Rules(max_turns, max_submissions, token_budget, meter, stop_on_clean, tier)
        self._group_seed = group_seed
        self._deterministic = deterministic
        self.render_mode = render_mode
        self.action_space = UnicodeText(MAX_ACTION)
        self.observation_space = observation_space(max_turns, max_submissions)
        self._episode: Episode | None = None
        self._resets = 0
        self._transcript: list[str] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode.

        The operator is ``options["operator"]``, else the constructor's, else sampled by ``group_seed``
        and ``group_id`` alone: sub-environments with different seeds try the same task.

        Args:
            seed: Decides the hidden inputs, and restarts the sequence of sampled operators.
            options: ``operator``; ``split`` (``all`` or ``public``: the cases of a submission);
                ``group_id`` (default: how many resets there were since the last seeded one).

        Returns:
            The task statement as observation, and ``info``.

        Raises:
            UnknownOperatorError: no such operator; the message suggests one.
            UsageError: an option, or the judge's name, is unknown.
        """
        super().reset(seed=seed)
        self._resets = 0 if seed is not None else self._resets + 1
        self._episode = self._begin(_checked(options or {}))
        text = f"{self._episode.statement()}\n\n{self._left(self._episode)}"
        self._transcript = [feedback.bounded(text)]
        return report.observation(self._episode, text, None), report.info(self._episode)

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Take one message, and answer it. Never raises for the candidate's or the machine's fault.

        Raises:
            gymnasium.error.ResetNeeded: the episode is over, or none was begun.
            ConfinementError: profile ``standard`` asks for a layer that this machine lacks.
        """
        episode = self._running()
        parsed, outcome = episode.act(action)
        outcome, terminated, truncated = episode.close(outcome)
        reward = report.score(self._reward, episode, outcome)
        text = f"{outcome.text}\n{self._left(episode)}"
        self._transcript += [str(action), feedback.bounded(text)]
        observation = report.observation(episode, text, outcome.verdict)
        return observation, reward.value, terminated, truncated, report.info(episode, parsed, outcome, reward)

    def render(self) -> str | None:
        """Return the transcript of the episode in render mode ``ansi``."""
        if self.render_mode != "ansi":
            return None
        return "\n\n".join(f"{'policy' if i % 2 else 'kgb'}> {text}" for i, text in enumerate(self._transcript))

    @property
    def last_verdict(self) -> Verdict | None:
        """The last verdict of the episode, with its evidence; for trajectories, not for policies."""
        return self._episode.verdict if self._episode else None

    def tools(self) -> tuple[dict[str, Any], ...]:
        """Return name, description, parameters (JSON Schema) and cost of each tool."""
        return schemas()

    def _begin(self, options: dict[str, str]) -> Episode:
        judge = self._judge
        if isinstance(judge, str):
            judge = backends.shared_judge(judge, self._platform, self._profile)
        group = options.get("group_id", str(self._resets))
        operator = options.get("operator") or self._operator
        if not operator:
            operator = choose(self._operators, self._group_seed, group, lambda n: backends.is_kernel_free(judge, n))
        drawn = self.np_random.bytes(32)
        secret = hmac.new(b"kgb_env judge secret", drawn, hashlib.sha256).digest() if self._deterministic else None
        split: Any = options.get("split", "all")
        return Episode(operator, self._platform, split, group, judge, self._rules, secret)

    def _running(self) -> Episode:
        if self._episode is None or self._episode.over:
            msg = "call reset() first: no episode is running"
            raise gym.error.ResetNeeded(msg)
        return self._episode

    def _left(self, episode: Episode) -> str:
        return feedback.left(
            turns=self._rules.max_turns - episode.turn,
            submissions=self._rules.max_submissions - episode.submissions,
            tokens=episode.tokens_left,
            over=episode.over,
        )


def _preset(name: str) -> rewards.RewardFunction:
    """Return a reward function by name. Raises UsageError."""
    if name not in rewards.PRESETS:
        msg = f"unknown reward {name!r}{did_you_mean(name, rewards.PRESETS)}; known: {', '.join(rewards.PRESETS)}"
        raise UsageError(msg)
    return rewards.PRESETS[name]


def _checked(options: dict[str, Any]) -> dict[str, str]:
    """Return the options as strings, the operator resolved. Raises UsageError for an unknown one."""
    for key in options:
        if key not in _OPTIONS:
            msg = f"unknown reset option {key!r}{did_you_mean(key, _OPTIONS)}; known: {', '.join(_OPTIONS)}"
            raise UsageError(msg)
    checked = {key: str(value) for key, value in options.items() if value is not None}
    if checked.get("split", "all") not in ("all", "public"):
        msg = f"split must be all or public, not {checked['split']!r}"
        raise UsageError(msg)
    if "operator" in checked:
        checked["operator"] = canonical(checked["operator"])
    return checked
