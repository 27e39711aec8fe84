"""Writes wider types wherever a model states a narrow one: declarations, attributes, and stored tensors with their data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from ..graph.model import Model
from ..graph.operators import Operators
from ..onnx_model.protos import GraphLike
from ..opsets import folding, stated_types, type_protos
from ..storage.payload import element_bits, tensor_of
from ..storage.widened import elements_of_bytes
from .outcome import Change, Outcome

NAME = "narrow_types"
"""The name by which --only and --skip refer to this mechanism."""


class Retyping:
    """The statements of types in `model`, to be changed by `model.wider`; changes are noted in `outcome`."""

    def __init__(self, model: Model, outcome: Outcome, *, unpacks: bool) -> None:
        """`unpacks`: whether stored tensors stay packed where nodes of the graph can unpack them."""
        self._model = model
        self._outcome = outcome
        self._unpacks = unpacks

    def retype(self, graph: GraphLike) -> None:
        """Write the wider types wherever `graph` states a narrow one, and widen its tensors. Subgraphs are not included."""
        for value in _stated_values(graph):
            self._retype_type(value.type)
        if isinstance(graph, GraphProto):
            for tensor in list(graph.initializer):
                if self._stays_packed(tensor):
                    self._unpack(graph, tensor)
                else:
                    self._retype_tensor(tensor)
            for sparse in graph.sparse_initializer:
                self._retype_tensor(sparse.values)
        for node in graph.node:
            for attribute in node.attribute:
                self._retype_attribute(attribute)

    def _retype_attribute(self, attribute: AttributeProto) -> None:
        if attribute.name == "stash_type":
            return  # what a normalization computes in, which a wider type would change
        if attribute.type == AttributeProto.INT and attribute.name in stated_types.TYPE_ATTRIBUTES:
            attribute.i = self._model.wider.get(attribute.i, attribute.i)
        elif attribute.type == AttributeProto.TENSOR:
            self._retype_tensor(attribute.t)
        elif attribute.type == AttributeProto.SPARSE_TENSOR:
            self._retype_tensor(attribute.sparse_tensor.values)
        elif attribute.type == AttributeProto.TYPE_PROTO:
            self._retype_type(attribute.tp)
        for tensor in attribute.tensors:
            self._retype_tensor(tensor)

    def _retype_tensor(self, tensor: TensorProto) -> None:
        """Widen one stored tensor. Raises InvalidModelError where its data does not fit its type and shape."""
        wide = self._model.wider.get(tensor.data_type)
        if wide is None:
            return
        kind = type_protos.elem_type_name(tensor.data_type)
        tensor.CopyFrom(self._model.skeleton.widened(tensor, wide))
        self._outcome.changes.append(Change(f"{NAME}.{kind}", "tensor", tensor.name, "stored"))

    def _stays_packed(self, tensor: TensorProto) -> bool:
        """Whether nodes of the graph unpack `tensor`.

        That is not worth it for a tensor that is so small that it would be folded.
        """
        fills_bytes = tensor.data_type in self._model.wider and 8 % element_bits(tensor) == 0
        return self._unpacks and fills_bytes and math.prod(tensor.dims) > folding.MAX_ELEMENTS

    def _unpack(self, graph: GraphProto, tensor: TensorProto) -> None:
        """Store `tensor` as bytes, and put nodes before all others of `graph` that look up the elements for each byte."""
        narrow, dims, name = tensor.data_type, list(tensor.dims), tensor.name
        tensor.CopyFrom(self._model.skeleton.packed(tensor))
        tensor.name = self._model.fresh_name(f"{name}_packed")
        table = elements_of_bytes(narrow, self._model.wider[narrow])
        per_byte, count = table.shape[1], math.prod(dims)
        made = _Maker(self._model, graph, name)
        op = made.op
        value = op.Gather(op.const(table, table.dtype), op.Cast(tensor.name, to=TensorProto.INT32))
        if count % per_byte:
            value = op.Slice(op.Reshape(value, op.int64([-1])), op.int64([0]), op.int64([count]))
        op.Reshape(value, op.int64(dims), output=name)
        made.put_first()
        kind = type_protos.elem_type_name(narrow)
        self._outcome.changes.append(Change(f"{NAME}.unpack_{kind}", "tensor", name, "stored"))

    def _retype_type(self, kind: TypeProto) -> None:
        which = kind.WhichOneof("value")
        if which in ("tensor_type", "sparse_tensor_type"):
            tensor = getattr(kind, which)
            tensor.elem_type = self._model.wider.get(tensor.elem_type, tensor.elem_type)
        elif which in ("sequence_type", "optional_type"):
            self._retype_type(getattr(kind, which).elem_type)


class _Maker:
    """Makes nodes and constants that replace the tensor `name` of `graph`."""

    def __init__(self, model: Model, graph: GraphProto, name: str) -> None:
        self._model = model
        self._graph = graph
        self._name = name
        self._nodes: list[NodeProto] = []

    @property
    def op(self) -> Operators:
        return Operators(self._make, self._add_constant)

    def _add_constant(self, value: Any, dtype: Any) -> str:
        name = self._model.fresh_name(f"{self._name}_constant")
        self._graph.initializer.append(tensor_of(np.array(value, dtype), name))
        return name

    def _make(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | int, attributes: dict[str, Any], opset: int | None
    ) -> list[str]:
        fresh = self._model.fresh_name
        names = [fresh(f"{self._name}_{op_type.lower()}") for _ in range(outputs)] if isinstance(outputs, int) else list(outputs)
        self._nodes.append(helper.make_node(op_type, inputs, names, name=self._model.node_name(names[0]), **attributes))
        return names

    def put_first(self) -> None:
        """Put the new nodes before all others of the graph."""
        others = list(self._graph.node)
        del self._graph.node[:]
        self._graph.node.extend([*self._nodes, *others])


def _stated_values(graph: GraphLike) -> Iterator[ValueInfoProto]:
    """The entries that state types of values in `graph`. Before onnx 1.16, a function had none."""
    if isinstance(graph, GraphProto):
        yield from graph.input
        yield from graph.output
    yield from getattr(graph, "value_info", ())
