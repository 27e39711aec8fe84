"""What graphs and their inputs and outputs have to state by onnx.checker, and what runtimes do without: names, types and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
from onnx import GraphProto, TypeProto, ValueInfoProto

from ..engine.outcome import Remark
from ..onnx_model.protos import GraphLike
from ..opsets import type_protos
from ..storage.skeleton import Skeleton
from ..structure import declarations


def name_graphs(graphs: Sequence[GraphLike]) -> Iterator[Remark]:
    """Give a name to each graph without one. `graphs` are all graphs of the model, the main graph first."""
    for number, graph in enumerate(graphs):
        if isinstance(graph, GraphProto) and not graph.name:
            graph.name = f"graph_{number}" if number else "main_graph"
            yield Remark("warning", "Graph", graph.name, "model", "it had no name, which onnx.checker requires")


def without_shape(proto: onnx.ModelProto) -> list[ValueInfoProto]:
    """The inputs and outputs of the main graph whose tensor type states no shape, so that not even the rank is known."""
    values = (*proto.graph.input, *proto.graph.output)
    return [value for value in values if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape")]


def state_shapes(skeleton: Skeleton) -> Iterator[Remark]:
    """State the types of outputs of the main graph that lack one, or a shape, as far as inference finds them, in place.

    Yields a warning for each value that lacked something, also where it cannot be stated: the IR allows that.
    """
    proto = skeleton.proto
    untyped = [value for value in proto.graph.output if not value.type.WhichOneof("value")]
    open_values = [*without_shape(proto), *untyped]
    if not open_values:
        return
    inferred = declarations.derive(declarations.for_all_callers(skeleton.checkable()))
    found = {} if inferred is None else {value.name: value.type for value in (*inferred.graph.value_info, *inferred.graph.output)}
    symbols = {dim.dim_param for value in proto.graph.input for dim in value.type.tensor_type.shape.dim}
    outputs = {id(value) for value in proto.graph.output}
    for value in open_values:
        kind = found.get(value.name) if id(value) in outputs else None
        what = "Output" if id(value) in outputs else "Input"
        if kind is not None and _says_more(kind, value.type):
            value.type.CopyFrom(_with_own_symbols(kind, symbols))
        if type_protos.shape_of(value.type) is not None:
            message = "the model does not state its shape: the one that inference finds stands there now"
        else:
            message = "the model does not state its shape, which onnx.checker requires: it stays open"
        yield Remark("warning", what, value.name, "main graph", message)


def _says_more(found: TypeProto, stated: TypeProto) -> bool:
    """Whether `found` has a rank, and no other element type than `stated`; if there is no such type, whether it has one."""
    if not stated.WhichOneof("value"):
        return bool(found.WhichOneof("value"))
    return type_protos.shape_of(found) is not None and type_protos.type_string(found) == type_protos.type_string(stated)


def _with_own_symbols(kind: TypeProto, symbols: set[str]) -> TypeProto:
    """`kind` without the names of dimensions that inference made up."""
    copy = TypeProto.FromString(kind.SerializeToString())
    for tensor in type_protos.tensors_in(copy):
        for dim in tensor.shape.dim:
            if dim.dim_param not in symbols:
                dim.ClearField("dim_param")
    return copy
