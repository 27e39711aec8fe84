"""Models that only ONNX's shape inference disputes, and onnxruntime runs."""

from __future__ import annotations

import importlib.util

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter import InvalidModelError, Options

HALF = "g (float16[1,2,3,4] x) => (float16[1,2,3,4] y) { y = MeanVarianceNormalization <axes = [0, 2, 3]> (x) }"
DISPUTE = "(op_type:Add): B has inconsistent type tensor(float)"


def test_what_onnxruntime_does_not_load_either_is_refused() -> None:
    assert "MatMul" in invalidity(model("g (float[2,3] x, float[4,5] w) => (float[2,5] y) { y = MatMul (x, w) }", 13), 11)
    assert DISPUTE in invalidity(model(HALF, 13), 13)


def test_without_onnxruntime_inference_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "onnxruntime" else find(name, *more))
    with pytest.raises(InvalidModelError, match="inconsistent type"):
        convert_version(model(HALF, 17), 13, compare="off")


def test_the_verdict_of_onnx_checker_can_be_required() -> None:
    with pytest.raises(InvalidModelError, match="inconsistent type"):
        convert_version(model(HALF, 17), 13, options=Options(require_valid=True))


@pytest.mark.parametrize("target", [9, 13, 17, 22])
def test_what_onnxruntime_loads_is_converted(target: int) -> None:
    result, report = convert_version(model(HALF, 17), target, compare="required")
    assert "MeanVarianceNormalization" not in {node.op_type for node in result.graph.node}
    assert report.warnings[0].startswith(
        "Model 'g' (as it was read): onnxruntime loads it, and ONNX's shape inference disputes it, so that types are not checked: "
    )
    assert DISPUTE in report.warnings[0]
