"""Many models in processes apart: what goes wrong with one is its own report, on every executor."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import (
    ArgumentError,
    ModelReport,
    Options,
    SplitRewriteError,
    UnconvertibleError,
    convert_many,
    convert_version,
)
from split_rewrite.rewriter.batch import apart, many, task
from split_rewrite.rewriter.batch.many import Admission
from split_rewrite.rewriter.batch.memory import memory_need
from split_rewrite.rewriter.batch.paths import parse_size
from split_rewrite.rewriter.batch.task import Request, Task
from split_rewrite.rewriter.process.child import import_path

GOOD = "g (float[6] x) => (float[2] a, float[4] b) { s = Constant<value_ints: ints = [2, 4]> () a, b = Split<axis = 0>(x, s) }"
REFUSED = 'g (string[2] x) => (string[2] y) { [cut] y = StringNormalizer<case_change_action = "UPPER">(x) }'


@pytest.fixture
def zoo(tmp_path):
    folder = tmp_path / "zoo"
    folder.mkdir()
    onnx.save(model(GOOD), folder / "good.onnx")
    onnx.save(model(REFUSED), folder / "refused.onnx")
    (folder / "garbage.onnx").write_bytes(b"no model")
    return folder


def by_name(reports) -> dict[str, ModelReport]:
    return {Path(report.source).name: report for report in reports}


PROGRAM = """
import os, sys, time
sys.path[:] = {path!r}
from split_rewrite.rewriter.batch import apart, conversion
convert = conversion.convert_file

def break_some(source, *args, **kwargs):
    if "crash" in source:
        os.kill(os.getpid(), 11)
    if "loop" in source:
        time.sleep(60)
    if "hungry" in source:
        raise MemoryError
    return convert(source, *args, **kwargs)

conversion.convert_file = break_some
apart.serve()
"""
"""A child to which some names do what some models do to others."""


def test_what_goes_wrong_with_one_model_is_its_own_report(zoo, tmp_path, monkeypatch):
    monkeypatch.setattr(apart, "serving_program", lambda _: PROGRAM.format(path=import_path()))
    for name in ("crash", "loop", "hungry"):
        onnx.save(model(GOOD), zoo / f"{name}.onnx")
    reports = by_name(convert_many([zoo], 5, into=tmp_path / "out", timeout=8))
    said = {name: (report.outcome, report.exit_status) for name, report in reports.items()}
    assert said == {
        "good.onnx": ("converted", 0),
        "refused.onnx": ("not convertible", 1),
        "garbage.onnx": ("unusable", 2),
        "crash.onnx": ("failed", 3),
        "loop.onnx": ("failed", 2),
        "hungry.onnx": ("failed", 2),
    }
    assert reports["crash.onnx"].message == "the process that converted it crashed: signal SIGSEGV"
    assert reports["loop.onnx"].message == "not finished within 8 s"
    assert reports["hungry.onnx"].message == "out of memory"
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["good.onnx"]


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


def test_threads_may_close_a_child_at_the_same_time():
    for _ in range(5):
        child = apart._start()
        with ThreadPoolExecutor(4) as pool:
            for closed in [pool.submit(child.close) for _ in range(4)]:
                closed.result()
        assert not child.is_alive()


def test_a_child_that_was_killed_between_two_models_is_replaced(zoo, tmp_path):
    children = apart.Children()
    task = Task(str(zoo / "good.onnx"), None, "good.onnx")
    try:
        assert children.convert(task, Request(13)).exit_status == 0
        (child,) = children._pool._idle
        os.kill(child._process.pid, signal.SIGKILL)
        child._process.wait()
        assert children.convert(task, Request(13)).exit_status == 0
    finally:
        children.close()


class Unreadable:
    """What another process cannot load, as where there is no memory for it."""

    def __reduce__(self):
        return int, ("no number",)


def test_a_task_that_cannot_be_read_is_not_waited_for(zoo):
    children = apart.Children()
    try:
        report = children.convert(Task(str(zoo / "good.onnx"), None, "good.onnx", Unreadable()), Request(13))  # type: ignore[arg-type]
        assert (report.exit_status, report.message) == (3, "the process that converted it ended with status 1")
        assert children.convert(Task(str(zoo / "good.onnx"), None, "good.onnx"), Request(13)).exit_status == 0
    finally:
        children.close()


@pytest.mark.skipif(os.name == "nt", reason="there, a folder stays while a process is in it")
def test_a_current_folder_that_was_removed_does_not_matter(zoo, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    (report,) = convert_many([zoo / "good.onnx"], 5, into=tmp_path / "out")
    assert (report.outcome, report.message) == ("converted", "")


def test_a_program_that_python_is_embedded_in_is_not_started_again(zoo, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/blender")
    monkeypatch.delitem(sys.modules, "multiprocessing.spawn", raising=False)
    (report,) = convert_many([zoo / "good.onnx"], 5, into=tmp_path / "out")
    assert report.exit_status == 3
    assert "'/usr/bin/blender' is not a Python interpreter" in report.message


MAIN = """
from split_rewrite.rewriter import ArgumentError, Options, convert_many
from split_rewrite.rewriter.engine.registry import replace

