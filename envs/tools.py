"""What a policy can do in an episode: typed functions that become JSON schemas.

A tool is a function of an :class:`Episode` and of plain arguments; its annotations and its
docstring are its schema. To add one, write the function and decorate it with :func:`tool`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_type_hints

from kgb_env.errors import did_you_mean
from kgb_env.records import Verdict

__all__ = [
    "TOOLS",
    "Bench",
    "Cost",
    "Outcome",
    "Tool",
    "call",
    "finish",
    "read_spec",
    "run_tests",
    "schemas",
    "submit",
    "tool",
]

Cost = Literal["free", "cpu", "gpu"]
_JSON_TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool call led to."""

    text: str
    """For the policy."""
    verdict: Verdict | None = None
    """What the judge said, if it was asked."""
    scored: bool = False
    """Whether the verdict earns a reward."""
    submitted: bool = False
    """Whether a submission was used up."""
    repeat: bool = False
    """Whether the same source was submitted before in this episode."""
    final: bool = False
    """Whether the policy ends the episode with this."""


class Bench(Protocol):
    """What tools may ask of an episode."""

    def statement(self) -> str:
        """Return the task statement."""
        ...

    def submit(self, source: str) -> Outcome:
        """Judge a source for a reward."""
        ...

    def try_public(self, source: str) -> Outcome:
        """Judge a source on the public cases, without a reward."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a policy may call by name."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, an object without additional properties."""
    function: Callable[..., Outcome]
    cost: Cost
    """What it spends: nothing, CPU seconds, or seconds of a leased GPU."""


TOOLS: dict[str, Tool] = {}
"""Every tool by name, in the order in which they are defined."""


def tool(cost: Cost) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Register a function as a tool of that cost; the schema comes from its signature and docstring.

    Raises:
        TypeError: a parameter is not annotated as str, bool, int or float.
    """

    def register(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        summary, described = _docstring(function)
        hints = get_type_hints(function)
        properties: dict[str, Any] = {}
        required = []
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            if hints.get(name) not in _JSON_TYPES:
                msg = f"tool {function.__name__}: parameter {name} needs one of str, bool, int, float"
                raise TypeError(msg)
            properties[name] = {"type": _JSON_TYPES[hints[name]], "description": described.get(name, "")}
            if parameter.default is inspect.Parameter.empty:
                required.append(name)
            else:
                properties[name]["default"] = parameter.default
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        TOOLS[function.__name__] = Tool(function.__name__, summary, schema, function, cost)
        return function

    return register


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the summary line and the ``Args:`` of a Google docstring."""
    text = inspect.getdoc(function) or ""
    arguments = text.partition("Args:\n")[2].split("\n\n")[0]
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", arguments, re.M)
    return text.split("\n\n")[0].replace("\n", " "), {name: " ".join(line.split()) for name, line in found}


def call(bench: Bench, name: str, arguments: Mapping[str, Any]) -> Outcome | str:
    """Call a tool. A call that does not fit the schema is answered with a text that says why."""
    if name not in TOOLS:
        return f"There is no tool {name!r}{did_you_mean(name, TOOLS)}. Tools: {', '.join(TOOLS)}."
    chosen = TOOLS[name]
    properties = chosen.parameters["properties"]
    for key, value in arguments.items():
        if key not in properties:
            return f"Tool {name} has no argument {key!r}{did_you_mean(key, properties)}."
        if not _fits(value, properties[key]["type"]):
            return f"Argument {key!r} of tool {name} must be a JSON {properties[key]['type']}."
    missing = [key for key in chosen.parameters["required"] if key not in arguments]
    if missing:
        return f"Tool {name} needs the argument {missing[0]!r}."
    return chosen.function(bench, **arguments)


def _fits(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, {"string": str, "integer": int, "number": int | float}.get(kind, ()))


def schemas() -> tuple[dict[str, Any], ...]:
    """Return name, description and parameters (JSON Schema) of each tool, as fresh plain values."""
    import copy

    return tuple(
        {"name": t.name, "description": t.description, "parameters": copy.deepcopy(dict(t.parameters)), "cost": t.cost}
        for t in TOOLS.values()
    )


@tool("cpu")
def submit(bench: Bench, source: str, final: bool = False) -> Outcome:
    """Judge a whole submission on public and hidden cases; it is scored.

    Args:
        bench: The episode.
        source: Python source of the whole submission.
        final: End the episode with this submission, whatever its verdict.
    """
    outcome = bench.submit(source)
    return Outcome(outcome.text, outcome.verdict, True, True, outcome.repeat, final)


@tool("cpu")
def run_tests(bench: Bench, source: str) -> Outcome:
    """Judge a source on the public cases only; nothing is scored and no submission is used up.

    Args:
        bench: The episode.
        source: Python source of the whole submission.
    """
    return bench.try_public(source)


@tool("free")
def read_spec(bench: Bench) -> Outcome:
    """Read the task statement again."""
    return Outcome(bench.statement())


@tool("free")
def finish(bench: Bench) -> Outcome:
    """End the episode with what was submitted so far."""
    return Outcome("Finished.", final=True)
