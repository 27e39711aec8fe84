"""A model computed in float64, to judge which of two results is nearer."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.reference
from helpers import model

from split_rewrite.rewriter.execution.float64 import widen


def test_a_model_in_float64_has_no_narrower_float() -> None:
    text = """g (float[2] x) => (float16[2] y, int64[2] z) <float[2] w = {1, 2}> {
        c = Constant<value_float = 0.5>() d = Cast<to = 1>(c) a = Mul(x, w) b = Add(a, d) y = Cast<to = 10>(b) z = Cast<to = 7>(b) }"""
    proto = model(text)
    widen(proto)
    kinds = {proto.graph.input[0].type.tensor_type.elem_type, proto.graph.initializer[0].data_type}
    assert kinds == {onnx.TensorProto.DOUBLE}
    [y, z] = onnx.reference.ReferenceEvaluator(proto).run(None, {"x": np.array([0.1, 0.2])})
    assert y.dtype == np.float64 and y.tolist() == [0.1 + 0.5, 0.2 * 2 + 0.5] and z.dtype == np.int64


def test_bfloat16_becomes_float64() -> None:
    proto = model("g (bfloat16[1] x) => (bfloat16[1] y) { y = Add(x, w) }")
    proto.graph.initializer.append(onnx.helper.make_tensor("w", onnx.TensorProto.BFLOAT16, [1], [0.5]))
    widen(proto)
    assert onnx.numpy_helper.to_array(proto.graph.initializer[0]).tolist() == [0.5]
