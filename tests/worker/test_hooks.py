"""The audit hook refuses what the submission asks for, and lets libraries work."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import collections, ctypes, enum, gc, inspect, json, os, signal, socket, subprocess, sys, tempfile, typing
sys.path.insert(0, {root!r})
from kgb_env.worker import python_hooks
scratch = tempfile.mkdtemp()
given = dict(globals())
python_hooks.install("submission.py")
outcomes = {{}}
for name, source in json.loads(sys.stdin.read()).items():
    error = ""
    try:
        exec(compile(source, "submission.py", "exec"), dict(given))
    except BaseException as problem:
        error = type(problem).__name__
    outcomes[name] = [error, list(python_hooks.violations())]
    python_hooks.violations().clear()
open(os.path.join(scratch, "harness"), "w").close()
print(json.dumps(outcomes))
"""

REFUSED = {
    "library": "ctypes.CDLL(None)",
    "program": "subprocess.run(['true'])",
    "shell": "os.system('true')",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "fork": "os.fork()",
    "exec": "os.execv('/bin/true', ['true'])",
    "signal": "os.kill(os.getppid(), 0)",
    "socket": "socket.socket()",
    "read": "open('/etc/hostname')",
    "write": "open(os.path.join(scratch, 'x'), 'w')",
    "write by descriptor": "os.open(os.path.join(scratch, 'x'), os.O_CREAT | os.O_WRONLY)",
    "write by a library": "tempfile.mkstemp()",
    "remove": "os.remove(os.path.join(scratch, 'x'))",
    "frame": "sys._getframe()",
    "frames": "sys._current_frames()",
    "heap": "gc.get_objects()",
    "referrers": "gc.get_referrers(json)",
    "tracing": "sys.settrace(None)",
    "profiling": "sys.setprofile(None)",
    "another hook": "sys.addaudithook(print)",
    "text": "eval('1')",
    "code object": "(lambda: 0).__code__",
    "environment": "os.putenv('A', 'b')",
}

LET_THROUGH = {
    "named tuple": "collections.namedtuple('P', 'x y')(1, 2)",
    "enum": "enum.Enum('E', 'A B')",
    "type variable": "typing.TypeVar('T')",
    "inspection by a library": "inspect.signature(json.dumps)",
    "collection": "gc.collect()",
    "arithmetic": "sum(range(10))",
    "imports of a library": "typing.get_type_hints(json.JSONEncoder)",
}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> dict[str, list]:
    program = PROGRAM.format(root=str(request.config.rootpath))
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(REFUSED | LET_THROUGH),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(outcomes, name):
    error, violations = outcomes[name]
    assert error == "HookViolation"
    assert violations[0]["rule"] == "process-access"
    assert violations[0]["line"] == 1
    assert violations[0]["hack"]


@pytest.mark.parametrize("name", LET_THROUGH)
def test_let_through(outcomes, name):
    assert outcomes[name] == ["", []]
