"""Tools: a function, its schema, and calls that do not fit."""

from __future__ import annotations

import pytest

from kgb_env.envs.tools import TOOLS, Outcome, call, schemas, tool


class Bench:
    """An episode that answers with what it was asked."""

    def statement(self) -> str:
        return "the task"

    def submit(self, source: str) -> Outcome:
        return Outcome(f"submitted {source}", submitted=True, scored=True)

    def try_public(self, source: str) -> Outcome:
        return Outcome(f"tried {source}")


def test_schemas_come_from_signatures_and_docstrings():
    found = {schema["name"]: schema for schema in schemas()}
    assert list(found) == ["submit", "run_tests", "read_spec", "finish"]
    parameters = found["submit"]["parameters"]
    assert parameters["required"] == ["source"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["source"] == {
        "type": "string",
        "description": "Python source of the whole submission.",
    }
    assert parameters["properties"]["final"]["default"] is False
    assert found["read_spec"]["cost"] == "free"
    assert found["read_spec"]["description"].endswith("again.")
    found["submit"]["parameters"]["properties"].clear()
    assert TOOLS["submit"].parameters["properties"]


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("sumbit", {}, "did you mean 'submit'"),
        ("submit", {"sorce": "x"}, "did you mean 'source'"),
        ("submit", {"source": 3}, "must be a JSON string"),
        ("submit", {"source": "x", "final": "yes"}, "must be a JSON boolean"),
        ("submit", {}, "needs the argument 'source'"),
    ],
)
def test_calls_that_do_not_fit_are_explained(name, arguments, answer):
    assert answer in call(Bench(), name, arguments)


def test_calls_that_fit_are_made():
    assert call(Bench(), "read_spec", {}).text == "the task"
    assert call(Bench(), "run_tests", {"source": "x"}).text == "tried x"
    outcome = call(Bench(), "submit", {"source": "x", "final": True})
    assert outcome.final
    assert outcome.scored
    assert outcome.submitted


def test_a_parameter_needs_a_plain_type():
    with pytest.raises(TypeError, match="needs one of"):

        @tool("free")
        def strange(bench: Bench, where: list) -> Outcome:
            """Do nothing."""
            return Outcome("")
