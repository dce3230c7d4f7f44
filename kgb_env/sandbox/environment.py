"""The environment variables of a zygote: only what Python, torch and triton need.

Everything else of the judge's environment (keys, tokens, paths, preloaded libraries) stays outside.
"""

from __future__ import annotations

import os
import site
from collections.abc import Mapping

__all__ = ["allowed_names", "for_worker", "scrubbed"]

PASSED_THROUGH = (
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "ROCM_PATH",
    "ROCR_VISIBLE_DEVICES",
)
"""Variables that say where a toolchain or a device is. None of them is a secret."""

ONE_THREAD = (
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
)
"""A zygote must stay single-threaded to be forked, and a worker may start no thread: OpenMP exits when it cannot."""

WORKER_FOLDERS = ("HOME", "TMPDIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME")


def scrubbed(extra: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the whole environment of a zygote.

    Args:
        extra: Variables that the zygote's mode needs, such as ``TRITON_INTERPRET``; they win.
        folder: Private folder of the zygote, for caches and temporary files of the warm-up.
    """
    environment = {name: os.environ[name] for name in PASSED_THROUGH if name in os.environ}
    environment |= dict.fromkeys(ONE_THREAD, "1")
    environment |= {
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
    }
    if not site.ENABLE_USER_SITE:
        environment["PYTHONNOUSERSITE"] = "1"
    environment |= for_worker(folder)
    return environment | dict(extra)


def for_worker(folder: str) -> dict[str, str]:
    """Return the variables that point into one worker's scratch folder."""
    paths = {name: folder for name in WORKER_FOLDERS}
    paths["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    return paths


def allowed_names(extra: Mapping[str, str]) -> frozenset[str]:
    """Return every variable name that may exist in a zygote; the probe compares."""
    fixed = (
        "LANG",
        "LC_CTYPE",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONNOUSERSITE",
        "PYTHONSAFEPATH",
    )
    return frozenset((*PASSED_THROUGH, *ONE_THREAD, *WORKER_FOLDERS, *fixed, *extra))
