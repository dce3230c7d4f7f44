"""Counting tokens, and the string that remembers what it cost.

The count of a text always says which tokenizer made it. Without a vocabulary on this machine the
tokenizer is called ``utf8_bytes/3``, an estimate that is high for English and code; nothing is
ever downloaded in order to count.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kgb_env.records import Usage

__all__ = ["ESTIMATE", "Completion", "Tokenizer", "available_tokenizer", "estimate", "tokenizer"]

ESTIMATE = "utf8_bytes/3"
"""Name of the tokenizer that needs no vocabulary: one token for three bytes of UTF-8, rounded up."""
_O200K_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A way to count, by name."""

    name: str
    """For example ``tiktoken:o200k_base``; stored beside every count."""
    count: Callable[[str], int]
    """Text to number of tokens. Special-token text counts as ordinary text."""

    def truncate(self, text: str, tokens: int) -> str:
        """Return the longest prefix of ``text`` that counts at most ``tokens`` tokens.

        Found by bisection, so it needs only :attr:`count`; a prefix whose count is not monotone by a
        token at the cut is shortened further until it fits.
        """
        if tokens <= 0 or self.count(text) <= tokens:
            return text if tokens > 0 else ""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.count(text[:middle]) <= tokens else (low, middle - 1)
        while low and self.count(text[:low]) > tokens:
            low -= 1
        return text[:low]


class Completion(str):
    """What a policy answered: a string that carries its usage, token ids and log-probabilities.

    It is an ordinary ``str`` wherever one is wanted, so any Gymnasium wrapper passes it on.

    Attributes:
        usage: Tokens of the call that made it.
        token_ids: Sampled ids, or empty. Never decoded and encoded again.
        logprobs: Log-probability of each sampled id at sampling time, or empty.
        finish_reason: ``stop``, ``length``, ``tool_calls``, or ``budget_exhausted`` (no call was made).
        policy_version: Which weights or model answered.

    >>> Completion("x = 1", usage=Usage(output=4)).usage.output
    4
    """

    usage: Usage
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: str
    policy_version: str

    def __new__(
        cls,
        text: str = "",
        *,
        usage: Usage | None = None,
        token_ids: Sequence[int] = (),
        logprobs: Sequence[float] = (),
        finish_reason: str = "stop",
        policy_version: str = "",
    ) -> Completion:
        """Make a completion; without ``usage`` the text is counted (:func:`estimate`)."""
        self = super().__new__(cls, text)
        self.usage = estimate(text) if usage is None else usage
        self.token_ids = tuple(token_ids)
        self.logprobs = tuple(logprobs)
        self.finish_reason = finish_reason
        self.policy_version = policy_version
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Let pickle (vector environments) and copy keep the attributes."""
        return (str(self),), {
            "usage": self.usage,
            "token_ids": self.token_ids,
            "logprobs": self.logprobs,
            "finish_reason": self.finish_reason,
            "policy_version": self.policy_version,
        }


def _tiktoken_cached() -> bool:
    """Whether tiktoken finds its o200k vocabulary on disk, so that it will not use the network."""
    default = Path(tempfile.gettempdir()) / "data-gym-cache"
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", str(default)))
    if not folder:
        return False
    file = Path(folder) / hashlib.sha1(_O200K_URL.encode(), usedforsecurity=False).hexdigest()
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == _O200K_SHA256


def _counts_utf8(text: str) -> int:
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


def available_tokenizer() -> str:
    """Return the name of the best tokenizer that works here without a network."""
    if importlib.util.find_spec("tiktoken") and _tiktoken_cached():
        return "tiktoken:o200k_base"
    if importlib.util.find_spec("bpe_openai"):
        return "bpe-openai:o200k_base"
    return ESTIMATE


@lru_cache(maxsize=8)
def tokenizer(name: str = "auto") -> Tokenizer:
    """Return a tokenizer by name; ``auto`` is :func:`available_tokenizer`.

    Raises:
        ValueError: the name is unknown.
        ImportError: its package is not installed.
    """
    chosen = available_tokenizer() if name == "auto" else name
    if chosen == ESTIMATE:
        return Tokenizer(ESTIMATE, _counts_utf8)
    package, _, vocabulary = chosen.partition(":")
    if package == "tiktoken" and vocabulary:
        import tiktoken

        encoding = tiktoken.get_encoding(vocabulary)
        return Tokenizer(chosen, lambda text: len(encoding.encode_ordinary(text)))
    if package == "bpe-openai" and vocabulary:
        bpe_openai: Any = importlib.import_module("bpe_openai")
        encoder = bpe_openai.get_encoding(vocabulary)
        return Tokenizer(chosen, lambda text: len(encoder.encode_ordinary(text)))
    msg = f"unknown tokenizer {name!r}; known: tiktoken:VOCABULARY, bpe-openai:VOCABULARY, {ESTIMATE}, auto"
    raise ValueError(msg)


def estimate(text: str, name: str = "auto") -> Usage:
    """Count a text as the output of a call whose provider reported nothing; its source is ``estimated``."""
    return Usage(output=tokenizer(name).count(text), source="estimated")
