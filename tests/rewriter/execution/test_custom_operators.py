"""Operators of other domains are run where a file defines them: what cannot be loaded is refused, what they compute is compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from helpers import model

from split_rewrite.rewriter import ArgumentError, CompareError, Options, convert_version
from split_rewrite.rewriter.cli.command import command, run
from split_rewrite.rewriter.engine.registry import avoid
from split_rewrite.rewriter.execution.custom_operators import using
from split_rewrite.rewriter.execution.other_runtimes import Target, run_model
from split_rewrite.rewriter.graph.node import Node

_OPERATORS = """
import numpy as np
from onnx.reference.op_run import OpRun

class FastRelu(OpRun):
    op_domain = "my.npu"

    def _run(self, x):
        return (np.maximum(x, 0),)
"""


@avoid("Relu", "Relu", opset=13)
def fast_relu(node: Node) -> None:
    """Right."""
    node.become.of("my.npu", 1).FastRelu(node.input(0))


@avoid("Abs", "Abs", opset=13)
def fast_abs(node: Node) -> None:
    """Wrong."""
    node.become.of("my.npu", 1).FastRelu(node.input(0))


def _file(folder: Path, text: str, name: str = "operators.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


_NO_DOMAIN = _OPERATORS.replace('"my.npu"', '""')
_SPLIT = "g (float[N,4] x) => (float[N,2] y, float[N,2] z) { a = my.npu.FastRelu (x) y, z = Split <axis = 1, num_outputs = 2> (a) }"
_RELU = "g (float[2] x) => (float[2] y) { y = Relu (x) }"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("import nothing_of_this_name", "a.py", "{} cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("def broken(", "a.py", "{} cannot be loaded: SyntaxError"),
        ("raise SystemExit('no licence')", "a.py", "{} cannot be loaded: SystemExit: no licence"),
        ("import os\nos._exit(3)", "a.py", "loading {} failed: exit status 3"),
        ("x = 1", "a.py", "{} defines no subclass of onnx.reference.op_run.OpRun with an op_domain"),
        (_NO_DOMAIN, "a.py", "{}: FastRelu has no op_domain, the domain of the operator"),
        ("not a library", "a.so", "{} cannot be loaded: Failed to load library"),
        ("not a library", "a.txt", "{} is neither a .py file nor a shared library (.so, .dylib, .dll)"),
    ],
    ids=["fails", "is not Python", "exits", "dies", "defines none", "no domain", "is not a library", "has another name"],
)
def test_what_cannot_be_loaded_is_refused(text: str, name: str, message: str, tmp_path: Path) -> None:
    path = _file(tmp_path, text, name)
    with pytest.raises(ArgumentError) as caught:
        convert_version(model(_RELU, 17), 13, options=Options(custom_ops=[path]))
    assert str(caught.value).startswith(f"custom_ops: {message.format(path)}")


def test_a_folder_and_two_definitions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"custom_ops: .* is a folder"):
        convert_version(model(_RELU, 17), 13, options=Options(custom_ops=[tmp_path]))
    files = [_file(tmp_path, _OPERATORS, name) for name in ("a.py", "b.py")]
    with pytest.raises(ArgumentError, match=r"the files define FastRelu of domain my\.npu 2 times"):
        convert_version(model(_RELU, 17), 13, options=Options(custom_ops=files))


def test_what_one_file_imports_of_another_is_defined_once(tmp_path: Path) -> None:
    other = _file(tmp_path, _OPERATORS, "first_operators.PY")
    _file(tmp_path, _OPERATORS, "first_operators.py")
    own = _OPERATORS.replace("FastRelu", "FastAbs").replace("np.maximum(x, 0)", "abs(x)")
    path = _file(tmp_path, f"from first_operators import FastRelu\n{own}", "second.py")
    report = convert_version(model(_RELU, 17), options=Options(rules=[fast_relu], custom_ops=[other, path])).report
    assert report.comparison is not None
    assert report.comparison.status == "equal"


@pytest.mark.parametrize("arguments", [["--dry-run", "in.onnx"], ["a/", "out/"]], ids=["a dry run", "many models"])
def test_they_are_refused_before_a_model_is_read(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for path in ("in.onnx", "a/1.onnx", "a/2.onnx"):
        _file(tmp_path, "no model", path)
    assert run(["-t", "13", "--custom-ops", _file(tmp_path, "x = 1"), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "operators.py defines no subclass" in line


def test_a_wrong_rule_that_writes_a_custom_operator_is_found(tmp_path: Path) -> None:
    source = model("g (float[4] x) => (float[4] y) { y = Abs (x) }", 17)
    options = Options(rules=[fast_abs], custom_ops=[_file(tmp_path, _OPERATORS)])
    with pytest.raises(CompareError, match=r"^outputs differ \(.*onnx\.reference"):
        convert_version(source, options=options)


def test_a_right_rule_is_compared_only_where_the_operator_is_given(tmp_path: Path) -> None:
    source = model("g (float[4] x) => (float[4] y) { y = Relu (x) }", 17)
    found = [
        convert_version(source, options=Options(rules=[fast_relu], custom_ops=files)).report.comparison
        for files in ([], [_file(tmp_path, _OPERATORS)], [])
    ]
    assert [comparison.status for comparison in found if comparison] == ["not compared", "equal", "not compared"]


def test_a_file_may_define_what_needs_its_module(tmp_path: Path) -> None:
    """A dataclass looks up its annotations in the module."""
    fields = "@dataclass\nclass Bounds:\n    low: float = 0.0\n"
    text = f"from __future__ import annotations\nfrom dataclasses import dataclass\n{_OPERATORS}\n{fields}"
    source = model("g (float[4] x) => (float[4] y) { y = Relu (x) }", 17)
    report = convert_version(source, options=Options(rules=[fast_relu], custom_ops=[_file(tmp_path, text)])).report
    assert report.comparison is not None
    assert report.comparison.status == "equal"


def test_a_file_may_import_the_modules_beside_it(tmp_path: Path) -> None:
    _file(tmp_path, _OPERATORS, "operators_of_this_test.py")
    path = _file(tmp_path, "from operators_of_this_test import FastRelu\nRelu = FastRelu")
    source = model("g (float[4] x) => (float[4] y) { y = Relu (x) }", 17)
    report = convert_version(source, options=Options(rules=[fast_relu], custom_ops=[path])).report
    assert report.comparison is not None
    assert report.comparison.status == "equal"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("FastRelu", "FasterRelu", "Node type 'FastRelu' from domain 'my.npu' is unknown"),
        ("np.maximum(x, 0)", "x.nothing()", "AttributeError: 'numpy.ndarray' object has no attribute 'nothing'"),
    ],
    ids=["another name", "fails"],
)
def test_a_warning_says_why_the_model_was_not_run_with_them(old: str, new: str, told: str, tmp_path: Path) -> None:
    source = model(_SPLIT, 18)
    source.opset_import.add(domain="my.npu", version=1)
    path = _file(tmp_path, _OPERATORS.replace(old, new))
    report = convert_version(source, 13, options=Options(declare={"a": "float[N,4]"}, custom_ops=[path])).report
    (warning,) = (str(warning) for warning in report.warnings if "(with --custom-ops)" in str(warning))
    assert told in warning


def test_other_runtimes_are_told_of_the_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    body = "class Telling:\n    package = 'onnx'\n\n    def load(self, path):\n        raise RuntimeError(os.environ['SPLIT_REWRITE_CUSTOM_OPS'])"
    _file(tmp_path, f"import os\n\n\n{body}\n", "telling.py")
    with using(["a.so", "b.py"]):
        ran = run_model(Target("telling:Telling"), model(_RELU, 17), [np.zeros(2, np.float32)])
    assert ran.reason == "RuntimeError: a.so"


def test_a_model_that_has_the_operator_is_run_as_a_whole(tmp_path: Path) -> None:
    source = model(_SPLIT, 18)
    source.opset_import.add(domain="my.npu", version=1)
    onnx.save(source, tmp_path / "in.onnx")
    given = ["-t", "13", "--declare", "a:float[N,4]", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
    alone = CliRunner().invoke(command, given)
    whole = CliRunner().invoke(command, [*given, "--custom-ops", _file(tmp_path, _OPERATORS)])
    assert "comparison  node by node: 1 node equal" in alone.output
    assert "comparison  equal, exact, max difference 0" in whole.output
