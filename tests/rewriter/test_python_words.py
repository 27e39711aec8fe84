"""Errors about arguments name parameters and fields of `Options` in Python, and options on the command line."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version, model

from split_rewrite.rewriter import ArgumentError, Options, Samples
from split_rewrite.rewriter.python_words import in_python

pytestmark = pytest.mark.quick

MESSAGES = [
    (
        "--for zzz: unknown runtime (--list-runtimes lists all)",
        "for_runtimes zzz: unknown runtime (split-rewrite --list-runtimes lists all)",
    ),
    ("--for: no opset suits all", "for_runtimes: no opset suits all"),
    ("--ir-version 9: the installed onnx", "ir_version 9: the installed onnx"),
    ("--compare nodes: given inputs", "compare nodes: given inputs"),
    ("--input-data x: shape [1,5]", "samples.data x: shape [1,5]"),
    ("--only: there is no rule 'q' (--list-rules lists all)", "only: there is no rule 'q' (split-rewrite --list-rules lists all)"),
    ("x--strict: stays", "x--strict: stays"),
    ("--: stays", "--: stays"),
]
IDENTITY = "g (float[N,M] x) => (float[N,M] y) { y = Identity(x) }"


@pytest.mark.parametrize(("told", "wanted"), MESSAGES, ids=[told for told, _ in MESSAGES])
def test_an_option_becomes_a_parameter(told: str, wanted: str) -> None:
    assert in_python(told) == wanted


def test_the_parameters_are_fields_that_there_are() -> None:
    known = {field.name for field in fields(Options)} | {"target_opset", "compare"}
    for option in (
        "declare",
        "overwrite-input-shape",
        "for",
        "ir-version",
        "external-data",
        "python",
        "runtime",
        "target-opset",
        "compare",
    ):
        assert in_python(f"--{option}: ").partition(":")[0] in known


def test_python_names_parameters() -> None:
    with pytest.raises(ArgumentError, match=r"^for_runtimes zzz: unknown runtime \(split-rewrite --list-runtimes"):
        Options(for_runtimes=["zzz"])
    with pytest.raises(ArgumentError, match=r"^declare: there is no value 'q' in the graphs of the model$"):
        convert_version(model(IDENTITY, 17), 18, options=Options(declare={"q": "float[2]"}))
    given = Samples(data=[{"x": np.zeros((2, 3), np.float32)}])
    with pytest.raises(ArgumentError, match=r"^compare nodes: given inputs"):
        convert_version(model(IDENTITY, 17), 18, compare="nodes", options=Options(samples=given))


def test_the_command_line_names_options(tmp_path: Path) -> None:
    onnx.save(model(IDENTITY, 17), tmp_path / "in.onnx")
    files = [str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
    assert command_line(*files, "-t", "18", "--declare", "q:float[2]").err.startswith("error: --declare: there is no value 'q'")
    message = command_line(*files, "--for", "zzz").err
    assert message.startswith("error: --for zzz: unknown runtime") and message.endswith("(--list-runtimes lists all)\n")
