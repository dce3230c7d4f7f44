"""Program of test_unprivileged: a judge that tries its workers and prints what it found as JSON."""

from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
import sys
import time
from typing import Any

from kgb_env.errors import ConfinementError
from kgb_env.sandbox import Exit, Limits, Zygote, linux, seccomp

PROBE = "kgb_env.sandbox.probe:run"
SIBLING = """
import sys
try:
    open(sys.argv[1]).read()
except OSError as error:
    print(type(error).__name__)
"""
"""An unconfined process of the same user that tries to read the judge's environment."""

UNSHARE = {"x86_64": 272, "aarch64": 97}


def forbid_namespaces() -> None:
    """Answer ``unshare`` with EPERM from here on, as the default filter of container engines does."""
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    steps = [
        (0x20, 0, 0, 0),  # load the call's number
        (0x15, 0, 1, UNSHARE[os.uname().machine]),
        (0x06, 0, 0, 0x00050001),  # EPERM
        (0x06, 0, 0, 0x7FFF0000),  # allow
    ]
    seccomp.install(b"".join(struct.pack("<HBBI", *step) for step in steps))


def main() -> None:
    """Try, and print."""
    if "--no-namespaces" in sys.argv:
        forbid_namespaces()
    zygote = Zygote(PROBE, None, profile="best_effort")

    def end(do: str, limits: Limits | None = None, **arguments: Any) -> Exit:
        arena = os.memfd_create("arena")
        os.write(arena, json.dumps({"do": do, **arguments}).encode())
        try:
            return zygote.spawn(arena, limits or Limits(cpu_seconds=2)).wait()
        finally:
            os.close(arena)

    def ask(do: str, **arguments: Any) -> Any:
        return json.loads(end(do, **arguments).report)

    short = Limits(cpu_seconds=0.3, wall_seconds=20)
    brief = Limits(cpu_seconds=1, wall_seconds=1)
    compiler = Limits(cpu_seconds=2, allow_exec=True)
    found: dict[str, Any] = {
        "uid": os.getuid(),
        "missing": {layer.name: layer.detail for layer in zygote.layers if not layer.available},
        "facts": ask("facts")["ok"],
        "judge_mem": ask("read", path=f"/proc/{os.getpid()}/mem"),
        "judge_environ": ask("read", path=f"/proc/{os.getpid()}/environ"),
        "secret_file": ask("read", path=__file__),
        "fork": ask("fork_bomb"),
        "connect": ask("connect"),
        "signal_judge": ask("signal", target=os.getpid(), number=9),
        "spin": end("spin", short).kind,
        "hang": end("hang", brief).kind,
        "crash": end("crash").kind,
    }
    end("detach", compiler)
    found["echo"] = ask("echo", value=7)
    found["detached_left"] = strays(zygote.pid)
    command = [sys.executable, "-c", SIBLING, f"/proc/{os.getpid()}/environ"]
    seen = subprocess.run(command, capture_output=True, text=True, check=True)
    found["sibling_environ"] = seen.stdout.strip()
    try:
        with Zygote(PROBE, None) as strict:
            strict.start()
        found["standard"] = ""
    except ConfinementError as error:
        found["standard"] = str(error)
    end("deep", count=100)
    end("fill", Limits(file_bytes=1 << 20, cpu_seconds=1), size=1000, count=200)
    folder = pathlib.Path(zygote._process.folder)
    left = [str(path) for path in folder.iterdir()]
    zygote.close()
    found["folder_left"] = left + [str(folder)] * folder.exists()
    print(json.dumps(found))


def strays(root: int) -> list[int]:
    """Processes below the zygote that are neither it nor its inner half."""
    time.sleep(0.2)
    found, pending = [], [root]
    while pending:
        pid = pending.pop()
        pending += (children := [int(word) for word in read(pid, f"task/{pid}/children").split()])
        found += children
    return [pid for pid in found if "bootstrap" not in read(pid, "cmdline")] + found[1:]


def read(pid: int, name: str) -> str:
    """Read one file of a process."""
    return pathlib.Path(f"/proc/{pid}/{name}").read_text()


if __name__ == "__main__":
    main()
