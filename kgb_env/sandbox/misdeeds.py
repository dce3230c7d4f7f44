"""What hostile code tries, one function each, for the probe."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["ACTIONS"]

_libc = ctypes.CDLL(None, use_errno=True)


def _echo(value: Any = None) -> Any:
    return value


def _facts() -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "uid": os.getuid(),
        "cwd": os.getcwd(),
        "environment": sorted(os.environ),
        "descriptors": [number for number in range(256) if _open(number)],
        "modules": sorted(name for name in sys.modules if name.startswith(("torch", "triton", "gymnasium", "kgb_env"))),
    }


def _open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _hang() -> None:
    while True:
        time.sleep(3600)


def _spin() -> None:
    while True:
        pass


def _crash() -> None:
    ctypes.string_at(0)


def _allocate(size: int) -> int:
    return len(bytearray(size))


def _fork_bomb(count: int = 10_000) -> int:
    made = 0
    for _ in range(count):
        if os.fork() == 0:
            time.sleep(3600)
        made += 1
    return made


def _detach() -> None:
    """Leave a process behind: setsid, then fork twice."""
    os.setsid()
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)


def _threads(count: int = 1000) -> int:
    for _ in range(count):
        threading.Thread(target=_hang, daemon=True).start()
    return threading.active_count()


def _open_files(path: str = os.devnull, count: int = 100_000) -> int:
    return len([os.open(path, os.O_RDONLY) for _ in range(count)])


def _read(path: str) -> int:
    with open(path, "rb") as file:
        return len(file.read(4096))


def _list(path: str) -> list[str]:
    return os.listdir(path)


def _write(path: str, text: str = "x") -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    with open(path, encoding="utf-8") as file:
        return file.read()


def _fill(folder: str = ".", size: int = 1 << 20, count: int = 100_000) -> int:
    block = bytes(size)
    for index in range(count):
        with open(os.path.join(folder, str(index)), "wb") as file:
            file.write(block)
    return count


def _deep(count: int = 500) -> int:
    """A chain of folders too deep for a path, the innermost without any right."""
    for _ in range(count):
        os.mkdir("d" * 50)
        os.chdir("d" * 50)
    os.mkdir("closed", 0)
    return count


def _print(size: int) -> int:
    for _ in range(size // 1000):
        print("x" * 999)
    return size


def _report(descriptor: int, size: int) -> int:
    for _ in range(size // 1000):
        os.write(descriptor, b"y" * 999 + b"\n")
    return size


def _signal(target: int, number: int) -> None:
    os.kill(target, number)


def _connect(host: str = "127.0.0.1", port: int = 80) -> None:
    socket.create_connection((host, port), timeout=1)


def _system_call(number: int, *arguments: int) -> int:
    result = _libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _execute(arguments: list[str]) -> str:
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def _spin_children(count: int) -> None:
    for _ in range(count):
        if os.fork() == 0:
            _spin()
    _hang()


ACTIONS: dict[str, Callable[..., Any]] = {
    "echo": _echo,
    "facts": _facts,
    "hang": _hang,
    "spin": _spin,
    "spin_children": _spin_children,
    "crash": _crash,
    "abort": os.abort,
    "leave": lambda: os._exit(0),
    "allocate": _allocate,
    "fork_bomb": _fork_bomb,
    "detach": _detach,
    "threads": _threads,
    "open_files": _open_files,
    "read": _read,
    "list": _list,
    "write": _write,
    "fill": _fill,
    "deep": _deep,
    "chmod": os.chmod,
    "print": _print,
    "report": _report,
    "signal": _signal,
    "connect": _connect,
    "system_call": lambda number, arguments=(): _system_call(number, *arguments),
    "execute": _execute,
    "sleep": time.sleep,
    "touch": os.utime,
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}
"""Name -> what is done. Arguments come from the command."""
