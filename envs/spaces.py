"""A text space for any text, and what Gymnasium needs to send it between processes.

Gymnasium's own ``Text`` knows a fixed character set: compiler output does not. ``UnicodeText`` takes
every code point, lone surrogates included, and is bounded by length alone. Flattened, and in the
shared memory of ``AsyncVectorEnv``, a text is ``max_length`` int32 code points, padded with -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text
from gymnasium.spaces.utils import flatdim, flatten, flatten_space, unflatten
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory
from numpy.typing import NDArray

from kgb_env.records import Status

__all__ = [
    "MAX_ACTION",
    "MAX_CASES",
    "MAX_SPEEDUP",
    "MAX_TEXT",
    "MAX_TOKENS",
    "STATUSES",
    "UnicodeText",
    "observation_space",
]

MAX_ACTION = 400_000
"""Longest action, in code points."""
MAX_TEXT = 32_000
"""Longest observation text, in code points; feedback is cut in the middle (:mod:`kgb_env.envs.feedback`)."""
MAX_CASES = 1_000
MAX_SPEEDUP = 1e6
MAX_TOKENS = 2**53
STATUSES = ("none", *(status.value for status in Status))
"""Meaning of ``observation["status"]``, by index; ``none`` where no verdict was given."""

_SAMPLE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789 .,:()[]=+-*/_#@\n≤é│"
_PAD = -1


class UnicodeText(Text):
    r"""Strings of at most ``max_length`` code points, of any script.

    Samples are short (at most 64 characters) and drawn from a small set, so that a random action is
    cheap to parse.

    >>> "a ≤ b │ \ud800" in UnicodeText(20)
    True
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        """Make a space of strings with 0 to ``max_length`` code points."""
        super().__init__(max_length, min_length=0, charset=_SAMPLE_CHARACTERS, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw a short string; masks are those of ``gymnasium.spaces.Text``."""
        if mask is None and probability is None:
            length = int(self.np_random.integers(0, min(self.max_length, 64) + 1))
            return super().sample(mask=(length, None)) if length else ""
        return super().sample(mask=mask, probability=probability)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string that is short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        """Return ``UnicodeText(max_length)``."""
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        """Equal to another of the same length."""
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]


class _SharedTexts(Sequence[str]):
    """The texts of a vector environment, read from shared memory each time they are looked at.

    A deep copy (what ``AsyncVectorEnv`` hands out unless ``copy=False``) is a plain tuple.
    """

    def __init__(self, codes: NDArray[np.int32]) -> None:
        """View an array of shape (environments, max_length)."""
        self._codes = codes

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """Return the text of one environment, or a tuple for a slice."""
        if isinstance(index, slice):
            return tuple(_decode(row) for row in self._codes[index])
        return _decode(self._codes[index])

    def __len__(self) -> int:
        """Return the number of environments."""
        return len(self._codes)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the current texts."""
        return iter(self[:])

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        """Return the current texts as a tuple."""
        return self[:]

    def __repr__(self) -> str:
        """Return the current texts."""
        return repr(self[:])


def _encode(text: str, length: int) -> NDArray[np.int32]:
    codes = np.full(length, _PAD, dtype=np.int32)
    data = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<i4")
    codes[: len(data)] = data
    return codes


def _decode(codes: NDArray[np.int32]) -> str:
    kept = np.asarray(codes)
    return kept[kept >= 0].astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


@create_shared_memory.register(UnicodeText)
def _create_shared(space: UnicodeText, n: int = 1, ctx: Any = None) -> Any:
    import multiprocessing

    # Fresh memory is zero, which would read as NUL characters before the first reset.
    return (ctx or multiprocessing).Array("i", [_PAD] * (n * space.max_length))


@read_from_shared_memory.register(UnicodeText)
def _read_shared(space: UnicodeText, shared_memory: Any, n: int = 1) -> Any:
    return _SharedTexts(np.frombuffer(shared_memory.get_obj(), dtype=np.int32).reshape(n, space.max_length))


@write_to_shared_memory.register(UnicodeText)
def _write_shared(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:
    codes = np.frombuffer(shared_memory.get_obj(), dtype=np.int32)
    codes[index * space.max_length : (index + 1) * space.max_length] = _encode(value, space.max_length)


@flatdim.register(UnicodeText)
def _flatdim(space: UnicodeText) -> int:
    return space.max_length


@flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> NDArray[np.int32]:
    return _encode(x, space.max_length)


@unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: NDArray[np.int32]) -> str:
    return _decode(x)


@flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> Box:
    return Box(_PAD, 0x10FFFF, (space.max_length,), np.int32)


def observation_space(max_turns: int, max_submissions: int) -> Dict:
    """Return the space of observations: text for language models, numbers for everyone else.

    Args:
        max_turns: Actions in an episode.
        max_submissions: Submissions in an episode.

    Returns:
        ``text``; ``status`` (index into :data:`STATUSES`); ``turn`` (actions so far);
        ``submissions_left``; ``cases_passed`` and ``cases_total`` of the last verdict;
        ``best_speedup`` (float32, shape (1,), 0.0 without one) with ``has_speedup``;
        ``budget_left`` (int64 tokens, shape (1,), -1 without a budget).
    """
    return Dict(
        {
            "text": UnicodeText(MAX_TEXT),
            "status": Discrete(len(STATUSES)),
            "turn": Discrete(max_turns + 1),
            "submissions_left": Discrete(max_submissions + 1),
            "cases_passed": Discrete(MAX_CASES + 1),
            "cases_total": Discrete(MAX_CASES + 1),
            "best_speedup": Box(0.0, MAX_SPEEDUP, (1,), np.float32),
            "has_speedup": Discrete(2),
            "budget_left": Box(-1, MAX_TOKENS, (1,), np.int64),
        }
    )
