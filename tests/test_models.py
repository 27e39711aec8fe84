"""Every model of models/ to opsets old and new: all convert, check and compare equal."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from split_rewrite.rewriter import Options, Samples, convert_file
from split_rewrite.rewriter.graph import all_graphs

FOLDER = Path(__file__).parent.parent / "models"
MODELS = {path.stem: path for path in sorted(FOLDER.glob("*.onnx"))}
WITH_INPUTS = sorted(path.stem for path in FOLDER.glob("*.npz"))
TARGETS = (9, 11, 13, 17, 18, 21, 25)

PAIRS = [
    pytest.param(name, target, id=f"{name}-to-{target}")
    for name, target in itertools.product(MODELS, TARGETS)
    if target <= onnx.defs.onnx_opset_version()
]


@pytest.mark.parametrize(("name", "target"), PAIRS)
def test_converts_and_compares_equal(name: str, target: int, tmp_path: Path) -> None:
    result = tmp_path / "result.onnx"
    report = convert_file(MODELS[name], result, target, compare="required")
    assert report.comparison is not None
    assert report.comparison.status == "equal"
    proto = onnx.load(result)
    onnx.checker.check_model(proto, full_check=True)
    imports = [*proto.opset_import, *(entry for body in proto.functions for entry in body.opset_import)]
    assert {entry.version for entry in imports if entry.domain == ""} == {target}


@pytest.mark.parametrize("name", WITH_INPUTS)
def test_recorded_inputs_can_be_given(name: str, tmp_path: Path) -> None:
    data = dict(np.load(FOLDER / f"{name}.npz"))
    options = Options(samples=Samples(data=[data]))
    report = convert_file(MODELS[name], tmp_path / "o.onnx", 21, compare="required", options=options)
    assert report.comparison is not None
    assert all(output.equal for output in report.comparison.outputs)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_sequences_with_known_elements_are_gone(name: str, tmp_path: Path) -> None:
    convert_file(MODELS[name], tmp_path / "o.onnx", None, compare="off")
    operators = {node.op_type for graph in all_graphs(onnx.load(tmp_path / "o.onnx")) for node in graph.node}
    assert not [name for name in operators if "Sequence" in name]


def test_the_readme_lists_what_is_there() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(MODELS)
