"""Every model of models/ to opsets old and new: all convert, check and compare equal."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import run

from split_rewrite.rewriter import Options, Samples, convert_file
from split_rewrite.rewriter.structure.survey import all_graphs

FOLDER = Path(__file__).resolve().parents[2] / "models"
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


OF_ONNX = ("pytorch-converted/test_GLU", "pytorch-converted/test_GLU_dim", "pytorch-operator/test_operator_chunk")


@pytest.mark.parametrize("case", OF_ONNX)
def test_onnx_s_own_exports_go_up_and_back(case: str, tmp_path: Path) -> None:
    """They are of opset 6, and come with inputs and outputs."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / case
    there, back = tmp_path / "18.onnx", tmp_path / "6.onnx"
    convert_file(folder / "model.onnx", there, 18, compare="required")
    convert_file(there, back, 6, compare="required")
    (x,) = recorded(folder, "input")
    outputs = run(onnx.load(there), {onnx.load(there).graph.input[0].name: x})
    for expected, got in zip(recorded(folder, "output"), outputs, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert [(node.op_type, len(node.output)) for node in onnx.load(back).graph.node] == [
        (node.op_type, len(node.output)) for node in onnx.load(folder / "model.onnx").graph.node
    ]


def recorded(folder: Path, kind: str) -> list[np.ndarray]:
    files = sorted((folder / "test_data_set_0").glob(f"{kind}_*.pb"))
    return [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


def test_the_readme_lists_what_is_there() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(MODELS)
