"""Models are converted in processes of their own, and a process that ends or cannot start costs one model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import onnx
import pytest
from helpers import model
from zoo import GOOD, by_name

from split_rewrite.rewriter import (
    convert_many,
)
from split_rewrite.rewriter.batch import apart
from split_rewrite.rewriter.batch.task import Request, Task
from split_rewrite.rewriter.process.child import import_path

PROGRAM = """
import os, sys, time
sys.path[:] = {path!r}
from split_rewrite.rewriter.batch import apart, conversion
convert = conversion.convert_path

def break_some(source, *args, **kwargs):
    if "crash" in source:
        os.kill(os.getpid(), 11)
    if "loop" in source:
        time.sleep(60)
    if "hungry" in source:
        raise MemoryError
    return convert(source, *args, **kwargs)

conversion.convert_path = break_some
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


def test_what_the_parent_holds_is_not_what_the_child_holds(zoo):
    held = bytearray(1_200_000_000)
    held[::4096] = b"1" * len(held[::4096])
    children = apart.Children()
    try:
        task = Task(str(zoo / "good.onnx"), None, "good.onnx")
        assert children.convert(task, Request(13)).exit_status == 0
        assert len(children._pool._idle) == 1
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
