"""Each misdeed costs its own worker only: the fixture asks the next worker of the same zygote for a right answer."""

from __future__ import annotations

import errno
import os
import pathlib
import signal

import pytest

import kgb_env
from kgb_env.sandbox import Limits, Zygote
from kgb_env.sandbox.limits import MIB
from kgb_env.sandbox.syscalls import number

from .conftest import Ask, answer, descendants

BRIEF = Limits(cpu_seconds=1, wall_seconds=1)
COMPILER = Limits(cpu_seconds=5, allow_exec=True, processes=8)


def test_worker_has_nothing_but_its_own(ask: Ask) -> None:
    facts = answer(ask("facts"))["ok"]
    assert facts["pid"] == 1
    assert facts["ppid"] == 0
    assert facts["descriptors"] == [0, 1, 2, 3, 4]
    assert not [name for name in facts["modules"] if name.startswith(("torch", "triton", "gymnasium", "kgb_env.judge"))]


def test_stopping_oneself_does_nothing(ask: Ask) -> None:
    assert answer(ask("stop")) == {"ok": None}  # process 1 ignores what it sends itself


def test_sleeper_is_blocked_not_starved(ask: Ask) -> None:
    ended = ask("hang", BRIEF)
    assert ended.kind == "blocked_timeout"
    assert 0.9 < ended.wall_seconds < 10


def test_spinner_runs_out_of_cpu_time(ask: Ask) -> None:
    ended = ask("spin", Limits(cpu_seconds=0.3))
    assert ended.kind == "cpu_timeout"
    assert 0.25 < ended.cpu_seconds < 2


@pytest.mark.parametrize("do", ["crash", "abort"])
def test_memory_fault_is_a_signal(ask: Ask, do: str) -> None:
    ended = ask(do)
    assert ended.kind == "signalled"
    assert ended.signal in (signal.SIGSEGV, signal.SIGABRT)
    assert ended.report == b""


def test_silent_exit_leaves_no_report(ask: Ask) -> None:
    ended = ask("leave")
    assert (ended.kind, ended.code, ended.report) == ("exited", 0, b"")


def test_memory_is_bounded(ask: Ask) -> None:
    assert answer(ask("allocate", Limits(memory_bytes=256 * MIB), size=10 << 30))["error"] == "MemoryError"
    assert answer(ask("allocate", Limits(memory_bytes=256 * MIB), size=64 * MIB)) == {"ok": 64 * MIB}


@pytest.mark.parametrize("do", ["fork_bomb", "detach"])
def test_no_process_can_be_made(ask: Ask, do: str) -> None:
    assert answer(ask(do))["error"] == "PermissionError"


def test_no_thread_can_be_made(ask: Ask) -> None:
    reply = answer(ask("threads"))
    assert reply["error"] == "RuntimeError"
    assert "can't start new thread" in reply["message"]


def test_no_program_can_be_run(ask: Ask) -> None:
    assert answer(ask("execute", arguments=["/bin/true"]))["error"] == "PermissionError"


def test_open_files_are_bounded(ask: Ask) -> None:
    reply = answer(ask("open_files"))
    assert "Too many open files" in reply["message"]


def test_no_socket(ask: Ask) -> None:
    assert answer(ask("connect"))["error"] == "PermissionError"


@pytest.mark.parametrize("name", ["mem", "environ", "maps", "cmdline", "root/etc/passwd"])
def test_judge_is_closed(ask: Ask, name: str) -> None:
    assert answer(ask("read", path=f"/proc/{os.getpid()}/{name}"))["error"] in ("PermissionError", "FileNotFoundError")


