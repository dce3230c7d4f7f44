"""A Python audit hook: refuses files, libraries, processes, sockets and frames to a submission.

The last fence of the interpreter, behind builtins and facades. It has no event for threads or for the import of a
module that is already loaded, and cannot be removed once installed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from kgb_env.worker.offences import HookViolation, Offences

__all__ = ["HookViolation", "install", "violations"]

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ALWAYS = {
    "ctypes.dlopen": "loading a library",
    "ctypes.dlsym": "looking up a native function",
    "os.exec": "starting a program",
    "os.fork": "starting a process",
    "os.forkpty": "starting a process",
    "os.kill": "signalling a process",
    "os.posix_spawn": "starting a program",
    "os.spawn": "starting a program",
    "os.startfile": "starting a program",
    "os.system": "starting a program",
    "os.putenv": "changing the environment",
    "os.unsetenv": "changing the environment",
    "os.remove": "removing a file",
    "os.rename": "renaming a file",
    "os.link": "linking a file",
    "os.symlink": "linking a file",
    "os.truncate": "changing a file",
    "shutil.rmtree": "removing files",
    "pty.spawn": "starting a program",
    "subprocess.Popen": "starting a program",
    "sys.addaudithook": "an audit hook",
    "sys.setprofile": "an interpreter hook",
    "sys.settrace": "an interpreter hook",
}
"""Refused whoever asks while the submission is on the stack."""
_CALLER = {
    "builtins.breakpoint": "the debugger",
    "builtins.input": "input",
    "code.__new__": "a code object",
    "compile": "compiling text",
    "exec": "executing text",
    "function.__new__": "making a function of a code object",
    "gc.get_objects": "the heap",
    "gc.get_referents": "the heap",
    "gc.get_referrers": "the heap",
    "marshal.loads": "decoding code",
    "object.__delattr__": "a special attribute",
    "object.__getattr__": "a special attribute",
    "object.__setattr__": "a special attribute",
    "pickle.find_class": "unpickling",
    "sys._current_exceptions": "frames",
    "sys._current_frames": "frames",
    "sys._getframe": "frames",
}
"""Refused when the submission's own code asks; library code does these things constantly."""

_offences = Offences("", HookViolation)
_installed: list[Callable[..., None]] = []
_compilers: list[bool] = [False]
_busy = threading.local()
_TRITON = f"{os.sep}triton{os.sep}"
_STANDARD = os.__file__.removesuffix("os.py")


def violations() -> list[dict[str, Any]]:
    """Return what was refused, each ``{"rule", "what", "line", "remedy", "hack"}``; a live list, to be emptied."""
    return _offences.found


def install(filename: str, *, compilers: bool = False) -> None:
    """Install the hook, once per process, for the submission of that file name.

    Args:
        filename: the file name that the submission's code carries.
        compilers: whether Triton may start its compilers and write its files while the submission launches a
            kernel, as it must on a GPU.
    """
    _offences.filename = filename
    _compilers.append(compilers)
    if not _installed:
        _installed.append(_hook)
        sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    what = _ALWAYS.get(event) or _CALLER.get(event)
    if what is None and event != "open" and not event.startswith("socket."):
        return
    if getattr(_busy, "on", False):
        return
    _busy.on = True
    try:
        if event == "open":
            _check_open(args)
        elif event in _CALLER:
            if _called_by_submission():
                _refuse(event, what or event)
        elif _submission_runs() and not _triton_compiles():
            _refuse(event, what or "a socket")
    finally:
        _busy.on = False


def _check_open(args: tuple[Any, ...]) -> None:
    path, mode, flags = args[0], args[1], args[2] if len(args) > 2 else 0
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool((flags or 0) & _WRITING)
    if _called_by_submission():
        _refuse("open", f"opening {str(path)[:80]!r}")
    elif writes and not _harmless(str(path)) and _submission_runs() and not _triton_compiles():
        _refuse("open", f"writing {str(path)[:80]!r}")


def _harmless(path: str) -> bool:
    """Whether libraries may try to write there: the void, and byte code of a late import (the sandbox decides)."""
    return path == os.devnull or f"{os.sep}__pycache__{os.sep}" in path


def _triton_compiles() -> bool:
    """Whether compilers are allowed and it is Triton that asks, directly or through the standard library."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and (not file.startswith(_STANDARD) or "site-packages" in file):
            return _compilers[-1] and _TRITON in file
        frame = frame.f_back
    return False


def _refuse(event: str, what: str) -> None:
    _offences.refuse(
        "process-access", f"{what} ({event})", "a submission computes on its arguments, nothing else", hack=True
    )


def _called_by_submission() -> bool:
    """Whether the innermost frame outside this module is the submission's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == _offences.filename


def _submission_runs() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == _offences.filename:
            return True
        frame = frame.f_back
    return False
