"""One episode, played and written down step by step."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from kgb_env.errors import InfrastructureError
from kgb_env.policies.base import Budget, Message, Policy, Task
from kgb_env.records import Usage, Verdict
from kgb_env.rollouts.config import EpisodePlan, RolloutConfig
from kgb_env.rollouts.ledger import TokenLedger, Turn
from kgb_env.rollouts.state import RunState, usage_to_json
from kgb_env.rollouts.store import RunStore
from kgb_env.rollouts.summary import Progress, row
from kgb_env.tokens import Completion, tokenizer

__all__ = ["Player"]


@dataclass(slots=True)
class Player:
    """Plays episodes of one rollout."""

    env: gym.Env[dict[str, Any], str]
    policy: Policy
    config: RolloutConfig
    store: RunStore
    ledger: TokenLedger
    state: RunState
    progress: Progress

    def affordable(self, plan: EpisodePlan) -> bool:
        """Whether the run's budget allows an episode to go on: an answer is stored, or a token is left."""
        return self.ledger.left != 0 or bool(self.state.episode(plan.key).answers)

    def play(self, plan: EpisodePlan) -> None:
        """Play one episode to its end, beginning with the answers that an earlier attempt stored.

        Raises:
            InfrastructureError: the policy's provider failed. The episode stays unfinished.
            BudgetError: the policy used more tokens than it was allowed.
        """
        episode = self.state.episode(plan.key)
        stored = episode.answers
        episode.attempts += 1
        log = _Log(self.store, plan, episode.attempts)
        observation, info = self.env.reset(seed=plan.seed, options={"operator": plan.operator, "group_id": plan.group})
        messages: list[Message] = [{"role": "user", "content": observation["text"]}]
        log.begin(self.policy, observation["text"])
        best, usage, over = _Best(), Usage(), False
        while not over:
            turn = info["turn"]
            replayed = turn < len(stored)
            answer = stored[turn] if replayed else self._ask(plan, episode.attempts, messages, info)
            episode.actions[turn] = answer
            usage = usage + answer.usage
            log.action(turn, answer, replayed)
            started = time.perf_counter()
            observation, reward, terminated, truncated, info = self.env.step(answer)
            verdict: Verdict | None = self.env.get_wrapper_attr("last_verdict") if info["status"] != "none" else None
            log.step(turn, observation["text"], float(reward), (terminated, truncated), info, verdict, started)
            self.progress.turn(plan.operator, turn, info["status"], float(reward))
            best.see(info)
            messages.append({"role": "assistant", "content": str(answer)})
            messages.append({"role": "user", "content": observation["text"]})
            over = terminated or truncated
        episode.end = log.end(best, usage, info)
        self.progress.episode(row(episode.end), self.ledger.spent + self.ledger.lost, self.ledger.budget)

    def failed(self, plan: EpisodePlan, error: InfrastructureError) -> None:
        """Write down why an episode was left unfinished; ``--resume`` takes it up again."""
        self.store.append({"type": "failure", "key": plan.key, "operator": plan.operator, "message": str(error)})

    def _ask(self, plan: EpisodePlan, attempt: int, messages: list[Message], info: dict[str, Any]) -> Completion:
        """Reserve, ask, settle. Without tokens for a call, return the answer that ends the episode."""
        where = Turn(plan.group, plan.key, attempt, info["turn"])
        left = info["budget_left"]
        counted = self._input_tokens(messages) if self.config.meter == "total" else 0
        limit = self.config.max_output_tokens if left < 0 else min(self.config.max_output_tokens, left - counted)
        floor = getattr(self.policy, "min_output_tokens", 1)
        reservation = self.ledger.reserve(where, limit, input_tokens=counted, floor=floor)
        if reservation is None:
            return Completion("", usage=Usage(), finish_reason="budget_exhausted")
        budget = Budget(reservation.max_output_tokens, left, self.ledger.left)
        task = Task(plan.operator, plan.seed, plan.repetition)
        try:
            answer = self.policy.act(tuple(messages), self.env.get_wrapper_attr("tools")(), budget, task)
        except BaseException:  # boundary: cleans up and raises it again
            self.ledger.lose(reservation)
            raise
        # A third-party policy may return a bare string: it is counted, and called estimated.
        answer = answer if isinstance(answer, Completion) else Completion(answer)
        self.ledger.settle(reservation, answer.usage)
        return answer

    def _input_tokens(self, messages: list[Message]) -> int:
        """Count the input of the next call: by the policy's own tokenizer, else the one that works here."""
        count = tokenizer(getattr(self.policy, "tokenizer", "auto")).count
        return sum(count(message["content"]) for message in messages)


@dataclass(slots=True)
class _Best:
    """The best that an episode showed so far."""

    score: float = 0.0
    status: str = "none"
    clean: bool = False
    seen: bool = False

    def see(self, info: dict[str, Any]) -> None:
        """Take the turn into account if it was scored."""
        if info["scored"] and (not self.seen or info["score"] > self.score):
            self.score, self.status, self.seen = info["score"], info["status"], True
        elif not self.seen and info["status"] != "none":
            self.status = info["status"]
        self.clean = self.clean or (info["clean"] and info["scored"])


@dataclass(slots=True)
class _Log:
    """Writes the records of one attempt."""

    store: RunStore
    plan: EpisodePlan
    attempt: int
    _node: int = 0

    def begin(self, policy: Policy, text: str) -> None:
        self._write(
            "episode",
            operator=self.plan.operator,
            repetition=self.plan.repetition,
            seed=self.plan.seed,
            policy=policy.name,
            policy_version=policy.version,
            node=0,
            text=text,
        )

    def action(self, turn: int, answer: Completion, replayed: bool) -> None:
        self._write(
            "action",
            turn=turn,
            **self._next_node(),
            replayed=replayed,
            text=str(answer),
            usage=usage_to_json(answer.usage),
            finish_reason=answer.finish_reason,
            token_ids=list(answer.token_ids),
            logprobs=list(answer.logprobs),
            policy_version=answer.policy_version,
        )

    def step(
        self,
        turn: int,
        text: str,
        reward: float,
        done: tuple[bool, bool],
        info: dict[str, Any],
        verdict: Verdict | None,
        started: float,
    ) -> None:
        self._write(
            "step",
            turn=turn,
            **self._next_node(),
            text=text,
            reward=reward,
            terminated=done[0],
            truncated=done[1],
            info=info,
            verdict=verdict.to_json() if verdict else None,
            seconds=round(time.perf_counter() - started, 6),
        )

    def end(self, best: _Best, usage: Usage, info: dict[str, Any]) -> dict[str, Any]:
        record = self._write(
            "end",
            operator=self.plan.operator,
            repetition=self.plan.repetition,
            status=best.status,
            clean=best.clean,
            reward=best.score,
            turns=info["turn"],
            submissions=info["submissions"],
            usage=usage_to_json(usage),
            over=info["over"],
            trainable=info["over"] != "infrastructure" and best.status != "unsupported",
        )
        self.store.sync()
        return record

    def _next_node(self) -> dict[str, int]:
        self._node += 1
        return {"node": self._node, "parent": self._node - 1}

    def _write(self, kind: str, **fields: Any) -> dict[str, Any]:
        record = {"type": kind, "key": self.plan.key, "group": self.plan.group, "attempt": self.attempt, **fields}
        self.store.append(record)
        return record
