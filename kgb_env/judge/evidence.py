"""Collects what the stages find; the first stage that fails names the status."""

from __future__ import annotations

from kgb_env.operators.model import Operator
from kgb_env.platforms.base import Platform
from kgb_env.records import CaseResult, LayerResult, Status, Verdict, Violation

__all__ = ["Findings"]

_INAPPLICABLE = "not applicable"


class Findings:
    """Evidence so far, and the status once one is decided."""

    def __init__(self, operator: Operator, platform: Platform) -> None:
        """Start with nothing found."""
        self.operator = operator
        self.platform = platform
        self.cases: list[CaseResult] = []
        self.layers: list[LayerResult] = []
        self.violations: list[Violation] = []
        self.status: Status | None = None
        self.message = ""

    @property
    def decided(self) -> bool:
        """Whether a stage has failed, or all have passed."""
        return self.status is not None

    def decide(self, status: Status, message: str = "") -> Findings:
        """Set the status, unless an earlier stage did."""
        if self.status is None:
            self.status, self.message = status, message
        return self

    def add(self, layer: LayerResult, if_failed: Status, message: str = "") -> None:
        """Keep a layer's result; a failure decides."""
        self.layers.append(layer)
        if layer.result == "fail":
            self.decide(if_failed, message or layer.evidence)

    def violate(self, violation: Violation) -> None:
        """Keep a broken rule, once."""
        if violation not in self.violations:
            self.violations.append(violation)

    def finish(self) -> None:
        """Declare the submission clean, if every applicable layer ran and passed. Not run is never a pass."""
        for layer in self.layers:
            if layer.result == "not_run" and not layer.evidence.startswith(_INAPPLICABLE):
                remedy = f"{layer.evidence}; make the call end normally whatever its kernels write"
                self.violate(Violation(f"{layer.name}-not-run", 0, remedy, layer.name))
                self.decide(Status.POLICY_VIOLATION, f"{layer.name} could not be run: {layer.evidence}")
        absent = self.platform.layers - {layer.name for layer in self.layers}
        if absent:
            self.decide(Status.INFRASTRUCTURE_ERROR, f"layers without a result: {', '.join(sorted(absent))}")
        if not self.cases:
            self.decide(Status.UNSUPPORTED, "no case of this operator can be judged here")
        self.decide(Status.CLEAN)

    def verdict(self) -> Verdict:
        """Return the verdict. Raises ValueError while undecided."""
        if self.status is None:
            msg = "no stage decided"
            raise ValueError(msg)
        return Verdict(
            self.operator.name,
            self.platform.name,
            self.status,
            tuple(self.cases),
            tuple(self.layers),
            tuple(self.violations),
            message=self.message,
        )
