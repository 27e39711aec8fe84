"""Gives new names to values that have another element type in the result because the target lacks their type."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import GraphProto, TypeProto

from ...engine.narrow_types import lost_types
from ...graph.model import Model
from ...onnx_model.protos import GraphLike
from ...storage.skeleton import Skeleton
from ...structure.survey import all_graphs

_MARK = " (widened)"


def with_own_names(original: Model, result: Skeleton) -> Skeleton:
    """A copy of `result` with other names for the values whose element type in `original` was replaced by a wider one.

    A comparison takes values of the same name for equal; this keeps it from comparing numbers of two types.
    """
    lost = lost_types(original, result.proto)
    names = {name for name, kind in _types(original) if _element_type(kind) in lost} if lost else set()
    if not names:
        return result
    proto = onnx.ModelProto()
    proto.CopyFrom(result.proto)
    for graph in all_graphs(proto):
        _rename(graph, names)
    return Skeleton(proto, result.file, result.base_dir, result.locations)


def _types(model: Model) -> Iterator[tuple[str, TypeProto]]:
    """The values of `model` with their types, as far as these are known."""
    graphs = [*all_graphs(model.inferred or model.proto), *model.inferred_functions.values()]
    for graph in graphs:
        if isinstance(graph, GraphProto):
            yield from ((value.name, value.type) for value in (*graph.value_info, *graph.output, *graph.input))
            yield from ((t.name, onnx.helper.make_tensor_type_proto(t.data_type, None)) for t in graph.initializer)


def _element_type(kind: TypeProto) -> int:
    while (which := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, which).elem_type
    return kind.tensor_type.elem_type


def _rename(graph: GraphLike, names: set[str]) -> None:
    """Add a mark to each of `names` wherever it occurs in `graph`."""
    if isinstance(graph, GraphProto):
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            value.name += _MARK if value.name in names else ""
    for node in graph.node:
        for values in (node.input, node.output):
            values[:] = [f"{name}{_MARK}" if name in names else name for name in values]
