"""How many verdicts are clean, by status and by source. Those of the machine count for nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kgb_env.records import Verdict

__all__ = ["Numbers", "by_source", "numbers"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Counts over verdicts."""

    verdicts: int
    """All of them."""
    counted: int
    """Those that say something about the policy (neither unsupported nor the machine's failure)."""
    clean: int
    statuses: Mapping[str, int]
    """Verdicts by status, most frequent first."""

    @property
    def clean_rate(self) -> float:
        """Clean verdicts as a share of those counted; 0.0 when none counts."""
        return self.clean / self.counted if self.counted else 0.0


def numbers(verdicts: Iterable[Verdict]) -> Numbers:
    """Count verdicts."""
    seen = list(verdicts)
    statuses = Counter(verdict.status.value for verdict in seen)
    return Numbers(
        verdicts=len(seen),
        counted=sum(verdict.status.trainable for verdict in seen),
        clean=sum(verdict.clean for verdict in seen),
        statuses=dict(statuses.most_common()),
    )


def by_source(verdicts: Iterable[Verdict]) -> dict[str, Numbers]:
    """Count verdicts of each source (``aten``, ``vllm``, ``cublas``) apart."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.operator.partition("::")[0], []).append(verdict)
    return {source: numbers(group) for source, group in sorted(groups.items())}
