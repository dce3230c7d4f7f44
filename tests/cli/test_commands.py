"""The command line as a script sees it: exit status, standard output, standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kgb_env import operators

KERNELS = Path(__file__).parents[2] / "examples" / "kernels"


def kgb(*arguments: str, folder: Path | None = None, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "kgb_env", *arguments]
    return subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "missing.py", "--operator", "aten::add"], "there is no file missing.py"),
        (["verify", ".", "--operator", "aten::add"], "is a folder"),
        (["verify", "binary.py", "--operator", "aten::add"], "is no UTF-8 text"),
        (["verify", "kernell.py", "--operator", "aten::add"], "did you mean 'kernel.py'?"),
        (["verify", "kernel.py", "--operator", "aten::sofmax"], "did you mean 'aten::softmax'?"),
        (["verify", "kernel.py", "--operator", "aten::add", "--platform", "cpuu"], "did you mean 'cpu'?"),
        (["verify", "kernel.py"], "--operator"),
        (["prompt", "aten::sofmax"], "did you mean 'aten::softmax'?"),
        (["operators", "sparse::*"], "no operator matches 'sparse::*'"),
        (["selftest", "--operators", "aten::ad"], "did you mean 'aten::add'?"),
        (["rollout", "--policy", "orcale"], "did you mean 'oracle'?"),
        (["rollout", "--policy", "scripted"], "scripted:FILE"),
        (["rollout", "--policy", "scripted:kernel.py"], "a script is a JSON object"),
        (["rollout", "--resume", "yesterday"], "there is no run 'yesterday'"),
        (["rollout", "--tokens", "-1"], "--tokens"),
        (["verfy"], "verfy"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(arguments: list[str], words: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "binary.py").write_bytes(b"\0\xff")
    done = kgb(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_operators_lists_the_catalogue() -> None:
    listed = json.loads(kgb("operators", "--json").stdout)["operators"]
    assert [row["name"] for row in listed] == list(operators.names())
    assert kgb("operators", "vllm::*").stdout.count("vllm::") == sum(n.startswith("vllm::") for n in operators.names())


@pytest.mark.parametrize("style", ["chat", "agent"])
def test_prompt_is_the_same_every_time(style: str) -> None:
    first, second = (kgb("prompt", "aten::softmax", "--style", style) for _ in range(2))
    assert first.returncode == 0
    assert first.stdout == second.stdout
    assert "softmax_int" in first.stdout


def test_verify_says_clean_with_0() -> None:
    done = kgb("verify", str(KERNELS / "aten.add.py"), "--operator", "aten::add", "--profile", "best_effort", "--json")
    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["status"], verdict["reward"]) == (0, "clean", 1.0)
    described = (KERNELS.parents[1] / "docs" / "layers.md").read_text(encoding="utf-8")
    assert not [layer["name"] for layer in verdict["layers"] if f"`{layer['name']}`" not in described]


def test_verify_says_not_clean_with_1() -> None:
    arguments = ("verify", "-", "--operator", "cublas::cublasSgemm_v2", "--profile", "best_effort")
    done = kgb(*arguments, "--json", given="def Sgemm_v2(:\n")
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == "parse_error"
    assert "Status: parse_error" in kgb(*arguments, given="def Sgemm_v2(:\n").stdout


def test_rollout_prints_one_document_and_resumes(tmp_path: Path) -> None:
    script = tmp_path / "never.json"
    script.write_text(json.dumps({"*": ["def wrong(:\n    import triton\n"]}), encoding="utf-8")
    arguments = (
        "rollout",
        "--policy",
        f"scripted:{script}",
        "--operators",
        "aten::t,aten::mm",
        "--profile",
        "best_effort",
    )
    done = kgb(*arguments, "--tokens", "500", "--json", folder=tmp_path)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["episodes"], summary["clean"], summary["budget"]) == (0, 2, 0, 500)
    assert (tmp_path / summary["run_dir"] / "trajectories.jsonl").exists()

    again = kgb("rollout", "--resume", Path(summary["run_dir"]).name, "--json", folder=tmp_path)
    same = ("episodes", "tokens", "budget", "spent")
    assert [json.loads(again.stdout)[key] for key in same] == [summary[key] for key in same]
