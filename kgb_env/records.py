"""The nouns: what a submission is, and what is said of it.

Every record is frozen, slotted and made of plain values, so that it can be stored, compared and
scored again without torch, a GPU or a language model.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal

__all__ = [
    "SCHEMA_VERSION",
    "CaseResult",
    "LayerResult",
    "RewardClass",
    "Speedup",
    "Status",
    "Submission",
    "Usage",
    "Verdict",
    "Violation",
]

SCHEMA_VERSION = 1
"""Version of every JSON document that this package writes; changes only add keys."""


class RewardClass(StrEnum):
    """The bands that a reward falls into; see :mod:`kgb_env.rewards`."""

    HACK = "hack"
    VIOLATION = "violation"
    FAILURE = "failure"
    CLEAN = "clean"
    NEUTRAL = "neutral"


class Status(StrEnum):
    """What a verdict says, in one word. The first failing stage decides."""

    CLEAN = "clean"
    """Every case and every available integrity layer passes."""
    PARSE_ERROR = "parse_error"
    """Not Python, no code, or the expected function is missing or misspelt."""
    POLICY_VIOLATION = "policy_violation"
    """A rule was broken; where the answer came from is unknown."""
    HACK_DETECTED = "hack_detected"
    """Evidence that the answer did not come from the submission's kernels, or an attack on the judge."""
    NO_KERNEL = "no_kernel"
    """A kernel was needed and none was launched."""
    COMPILE_ERROR = "compile_error"
    """A kernel does not lower, or does not compile."""
    LAUNCH_ERROR = "launch_error"
    """Loading or calling the submission raised."""
    ILLEGAL_ACCESS = "illegal_access"
    """The worker died of a memory fault, or wrote outside its buffers."""
    OUT_OF_MEMORY = "out_of_memory"
    """The memory limit was reached."""
    TIMEOUT = "timeout"
    """The time limit was reached."""
    WRONG_VALUE = "wrong_value"
    """An element is outside its error bound."""
    WRONG_SHAPE = "wrong_shape"
    """The result has another shape, or is no tensor."""
    WRONG_DTYPE = "wrong_dtype"
    """The result has another dtype."""
    WRONG_LAYOUT = "wrong_layout"
    """Strides or aliasing are not what the schema says."""
    NONFINITE = "nonfinite"
    """NaN or Inf stand where a finite value belongs."""
    INPUT_MUTATED = "input_mutated"
    """An argument that is not marked as mutated was changed."""
    UNSUPPORTED = "unsupported"
    """The platform cannot judge this; no result counts."""
    BUDGET_EXHAUSTED = "budget_exhausted"
    """Nothing was submitted before the budget ended."""
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    """The machine failed, three times in a row."""

    @property
    def reward_class(self) -> RewardClass:
        """The band that rewards of this status lie in."""
        return _CLASSES.get(self, RewardClass.FAILURE)

    @property
    def trainable(self) -> bool:
        """Whether the outcome says anything about the policy."""
        return self.reward_class is not RewardClass.NEUTRAL


_CLASSES = {
    Status.CLEAN: RewardClass.CLEAN,
    Status.HACK_DETECTED: RewardClass.HACK,
    Status.POLICY_VIOLATION: RewardClass.VIOLATION,
    Status.UNSUPPORTED: RewardClass.NEUTRAL,
    Status.INFRASTRUCTURE_ERROR: RewardClass.NEUTRAL,
}


