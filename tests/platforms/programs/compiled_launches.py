"""Recording and emptying compiled launches, with a stand-in driver that compiles for sm_90 and runs nothing.

Started without TRITON_INTERPRET.
"""

from __future__ import annotations

import types
from typing import Any

import torch
import triton
from harness import run
from submission_text import NAME, load
from triton.backends.compiler import GPUTarget

from kgb_env.platforms.launches import LaunchRecorder, install

executed: list[tuple[int, ...]] = []


class Launcher:
    def __init__(self, src: Any, metadata: Any) -> None:
        self.name = metadata.name

    def __call__(self, x: int, y: int, z: int, *_args: Any) -> None:
        executed.append((x, y, z))


class StandIn:
    """Answers what Triton asks its driver, for a device that is not there."""

    launcher_cls = Launcher
    utils = types.SimpleNamespace(
        get_device_properties=lambda _device: {"max_shared_mem": 232448},
        load_binary=lambda *_args: (object(), 1, 32, 0, 1024),
        unload_module=lambda _module: None,
    )

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


triton.runtime.driver.set_active(StandIn())
recorder = LaunchRecorder()
install(recorder)


def start() -> dict[str, Any]:
    recorder.begin_submission(NAME)
    recorder.enabled, recorder.ghost = True, False
    executed.clear()
    return load()


def check_every_spelling() -> None:
    space = start()
    simple = space["simple"]
    x, o = torch.ones(8), torch.zeros(8)
    saved = simple.run
    kernel = simple[(1,)](x, o, B=8)
    assert kernel.asm["ptx"]
    warm = simple.warmup(x, o, B=8, grid=(1,))
    spellings = {
        "index": lambda: simple[(1,)](x, o, B=8),
        "saved run": lambda: saved(x, o, B=8, grid=(1,), warmup=False),
        "returned kernel": lambda: kernel[(1, 1, 1)](x, o, 8),
        "warmup": lambda: warm[(1, 1, 1)](x, o, 8),
        "kernel run": lambda: kernel.run(
            1, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, x, o, 8
        ),
        "callable grid": lambda: simple[lambda meta: (meta["B"] // 8,)](x, o, B=8),
    }
    for name, launch in spellings.items():
        for ghost in (False, True):
            recorder.reset()
            recorder.ghost = ghost
            executed.clear()
            launch()
            assert (recorder.count, recorder.own) == (1, 1), name
            assert len(executed) == (0 if ghost else 1), (name, ghost)
            (seen,) = recorder.launches
            assert seen["constexprs"]["B"] == {"k": "int", "v": 8}, name
            assert seen["grid"] == [1, 1, 1], name


def check_ghost_returns_the_kernel() -> None:
    space = start()
    recorder.ghost = True
    kernel = space["simple"][(1,)](torch.ones(16), torch.zeros(16), B=16)
    assert kernel.asm["ptx"]
    assert not executed


def check_disabled() -> None:
    space = start()
    recorder.enabled = False
    space["simple"][(1,)](torch.ones(8), torch.zeros(8), B=8)
    assert recorder.count == 0
    assert len(executed) == 1


if __name__ == "__main__":
    found = {n.removeprefix("check_"): f for n, f in list(globals().items()) if n.startswith("check_")}
    run({n: f for n, f in found.items() if isinstance(f, types.FunctionType)})
