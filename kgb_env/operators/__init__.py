"""The catalogue: what each operator must compute, and where it is tried.

Names are read from ``names.txt``, so that listing them needs no torch; operators themselves are built when
the first one is asked for.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from kgb_env.errors import UnknownOperatorError, did_you_mean

if TYPE_CHECKING:
    from kgb_env.operators.model import Operator

__all__ = ["SKELETON", "all_operators", "canonical", "env_name", "get", "names"]

SKELETON = (
    "aten::add",
    "aten::add_",
    "aten::mm",
    "aten::sum",
    "aten::softmax",
    "aten::index_select",
    "aten::cat",
    "aten::t",
    "aten::empty_strided",
    "aten::item",
    "aten::bernoulli",
    "aten::clone",
    "vllm::rms_norm",
    "vllm::reshape_and_cache",
    "vllm::moe_align_block_size",
    "cublas::Sgemm_v2",
    "cublas::Zdotc_v2",
)
"""At least one operator of each kind: together they touch every branch of the judge."""

_SOURCES = ("aten", "vllm", "cublas")


@cache
def names() -> tuple[str, ...]:
    """Return the canonical names of all operators, sorted. Imports no torch."""
    text = files("kgb_env.operators").joinpath("names.txt").read_text(encoding="utf-8")
    return tuple(text.split())


def env_name(name: str) -> str:
    """Return a name as environment ids spell it: Gymnasium splits ids at a colon.

    >>> env_name("aten::add")
    'aten.add'
    """
    return name.replace("::", ".")


def canonical(name: str) -> str:
    """Return the canonical spelling of a name or alias. Imports no torch.

    Accepted are ``aten::add``, ``aten.add``, a bare ``add`` where only one source has it, the sources of
    the original catalogue (``vllm13::rms_norm``), and cuBLAS's full routine names.

    >>> canonical("cublas.cublasSgemm_v2"), canonical("vllm13::rms_norm")
    ('cublas::Sgemm_v2', 'vllm::rms_norm')

    Raises:
        UnknownOperatorError: there is no such operator; the message names the closest one.
    """
    known = names()
    source, separator, routine = name.strip().replace("::", ".").partition(".")
    source = "vllm" if source == "vllm13" else source
    if separator and source == "cublas":
        routine = routine.removeprefix("cublas")
    candidates = [f"{source}::{routine}"] if separator else [f"{s}::{name.strip()}" for s in _SOURCES]
    found = [c for c in candidates if c in known]
    if len(found) != 1:
        msg = f"unknown operator {name!r}{did_you_mean(candidates[0], known)}; `kgb operators` lists all {len(known)}"
        raise UnknownOperatorError(msg)
    return found[0]


@cache
def _registry() -> dict[str, Operator]:
    for source in _SOURCES:
        importlib.import_module(f"kgb_env.operators.{source}")
    from kgb_env.operators.family import REGISTRY

    return {name: REGISTRY[name] for name in sorted(REGISTRY)}


def get(name: str) -> Operator:
    """Return the operator of that name or alias; see :func:`canonical`. Imports torch.

    Raises:
        UnknownOperatorError: there is no such operator.
    """
    return _registry()[canonical(name)]


def all_operators() -> tuple[Operator, ...]:
    """Return every operator, sorted by name. Imports torch."""
    return tuple(_registry().values())
