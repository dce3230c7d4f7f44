"""The parts of the confinement that need no zygote, and the doctor's word on this machine."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

from kgb_env.sandbox import layers, seccomp
from kgb_env.sandbox.confine import LAYERS
from kgb_env.sandbox.scratch import make_folder, wipe
from kgb_env.sandbox.syscalls import NUMBERS

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
ONLY_X86 = {"fork", "vfork", "iopl", "ioperm", "modify_ldt", "chmod", "chown", "lchown", "utime", "utimes", "futimesat"}
ONLY_X86 |= {"inotify_init"}


def test_doctor_names_every_layer() -> None:
    seen = layers()
    assert tuple(layer.name for layer in seen) == LAYERS
    assert all(layer.detail for layer in seen)


@pytest.mark.parametrize("machine", NUMBERS)
def test_system_call_numbers_agree_with_the_headers(machine: str) -> None:
    for header in filter(os.path.exists, HEADERS[machine]):
        text = pathlib.Path(header).read_text(encoding="utf-8")
        known = {name: int(value) for name, value in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
        newer = {name for name in NUMBERS[machine] if name not in known}
        assert {name: known[name] for name in NUMBERS[machine].keys() - newer} == {
            name: value for name, value in NUMBERS[machine].items() if name not in newer
        }


@pytest.mark.parametrize("machine", NUMBERS)
def test_every_filtered_call_has_a_number(machine: str) -> None:
    named = {
        *seccomp.ATTACKS,
        *seccomp.REFUSED,
        *seccomp.UNCHANGED,
        *seccomp.ABSENT,
        *seccomp.PROCESSES,
        "clone",
        "prctl",
    }
    assert named - NUMBERS[machine].keys() == (set() if machine == "x86_64" else ONLY_X86)
    assert len(set(NUMBERS[machine].values())) == len(NUMBERS[machine])


@pytest.mark.parametrize("allow_exec", [False, True])
@pytest.mark.parametrize("allow_threads", [False, True])
def test_filter_fits_the_kernel(allow_exec: bool, allow_threads: bool) -> None:
    code = seccomp.program(allow_exec=allow_exec, allow_threads=allow_threads)
    assert len(code) % 8 == 0
    assert len(code) // 8 <= 4096


def test_wipe_survives_hostile_folders() -> None:
    folder = make_folder()
    outside = make_folder()
    kept = pathlib.Path(outside, "kept")
    kept.write_text("x", encoding="utf-8")
    pathlib.Path(folder, "link").symlink_to(outside)
    os.mkfifo(pathlib.Path(folder, "pipe"))
    build = 'for i in $(seq 60); do mkdir "$0" && cd -P "$0" || exit 1; done; touch file; mkdir shut; chmod 0 shut'
    subprocess.run(["bash", "-c", build, "n" * 200], cwd=folder, check=True)
    wipe(folder)
    assert not pathlib.Path(folder).exists()
    assert kept.exists()
    wipe(outside)
    wipe(outside)
