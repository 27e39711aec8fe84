"""Shapes of onnxruntime's attention operators."""

from __future__ import annotations

import pytest
from onnx import helper

from split_rewrite.rewriter.opsets.foreign.types import infer

pytestmark = pytest.mark.quick


def shapes(op_type: str, inputs: list[tuple | None], outputs: int, **attributes: object) -> list[tuple | None]:
    """The shapes of the outputs, None where the rank is unknown; inputs without a shape are absent."""
    names = [f"i{index}" if shape is not None else "" for index, shape in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"o{index}" for index in range(outputs)], domain="com.microsoft", **attributes)
    types = {name: helper.make_tensor_type_proto(1, shape) for name, shape in zip(names, inputs, strict=True) if name}
    found = infer(node, types, {})
    return [_shape(found[name]) if name in found else None for name in node.output]


def _shape(kind: object) -> tuple | None:
    tensor = kind.tensor_type
    dims = [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else None) for dim in tensor.shape.dim]
    return tuple(dims) if tensor.HasField("shape") else None


def test_of_many_heads():
    query, key, value = ("b", 3, 8), ("b", "t", 8), ("b", "t", 12)
    found = shapes("MultiHeadAttention", [query, key, value], 4, num_heads=2)
    assert found[:3] == [("b", 3, 12), ("b", 2, "t", 4), ("b", 2, "t", 6)]


def test_behind_past_keys():
    flat, past = ("b", 3, 8), ("b", 2, 5, 4)
    found = shapes("MultiHeadAttention", [flat, flat, flat, None, None, None, past, past], 3, num_heads=2)
    assert found == [("b", 3, 8), ("b", 2, 8, 4), ("b", 2, 8, 4)]


def test_packed():
    assert shapes("MultiHeadAttention", [("b", 3, 2, 3, 4)], 1, num_heads=2) == [("b", 3, 8)]
    assert shapes("MultiHeadAttention", [("b", 3, 8), ("b", 5, 2, 2, 4)], 1, num_heads=2) == [("b", 3, 8)]


def test_projected():
    found = shapes("Attention", [("b", "t", 6), (6, 28)], 1, num_heads=2, qkv_hidden_sizes=[8, 8, 12])
    assert found == [("b", "t", 12)]
    found = shapes("Attention", [("b", 3, 6), (6, 24), None, None, (2, "b", 2, 5, 4)], 2, num_heads=2)
    assert found == [("b", 3, 8), (2, "b", 2, 8, 4)]


def test_of_groups():
    query, key = ("b", "t", 64), ("b", "t", 32)
    found = shapes("GroupQueryAttention", [query, key, key, None, None, ("b",), ()], 1, num_heads=4, kv_num_heads=2)
    assert found == [("b", "t", 64)]
    found = shapes("GroupQueryAttention", [("b", "t", 128)], 1, num_heads=4, kv_num_heads=2)
    assert found == [("b", "t", 64)]


def test_a_cache_of_unknown_size():
    query, key, past = ("b", 1, 64), ("b", 1, 32), ("b", 2, "p", 16)
    found = shapes("GroupQueryAttention", [query, key, key, past, past, ("b",), ()], 2, num_heads=4, kv_num_heads=2)
    assert found == [("b", 1, 64), ("b", 2, None, 16)]
