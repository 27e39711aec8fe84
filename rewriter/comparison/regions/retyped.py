"""Gives new names to values that have another element type in the result because the target lacks their type."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import onnx
from onnx import GraphProto, TypeProto

from ...onnx_model.protos import GraphLike
from ...storage.skeleton import Skeleton
from ...structure.survey import all_graphs
from ..original import Original

_MARK = " (widened)"


def with_own_names(original: Original, result: Skeleton, widened: Collection[int]) -> Skeleton:
    """A copy of `result` with other names for the values whose element type in `original` is one of `widened`, which the conversion
    replaced by wider ones; as numbers of TensorProto.DataType.

    A comparison takes values of the same name for equal; this keeps it from comparing numbers of two types.
    """
    names = {name for name, kind in _types(original) if _element_type(kind) in widened} if widened else set()
    if not names:
        return result
    proto = onnx.ModelProto()
    proto.CopyFrom(result.proto)
    for graph in all_graphs(proto):
        _rename(graph, names)
    return Skeleton(proto, result.file, result.base_dir, result.locations)


def _types(model: Original) -> Iterator[tuple[str, TypeProto]]:
    """The values of `model` with their types, as far as these are known."""
    believed = model.proto if model.evidence is None else model.evidence.believed
    graphs = [*all_graphs(believed), *model.inferred_functions.values()]
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
