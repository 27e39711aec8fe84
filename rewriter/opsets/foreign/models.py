"""States the types of what known operators of other domains make in a whole model, so that onnx infers what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, helper

from ...onnx_model.domains import DEFAULT_DOMAINS
from ..type_protos import Shape, shape_of
from . import registered
from .schemas import known_domains, schema_of
from .types import infer

Types = Mapping[str, TypeProto]
Data = Mapping[str, TensorProto]
InferNode = Callable[[NodeProto, int, Types, Data, int], Types]
_LONGEST_SHAPE = 64
"""The number of elements up to which a constant may describe a shape."""


_MOST_ROUNDS = 8
"""How often types are stated and inferred in turn, at most: once, and again for each If and Loop around such a node."""


def rounds(model: onnx.ModelProto, serialized: bytes) -> int:
    """How often types have to be stated and inferred in turn, at most; 0 where no operator of another domain is known."""
    is_known = any(domain.encode() in serialized for domain in known_domains())
    if not is_known and not registered.are_in(model):
        return 0
    has_graphs = any(attribute.type == AttributeProto.GRAPH for node in model.graph.node for attribute in node.attribute)
    return _MOST_ROUNDS if has_graphs else 1


def state_types(model: onnx.ModelProto, infer_node: InferNode) -> bool:
    """State the types of what known operators of other domains make in `model`, which has inferred types. Returns whether any was
    added.

    `infer_node` finds the types of what ONNX's own nodes make of these, so that one walk over the model is enough.
    """
    opset = next((entry.version for entry in model.opset_import if entry.domain in DEFAULT_DOMAINS), 0)
    return _Walk(infer_node, opset, model.ir_version, registered.versions(model)).take(model.graph, {}, {})


class _Walk(NamedTuple):
    infer_node: InferNode
    opset: int
    ir_version: int
    versions: Mapping[str, int]
    """The imported versions of domains of which schemas may be registered."""

    def take(self, graph: GraphProto, outer: Types, outer_data: Data) -> bool:
        """State the types in `graph` and the graphs in it. `outer` are the types of the values around it."""
        types = {**outer, **_stated(graph)}
        data = {**outer_data, **{tensor.name: tensor for tensor in graph.initializer if _may_say_a_shape(tensor)}}
        stated: dict[str, TypeProto] = {}
        renewed: set[str] = set()
        is_changed = False
        for node in graph.node:
            is_known = schema_of(node.op_type, node.domain) is not None or self._registered(node) is not None
            for name, kind in self._found(node, types, data, renewed).items():
                if _says_more(kind, types.get(name)):
                    types[name] = _joined(types.get(name), kind)
                    renewed.add(name)
                    stated.update({name: types[name]} if is_known else {})
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    is_changed |= self.take(attribute.g, types, data)
                elif attribute.type == AttributeProto.TENSOR and _may_say_a_shape(attribute.t) and node.op_type == "Constant":
                    data[node.output[0]] = attribute.t
        _state(graph, stated)
        return is_changed or bool(stated)

    def _registered(self, node: NodeProto) -> onnx.defs.OpSchema | None:
        return registered.schema_of(node, self.versions[node.domain]) if node.domain in self.versions else None

    def _found(self, node: NodeProto, types: Types, data: Data, renewed: set[str]) -> Types:
        """The types of the outputs of `node`; of one of ONNX's own, only if one of its inputs is `renewed`."""
        if schema_of(node.op_type, node.domain) is not None:
            return infer(node, _of(node, types), data)
        if (schema := self._registered(node)) is not None:
            return registered.infer(schema, node, _of(node, types), data)
        if node.domain not in DEFAULT_DOMAINS:
            return {}
        if renewed.isdisjoint(node.input) or not all(name in types for name in node.input if name):
            return {}
        return self.infer_node(node, self.opset, _of(node, types), _of(node, data), self.ir_version)


def _stated(graph: GraphProto) -> dict[str, TypeProto]:
    types = {tensor.name: helper.make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    for values in (graph.value_info, graph.output, graph.input):
        types.update((value.name, value.type) for value in values if value.HasField("type"))
    return types


def _may_say_a_shape(tensor: TensorProto) -> bool:
    is_short = len(tensor.dims) < 2 and max(tensor.dims, default=1) <= _LONGEST_SHAPE
    return is_short and tensor.data_location != TensorProto.EXTERNAL and tensor.data_type != TensorProto.STRING


def _of(node: NodeProto, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in node.input if name in values}


def _says_more(found: TypeProto, known: TypeProto | None) -> bool:
    """Whether `found` has a dimension, a rank or an element type that `known` does not have."""
    if known is None or not known.tensor_type.elem_type:
        return known is None or known.WhichOneof("value") in (None, "tensor_type")
    old, new = shape_of(known), shape_of(found)
    if old is None or new is None or len(old) != len(new):
        return old is None and new is not None
    return any(map(_is_better, new, old))


def _is_better(new: int | str | None, old: int | str | None) -> bool:
    return new is not None and not isinstance(old, int) and (old is None or isinstance(new, int))


def _joined(known: TypeProto | None, found: TypeProto) -> TypeProto:
    """`found`, with those dimensions that only `known` has."""
    old, new = (None if known is None else shape_of(known)), shape_of(found)
    if old is None or new is None or len(old) != len(new):
        return found
    shape: Shape = tuple(better if _is_better(better, dim) else dim for dim, better in zip(old, new, strict=True))
    return helper.make_tensor_type_proto(found.tensor_type.elem_type, shape)


def _state(graph: GraphProto, types: Types) -> None:
    """Write `types` into the declarations of `graph`."""
    declared = {value.name: value for values in (graph.value_info, graph.output) for value in values}
    for name, kind in types.items():
        value = declared[name] if name in declared else graph.value_info.add(name=name)
        value.type.CopyFrom(kind)