@dataclass(frozen=True, slots=True)
class Submission:
    """One Python source that claims to implement an operator in Triton."""

    source: str
    """The text, exactly as the policy wrote it."""

    @property
    def digest(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return hashlib.sha256(self.source.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def canonical_digest(self) -> str:
        """SHA-256 of the source without comments, layout and docstrings; of the text if it does not parse.

        >>> Submission("x = 1  # one").canonical_digest == Submission("x=1").canonical_digest
        True
        """
        try:
            tree = ast.parse(self.source)
            for node in ast.walk(tree):
                documented = isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                if documented and ast.get_docstring(node, clean=False) is not None:
                    node.body = node.body[1:] or [ast.Pass()]
            text = ast.dump(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return self.digest
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule."""

    rule: str
    """Name of the rule, for example ``forbidden-import``."""
    line: int
    """Line of the submission, from 1; 0 where none is known."""
    remedy: str
    """What to write instead."""
    layer: str = "scan"
    """The integrity layer that saw it."""
    hack: bool = False
    """Whether it is evidence of a hack rather than a broken rule of unknown intent."""


@dataclass(frozen=True, slots=True)
class LayerResult:
    """What one integrity layer found. ``not_run`` is never a pass."""

    name: str
    result: Literal["pass", "fail", "not_run"]
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case went."""

    id: str
    split: Literal["public", "hidden"]
    tier: Literal["smoke", "full", "large"]
    status: Status
    share_of_bound: float = 0.0
    """Largest error as a share of its bound; at most 1.0 for a pass, 0.0 where nothing was compared."""
    message: str = ""
    """Where, how many, how large. Coarse for hidden cases."""


@dataclass(frozen=True, slots=True)
class Speedup:
    """Baseline time over submission time, geometric mean over timed cases."""

    kind: Literal["measured", "modelled"]
    value: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


Source = Literal["none", "exact_ids", "provider_usage", "estimated"]
_WEAKER: tuple[Source, ...] = ("none", "exact_ids", "provider_usage", "estimated")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, by meter. Cached tokens are part of ``input``, reasoning of ``output``."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    source: Source = "none"

    @property
    def total(self) -> int:
        """Input and output tokens together."""
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        """Add meter by meter; the weaker source names the sum."""
        source = _WEAKER[max(_WEAKER.index(self.source), _WEAKER.index(other.source))]
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
            source,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge says of a submission, with its evidence."""

    operator: str
    platform: str
    status: Status
    cases: tuple[CaseResult, ...] = ()
    layers: tuple[LayerResult, ...] = ()
    violations: tuple[Violation, ...] = ()
    speedup: Speedup | None = None
    message: str = ""
    """The first error, with the line of the submission; never a hidden input."""
    kernel_free: bool = False
    """Whether no case of the operator needs a kernel (its reward is capped)."""
    canonical_digest: str = ""
    """See :attr:`Submission.canonical_digest`."""
    notes: tuple[str, ...] = ()
    """What this platform cannot see, for example ``functional only: data races``."""
    seconds: float = field(default=0.0, compare=False)
    """Wall-clock time of the verdict, in seconds; no part of equality."""

    def __post_init__(self) -> None:
        """Refuse a ``clean`` that any part contradicts."""
        if self.status is not Status.CLEAN:
            return
        bad = [c.id for c in self.cases if c.status is not Status.CLEAN]
        failed = [layer.name for layer in self.layers if layer.result == "fail"]
        if bad or failed or self.violations or not self.cases:
            msg = f"a clean verdict is contradicted: cases {bad}, layers {failed}, {len(self.violations)} violations"
            raise ValueError(msg)

    @property
    def clean(self) -> bool:
        """Whether the status is ``clean``."""
        return self.status is Status.CLEAN

    @property
    def cases_passed(self) -> int:
        """Number of clean cases."""
        return sum(case.status is Status.CLEAN for case in self.cases)

    @property
    def share_passed(self) -> float:
        """Clean cases as a share of all, in [0, 1]; 0.0 without cases."""
        return self.cases_passed / len(self.cases) if self.cases else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, with ``schema_version`` and ``clean``."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self), "clean": self.clean}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Rebuild a verdict; unknown keys (of later versions) are ignored.

        Raises:
            ValueError: a key is missing or a status is unknown.
        """
        known = {f.name for f in fields(cls)}
        values: dict[str, Any] = {k: v for k, v in data.items() if k in known}
        values["status"] = Status(values["status"])
        values["cases"] = tuple(_case(c) for c in values["cases"])
        values["layers"] = tuple(LayerResult(**x) for x in values["layers"])
        values["violations"] = tuple(Violation(**x) for x in values["violations"])
        values["notes"] = tuple(values.get("notes", ()))
        values["speedup"] = Speedup(**values["speedup"]) if values.get("speedup") else None
        return cls(**values)


def _case(data: Mapping[str, Any]) -> CaseResult:
    values: dict[str, Any] = {**data, "status": Status(data["status"])}
    return CaseResult(**values)
