"""The types of the outputs of ai.onnx.ml operators, most of which onnx does not infer."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TypeProto

from . import facts
from .schema_types import fixed_types, tied_values
from .type_protos import type_string

ML = "ai.onnx.ml"


def state_ml_types(model: onnx.ModelProto, graph: onnx.GraphProto) -> bool:
    """Declare the outputs of ai.onnx.ml operators in `graph`, most of which onnx does not infer. Returns whether any was added."""
    version = next((entry.version for entry in model.opset_import if entry.domain == ML), 0)
    types = {value.name: value.type for values in (graph.input, graph.output, graph.value_info) for value in values}
    types.update((t.name, onnx.helper.make_tensor_type_proto(t.data_type, t.dims)) for t in graph.initializer)
    stated = False
    for node in graph.node if version else ():
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                stated |= state_ml_types(model, attribute.g)
        if node.domain != ML:
            continue
        for name, kind in _ml_types(node, version, types).items():
            if name not in types or type_string(types[name]) is None:
                types[name] = kind
                graph.value_info.add(name=name, type=kind)
                stated = True
    return stated


def _ml_types(node: onnx.NodeProto, version: int, types: Mapping[str, TypeProto]) -> dict[str, TypeProto]:
    """The types of the outputs of `node`, of ai.onnx.ml, by its schema, its attributes and the `types` of its inputs."""
    found = fixed_types(node, version, ML)
    for values in tied_values(node, version, ML):
        known = next((types[name] for name in values if name in types and type_string(types[name]) is not None), None)
        if known is not None and known.WhichOneof("value") == "tensor_type":
            kind = TypeProto(tensor_type=TypeProto.Tensor(elem_type=known.tensor_type.elem_type))
            found.update((name, kind) for name in values if name in node.output)
    fact = facts.of(node.op_type, node.domain)
    if fact.has("regresses") and node.output:
        targets = next((attribute.i for attribute in node.attribute if attribute.name in ("n_targets", "targets")), None)
        told = found.get(node.output[0])
        kind = onnx.TensorProto.FLOAT if told is None else told.tensor_type.elem_type
        found[node.output[0]] = onnx.helper.make_tensor_type_proto(kind, [None, targets])
    for attribute in node.attribute if fact.has("classifies") else ():
        if attribute.name in _CLASS_LABELS and (attribute.ints or attribute.strings):
            found[node.output[0]] = TypeProto(tensor_type=TypeProto.Tensor(elem_type=_CLASS_LABELS[attribute.name]))
    return found


_CLASS_LABELS = {
    "classlabels_ints": onnx.TensorProto.INT64,
    "classlabels_int64s": onnx.TensorProto.INT64,
    "classlabels_strings": onnx.TensorProto.STRING,
}
"""Attributes of classifiers that determine the element type of the first output."""