def test_checkout_and_home_are_closed(ask: Ask, tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "run.jsonl"
    secret.write_text("another run")
    for path in (secret, pathlib.Path(__file__), pathlib.Path("/etc/passwd"), pathlib.Path("/proc/1/environ")):
        assert answer(ask("read", path=str(path)))["error"] == "PermissionError", path
    checkout = pathlib.Path(__file__).parents[2]
    for folder in (checkout, checkout / "examples", checkout / "tests", pathlib.Path.home(), "/", "/tmp", "/proc"):
        assert answer(ask("list", path=str(folder)))["error"] == "PermissionError", folder
    key = pathlib.Path.home() / ".ssh" / "id_ed25519"
    assert answer(ask("read", path=str(key)))["error"] in ("PermissionError", "FileNotFoundError")


def test_libraries_are_readable_and_not_writable(ask: Ask) -> None:
    assert answer(ask("read", path=os.__file__))["ok"] > 0
    assert answer(ask("read", path="/dev/urandom")) == {"ok": 4096}
    assert answer(ask("read", path=os.devnull)) == {"ok": 0}
    assert answer(ask("write", path=os.__file__ + ".new"))["error"] in ("PermissionError", "OSError")
    assert not pathlib.Path(os.__file__ + ".new").exists()


def test_package_in_a_checkout_is_readable_in_part_only(ask: Ask) -> None:
    package = pathlib.Path(kgb_env.__path__[0])
    assert answer(ask("read", path=str(package / "errors.py")))["ok"] > 0
    for closed in (package / "sandbox" / "zygote.py", package / "__init__.py"):
        assert answer(ask("read", path=str(closed)))["error"] == "PermissionError"


def test_nothing_outside_changes_its_mode_or_times(ask: Ask) -> None:
    assert answer(ask("chmod", path=__file__, mode=0))["error"] == "PermissionError"
    assert answer(ask("chmod", path=os.__file__, mode=0))["error"] == "PermissionError"
    assert answer(ask("touch", path=__file__))["error"] == "PermissionError"


def test_scratch_is_private_and_empty_again(ask: Ask) -> None:
    assert answer(ask("write", path="mine", text="x")) == {"ok": "x"}
    assert answer(ask("list", path=".")) == {"ok": []}
    assert answer(ask("write", path="/tmp/kgb-outside"))["error"] == "PermissionError"
    assert answer(ask("list", path=".."))["error"] == "PermissionError"


def test_scratch_is_bounded_in_total_and_in_number(ask: Ask) -> None:
    small = Limits(file_bytes=4 * MIB)
    assert "No space left" in answer(ask("fill", small, size=MIB))["message"]
    assert "No space left" in answer(ask("fill", small, size=1))["message"]
    assert "File too large" in answer(ask("fill", small, size=8 * MIB))["message"]


def test_deep_scratch_is_removed(ask: Ask) -> None:
    assert answer(ask("deep")) == {"ok": 500}


def test_huge_print_is_cut_and_harmless(ask: Ask) -> None:
    ended = ask("print", Limits(output_bytes=10_000), size=5_000_000)
    assert answer(ended) == {"ok": 5_000_000}
    assert len(ended.output) < 10_100
    assert ended.output.endswith("[output cut at 10000 bytes]")


def test_huge_report_is_killed(ask: Ask) -> None:
    ended = ask("report", Limits(report_bytes=100_000), descriptor=4, size=10_000_000)
    assert ended.kind == "killed"
    assert len(ended.report) == 100_000


def test_signals_reach_nobody(ask: Ask) -> None:
    # Process 1 sees only its own namespace: "everybody" is nobody, and the judge's number names no process.
    assert answer(ask("signal", target=-1, number=9))["error"] == "ProcessLookupError"
    assert answer(ask("signal", target=os.getpid(), number=9))["error"] == "ProcessLookupError"


@pytest.mark.parametrize("call", ["ptrace", "process_vm_readv", "bpf", "mount", "unshare", "setns", "keyctl", "kcmp"])
def test_attack_is_death(ask: Ask, call: str) -> None:
    ended = ask("system_call", number=number(call))
    assert (ended.kind, ended.signal) == ("signalled", signal.SIGSYS)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("clone3", errno.ENOSYS),
        ("memfd_create", errno.ENOSYS),
        ("io_uring_setup", errno.ENOSYS),
        ("perf_event_open", errno.EPERM),
        ("shmget", errno.EPERM),
        ("sched_setaffinity", errno.EPERM),
        ("setuid", errno.EPERM),
    ],
)
def test_what_libraries_probe_is_an_error(ask: Ask, call: str, code: int) -> None:
    assert os.strerror(code) in answer(ask("system_call", number=number(call)))["message"]


def test_unknown_and_x32_calls(ask: Ask) -> None:
    assert os.strerror(errno.ENOSYS) in answer(ask("system_call", number=900))["message"]
    if os.uname().machine == "x86_64":
        assert ask("system_call", number=0x40000000 + 39).signal == signal.SIGSYS


def test_compile_worker_runs_programs_and_nothing_else(ask: Ask) -> None:
    # The loader and libraries are granted; of programs only those of the triton package, which is not loaded here.
    assert answer(ask("execute", COMPILER, arguments=["/bin/true"]))["error"] == "PermissionError"
    assert answer(ask("connect", COMPILER))["error"] == "PermissionError"
    assert ask("system_call", COMPILER, number=number("ptrace")).signal == signal.SIGSYS


def test_compile_workers_processes_are_bounded_and_die_with_it(ask: Ask, zygote: Zygote) -> None:
    inner = descendants(zygote.pid)
    assert answer(ask("fork_bomb", COMPILER))["error"] == "BlockingIOError"
    assert answer(ask("detach", COMPILER)) == {"ok": None}
    spinning = ask("spin_children", Limits(cpu_seconds=1, allow_exec=True), count=4)
    assert spinning.kind == "cpu_timeout"
    assert descendants(zygote.pid) == inner
    assert len(inner) == 1
