"""Trajectories survive a kill; damage is not overlooked."""

from __future__ import annotations

import json

import pytest

from kgb_env.errors import StoreError
from kgb_env.rollouts import RunStore, read_manifest, read_records
from kgb_env.rollouts.store import MANIFEST, TRAJECTORIES


@pytest.fixture
def run(tmp_path):
    with RunStore(tmp_path) as store:
        for i in range(3):
            store.append({"type": "action", "text": f"\ud800≤{i}\n\u2028"})
    return tmp_path


def test_records_come_back(run):
    records = list(read_records(run))
    assert [r["text"] for r in records] == [f"\ud800≤{i}\n\u2028" for i in range(3)]
    assert all(r["v"] == 1 for r in records)


def test_a_torn_last_line_is_ignored_and_removed(run):
    path = run / TRAJECTORIES
    whole = path.read_bytes()
    for cut in range(whole.rindex(b"{") + 1, len(whole)):
        path.write_bytes(whole[:cut])
        assert len(list(read_records(run))) == 2
    with RunStore(run) as store:
        store.append({"type": "end"})
    assert [r["type"] for r in read_records(run)] == ["action", "action", "end"]


@pytest.mark.parametrize(
    "damage", [b"{half\n", b"[]\n", b'{"type": "x"}\n', b'{"v": 1}\n', b"\0\0\n", b'{"v": 99, "type": "x"}\n']
)
def test_other_damage_is_an_error_that_names_the_line(run, damage):
    path = run / TRAJECTORIES
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[1])
    with pytest.raises(StoreError, match="line 2"):
        list(read_records(run))


def test_one_writer_at_a_time(run):
    with RunStore(run), pytest.raises(StoreError, match="another process"):
        RunStore(run)
    RunStore(run).close()


def test_what_cannot_be_written_is_said(run, tmp_path):
    with RunStore(run) as store, pytest.raises(ValueError, match="JSON"):
        store.append({"type": "x", "value": float("nan")})
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        RunStore(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot read"):
        list(read_records(tmp_path / "nowhere"))


def test_the_manifest_is_whole_or_absent(run):
    with pytest.raises(StoreError):
        read_manifest(run)
    with RunStore(run) as store:
        store.write_manifest({"config": {"a": 1}})
    assert read_manifest(run) == {"config": {"a": 1}}
    (run / MANIFEST).write_text(json.dumps([]))
    with pytest.raises(StoreError, match="not the manifest"):
        read_manifest(run)
