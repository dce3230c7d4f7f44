"""A judge that does as it is told: for tests, for examples, and for trying a policy without torch.

The submission says what its verdict is to be, in a comment::

    # verdict: wrong_value 0.5          half of the cases pass
    # verdict: clean                    no speedup
    # verdict: clean speedup=2.0        interval 1.8 .. 2.2
    # verdict: hack_detected
    # verdict: raise                    the judge itself breaks (InfrastructureError)

or, where it must survive the removal of comments (an environment knows a source that was submitted
before by its canonical form), in an assignment at the start of a line: ``VERDICT = "wrong_value 0.5"``.
It proves nothing about kernels, says so in its notes, and its layers are all ``not_run``.
"""

from __future__ import annotations

import ast
import re
import threading
import time
from collections.abc import Mapping
from typing import Literal

from kgb_env.errors import InfrastructureError
from kgb_env.records import CaseResult, LayerResult, Speedup, Status, Submission, Verdict, Violation

__all__ = ["FakeJudge"]

_MARKER = re.compile(
    r"""^[ \t]*(?:\#[ \t]*verdict:|VERDICT[ \t]*=[ \t]*["'])[ \t]*(?P<word>\w+)
        (?:[ \t]+(?P<share>[0-9.]+))?(?:[ \t]+speedup=(?P<speedup>[0-9.]+))?""",
    re.MULTILINE | re.VERBOSE,
)


class FakeJudge:
    """Returns the verdict that the submission's own marker asks for.

    Example:
        >>> FakeJudge().verify("aten::add", Submission("# verdict: wrong_value 0.5")).share_passed
        0.5
    """

    platform = "fake"
    limits: Mapping[str, str] = {"CPU time per submission": "10 s"}
    """What the feedback quotes as enforced limits."""

    def __init__(
        self,
        default: str = "# verdict: wrong_value 0.0",
        *,
        cases: int = 8,
        kernel_free: tuple[str, ...] = ("aten::t", "aten::empty_strided"),
        delay: float = 0.0,
    ) -> None:
        """Make one.

        Args:
            default: Marker for submissions that carry none.
            cases: Number of cases of every operator; the first quarter is public.
            kernel_free: Operators that need no kernel.
            delay: Seconds that each verdict takes.
        """
        self.default = default
        self.cases = cases
        self.delay = delay
        self.calls = 0
        """Number of verdicts so far."""
        self._kernel_free = frozenset(kernel_free)
        self._lock = threading.Lock()

    def kernel_free(self, operator: str) -> bool:
        """Whether no case of the operator needs a kernel."""
        return operator in self._kernel_free

    def statement(self, operator: str) -> str:
        """Return a task statement that says that nothing is really judged."""
        return f"Write {operator} as a Triton kernel. (A fake judge: `# verdict: clean` in the source decides.)"

    def verify(
        self,
        operator: str,
        submission: Submission | str,
        *,
        tier: Literal["smoke", "full", "large"] = "smoke",
        split: Literal["all", "public"] = "all",
        secret: bytes | None = None,
    ) -> Verdict:
        """Return the verdict that the marker asks for; ``secret`` changes nothing.

        Raises:
            InfrastructureError: the marker says ``raise``.
        """
        with self._lock:
            self.calls += 1
        time.sleep(self.delay)
        source = submission if isinstance(submission, str) else submission.source
        found = _MARKER.search(source) or _MARKER.search(self.default)
        word = found["word"] if found else "wrong_value"
        if word == "raise":
            msg = "the fake judge was told to break"
            raise InfrastructureError(msg)
        error = self._syntax(source)
        status = Status.PARSE_ERROR if error else Status(word)
        share = 1.0 if status is Status.CLEAN else float(found["share"] or 0.0) if found else 0.0
        speed = float(found["speedup"]) if found and found["speedup"] and status is Status.CLEAN else 0.0
        return Verdict(
            operator=operator,
            platform=self.platform,
            status=status,
            cases=() if error else self._results(status, share, tier, split),
            layers=(LayerResult("scan", "not_run", "a fake judge"),),
            violations=self._violations(status),
            speedup=Speedup("modelled", speed, speed * 0.9, speed * 1.1) if speed else None,
            message=error or ("" if status is Status.CLEAN else f"line 1: {status.value} as the marker asks"),
            kernel_free=self.kernel_free(operator),
            canonical_digest="",
            notes=("a fake judge: nothing was run",),
            seconds=self.delay,
        )

    def close(self) -> None:
        """Hold nothing, so release nothing."""

    def _syntax(self, source: str) -> str:
        try:
            ast.parse(source)
        except (SyntaxError, ValueError) as error:
            return f"line {getattr(error, 'lineno', None) or 1}: {error.args[0]}"
        except (RecursionError, MemoryError):
            return "line 1: nested too deeply"
        return ""

    def _results(
        self, status: Status, share: float, tier: Literal["smoke", "full", "large"], split: str
    ) -> tuple[CaseResult, ...]:
        public = max(1, self.cases // 4)
        total = public if split == "public" else self.cases
        passed = total if status is Status.CLEAN else min(total - 1, round(share * total))
        return tuple(
            CaseResult(
                id=f"case-{i}",
                split="public" if i < public else "hidden",
                tier=tier,
                status=Status.CLEAN if i < passed else status,
                share_of_bound=0.5 if i < passed else 3.0,
                message="" if i < passed else "12 of 64 elements differ, the largest error is 3.0 times its bound",
            )
            for i in range(total)
        )

    def _violations(self, status: Status) -> tuple[Violation, ...]:
        if status not in (Status.POLICY_VIOLATION, Status.HACK_DETECTED):
            return ()
        return (Violation("told-to", 1, "write a kernel", "scan", status is Status.HACK_DETECTED),)
