"""The compile gate: every launched kernel must lower, and compile for sm_90, without a GPU.

Under the interpreter a "kernel" may be any Python: the gate is what refuses one whose body is
torch or NumPy. It runs in a confined process of its own, because loading the submission runs it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgb_env.errors import InfrastructureError
from kgb_env.judge.arena import Arena, Layout
from kgb_env.judge.claims import parse
from kgb_env.judge.exits import refuse_machine_faults, status_of_exit
from kgb_env.judge.jobs import FILENAME
from kgb_env.operators.model import Operator
from kgb_env.records import LayerResult, Submission
from kgb_env.sandbox import Limits, Zygote

__all__ = ["CompileGate", "GateResult"]

_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class GateResult:
    """Outcome of the gate, with the first error's line and message."""

    layer: LayerResult
    line: int = 0
    message: str = ""


class CompileGate:
    """Lowers launches in a compile process, and remembers what it found."""

    def __init__(self, zygote: Zygote, limits: Limits) -> None:
        """Use a zygote that was started without the interpreter."""
        self._zygote = zygote
        self._limits = limits
        self._known: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, operator: Operator, submission: Submission, launches: Sequence[Mapping[str, Any]]) -> GateResult:
        """Lower every distinct launch; compile one of each kernel.

        Raises:
            InfrastructureError: the compile process was lost for a reason of the machine.
        """
        if not launches:
            return GateResult(LayerResult("compile_gate", "not_run", "no kernel was launched"))
        keys = [_key(operator, submission, launch) for launch in launches]
        with self._lock:
            results = {key: self._known[key] for key in keys if key in self._known}
        unknown = [i for i, key in enumerate(keys) if key not in results]
        if unknown:
            found = self._lower(operator, submission, [launches[i] for i in unknown])
            if isinstance(found, tuple):  # about the whole submission, and perhaps about this run alone
                line, message = found
                return GateResult(LayerResult("compile_gate", "fail", message), line, message)
            fresh = {keys[i]: result for i, result in zip(unknown, found, strict=True)}
            results |= fresh
            with self._lock:
                self._known.update(fresh)
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        for key, launch in zip(keys, launches, strict=True):
            line, message = results[key]
            if message:
                layer = LayerResult("compile_gate", "fail", f"{launch.get('kernel')} (line {line}): {message}")
                return GateResult(layer, line, message)
        kernels = len({(launch["kernel"], launch["index"]) for launch in launches})
        return GateResult(LayerResult("compile_gate", "pass", f"{kernels} kernels, {len(launches)} signatures"))

    def _lower(
        self, operator: Operator, submission: Submission, launches: Sequence[Mapping[str, Any]]
    ) -> list[tuple[int, str]] | tuple[int, str]:
        """Return line and message for each launch (an empty message is a pass), or one for the submission."""
        first: dict[Any, int] = {}
        for i, launch in enumerate(launches):
            first.setdefault((launch["kernel"], launch["index"]), i)
        nonce = secrets.token_hex(16)
        header = {
            "mode": "compile",
            "nonce": nonce,
            "source": submission.source,
            "filename": FILENAME,
            "narrowed": sorted(operator.traits.narrowed_helpers),
            "extra": sorted(operator.traits.allowed_functions),
            "launches": list(launches),
            "full": sorted(first.values()),
        }
        arena = Arena(Layout(), header, b"\0")
        try:
            exit_ = self._zygote.spawn(arena.fd, self._limits).wait()
        finally:
            arena.close()
        claims = parse(exit_.report)
        refuse_machine_faults(exit_)
        if claims.machine_fault:
            raise InfrastructureError(claims.machine_fault)
        if claims.nonce != nonce:
            ended = f"the compiler came to no end: {status_of_exit(exit_)[1]}"
            why = claims.load_error or {"message": ended, "line": 0}
            return why["line"], why["message"]
        if claims.load_error:
            return claims.load_error["line"], claims.load_error["message"]
        if claims.violations:
            worst = claims.violations[0]
            return worst["line"], f"{worst['rule']}: {worst['what']}: {worst['remedy']}"
        silent = {"line": 0, "message": "the compile process did not report on it"}
        said = [claims.lowered.get(i, silent) for i in range(len(launches))]
        return [(answer["line"], answer["message"]) for answer in said]


def _key(operator: Operator, submission: Submission, launch: Mapping[str, Any]) -> str:
    parts = {
        k: launch.get(k)
        for k in ("kernel", "index", "line", "signature", "constexprs", "divisible", "options", "surroundings")
    }
    text = operator.name + submission.digest + json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
