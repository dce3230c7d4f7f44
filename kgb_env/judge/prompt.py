"""The task statement: everything that a candidate needs to know, and nothing that it must not.

Made from the operator's own tables, so it cannot promise what the judge does not keep. The same
operator, platform and style give the same text, byte for byte. What is the same for every operator
of a kind stands in ``prompt.toml``.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Literal

from kgb_env.operators import helpers
from kgb_env.operators.model import Case, Operator, Overload
from kgb_env.platforms.base import Platform

__all__ = ["EXAMPLE", "Style", "statement"]

Style = Literal["chat", "agent"]
"""``chat``: each message is a submission. ``agent``: messages are tool calls, and ``submit`` is one of them."""

EXAMPLE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def _halve_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x * 0.5, mask=inside)


def halve_Tensor(self):
    x = self.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n:
        _halve_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out
"""
"""A whole submission for an operator that does not exist, to show the form."""


def statement(
    operator: Operator,
    platform: Platform,
    *,
    style: Style = "chat",
    limits: Mapping[str, str] | None = None,
) -> str:
    """Return the task statement of one operator on one platform.

    Args:
        operator: What is to be written.
        platform: Where it is tried; its constraints are quoted.
        style: How the answer is handed in, see :data:`Style`.
        limits: What is enforced, quoted exactly, for example ``{"CPU time per submission": "10 s"}``.

    Returns:
        Markdown, ending in a newline.
    """
    parts = [
        f"# Write `{operator.name}` as a Triton kernel",
        operator.doc.strip(),
        "## Functions to define",
        "\n".join(_function(overload) for overload in operator.overloads),
        _text("convention", operator.source),
        "## What counts as right",
        _numerics(operator),
        "## What is tried",
        _cases(operator),
        "## Rules",
        _rules(operator),
        "## The platform",
        _platform(platform, limits or {}),
        "## The form of an answer",
        "For `halve.Tensor(Tensor self) -> Tensor`, an operator that does not exist:",
        f"```python\n{EXAMPLE}```",
        _text("answer", style),
    ]
    return "\n\n".join(parts) + "\n"


@functools.cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((resources.files("kgb_env.judge") / "prompt.toml").read_text("utf-8"))


def _text(section: str, name: str) -> str:
    return _texts()[section][name].strip()


def _function(overload: Overload) -> str:
    notes = ["required" if overload.required else "optional, tried when it is there"]
    if overload.aliases:
        notes.append("also accepted: " + _quoted(overload.aliases))
    if overload.mutates:
        notes.append("changes in place: " + _quoted(overload.mutates))
    return f"- `{overload.function}`, for `{overload.schema}` ({'; '.join(notes)})"


def _numerics(operator: Operator) -> str:
    traits = operator.traits
    lines = [_text("result", traits.result)]
    if traits.result in ("value", "set"):
        lines.append(f"Error bound {operator.tolerance.name}: {operator.tolerance.reason}. {_bound(operator)}")
        lines.append(_text("fp32", traits.fp32))
    if traits.exact_layout:
        lines.append("The strides of the result are compared too.")
    lines.append(_text("numerics", "mutation"))
    lines += [
        f"Where torch itself is wrong, the exact answer counts and not torch's: {what} ({source})."
        for what, source in traits.native_wrong
    ]
    return "\n\n".join(lines)


def _bound(operator: Operator) -> str:
    tolerance = operator.tolerance
    if tolerance.name == "EXACT":
        return _text("numerics", "exact")
    wide, narrow = f"{tolerance.ulps32:g}", f"{tolerance.ulps16:g}"
    lines = [f"Every element must be within {wide} ulp of the exact answer ({narrow} for outputs of 16 bits and fewer)"]
    if tolerance.accumulates:
        lines.append(
            f"plus `2**-24 * ({tolerance.slack:g} + sqrt(L)) * S` (`2**-53` for outputs of 64 bits), where L is the "
            "number of terms that it sums and S the sum of their magnitudes"
        )
    gate = f"{tolerance.rms32:g} times ({tolerance.rms16:g} times) that of torch's own result"
    return f"{' '.join(lines)}. {_text('numerics', 'rms').format(gate=gate)}"


def _cases(operator: Operator) -> str:
    cases = operator.cases("smoke")
    kinds = sorted({case.distribution for case in cases})
    lines = [
        f"dtypes: {_listed(case.dtype for case in cases)}.",
        f"Values: {'; '.join(_text('distribution', kind) for kind in kinds)}.",
        _text("cases", "hidden"),
        f"Of {len(cases)} cases, these are public:",
    ]
    public = [_case(case) for case in cases if case.split == "public"]
    return "\n\n".join([*lines, "\n".join(public)])


def _case(case: Case) -> str:
    axes = "".join(f", {name} {_plain(value)}" for name, value in case.axes.items())
    return f"- `{case.id}`: {case.dtype}{axes}"


def _plain(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return str(value)


def _rules(operator: Operator) -> str:
    narrowed, extra = operator.traits.narrowed_helpers, operator.traits.allowed_functions
    lines = [_text("rules", "imports"), _text("rules", "forbidden")]
    if operator.traits.kernel_free:
        lines.append(_text("rules", "kernel_free"))
    lines += ["Helpers, which may be called outside kernels:", helpers.prompt_text(narrowed, extra)]
    return "\n\n".join(lines)


def _platform(platform: Platform, limits: Mapping[str, str]) -> str:
    lines = [f"It is tried on `{platform.name}`. {platform.constraints}"]
    if platform.unsupported:
        lines.append("It cannot judge (so a submission that uses one earns nothing):")
        lines.append("\n".join(f"- {feature}: {reason}" for feature, reason in platform.unsupported))
    if platform.functional_only_notes:
        lines.append("A pass here does not prove everything:")
        lines.append("\n".join(f"- {note}" for note in platform.functional_only_notes))
    if limits:
        lines.append("Enforced limits: " + "; ".join(f"{name} {value}" for name, value in limits.items()) + ".")
    return "\n\n".join(lines)


def _quoted(names: Iterable[str]) -> str:
    return _listed(f"`{name}`" for name in names)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
