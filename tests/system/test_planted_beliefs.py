"""What the conversion believes is no input of the comparison: a wrong belief, planted in it, is found as a difference."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import CompareError
from split_rewrite.rewriter.opsets import folding
from split_rewrite.rewriter.process import child_call

VALUES = {
    "sizes": (
        "Add",
        "g (float[6] x) => (float[A] p, float[B] q, float[C] r) <int64[3] u = {1, 0, 2}, int64[3] v = {0, 2, 1}> "
        "{ s = Add(u, v) p, q, r = Split<axis = 0>(x, s) }",
        *(13, 11),
    ),
    "sizes that onnxruntime cannot compute": (
        "Sub",
        "g (float[6] x) => (float[A] p, float[B] q, float[C] r) <int16[3] u = {1, 2, 3}, int16[3] v = {0, 0, 0}> "
        "{ n = Sub(u, v) s = Cast<to = 7>(n) p, q, r = Split<axis = 0>(x, s) }",
        *(14, 11),
    ),
    "sizes of a list": (
        "Add",
        "g (float[6] x) => (float[A] p) <int64[3] u = {1, 0, 2}, int64[3] v = {0, 2, 1}, int64 i = {0}> "
        "{ s = Add(u, v) q = SplitToSequence<axis = 0>(x, s) p = SequenceAt(q, i) }",
        *(13, 13),
    ),
    "starts": (
        "Mul",
        "g (float[6,7] x) => (float[A,B] y) <int64[2] u = {1, 2}, int64[2] v = {1, 2}, int64[2] e = {6, 7}> "
        "{ s = Mul(u, v) y = Slice(x, s, e) }",
        *(10, 9),
    ),
    "pads": ("Neg", "g (float[6,7] x) => (float[A,B] y) <int64[4] u = {-1, -2, 0, -1}> { s = Neg(u) y = Pad(x, s) }", 11, 10),
    "a shape": (
        "Add",
        "g (float[1,1] x) => (float[A,B] y) <int64[2] u = {1, 0}, int64[2] v = {2, 1}> { s = Add(u, v) y = Expand(x, s) }",
        *(13, 7),
    ),
    "a bound": ("Neg", "g (float[6] x) => (float[A] y) <float u = {1}> { s = Neg(u) y = Clip(x, s) }", 13, 9),
}
"""An operator of which constant results are turned around, or are one more, and a model that rests on one."""
SHAPES = {
    "from the end": (
        "g (float[5,3,2] x) => (float[A,B] y) <int64 i = {-1}> { t = Abs(x) u = Gather<axis = 0>(t, i) y = Neg(u) }",
        *(11, 10),
    ),
    "scattered from the end": (
        "g (float[5,3] x) => (float[A,B] y) <int64[1,1] i = {-1}, float[1,1] v = {7}> "
        "{ t = Abs(x) u = ScatterElements<axis = 0>(t, i, v) y = Neg(u) }",
        *(11, 10),
    ),
    "flattened": ("g (float[5,3,2] x) => (float[A,B,C] y) { t = Abs(x) y = Softmax<axis = 1>(t) }", 12, 13),
    "resized": (
        "g (float[1,1,6,1] x) => (float[A,B,C,D] y) <float[4] s = {1, 1, 0.5, 1}> "
        '{ t = Abs(x) y = Resize<mode = "linear">(t, , s) }',
        *(13, 10),
    ),
    "in steps": (
        "g (float[5,3] x) => (float[A,B] y) <int64[1] s = {-4}, int64[1] e = {10}, int64[1] a = {0}, int64[1] k = {2}> "
        "{ t = Abs(x) y = Slice(t, s, e, a, k) }",
        *(13, 9),
    ),
}
"""Models that rest on the shape of what an Abs makes, which is turned around."""


@pytest.mark.parametrize("compare", ["model", "nodes"])
@pytest.mark.parametrize(("liar", "text", "opset", "target"), VALUES.values(), ids=VALUES)
def test_a_wrong_value(liar: str, text: str, opset: int, target: int, compare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = folding.evaluate

    def lie(node: onnx.NodeProto, inputs: folding.Values) -> list[np.ndarray] | None:
        found = evaluate(node, inputs)
        if found is None or node.op_type != liar:
            return found
        return [np.ascontiguousarray(array[::-1]) if array.ndim else array + 1 for array in found]

    assert convert_version(model(text, opset), target, compare=compare).report.comparison.status == "equal"
    monkeypatch.setattr(folding, "evaluate", lie)
    with pytest.raises(CompareError, match="outputs differ"):
        convert_version(model(text, opset), target, compare=compare)


@pytest.mark.parametrize("compare", ["model", "nodes"])
@pytest.mark.parametrize(("text", "opset", "target"), SHAPES.values(), ids=SHAPES)
def test_a_wrong_shape(text: str, opset: int, target: int, compare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    infer = child_call.infer_model

    def lie(serialized: bytes) -> bytes:
        inferred = onnx.ModelProto.FromString(infer(serialized))
        made = {name for node in inferred.graph.node if node.op_type == "Abs" for name in node.output}
        for value in inferred.graph.value_info:
            if value.name in made:
                sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
                value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, sizes[::-1]))
        return inferred.SerializeToString()

    assert convert_version(model(text, opset), target, compare=compare).report.comparison.status == "equal"
    monkeypatch.setattr(child_call, "infer_model", lie)
    with pytest.raises(CompareError, match="outputs differ"):
        convert_version(model(text, opset), target, compare=compare)
