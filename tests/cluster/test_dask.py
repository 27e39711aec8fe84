"""A Dask cluster of real worker processes on this machine. Needs the extra `dask`; run by name: pytest tests/cluster."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import onnx
import pytest
from distributed import LocalCluster
from helpers import command_line, model

GOOD = "g (float[6] x) => (float[2] a, float[4] b) { s = Constant<value_ints: ints = [2, 4]> () a, b = Split<axis = 0>(x, s) }"
COUNT = 60


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as started:
        yield started


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("zoo").mkdir()
    for number in range(COUNT):
        onnx.save(model(GOOD), f"zoo/n{number:02}.onnx")
    return tmp_path


def test_no_scheduler_is_one_line(zoo):
    ended = command_line("-t", "13", "zoo", "out", "--scheduler", "nonsense://host")
    assert ended.status == 2
    assert ended.err.startswith("error: --scheduler nonsense://host: no Dask scheduler answers there: ")
    assert ended.err.count("\n") == 1


def test_every_model_is_done_once_although_a_worker_is_killed(zoo, cluster):
    Path("zoo/bad.onnx").write_bytes(b"no model")

    def kill_one() -> None:
        while not Path("run.jsonl").exists() or Path("run.jsonl").read_bytes().count(b"\n") < 10:
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    ended = command_line("-t", "13", "zoo", "out", "--scheduler", cluster.scheduler_address, "--report", "run.jsonl")
    killer.join()
    assert ended.status == 2, ended.err
    outcomes = Counter(json.loads(line)["outcome"] for line in Path("run.jsonl").read_text().splitlines())
    assert outcomes == {"converted": COUNT, "unusable": 1}
    made = sorted(path for path in Path("out/zoo").iterdir() if not path.name.startswith("."))
    assert [path.name for path in made] == [f"n{number:02}.onnx" for number in range(COUNT)]
    for path in made:
        assert onnx.load(path).opset_import[0].version == 13
