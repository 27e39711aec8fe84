"""The code of docs/export.md, run with the exporters that it names, which have to be installed; run by name, as torch is large."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import run

torch: Any = importlib.import_module("torch")  # a gate without it has to fail, and linters have none

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
OF_TORCH = [block for block in BLOCKS if "import torch" in block]
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow tells of the GPUs that it did not find


def executed(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `block` defines, run in `folder`. onnxscript reads the source of functions, which has to be in a file."""
    monkeypatch.chdir(folder)
    source = folder / "block.py"
    source.write_text(block, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("block", source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "block", module)
    spec.loader.exec_module(module)
    return vars(module)


def opset(proto: onnx.ModelProto) -> int:
    return next(entry.version for entry in proto.opset_import if not entry.domain)


def block_with(text: str) -> str:
    return next(block for block in BLOCKS if text in block)


@pytest.mark.parametrize("block", OF_TORCH, ids=["dynamo", "TorchScript", "passes"])
def test_an_export_of_torch_computes_what_the_module_does(block, tmp_path, monkeypatch):
    names = executed(block, tmp_path, monkeypatch)
    proto = onnx.load(tmp_path / "model.onnx")
    assert opset(proto) == 13
    expected = names["model"](*names["args"]).detach().numpy()
    got = run(proto, {proto.graph.input[0].name: names["args"][0].numpy()})
    np.testing.assert_allclose(got[0], expected, rtol=1e-5, atol=1e-6)


def test_functions_of_onnxscript(tmp_path, monkeypatch):
    names = executed(block_with("from onnxscript"), tmp_path, monkeypatch)
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    converted = onnx.load(tmp_path / "model.onnx")
    assert opset(converted) == 12
    np.testing.assert_allclose(run(converted, {"x": x})[0], run(names["net"].to_model_proto(), {"x": x})[0], rtol=1e-6)


def test_an_export_of_skl2onnx(tmp_path, monkeypatch):
    names = executed(block_with("from skl2onnx"), tmp_path, monkeypatch)
    converted = onnx.load(tmp_path / "model.onnx")
    assert opset(converted) == 9
    labels = run(converted, {converted.graph.input[0].name: names["x"]})[0]
    np.testing.assert_array_equal(labels.astype(bool), names["estimator"].predict(names["x"]))


def test_an_export_of_tf2onnx(tmp_path, monkeypatch):
    names = executed(block_with("import tf2onnx"), tmp_path, monkeypatch)
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    converted = onnx.load(tmp_path / "model.onnx")
    assert opset(converted) == 9
    got = run(converted, {converted.graph.input[0].name: x})[0]
    np.testing.assert_allclose(got, names["model"](x).numpy(), rtol=1e-5, atol=1e-6)


def test_programs_keep_their_tensors_and_say_where_nodes_come_from():
    from split_rewrite.rewriter import convert_version

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.LayerNorm(64)).eval()
    program = torch.onnx.export(model, (torch.randn(2, 64),), dynamo=True)
    result = convert_version(program, 13, compare="required").model
    assert type(result) is type(program)
    for name, value in result.model.graph.initializers.items():
        if name in program.model.graph.initializers:
            assert value.const_value is program.model.graph.initializers[name].const_value
    assert all("namespace" in node.metadata_props for node in result.model.graph)
