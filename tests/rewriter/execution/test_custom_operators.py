"""Operators of other domains are run where a file defines them: what cannot be loaded is refused, what they compute is compared."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner
from helpers import model

from split_rewrite.rewriter import ArgumentError, CompareError, Options, convert_version
from split_rewrite.rewriter.cli.command import command
from split_rewrite.rewriter.engine.registry import avoid
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


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("import nothing_of_this_name", "a.py", "cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("def broken(", "a.py", "cannot be loaded: SyntaxError"),
        ("x = 1", "a.py", "defines no subclass of onnx.reference.op_run.OpRun with an op_domain"),
        ("not a library", "a.so", "cannot be loaded: Failed to load library"),
    ],
    ids=["fails", "is not Python", "defines none", "is not a library"],
)
def test_what_cannot_be_loaded_is_refused(text: str, name: str, message: str, tmp_path: Path) -> None:
    path = _file(tmp_path, text, name)
    with pytest.raises(ArgumentError) as caught:
        convert_version(model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 17), 13, options=Options(custom_ops=[path]))
    assert str(caught.value).startswith(f"custom operators: {path} {message}")


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


def test_a_model_that_has_the_operator_is_run_as_a_whole(tmp_path: Path) -> None:
    text = (
        "g (float[N,4] x) => (float[N,2] y, float[N,2] z) { a = my.npu.FastRelu (x) y, z = Split <axis = 1, num_outputs = 2> (a) }"
    )
    source = model(text, 18)
    source.opset_import.add(domain="my.npu", version=1)
    onnx.save(source, tmp_path / "in.onnx")
    given = ["-t", "13", "--declare", "a:float[N,4]", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
    alone = CliRunner().invoke(command, given)
    whole = CliRunner().invoke(command, [*given, "--custom-ops", _file(tmp_path, _OPERATORS)])
    assert "comparison  node by node: 1 node equal" in alone.output
    assert "comparison  equal, exact, max difference 0" in whole.output
