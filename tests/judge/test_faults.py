"""Whatever a candidate does to its process costs only its own verdict."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from kgb_env.judge import Judge
from kgb_env.records import Status, Submission
from kgb_env.sandbox import Limits

_HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
_ADD = "def add_Tensor(self, other, *, alpha=1):\n    {}\n\ndef add_Scalar(self, other, alpha=1):\n    return self\n"

FAULTS = {
    "not python": ("def add_Tensor(:", Status.PARSE_ERROR),
    "misspelt function": (_HEAD + "def add_tensor(self, other):\n    return self\n", Status.PARSE_ERROR),
    "null byte": ("import torch\0", Status.PARSE_ERROR),
    "nothing": ("", Status.PARSE_ERROR),
    "deep nesting": ("(" * 5000 + ")" * 5000, Status.PARSE_ERROR),
    "surrogates": ("x = '\ud800'", Status.PARSE_ERROR),
    "raises while loading": (_HEAD + "raise ValueError('no')\n" + _ADD.format("return self"), Status.LAUNCH_ERROR),
    "raises": (_HEAD + _ADD.format("raise ValueError('no')"), Status.LAUNCH_ERROR),
    "endless loop": (_HEAD + _ADD.format("while True: pass"), Status.TIMEOUT),
    "endless loading": (_HEAD + "while True:\n    pass\n" + _ADD.format("return self"), Status.TIMEOUT),
    "ten gigabytes": (
        _HEAD + _ADD.format("return torch.zeros((10_000_000_000,), dtype=torch.uint8)"),
        Status.OUT_OF_MEMORY,
    ),
    "python memory": (_HEAD + _ADD.format("return [0] * 10_000_000_000"), Status.OUT_OF_MEMORY),
    "stack overflow": (_HEAD + "def f(x):\n    return f(x)\n" + _ADD.format("return f(self)"), Status.LAUNCH_ERROR),
    "returns nothing": (_HEAD + _ADD.format("return None"), Status.WRONG_SHAPE),
}


@pytest.fixture(scope="module")
def impatient() -> Iterator[Judge]:
    """A judge with a short time limit, so that endless candidates end soon."""
    with Judge("cpu", profile="best_effort", secret=b"tests", limits=Limits(cpu_seconds=2.0)) as judge:
        yield judge


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_has_its_status_and_costs_nobody_else(impatient: Judge, kernels: Path, fault: str) -> None:
    source, expected = FAULTS[fault]
    verdict = impatient.verify("aten::add", Submission(source))
    assert verdict.status is expected, verdict.message
    assert impatient.verify("aten::t", Submission((kernels / "aten.t.py").read_text())).clean


ASSEMBLY = """
@triton.jit
def _kernel(x_ptr, o_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(o_ptr + tl.arange(0, N), y)

"""


def test_what_the_platform_cannot_judge_is_not_the_candidates_failure(judge: Judge) -> None:
    body = "out = torch.empty_like(self)\n    _kernel[(1,)](self, out, N=16)\n    return out"
    verdict = judge.verify("aten::add", Submission(_HEAD + ASSEMBLY + _ADD.format(body)))
    assert verdict.status is Status.UNSUPPORTED, verdict.message
    own = _HEAD + "class UnsupportedFeature(Exception):\n    feature = 'driver query'\n\n"
    verdict = judge.verify("aten::add", Submission(own + _ADD.format("raise UnsupportedFeature('x')")))
    assert verdict.status is Status.LAUNCH_ERROR, "the word is the platform's, never the candidate's"


def test_public_verdicts_hold_no_hidden_case(judge: Judge, kernels: Path) -> None:
    submission = Submission((kernels / "aten.t.py").read_text())
    assert {case.split for case in judge.verify("aten::t", submission, split="public").cases} == {"public"}


def test_verdicts_leave_the_number_of_threads(judge: Judge, kernels: Path) -> None:
    before = torch.get_num_threads()
    submission = Submission((kernels / "aten.t.py").read_text())
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: judge.verify("aten::t", submission), range(6)))
    assert torch.get_num_threads() == before


def test_verdicts_side_by_side_do_not_mix(judge: Judge, kernels: Path) -> None:
    good = Submission((kernels / "aten.t.py").read_text())
    bad = Submission(_HEAD + _ADD.format("raise ValueError('no')"))
    with ThreadPoolExecutor(4) as pool:
        both = [("aten::t", good), ("aten::add", bad)] * 4
        verdicts = list(pool.map(lambda job: judge.verify(*job), both))
    assert [v.status for v in verdicts] == [Status.CLEAN, Status.LAUNCH_ERROR] * 4


def test_a_deterministic_judge_repeats_itself(kernels: Path, judge: Judge) -> None:
    submission = Submission((kernels / "aten.softmax.py").read_text())
    assert judge.verify("aten::softmax", submission) == judge.verify("aten::softmax", submission)


def test_hidden_cases_are_not_told(judge: Judge) -> None:
    source = _HEAD + _ADD.format("raise ValueError(str(tuple(self.shape)))")
    verdict = judge.verify("aten::add", Submission(source))
    hidden = [case for case in verdict.cases if case.split == "hidden"]
    assert hidden
    assert {case.message for case in hidden} <= {status.value.replace("_", " ") for status in Status}


def test_a_result_that_is_the_input_is_no_copy(judge: Judge) -> None:
    source = "def clone(self, *, memory_format=None):\n    return self\n"
    assert judge.verify("aten::clone", Submission(source)).status is Status.WRONG_LAYOUT
