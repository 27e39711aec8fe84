"""Statements of narrow types in a model become wider ones, and stored tensors are widened or unpacked."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import convert_version, known, model, run
from onnx import TensorProto, helper

from split_rewrite.rewriter import Options


@pytest.mark.parametrize("kind", ["INT2", "UINT2"])
@pytest.mark.skipif(not known(25), reason="onnx has no opset 25")
def test_two_bits_in_an_odd_number(kind: str) -> None:
    values = [1, 0, 1, 1, 0] if kind == "UINT2" else [1, -2, -1, 0, 1]
    stored = helper.make_tensor("w", getattr(TensorProto, kind), [5], values)
    node = helper.make_node("DequantizeLinear", ["w", "s"], ["y"])
    interface = (
        helper.make_tensor_value_info("s", TensorProto.FLOAT, []),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [5]),
    )
    graph = helper.make_graph([node], "g", [interface[0]], [interface[1]], [stored])
    given = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    result = convert_version(given, 20).model
    np.testing.assert_array_equal(run(result, {"s": np.array(2, np.float32)})[0], 2 * np.float32(values))


def test_what_is_declared_of_values_between_nodes() -> None:
    given = model("g (float s) => (float[2] y) { i = Identity (w)  y = DequantizeLinear (i, s) }", 21, 10)
    given.graph.initializer.append(helper.make_tensor("w", TensorProto.INT4, [2], [1, -2]))
    given.graph.value_info.append(helper.make_tensor_value_info("i", TensorProto.INT4, [2]))
    (value,) = convert_version(given, 20).model.graph.value_info
    assert value.type.tensor_type.elem_type == TensorProto.INT8


UNPACK = Options(unpack_at_run_time=True)


@pytest.mark.parametrize("target", [20, 13, 9])
@pytest.mark.parametrize("shape", [[640, 320], [411, 311]], ids=["even", "odd"])
@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
def test_unpacked_at_run_time(kind: int, shape: list[int], target: int) -> None:
    low, high = (-8, 8) if kind == TensorProto.INT4 else (0, 16)
    values = np.random.default_rng(0).integers(low, high, shape)
    stored = [helper.make_tensor("w", kind, shape, values.ravel()), helper.make_tensor("small", kind, [2], [1, 7])]
    nodes = [helper.make_node("DequantizeLinear", [name, "s"], [out]) for name, out in (("w", "y"), ("small", "z"))]
    outputs = [helper.make_tensor_value_info("y", 1, shape), helper.make_tensor_value_info("z", 1, [2])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("s", 1, [])], outputs, stored)
    given = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    result = convert_version(given, target, options=UNPACK).model
    odd = ["Reshape", "Slice"] if values.size % 2 else []
    assert [node.op_type for node in result.graph.node][: 3 + len(odd)] == ["Cast", "Gather", *odd, "Reshape"]
    sizes = {tensor.name: list(tensor.dims) for tensor in result.graph.initializer if tensor.data_type == TensorProto.UINT8}
    assert sizes["w_packed"] == [-(-values.size // 2)]
    y, z = run(result, {"s": np.array(0.5, np.float32)})
    np.testing.assert_array_equal(y, values.astype(np.float32) / 2)
    np.testing.assert_array_equal(z, [0.5, 3.5])
