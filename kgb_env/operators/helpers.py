"""The helper functions of torch that a submission may use, from ``helpers.toml``.

Standard library only: the judge, the prompt and the worker all read this list.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from kgb_env.errors import UsageError, did_you_mean

__all__ = ["Group", "Helpers", "allowed", "groups", "prompt_text"]


@dataclass(frozen=True, slots=True)
class Group:
    """Helpers of one kind."""

    name: str
    about: str
    """One sentence for the prompt."""
    torch: frozenset[str]
    """Names under ``torch.``, dotted where they lie deeper: ``cuda.is_available``."""
    methods: frozenset[str]
    """Methods and attributes of tensors."""
    aten: frozenset[str]
    """Names on the dispatcher, ``empty.memory_format``; a default overload has no suffix."""
    optional: bool = False
    """Whether an operator has to ask for the group."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """What one operator's submissions may use; hashable, so that tables made of it can be cached."""

    torch: frozenset[str]
    methods: frozenset[str]
    aten: frozenset[str]
    narrowed: frozenset[str] = frozenset()
    """Groups taken away, because they are the operator."""
    extra: frozenset[str] = frozenset()
    """What the operator allows besides."""

    def why_not(self, name: str) -> str:
        """Return what to do instead of the helper ``name`` (last part of a dotted one), as a sentence.

        >>> allowed(frozenset({"copy"})).why_not("clone")
        '`clone` is a helper of the group `copy`, which this operator is: do it in a Triton kernel'
        """
        last = name.rpartition(".")[2]
        for group in groups().values():
            if group.name in self.narrowed and last in group.torch | group.methods:
                kind = f"`{last}` is a helper of the group `{group.name}`"
                return f"{kind}, which this operator is: do it in a Triton kernel"
        return f"`{name}` is not a helper: compute it in a Triton kernel"


@functools.cache
def groups() -> Mapping[str, Group]:
    """Return the groups by name, in the order of the file."""
    text = (resources.files("kgb_env.operators") / "helpers.toml").read_text("utf-8")
    return {
        name: Group(
            name=name,
            about=entry["about"],
            torch=frozenset(entry["torch"]),
            methods=frozenset(entry["methods"]),
            aten=frozenset(entry["aten"]),
            optional=entry.get("optional", False),
        )
        for name, entry in tomllib.loads(text).items()
    }


@functools.cache
def allowed(narrowed: frozenset[str] = frozenset(), extra: frozenset[str] = frozenset()) -> Helpers:
    """Return what the submissions of an operator may use.

    Args:
        narrowed: groups that *are* the operator. A name that also stands in another group goes too.
        extra: optional groups (``rng_seed``, ``host_read``), or single names beyond the list. A single name is
            taken in every spelling that it may have: ``random_`` as a method, ``torch.`` function and ATen operator
            of any overload; ``item.default`` and ``aten::item`` as ``item``.

    Raises:
        UsageError: a narrowed group does not exist.
    """
    known = groups()
    for name in narrowed:
        if name not in known:
            msg = f"no group of helpers is called {name!r}{did_you_mean(name, known)}"
            raise UsageError(msg)
    standard = [group for group in known.values() if not group.optional]
    taken = [known[name] for name in narrowed]
    asked = [known[name] for name in extra if name in known]
    singles = frozenset(_plain(name) for name in extra if name not in known)
    bases = frozenset(name.partition(".")[0] for name in singles)

    def left(field: str) -> frozenset[str]:
        have: frozenset[str] = frozenset().union(*(getattr(group, field) for group in standard))
        have = have.difference(*(getattr(group, field) for group in taken))
        return have.union(*(getattr(group, field) for group in asked))

    return Helpers(
        left("torch") | bases,
        left("methods") | bases,
        left("aten") | singles | bases,
        frozenset(narrowed),
        frozenset(extra),
    )


def _plain(name: str) -> str:
    return name.removeprefix("aten::").removeprefix("torch.").removeprefix("Tensor.").removesuffix(".default")


@functools.cache
def prompt_text(narrowed: frozenset[str] = frozenset(), extra: frozenset[str] = frozenset()) -> str:
    """Return the list as Markdown, one line for each group.

    Groups that the operator narrows are named as forbidden; of the others only what is left is listed.
    """
    have = allowed(narrowed, extra)
    lines = []
    for group in groups().values():
        if group.optional and group.name not in extra:
            continue
        if group.name in narrowed:
            lines.append(f"- {group.name}: not allowed here, it is this operator")
            continue
        shown = [f"`torch.{name}`" for name in sorted(group.torch & have.torch)]
        shown += [f"`.{name}`" for name in sorted(group.methods & have.methods) if not name.startswith("__")]
        lines.append(f"- {group.name} ({group.about})" + (f": {', '.join(shown)}" if shown else ""))
    return "\n".join(lines)
