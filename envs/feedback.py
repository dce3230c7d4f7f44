"""What the policy reads after each action: short, stable, and without hidden inputs.

In this order: a status line; the first error with its line of the submission; broken rules with
their remedy; the mismatch summary; layers that failed; speed; what is left; limits, quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from kgb_env.envs.spaces import MAX_TEXT
from kgb_env.records import CaseResult, Status, Submission, Verdict

__all__ = ["bounded", "describe", "left", "no_code"]

_LINE = re.compile(r"\bline (\d+)\b")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
"""Where Python ends a line; ``str.splitlines`` also splits at form feeds and others."""
_SHOWN_CASES = 4
_SHOWN_VIOLATIONS = 5
_CONTEXT = 1
"""Lines of the submission shown before and after the one in error."""


def bounded(text: str, limit: int = MAX_TEXT) -> str:
    r"""Keep head and tail of a text of more than ``limit`` characters, and say how much was left out.

    >>> bounded("a" * 100, 60)
    'aaaaaaaaaaaaaa\n[… 72 characters left out …]\naaaaaaaaaaaaaa'
    """
    if len(text) <= limit:
        return text
    half = (limit - 32) // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def describe(verdict: Verdict, submission: Submission, *, limits: Mapping[str, str], repeat: bool = False) -> str:
    """Return the feedback on a verdict (without what is left of the budgets; see :func:`left`)."""
    parts = [_status_line(verdict)]
    if repeat:
        parts.append("This is the source that was submitted before in this episode: it earns nothing new.")
    if verdict.message:
        parts.append(_error(verdict.message, submission))
    parts += _violations(verdict, submission)
    parts += _cases(verdict)
    parts += [f"Layer {x.name} failed: {bounded(x.evidence, 400)}" for x in verdict.layers if x.result == "fail"]
    if verdict.speedup:
        s = verdict.speedup
        parts.append(f"Speed: {s.value:.2f} times the baseline ({s.kind}; 95 % interval {s.low:.2f} to {s.high:.2f}).")
    if not verdict.clean and limits:
        parts.append("Enforced limits: " + "; ".join(f"{name} {value}" for name, value in limits.items()) + ".")
    if verdict.clean:
        parts += [f"Note: {note}" for note in verdict.notes]
    return "\n".join(parts)


def left(*, turns: int, submissions: int, tokens: int, over: str = "") -> str:
    """Return the line on what is left; ``tokens`` below 0 means that there is no token budget.

    Args:
        turns: Actions left.
        submissions: Submissions left.
        tokens: Tokens left, or -1.
        over: Why the episode is over; empty while it goes on.
    """
    budget = "" if tokens < 0 else f", {tokens} tokens"
    head = f"The episode is over ({over}). " if over else ""
    return f"{head}Left: {turns} turns, {submissions} submissions{budget}."


def no_code(message: str) -> str:
    """Return the feedback on a message that holds neither code nor a tool call."""
    seen = bounded(message.strip(), 80).encode("utf-8", "backslashreplace").decode()
    return (
        f"Status: {Status.PARSE_ERROR.value}. The message holds no code and no tool call.\n"
        f"It begins: {seen!r}\n"
        "Write one fenced code block with the whole submission, or a JSON object "
        '{"tool": NAME, "arguments": {…}}.'
    )


def _status_line(verdict: Verdict) -> str:
    counted = f" {verdict.cases_passed} of {len(verdict.cases)} cases pass." if verdict.cases else ""
    return f"Status: {verdict.status.value} ({verdict.operator} on {verdict.platform}).{counted}"


def _error(message: str, submission: Submission) -> str:
    text = bounded(message, 4_000)
    found = _LINE.search(message)
    shown = _excerpt(submission.source, int(found[1])) if found else ""
    return f"{text}\n{shown}" if shown else text


def _excerpt(source: str, number: int) -> str:
    """Return the numbered source line with its neighbours; empty when there is no such line."""
    lines = _LINE_ENDS.split(source)
    if not 1 <= number <= len(lines):
        return ""
    first, last = max(1, number - _CONTEXT), min(len(lines), number + _CONTEXT)
    return "\n".join(f"{'>' if n == number else ' '} {n:4d} | {lines[n - 1][:200]}" for n in range(first, last + 1))


def _violations(verdict: Verdict, submission: Submission) -> list[str]:
    shown = []
    for violation in verdict.violations[:_SHOWN_VIOLATIONS]:
        where = f" at line {violation.line}" if violation.line else ""
        shown.append(f"Rule {violation.rule} broken{where}: {bounded(violation.remedy, 400)}")
        if violation.line:
            shown.append(_excerpt(submission.source, violation.line))
    if len(verdict.violations) > _SHOWN_VIOLATIONS:
        shown.append(f"… and {len(verdict.violations) - _SHOWN_VIOLATIONS} more broken rules.")
    return [line for line in shown if line]


def _cases(verdict: Verdict) -> list[str]:
    """Name failing public cases; of hidden ones tell only how many failed, and how."""
    failed = [case for case in verdict.cases if case.status is not Status.CLEAN]
    public = [case for case in failed if case.split == "public" and not _told(case, verdict.message)]
    hidden = [case for case in failed if case.split == "hidden"]
    shown = [_public_case(case) for case in public[:_SHOWN_CASES]]
    if len(public) > _SHOWN_CASES:
        shown.append(f"… and {len(public) - _SHOWN_CASES} more public cases.")
    if hidden:
        plain = hidden[0].status.value.replace("_", " ")
        kinds = ", ".join(f"{n} {status.value}" for status, n in Counter(case.status for case in hidden).items())
        worst = max(case.share_of_bound for case in hidden)
        size = f"; the largest error is {worst:.3g} times its bound" if worst > 1.0 else ""
        shown.append(f"Hidden cases that fail: {kinds}{size}.")
        shown += [
            f"One of them: {bounded(case.message, 400)}"
            for case in hidden[:1]
            if case.message and not _told(case, plain)
        ]
    return shown


def _told(case: CaseResult, text: str) -> bool:
    """Whether a text says already what the case's message says."""
    return bool(case.message) and case.message in text


def _public_case(case: CaseResult) -> str:
    message = f": {bounded(case.message, 400)}" if case.message else ""
    return f"Public case {case.id}: {case.status.value}{message}"
