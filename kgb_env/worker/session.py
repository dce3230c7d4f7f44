"""Runs one submission on the calls of a job: load, mount, call, describe. Judges nothing."""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kgb_env.operators import helpers
from kgb_env.platforms import launches
from kgb_env.worker import fence, python_hooks
from kgb_env.worker.audit import Audit, plain_answer
from kgb_env.worker.mount import MountGuard, mounted, offence
from kgb_env.worker.outputs import Outputs
from kgb_env.worker.report import Reporter, describe_error
from kgb_env.worker.wire import Opened, Region, decode

__all__ = ["Session"]


class Session:
    """One submission in one confined process."""

    def __init__(
        self, header: dict[str, Any], memory: mmap.mmap, reporter: Reporter, recorder: launches.LaunchRecorder
    ) -> None:
        """Keep the job; nothing of the submission runs yet."""
        self._header = header
        self._filename: str = header["filename"]
        self._memory = memory
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._reporter = reporter
        self._recorder = recorder
        self._recorder.ghost = header["mode"] == "ghost"
        self._helpers = helpers.allowed(frozenset(header["narrowed"]), frozenset(header["extra"]))
        self._guard = MountGuard()
        self._generators: dict[tuple[int, int], torch.Generator] = {}
        self._told: set[str] = set()
        self._trace = ""

    def run(self) -> None:
        """Load the submission, then make every call; report each."""
        python_hooks.install(self._filename)
        with torch.inference_mode():
            namespace = self._load()
            if namespace is None:
                return
            for number, call in enumerate(self._header["calls"]):
                self._call(number, call, namespace[call["function"]])

    def _load(self) -> dict[str, Any] | None:
        self._recorder.begin_submission(self._filename)
        try:
            with self._audited() as audit, audit:
                namespace = fence.load(self._header["source"], self._filename, self._helpers)
                for call in self._header["calls"]:
                    if not callable(namespace[call["function"]]):
                        msg = f"{call['function']} is not a function"
                        raise TypeError(msg)
        except BaseException as error:  # boundary: whatever the candidate raises is reported, never swallowed
            self._reporter.write("load_error", error=describe_error(error, self._filename))
            return None
        else:
            self._tell_failures()
        finally:
            self._reporter.violations(fence.violations(), "fence")
            self._reporter.violations(python_hooks.violations(), "hooks")
        return namespace

    @contextlib.contextmanager
    def _audited(self) -> Iterator[Audit]:
        audit = Audit(self._helpers, self._filename)
        try:
            yield audit
        finally:
            self._reporter.violations(audit.violations, "audit")

    def _call(self, number: int, call: dict[str, Any], function: Callable[..., Any]) -> None:
        opened = Opened()
        self._recorder.reset()
        self._trace = ""
        result, error = None, None
        try:
            args, kwargs = self._arguments(number, call, opened)
            answer = self._invoke(call, function, args, kwargs)
            slots = [Region(*slot) for slot in call["slots"]]
            result = Outputs(self._base, slots, opened.tensors).write(answer)
        except BaseException as problem:  # boundary: whatever the candidate raises is reported, never swallowed
            error = describe_error(problem, self._filename)
        if error is None:
            self._tell_failures()
        self._tell_launches()
        self._reporter.violations(fence.violations(), "fence")
        self._reporter.violations(python_hooks.violations(), "hooks")
        self._reporter.violations(self._guard.offences, "mount")
        self._reporter.write(
            "call", call=number, result=result, error=error, launches=self._recorder.own, trace=self._trace
        )

    def _arguments(self, number: int, call: dict[str, Any], opened: Opened) -> tuple[list[Any], dict[str, Any]]:
        fresh = call["fresh"]
        if fresh:
            torch.manual_seed(call["seed"])

        def generator(seed: int) -> torch.Generator:
            torch.manual_seed(call["seed"] ^ (number + 1))  # with one given, the global one must not repeat
            key = (call["case"], seed)
            if fresh or key not in self._generators:
                self._generators[key] = torch.Generator().manual_seed(seed)
            return self._generators[key]

        args = [decode(v, self._memory, opened, generator) for v in call["args"]]
        kwargs = {k: decode(v, self._memory, opened, generator) for k, v in call["kwargs"].items()}
        return args, kwargs

    def _invoke(self, call: dict[str, Any], function: Callable[..., Any], args: list[Any], kwargs: Any) -> Any:
        def audited(candidate: Callable[..., Any], a: Any, k: Any) -> Any:
            with self._audited() as audit, audit:
                audit.trace.note("call", a, k)
                self._recorder.listener = audit.trace.launch
                try:
                    answer = plain_answer(candidate(*a, **k))
                    audit.trace.note("answer", answer)
                finally:
                    self._recorder.listener = None
                    self._trace = audit.trace.digest
                    audit.trace.release()
                return answer

        if not self._header["mounted"]:
            return audited(function, args, kwargs)
        operator, overload = self._header["operator"], call["overload"]
        name = f"{operator}.{overload}" if overload else operator
        packet = getattr(torch.ops.aten, operator)
        entry = getattr(packet, overload or "default")
        before = self._guard.entries
        with mounted({name: self._guard.wrap(name, function, audited)}, self._header["dispatch_key"]):
            answer = entry(*args, **kwargs)
        if self._guard.entries == before:
            msg = f"aten::{name} was not answered by the submission"
            raise RuntimeError(msg)
        return answer

    def _tell_failures(self) -> None:
        """Whether a kernel fails can tell the host what its operands hold, and whether it ran at all."""
        if self._recorder.failed:
            what = "a kernel raised an error, and the submission went on"
            self._reporter.violations([offence("kernel-failed", what)], "audit")

    def _tell_launches(self) -> None:
        for launch in self._recorder.launches:
            facts = {k: v for k, v in launch.items() if k not in ("count", "grid")}
            key = json.dumps(facts, sort_keys=True)
            if key not in self._told:
                self._told.add(key)
                self._reporter.write("launch", launch=facts)
        if self._recorder.dropped:
            what = "more than 1000 distinct launches in a call"
            self._reporter.violations([offence("too-many-signatures", what)], "audit")
        if self._recorder.bypassed:
            what = "a kernel was run without its launcher"
            self._reporter.violations([offence("launcher-bypassed", what, hack=True)], "audit")
