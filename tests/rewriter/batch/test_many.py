"""Many models in processes apart: what goes wrong with one is its own report, on every executor."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from helpers import model
from zoo import by_name

from split_rewrite.rewriter import (
    ArgumentError,
    Options,
    SplitRewriteError,
    UnconvertibleError,
    convert_many,
    convert_version,
)
from split_rewrite.rewriter.batch import apart, many
from split_rewrite.rewriter.batch.many import Admission
from split_rewrite.rewriter.batch.task import Request, Task


def test_reports_are_those_of_the_library(zoo, tmp_path):
    reports = by_name(convert_many([zoo / "good.onnx", zoo / "refused.onnx"], 5, into=tmp_path / "out"))
    expected = convert_version(str(zoo / "good.onnx"), 5).model
    assert onnx.load(tmp_path / "out/good.onnx") == expected
    with pytest.raises(UnconvertibleError) as refused:
        convert_version(str(zoo / "refused.onnx"), 5)
    assert reports["refused.onnx"].blockers == refused.value.blockers
    assert reports["refused.onnx"].document["schema"] == "split-rewrite/report"


def test_a_dry_run_writes_nothing(zoo):
    before = sorted(os.listdir(zoo))
    reports = by_name(convert_many([zoo], 5))
    assert reports["good.onnx"].outcome == "convertible"
    assert reports["refused.onnx"].exit_status == 1
    assert sorted(os.listdir(zoo)) == before


def test_in_place_and_external_data(tmp_path):
    proto = model("g (float[2000] x) => (float[2000] y) <float[2000] w = {1, 2}> { y = Add(x, w) }")
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones(2000, np.float32), "w"))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin")
    (report,) = convert_many([tmp_path / "m.onnx"], 13, into=tmp_path / "out")
    assert report.outcome == "converted"
    assert sorted(os.listdir(tmp_path / "out")) == ["m.onnx", "m.onnx.data"]
    (report,) = convert_many([tmp_path / "m.onnx"], 13, in_place=True)
    assert report.outcome == "converted"
    assert onnx.load(tmp_path / "m.onnx", load_external_data=False).opset_import[0].version == 13
    with pytest.raises(SplitRewriteError, match="exclude"):
        convert_many([tmp_path / "m.onnx"], 13, in_place=True, into="x")


@pytest.mark.parametrize("external_data", ["auto", "copy", "inline"])
def test_models_that_share_a_data_file_lose_nothing_in_place(tmp_path, external_data):
    weights = np.arange(2000, dtype=np.float32)
    for name in ("one.onnx", "two.onnx"):
        proto = model("g (float[2000] x) => (float[2000] y) <float[2000] w = {1, 2}> { y = Add(x, w) }")
        proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
        onnx.save(proto, tmp_path / name, save_as_external_data=True, location="shared.bin")
        (tmp_path / "shared.bin").write_bytes(weights.tobytes())  # onnx adds the second model's to the first one's
        sharing = onnx.load(tmp_path / name, load_external_data=False)
        entries = {entry.key: entry for entry in sharing.graph.initializer[0].external_data}
        entries["offset"].value = "0"
        onnx.save(sharing, tmp_path / name)
    reports = list(convert_many([tmp_path], 13, in_place=True, options=Options(external_data=external_data)))
    assert [report.outcome for report in reports] == ["converted", "converted"]
    assert (tmp_path / "shared.bin").read_bytes() == weights.tobytes()
    for name in ("one.onnx", "two.onnx"):
        proto = onnx.load(tmp_path / name)
        assert proto.opset_import[0].version == 13
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(proto.graph.initializer[0]), weights)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"inputs": "zoo"}, TypeError, "inputs has to be a collection of paths, not 'zoo'"),
        ({"inputs": [b"m.onnx"]}, TypeError, "each of inputs has to be a path (str or os.PathLike), not bytes"),
        ({"target_opset": "13"}, TypeError, "target_opset has to be an integer or None, not '13'"),
        ({"target_opset": 1000}, ArgumentError, "the target opset 1000 is unknown"),
        ({"compare": "maybe"}, ArgumentError, "not 'maybe'"),
        ({"into": 7}, TypeError, "into has to be a path (str or os.PathLike), not int"),
        ({"into": "out", "in_place": True}, ArgumentError, "into and in_place exclude each other"),
        ({"inputs": {"m": b"model"}}, TypeError, "inputs has to map names to ModelProtos, not 'm' to bytes"),
        ({"inputs": {}}, SplitRewriteError, "there are no models in what was given"),
        (
            {"options": Options(isolation="in-process")},
            ArgumentError,
            'convert_many needs a child process, and isolation="in-process" starts none',
        ),
        (
            {"inputs": {}, "into": "out"},
            ArgumentError,
            "into and in_place are for files; the results of models in memory are in the reports",
        ),
        ({"timeout": 0}, ArgumentError, "timeout has to be above 0, not 0"),
        ({"memory": "4GB"}, TypeError, "memory has to be a number or None, not '4GB'"),
    ],
)
def test_arguments_that_are_not_possible(arguments, kind, message):
    with pytest.raises(kind) as refused:
        convert_many(**{"inputs": ["m.onnx"], "target_opset": 13} | arguments)
    assert message in str(refused.value)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor(zoo, tmp_path, kind):
    with kind(1) as executor:
        reports = by_name(convert_many([zoo], 5, into=tmp_path / "out", executor=executor))
    assert {name: report.exit_status for name, report in reports.items()} == {"good.onnx": 0, "refused.onnx": 1, "garbage.onnx": 2}
    apart._children.close()
    apart._children = apart.Children()


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor], ids=["none", "threads"])
def test_models_in_memory(executor):
    """The results are in the reports, in which the models that were given are not."""
    split = "g (float[N,4] x) => (float[N,2] y, float[N,2] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }"
    concat = "g (string[2] x) => (string[2] y) { y = StringConcat (x, x) }"
    given = {"split": model(split, 18), "refused": model(concat, 20), "invalid": onnx.ModelProto()}
    bytes_before = {name: each.SerializeToString() for name, each in given.items()}
    with nullcontext() if executor is None else executor(1) as chosen:
        reports = {report.source: report for report in convert_many(given, 13, executor=chosen)}
    assert {name: report.outcome for name, report in reports.items()} == {
        "split": "converted",
        "refused": "not convertible",
        "invalid": "unusable",
    }
    assert [blocker.op_type for blocker in reports["refused"].blockers] == ["StringConcat"]
    assert reports["refused"].model is reports["invalid"].model is reports["split"].task.model is None
    result = reports["split"].model
    assert result is not None
    assert [entry.version for entry in result.opset_import] == [13]
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    y, z = ort.InferenceSession(result.SerializeToString()).run(None, {"x": x})
    np.testing.assert_array_equal(y, x[:, :2])
    np.testing.assert_array_equal(z, x[:, 2:])
    assert bytes_before == {name: each.SerializeToString() for name, each in given.items()}
    assert reports["split"].document["comparison"]["status"] == "equal"
    assert pickle.loads(pickle.dumps(reports["split"])).model == result
    apart._children.close()
    apart._children = apart.Children()


def test_log_records_say_which_model(caplog):
    concat = "g (string[2] x) => (string[2] y) { y = StringConcat (x, x) }"
    with caplog.at_level("INFO", logger="split_rewrite"):
        list(convert_many({"mine": model(concat, 20)}, 13))
    assert [record.model for record in caplog.records] == ["mine"]


class Broken(ThreadPoolExecutor):
    """Loses the first task, and takes no second one."""

    _calls = 0

    def submit(self, fn, /, *args, **kwargs):
        self._calls += 1
        if self._calls > 1:
            raise RuntimeError("cannot schedule new futures")
        lost: Future = Future()
        lost.set_exception(RuntimeError("a worker\nwas killed"))
        return lost


def test_an_executor_that_breaks(zoo, tmp_path):
    reports = list(convert_many([zoo], 5, into=tmp_path / "out", executor=Broken(1)))
    assert sorted(report.message for report in reports) == [
        "the executor did not finish it: a worker was killed",
        "the executor did not finish it: cannot schedule new futures",
        "the executor did not finish it: cannot schedule new futures",
    ]
    assert {report.exit_status for report in reports} == {3}


def test_who_stops_listening_leaves_no_process_behind(zoo, tmp_path, monkeypatch):
    made: list[apart.Children] = []
    monkeypatch.setattr(many, "Children", lambda: made.append(apart.Children()) or made[0])
    reports = convert_many([zoo], 5, into=tmp_path / "out")
    next(reports)
    processes = [child._process for child in (*made[0]._pool._lent, *made[0]._pool._idle)]
    reports.close()
    assert processes and all(process.poll() is not None for process in processes)


def test_large_models_do_not_run_side_by_side(tmp_path, monkeypatch):
    needs = {"big": 900, "large": 600, "small": 200, "tiny": 100}
    monkeypatch.setattr(many, "memory_need", lambda task, request: needs[task.name])
    admission = Admission([Task(name, None, name) for name in needs], Request(13, memory=1000))
    assert [task.name for task, _ in admission.next_tasks()] == ["big", "tiny"]
    assert not list(admission.next_tasks())
    admission.release(900)
    assert [task.name for task, _ in admission.next_tasks()] == ["large", "small"]
    alone = Admission([Task("big", None, "big")] * 2, Request(13, memory=10))
    assert len(list(alone.next_tasks())) == 1, "one that needs more than there is runs alone"
