"""Computes a model in float64, to see its numbers without the rounding of narrower floats.

Two ways to compute the same value in float16, bfloat16 or float32 may both be off by some bits; a comparison with float64 shows
which one is closer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

from ..storage.payload import array_of

_NARROW = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_datatype"})
_NARROW_NAMES = frozenset({"float32", "float16", "bfloat16"})


def widen(model: ModelProto) -> None:
    """Change `model`, whose external data is loaded, so that it computes in float64 wherever it says
    float32, float16 or bfloat16.
    """
    _widen_graph(model.graph)
    for function in model.functions:
        _widen_nodes(function.node)


def widened(value: Any) -> Any:
    """`value`, an input of such a model, in float64; also in sequences and maps of narrower floats."""
    if isinstance(value, dict):
        return {key: widened(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [widened(part) for part in value]
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype.name in _NARROW_NAMES else value


def _widen_graph(graph: GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        _widen_type(value.type)
    _widen_nodes(graph.node)


def _widen_nodes(nodes: Iterable[NodeProto]) -> None:
    for node in nodes:
        if node.op_type == "ConstantOfShape" and not node.attribute:
            node.attribute.add(name="value", type=AttributeProto.TENSOR, t=numpy_helper.from_array(np.zeros(1)))
        for attribute in node.attribute:
            _widen_attribute(node, attribute)
        if node.op_type == "GroupNormalization":  # the others are evaluated without their bodies, in the type of their input
            _widen_body(node)


def _widen_body(node: NodeProto) -> None:
    """Let the body of `node` compute in float64; below opset 21, it computes in the type of its input and ignores the attribute."""
    kept = [attribute for attribute in node.attribute if attribute.name != "stash_type"]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("stash_type", TensorProto.DOUBLE)])


def _widen_attribute(node: NodeProto, attribute: AttributeProto) -> None:
    if attribute.HasField("t"):
        _widen_tensor(attribute.t)
    if attribute.HasField("g"):
        _widen_graph(attribute.g)
    for graph in attribute.graphs:
        _widen_graph(graph)
    if attribute.name in _TYPE_ATTRIBUTES and attribute.i in _NARROW:
        attribute.i = TensorProto.DOUBLE
    if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
        value = np.array(attribute.f if attribute.name == "value_float" else attribute.floats, np.float64)
        attribute.CopyFrom(AttributeProto(name="value", type=AttributeProto.TENSOR, t=numpy_helper.from_array(value)))


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in _NARROW:
        tensor.CopyFrom(numpy_helper.from_array(array_of(tensor).astype(np.float64), tensor.name))


def _widen_type(kind: TypeProto) -> None:
    while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, which).elem_type
    if which == "tensor_type" and kind.tensor_type.elem_type in _NARROW:
        kind.tensor_type.elem_type = TensorProto.DOUBLE
