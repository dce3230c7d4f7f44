"""Loads sources through the fence, each in a fork, and prints what came of them; or walks what the fence hands out."""

# ruff: noqa: E501 - tables

from __future__ import annotations

import builtins
import collections
import json
import os
import sys
import types
import warnings
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[2]))

import torch

from kgb_env.operators import helpers
from kgb_env.worker import facade, fence, names
from kgb_env.worker.offences import FenceViolation, Offences

ALLOWED = helpers.allowed(frozenset(), frozenset({"rng_seed", "host_read"}))
EVIL = {
    id(getattr(builtins, name))
    for name in ("exec", "eval", "open", "compile", "__import__", "getattr", "setattr", "vars")
}
HARMLESS = (
    "triton.runtime.autotuner", "triton.tools", "triton.errors", "triton.runtime.errors", "triton.compiler.errors",
    "triton.runtime.jit", "triton.runtime._allocation", "triton._C.libtriton.ir",
    "torch", "triton.language", "kgb_", "math", "itertools", "builtins", "_operator", "collections", "typing", "contextlib",
    "enum", "_functools", "_collections_abc", "_io", "inspect", "functools", "dataclasses",
)  # fmt: skip
KERNEL = """
import triton
import triton.language as tl
@triton.jit
def k(x, N: tl.constexpr):
    tl.store(x, 1.0)
a = triton.autotune([triton.Config({"N": 1})], key=[])(k)
h = triton.heuristics({"N": lambda a: 1})(k)
"""
FORBIDDEN_FUNCTIONS = {
    ("functools", "wraps"), ("functools", "update_wrapper"), ("functools", "singledispatch"), ("dataclasses", "dataclass"),
    ("contextlib", "contextmanager"), ("typing", "get_type_hints"), ("inspect", "stack"), ("dataclasses", "make_dataclass"),
}  # fmt: skip


def attempt(source: str) -> dict[str, Any]:
    """Load one source."""
    error, found = "", {}
    try:
        found = fence.load(source, "submission.py", ALLOWED)
    except BaseException as problem:  # boundary: attempts raise anything
        error = f"{type(problem).__name__}: {problem}"
    return {
        "error": error,
        "leaked": "leak" in found,
        "result": bool(found.get("result")),
        "violations": fence.violations(),
    }


def in_fork(source: str) -> dict[str, Any]:
    """Load one source in a fork of this process."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.dup2(2, 1)
        with os.fdopen(writing, "w") as stream:
            json.dump(attempt(source), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.wait()
    return json.loads(text) if text else {"error": "died", "leaked": True, "result": False, "violations": []}


def walk() -> list[str]:
    """Return the paths of dangerous objects that public attributes lead to."""
    warnings.simplefilter("ignore")
    facades = facade.Facades(ALLOWED, Offences("x", FenceViolation))
    namespace = fence.load(KERNEL, "walk.py", ALLOWED)
    given = namespace.pop("__builtins__")
    roots: dict[str, Any] = {name: facades.get(name) for name in names.MODULES} | namespace | given
    roots |= {"size": torch.Size([1]), "generator": torch.Generator(), "error": ValueError(), "function": walk.__call__}
    seen: dict[int, Any] = {}
    queue = collections.deque(roots.items())
    bad = []
    while queue:
        path, value = queue.popleft()
        if isinstance(value, int | str | float | bytes | complex | None | torch.Tensor) or id(value) in seen:
            continue
        seen[id(value)] = value
        if path.count(".") > 6:
            continue
        if is_dangerous(value, path in given):
            bad.append(path)
            continue
        if isinstance(value, dict):
            queue.extend((f"{path}.[{key!r:.40}]", item) for key, item in list(value.items())[:300])
        elif isinstance(value, list | tuple | set | frozenset):
            queue.extend((f"{path}.[{number}]", item) for number, item in enumerate(list(value)[:50]))
        for name in dir(value):
            if names.forbidden_attribute(name) is None:
                try:
                    queue.append((f"{path}.{name}", getattr(value, name)))
                except BaseException:  # boundary: properties of strangers raise anything
                    continue
    return bad


def is_dangerous(value: Any, is_builtin: bool) -> bool:
    """Whether an object leads out: a real module, a function that executes text, a library of another kind."""
    if isinstance(value, types.ModuleType):
        name = value.__name__
        return not name.startswith((facade.PREFIX, "triton.language.extra.")) and name not in names.MODULES
    if id(value) in EVIL:
        return True
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType | type) or is_builtin:
        return False
    module = getattr(value, "__module__", None)
    if (module, getattr(value, "__qualname__", "")) in FORBIDDEN_FUNCTIONS:
        return True
    return isinstance(module, str) and module != "triton" and not module.startswith(HARMLESS)


if __name__ == "__main__":
    outcomes = {name: in_fork(source) for name, source in json.load(sys.stdin).items()}
    print(json.dumps({"outcomes": outcomes, "walk": walk()}))