@replace("my.domain", "Twice", opset=13)
def twice(node):
    node.become.Add(node.input(0), node.input(0))

for rule in (twice, lambda node: None):
    try:
        convert_many(["zoo"], 5, into="out", options=Options(rules=[rule]))
    except ArgumentError as error:
        print(error)
"""


def test_rules_that_other_processes_cannot_import_are_refused_at_once(zoo, tmp_path):
    done = subprocess.run([sys.executable, "-c", MAIN], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)
    said = "options: each model is converted in another process, which cannot be given them:"
    assert done.stdout.splitlines() == [
        f"{said} {name} has to be in a module that can be imported, and is in the main program" for name in ("twice", "<lambda>")
    ]
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == ["zoo"]


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


def test_what_a_model_needs(zoo, tmp_path):
    proto = model(GOOD)
    big = onnx.helper.make_tensor("w", 1, [3 << 20], b"\0" * (12 << 20), raw=True)
    proto.graph.initializer.append(big)
    onnx.save(proto, tmp_path / "big.onnx")
    onnx.save(proto, tmp_path / "external.onnx", save_as_external_data=True)
    small, large, external = (
        memory_need(Task(str(path), "out", ""), Request(13))
        for path in (zoo / "good.onnx", tmp_path / "big.onnx", tmp_path / "external.onnx")
    )
    assert large - small > 24 << 20
    assert abs(external - large) < 1 << 20
    assert memory_need(Task(str(tmp_path / "big.onnx"), "out", ""), Request(13, compare="off")) - small < 1 << 20


@pytest.mark.parametrize(("text", "size"), [("4GB", 4 << 30), ("512M", 512 << 20), ("1.5 GiB", 3 << 29), ("1000", 1000)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "0", "4 apples", "1e9"])
def test_no_sizes(text):
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(text)


def test_a_request_is_known_by_what_the_result_depends_on():
    base = Request(13, options=Options(only=frozenset({"split", "reduce"}), overwrite_input_shapes={"x": [1, 2], "y": [3]}))
    same = Request(13, options=Options(only=frozenset({"reduce", "split"}), overwrite_input_shapes={"y": [3], "x": (1, 2)}))
    assert base.digest == same._replace(timeout=5.0, memory=1, with_page=True).digest
    others = [base._replace(target_opset=14), base._replace(compare="off"), base._replace(options=Options())]
    assert len({request.digest for request in [base, *others]}) == 4
    assert pickle.loads(pickle.dumps(base)).digest == base.digest


def test_a_request_is_known_by_the_contents_of_the_files_that_its_options_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = 'title = "NPU"\n[[release]]\nfrom = "1.0"\nevidence = "tried"\nopset = { max = 13 }\n'
    (tmp_path / "npu.toml").write_text(text)
    (tmp_path / "mine.py").write_text("class Mine: ...\n")
    request = Request(None, options=Options(for_runtimes=["./npu.toml"], verify_with="mine:Mine"))
    digests = [request.digest]
    (tmp_path / "npu.toml").write_text(text.replace("13", "12"))
    digests.append(request.digest)
    (tmp_path / "mine.py").write_text("class Mine: package = ''\n")
    digests.append(request.digest)
    monkeypatch.setattr(task, "version", lambda package: "0.1" if package == "onnxruntime" else version(package))
    digests.append(request.digest)
    assert len(set(digests)) == 4
    (tmp_path / "npu.toml").write_text(text)
    (tmp_path / "mine.py").write_text("class Mine: ...\n")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert request.digest == digests[0]
