"""Which judge an environment asks, by name, so that its spec stays plain JSON.

One judge per process and setting, made when first used: ``gym.make`` is cheap, and all environments
of a process share the judge's zygotes.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

from kgb_env.errors import UsageError, did_you_mean
from kgb_env.records import Submission, Verdict

__all__ = ["JUDGES", "JudgeLike", "is_kernel_free", "limits", "shared_judge", "statement"]


@runtime_checkable
class JudgeLike(Protocol):
    """What an environment needs of a judge.

    A judge may also offer ``statement(operator) -> str`` (its own task text), ``kernel_free(operator)
    -> bool`` and ``limits: Mapping[str, str]`` (quoted in the feedback); without the first two the
    catalogue of operators answers.
    """

    def verify(
        self,
        operator: str,
        submission: Submission,
        *,
        tier: Literal["smoke", "full", "large"] = "smoke",
        split: Literal["all", "public"] = "all",
        secret: bytes | None = None,
    ) -> Verdict:
        """Judge a submission; ``secret`` seeds the hidden inputs of this call (None: the judge's own)."""
        ...


_shared: dict[tuple[int, str, str, str], JudgeLike] = {}
_lock = threading.Lock()
_forked = False


def _note_fork() -> None:
    global _forked, _lock
    _forked, _lock = True, threading.Lock()


os.register_at_fork(after_in_child=_note_fork)


def _local(platform: str, profile: str) -> JudgeLike:
    if _forked or multiprocessing.parent_process() is not None:
        # The threads of OpenMP do not survive a fork: torch would wait for them forever in its first large
        # copy. And where many workers share a machine, one thread each is right anyhow.
        import torch

        torch.set_num_threads(1)
    from kgb_env.judge import Judge

    return Judge(platform=platform, profile=profile)  # type: ignore[arg-type]


def _fake(platform: str, profile: str) -> JudgeLike:
    from kgb_env.judge.fake import FakeJudge

    return FakeJudge()


JUDGES: dict[str, Callable[[str, str], JudgeLike]] = {"local": _local, "fake": _fake}
"""Judges by the name that a spec uses: ``(platform, profile) -> judge``."""


def shared_judge(name: str, platform: str, profile: str) -> JudgeLike:
    """Return this process's judge of that name, platform and confinement profile.

    Raises:
        UsageError: the name is unknown.
        ConfinementError: profile ``standard`` asks for a layer that this machine lacks.
        UnknownPlatformError: there is no such platform.
    """
    if name not in JUDGES:
        msg = f"unknown judge {name!r}{did_you_mean(name, JUDGES)}; known: {', '.join(JUDGES)}"
        raise UsageError(msg)
    key = (os.getpid(), name, platform, profile)
    with _lock:
        if key not in _shared:
            _shared[key] = JUDGES[name](platform, profile)
        return _shared[key]


def statement(judge: JudgeLike, operator: str, platform: str) -> str:
    """Return the task statement of an operator: the judge's own, or the catalogue's."""
    own = getattr(judge, "statement", None)
    if own is not None:
        return own(operator)
    from kgb_env import operators, platforms
    from kgb_env.judge import prompt

    return prompt.statement(operators.get(operator), platforms.get(platform), limits=limits(judge))


def is_kernel_free(judge: JudgeLike, operator: str) -> bool:
    """Whether no case of an operator needs a kernel."""
    own = getattr(judge, "kernel_free", None)
    if own is not None:
        return own(operator)
    from kgb_env import operators

    return operators.get(operator).traits.kernel_free


def limits(judge: JudgeLike) -> dict[str, str]:
    """Return the limits that the judge enforces, for the feedback to quote."""
    found: Any = getattr(judge, "limits", {})
    return {str(name): str(value) for name, value in found.items()}
