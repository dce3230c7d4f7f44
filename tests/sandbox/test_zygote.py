"""The zygote's life: lazily started anywhere, shared by threads, gone with the judge, started again after a death."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from kgb_env.errors import UsageError, ZygoteError
from kgb_env.sandbox import Limits, Zygote

from .conftest import PROBE, answer, ask_zygote, descendants, make_arena


def _echo(value: Any) -> Any:
    with Zygote(PROBE, None) as zygote:
        return answer(ask_zygote(zygote, "echo", value=value))["ok"]


def _descriptors() -> int:
    return _entries("/proc/self/fd")


def _entries(folder: str) -> int:
    return len(list(pathlib.Path(folder).iterdir()))


def _gone(pids: set[int], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.02)
    return False


def test_fifty_workers_leave_nothing(zygote: Zygote) -> None:
    answer(ask_zygote(zygote, "echo"))
    (inner,) = descendants(zygote.pid)
    before = _descriptors(), _entries(f"/proc/{inner}/fd")
    for index in range(50):
        if index % 5 == 4:
            assert ask_zygote(zygote, "crash").signal == signal.SIGSEGV
        else:
            assert answer(ask_zygote(zygote, "echo", value=index)) == {"ok": index}
    assert (_descriptors(), _entries(f"/proc/{inner}/fd")) == before
    assert descendants(zygote.pid) == {inner}
    assert _entries(zygote._process.folder) == 0


def test_four_threads_share_one_zygote(zygote: Zygote) -> None:
    def work(index: int) -> list[Any]:
        return [answer(ask_zygote(zygote, "echo", value=[index, turn]))["ok"] for turn in range(6)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [[[index, turn] for turn in range(6)] for index in range(4)]


def test_first_spawn_may_come_from_a_thread_that_ends() -> None:
    with Zygote(PROBE, None) as zygote:
        thread = threading.Thread(target=zygote.start)
        thread.start()
        thread.join()
        assert answer(ask_zygote(zygote, "echo", value=1)) == {"ok": 1}


def test_starts_in_a_daemonic_worker() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:  # its workers are daemonic
        assert pool.map(_echo, [1, 2]) == [1, 2]


def test_fork_of_the_judge_gets_its_own_zygote(zygote: Zygote) -> None:
    mine = zygote.pid
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            value = answer(ask_zygote(zygote, "echo", value="child"))["ok"]
            os.write(writer, f"{value} {zygote.pid != mine}".encode())
            zygote.close()
        finally:
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 100) == b"child True"
    os.close(reader)
    os.waitpid(pid, 0)
    assert answer(ask_zygote(zygote, "echo", value="parent")) == {"ok": "parent"}
    assert zygote.pid == mine


def test_starts_under_a_running_event_loop() -> None:
    async def main() -> Any:
        direct = _echo("loop")
        return direct, await asyncio.to_thread(_echo, "thread")

    assert asyncio.run(main()) == ("loop", "thread")


def test_kill_from_another_thread(zygote: Zygote) -> None:
    arena = make_arena({"do": "hang"})
    with zygote.spawn(arena, Limits(cpu_seconds=5)) as worker:
        threading.Timer(0.1, worker.kill).start()
        assert worker.wait().kind == "killed"
    worker.kill()
    os.close(arena)


def test_abandoned_worker_is_killed(zygote: Zygote) -> None:
    arena = make_arena({"do": "hang"})
    with zygote.spawn(arena, Limits()) as worker:
        pid = worker.pid
    os.close(arena)
    assert _gone({pid})


def test_lines_arrive_while_the_worker_runs(zygote: Zygote) -> None:
    seen: list[bytes] = []
    arena = make_arena({"do": "report", "descriptor": 4, "size": 5000})
    ended = zygote.spawn(arena, Limits()).wait(seen.append)
    os.close(arena)
    assert seen == ended.report.splitlines()
    assert len(seen) == 6


def test_death_of_the_zygote_is_ours_and_it_starts_again(zygote: Zygote) -> None:
    first = zygote.pid
    arena = make_arena({"do": "hang"})
    worker = zygote.spawn(arena, Limits())
    everyone = descendants(first) | {first}
    os.kill(first, signal.SIGKILL)
    with pytest.raises(ZygoteError, match="died while worker"):
        worker.wait()
    os.close(arena)
    assert answer(ask_zygote(zygote, "echo", value=2)) == {"ok": 2}
    assert zygote.pid != first
    assert _gone(everyone - {first})


def test_everything_dies_with_the_judge(tmp_path: pathlib.Path) -> None:
    script = (
        "import json, os, sys, time\n"
        "from kgb_env.sandbox import Limits, Zygote\n"
        f"zygote = Zygote({PROBE!r}, None)\n"
        "arena = os.memfd_create('arena')\n"
        "os.write(arena, json.dumps({'do': 'hang'}).encode())\n"
        "worker = zygote.spawn(arena, Limits())\n"
        "print(zygote.pid, worker.pid, zygote._process.folder, flush=True)\n"
        "time.sleep(60)\n"
    )
    judge = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=_checkout())
    assert judge.stdout is not None
    outer, worker, folder = judge.stdout.readline().split()
    judge.kill()
    judge.wait()
    judge.stdout.close()
    assert _gone({int(outer), int(worker)})
    assert not pathlib.Path(folder).exists()


def _checkout() -> str:
    return str(pathlib.Path(__file__).parents[2])


@pytest.mark.parametrize(
    ("entry", "warm", "words"),
    [
        ("kgb_env.sandbox.nowhere:run", None, "No module named"),
        ("kgb_env.sandbox.probe:walk", None, "has no attribute"),
        (PROBE, "kgb_env.sandbox.misdeeds:_crash", "died while it started"),
        (PROBE, "threading:_start_joinable_thread", "failed to start"),
    ],
)
def test_failed_start_says_why(entry: str, warm: str | None, words: str) -> None:
    before = _descriptors()
    zygote = Zygote(entry, warm)
    with pytest.raises(ZygoteError, match=words):
        zygote.start()
    assert _descriptors() == before


def test_environment_is_scrubbed(zygote: Zygote) -> None:
    os.environ["KGB_TEST_SECRET"] = "key"
    try:
        with Zygote(PROBE, None, {"TRITON_INTERPRET": "1"}) as other:
            names = answer(ask_zygote(other, "facts"))["ok"]["environment"]
    finally:
        del os.environ["KGB_TEST_SECRET"]
    assert "TRITON_INTERPRET" in names
    assert "KGB_TEST_SECRET" not in names


def test_granted_paths_and_programs(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "data"
    file.write_text("abc")
    grants = {"readable": [str(file)], "executable": ["/bin/echo"]}
    limits = Limits(allow_exec=True, processes=8)
    with Zygote(PROBE, None, **grants) as other:
        assert answer(ask_zygote(other, "read", path=str(file))) == {"ok": 3}
        assert answer(ask_zygote(other, "write", path=str(file)))["error"] == "PermissionError"
        assert answer(ask_zygote(other, "execute", limits, arguments=["/bin/echo", "hello"])) == {"ok": "hello\n"}
        assert answer(ask_zygote(other, "execute", arguments=["/bin/echo"]))["error"] == "PermissionError"


@pytest.mark.parametrize("bad", [{"cpu_seconds": 0}, {"memory_bytes": -1}, {"wall_seconds": float("inf")}])
def test_impossible_limits(bad: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Limits(**bad)
