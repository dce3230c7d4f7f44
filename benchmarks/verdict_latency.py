"""Time of a warm verdict against the same checks in a fresh interpreter, in one run.

``--json`` prints one JSON line last: ``warm_median_s``, ``fresh_median_s``, ``ratio``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from kgb_env.judge import Judge
from kgb_env.records import Submission

HERE = Path(__file__).parent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operator", default="aten::add")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--fresh-repeats", type=int, default=5)
    parser.add_argument("--profile", default="standard", choices=("standard", "best_effort"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    kernel = HERE.parent / "examples" / "kernels" / f"{options.operator.replace('::', '.')}.py"

    with Judge("cpu", profile=options.profile) as judge:
        warm = [_warm(judge, options.operator, kernel) for _ in range(options.repeats + 2)][2:]
    fresh = [_fresh(options.operator, kernel) for _ in range(options.fresh_repeats)]

    warm_median, fresh_median = statistics.median(warm), statistics.median(fresh)
    ratio = fresh_median / warm_median
    print(f"{options.operator}: warm verdict {warm_median:.3f} s, fresh interpreter {fresh_median:.3f} s")
    print(f"ratio {ratio:.1f}")
    if options.json:
        row = {"schema_version": 1, "operator": options.operator}
        print(json.dumps({**row, "warm_median_s": warm_median, "fresh_median_s": fresh_median, "ratio": ratio}))


def _warm(judge: Judge, operator: str, kernel: Path) -> float:
    started = time.perf_counter()
    verdict = judge.verify(operator, Submission(kernel.read_text()))
    seconds = time.perf_counter() - started
    if not verdict.clean:
        sys.exit(f"the golden kernel is not clean: {verdict.status}: {verdict.message}")
    return seconds


def _fresh(operator: str, kernel: Path) -> float:
    command = [sys.executable, str(HERE / "fresh_interpreter.py"), str(kernel), operator]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.stdout.strip() != "clean":
        sys.exit(f"the fresh interpreter says {done.stdout.strip()!r}\n{done.stderr[-2000:]}")
    return seconds


if __name__ == "__main__":
    main()
