"""Runs the golden kernels, compiled, on a GPU and compares every case with the judge's reference.

No confinement and no audit: these are our own kernels, and this asks only whether what the interpreter
passes is right on hardware. Prints a row per operator, and with ``--json`` one JSON line last.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import triton

from kgb_env import operators
from kgb_env.judge import numerics, seeds
from kgb_env.operators.model import Call, GeneratorSpec, Operator

KERNELS = Path(__file__).parent.parent / "examples" / "kernels"
SECRET = b"golden kernels on a GPU"


def to_device(value: Any) -> Any:
    """Copy an argument to the GPU, strides and offset included."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage().cuda()
        empty = torch.empty(0, dtype=value.dtype, device="cuda")
        return empty.set_(storage, value.storage_offset(), value.shape, value.stride())
    if isinstance(value, list | tuple):
        return type(value)(to_device(v) for v in value)
    if isinstance(value, GeneratorSpec):
        return torch.Generator("cuda").manual_seed(value.seed)
    return torch.device("cuda") if isinstance(value, torch.device) else value


def to_host(value: Any) -> Any:
    """Copy an output to the CPU, strides and offset included."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = value.untyped_storage().cpu()
    empty = torch.empty(0, dtype=value.dtype)
    return empty.set_(storage, value.storage_offset(), value.shape, value.stride())


def run_case(operator: Operator, module: Any, case: Any) -> numerics.Outcome | None:
    """Judge one case; ``None`` where the golden kernel does not provide the overload."""
    overload = operator.overload(case.overload)
    function = getattr(module, overload.function, None)
    if function is None:
        return None
    call = operator.make(case, seeds.generator(SECRET, operator.name, case.id))
    prepared = numerics.prepare(operator, case, call)
    calls = 2 if operator.traits.result == "distribution" else 1
    moved = Call(tuple(map(to_device, call.args)), {k: to_device(v) for k, v in call.kwargs.items()})
    answers = []
    with torch.inference_mode():
        for _ in range(calls):
            returned = function(*moved.args, **moved.kwargs)
            torch.cuda.synchronize()
            arguments = operator.arguments(moved)
            found = {name: arguments[name] for name in overload.mutates} or {"return": returned}
            answers.append({name: to_host(value) for name, value in found.items()})
    aliases = {name: structure.alias for name, structure in prepared.structures.items()}
    if calls > 1:
        return numerics.compare_distribution(prepared, answers, aliases)
    return numerics.compare(prepared, answers[0], aliases)


def run_operator(name: str, tier: str, most: int) -> dict[str, Any]:
    """Judge all cases of one operator that are not too large for the reference."""
    operator = operators.get(name)
    path = KERNELS / f"{name.replace('::', '.')}.py"
    spec = importlib.util.spec_from_file_location(name.replace("::", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    started, statuses, share, failures = time.perf_counter(), Counter[str](), 0.0, []
    for case in operator.cases(tier)[:most]:
        outcome = run_case(operator, module, case)
        if outcome is None:
            continue
        statuses[outcome.status.value] += 1
        if outcome.right:
            share = max(share, outcome.share)
        else:
            failures.append(f"{case.id}: {outcome.message}")
    seconds = time.perf_counter() - started
    return {"operator": name, "tier": tier, **statuses, "share": share, "seconds": seconds, "failures": failures}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", default="smoke", choices=("smoke", "full"))
    parser.add_argument("--operators", nargs="*", default=list(operators.SKELETON))
    parser.add_argument("--most", type=int, default=256, help="cases per operator")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    print(f"torch {torch.__version__}, triton {triton.__version__}, {torch.cuda.get_device_name()}, {sys.version[:6]}")
    rows = []
    for name in options.operators:
        row = run_operator(name, options.tier, options.most)
        rows.append(row)
        total = sum(v for k, v in row.items() if isinstance(v, int))
        print(
            f"{name}: {row.get('clean', 0)} of {total} cases, share of bound {row['share']:.2f}, {row['seconds']:.1f} s"
        )
        for failure in row["failures"][:4]:
            print(f"    {failure}")
    if options.json:
        print(json.dumps({"schema_version": 1, "rows": rows}))


if __name__ == "__main__":
    main()
