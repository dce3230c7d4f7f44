"""What the policy reads."""

from __future__ import annotations

from dataclasses import replace

from kgb_env.envs.feedback import bounded, describe, left
from kgb_env.records import CaseResult, LayerResult, Speedup, Status, Submission, Verdict, Violation

SOURCE = "a = 1\nb = 2\x0c\nc = 3\nd = 4\n"
CASES = tuple(CaseResult(f"shape_{i}", "public", "smoke", Status.WRONG_VALUE, 9.0, f"public {i}") for i in range(6))
HIDDEN = tuple(CaseResult(f"secret_{i}", "hidden", "smoke", Status.NONFINITE, 2.5, "3 elements") for i in range(2))
FAILED = Verdict(
    "aten::add",
    "cpu",
    Status.WRONG_VALUE,
    cases=CASES + HIDDEN,
    layers=(LayerResult("ghost", "fail", "nothing was written"), LayerResult("scan", "pass")),
    violations=tuple(Violation("forbidden-import", 2, "leave it out") for _ in range(7)),
    message="line 3: c is wrong",
)


def test_the_first_error_shows_the_submissions_line():
    text = describe(FAILED, Submission(SOURCE), limits={"CPU time": "10 s"})
    assert text.startswith("Status: wrong_value (aten::add on cpu). 0 of 8 cases pass.")
    assert ">    3 | c = 3" in text
    assert "     4 | d = 4" in text
    assert "Rule forbidden-import broken at line 2: leave it out" in text
    assert "2 more broken rules" in text
    assert "Public case shape_0: wrong_value: public 0" in text
    assert "2 more public cases" in text
    assert "Layer ghost failed: nothing was written" in text
    assert "Enforced limits: CPU time 10 s." in text


def test_hidden_cases_are_counted_and_not_named():
    text = describe(FAILED, Submission(SOURCE), limits={})
    assert "Hidden cases that fail: 2 nonfinite; the largest error is 2.5 times its bound." in text
    assert "secret_" not in text


def test_speed_is_told_with_its_kind_and_interval():
    cases = tuple(replace(case, status=Status.CLEAN, message="") for case in CASES)
    clean = Verdict("aten::add", "cpu", Status.CLEAN, cases, speedup=Speedup("modelled", 2.0, 1.5, 2.5))
    text = describe(clean, Submission(SOURCE), limits={"CPU time": "10 s"})
    assert "Speed: 2.00 times the baseline (modelled; 95 % interval 1.50 to 2.50)." in text
    assert "limits" not in text


def test_long_text_keeps_head_and_tail():
    text = bounded("head" + "x" * 100_000 + "tail", 1000)
    assert len(text) <= 1000 + 20
    assert text.startswith("head")
    assert text.endswith("tail")
    assert "left out" in text


def test_what_is_left():
    assert left(turns=2, submissions=1, tokens=-1) == "Left: 2 turns, 1 submissions."
    assert left(turns=0, submissions=1, tokens=7, over="turns").endswith("Left: 0 turns, 1 submissions, 7 tokens.")
