"""What a message asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgb_env.envs.parsing import parse

CODE = "import triton\n\n\ndef add(a):\n    return a\n"


@pytest.mark.parametrize(
    ("message", "parsed_as", "source"),
    [
        (f"```python\n{CODE}```", "fence", CODE),
        (f"First:\n```python\nold = 1\n```\nBetter:\n```python\n{CODE}```\nDone.", "fence", CODE),
        (f"```python\n{CODE}```\nIt prints\n```text\nhello\n```", "fence", CODE),
        (f"```\n{CODE}```", "fence", CODE),
        (f"~~~py\n{CODE}~~~", "fence", CODE),
        (f"````python\n{CODE}# ```\n````", "fence", f"{CODE}# ```\n"),
        (f"``` Python title=x\n{CODE}```", "fence", CODE),
        (f"```json\n{{}}\n```\n```python\n{CODE}", "open_fence", CODE),
        ("```cuda\nint x;\n```", "fence", "int x;\n"),
        (CODE, "bare_code", CODE),
        ("import triton\ndef f(:\n  pass", "bare_code", "import triton\ndef f(:\n  pass"),
        ("# a comment\n@triton.jit\ndef f(x): pass\n", "bare_code", "# a comment\n@triton.jit\ndef f(x): pass\n"),
    ],
)
def test_code(message, parsed_as, source):
    parsed = parse(message)
    assert (parsed.parsed_as, parsed.tool, parsed.arguments) == (parsed_as, "submit", {"source": source})


@pytest.mark.parametrize(
    "message",
    [
        "",
        "I cannot do this.",
        "from here on I would define a kernel",
        "Let me think.\nfrom the spec, triton wants def something",
        '{"not": "a call"}',
    ],
)
def test_prose_is_no_submission(message):
    assert parse(message).parsed_as == "no_code"


@pytest.mark.parametrize("frame", ["{}", "  {}\n", "I try:\n```json\n{}\n```\n", "```\n{}\n```"])
def test_tool_calls(frame):
    parsed = parse(frame.replace("{}", '{"tool": "run_tests", "arguments": {"source": "x"}}'))
    assert (parsed.parsed_as, parsed.tool, parsed.arguments) == ("tool_call", "run_tests", {"source": "x"})


def test_a_malformed_call_says_how_to_write_one():
    assert "arguments" in parse('{"tool": "submit", "arguments": "x"}').error


@given(st.text() | st.text(alphabet="`~\n{}\"':def ()@[]\\", max_size=400))
def test_any_text_is_answered(message):
    assert parse(message).parsed_as in ("tool_call", "fence", "open_fence", "bare_code", "no_code")


def test_deep_json_is_no_call():
    assert parse("{" + '"a":{' * 100_000 + "}" * 100_001).parsed_as == "no_code"


CODE = "def f(x):\n    return x\n"


def test_a_usage_block_after_the_code_does_not_win():
    message = f"```python\n{CODE}```\nUse it so:\n```\nf([1, 2])\n```\nand it gives\n```text\n[1, 2]\n```"
    assert parse(message).arguments["source"] == CODE


def test_an_indented_fence_is_dedented():
    indented = "".join(f"   {line}\n" for line in ("```python", *CODE.splitlines(), "```"))
    assert parse(f"1. The kernel:\n{indented}").arguments["source"] == CODE


def test_a_byte_order_mark_is_no_text():
    assert parse(f"\ufeff```python\n{CODE}```").arguments["source"] == CODE
    assert parse(f"\ufeffimport torch\n{CODE}").arguments["source"] == f"import torch\n{CODE}"
