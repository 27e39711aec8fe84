"""A node and its model, as the conditions of `defects` see them: attributes, inputs, constants and element types."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ..cached import cached_property
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GRAPH_TYPES
from .folding import constant_value


class Values:
    """The element types and constants of one model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model

    @cached_property
    def types(self) -> frozenset[int]:
        """The element types of inputs, outputs, casts and constants of the main graph. Other values are not looked at."""
        graph = self._model.graph
        types = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
        types.update(tensor.data_type for tensor in graph.initializer)
        types.update(
            attribute.i for node in graph.node if node.op_type == "Cast" for attribute in node.attribute if attribute.name == "to"
        )
        return frozenset(types)

    def type_of(self, name: str) -> int:
        """The element type of the value `name`, in any graph of the model; UNDEFINED where onnx does not infer it."""
        kind = self._inferred.get(name)
        return TensorProto.UNDEFINED if kind is None else kind.elem_type

    def shape_of(self, name: str) -> list[int | None] | None:
        """The dimensions of the value `name`, None for each that is open; None where onnx does not infer the shape."""
        kind = self._inferred.get(name)
        if kind is None or not kind.HasField("shape"):
            return None
        return [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]

    def tensor_of(self, name: str) -> onnx.TypeProto.Tensor | None:
        """The type of the tensor `name`, in any graph of the model, with the names of its dimensions; None where it is unknown."""
        return self._inferred.get(name)

    @cached_property
    def _inferred(self) -> dict[str, onnx.TypeProto.Tensor]:
        """The tensor types of all values. Stored tensors become inputs, so that onnx does not copy their data."""
        graph = self._model.graph
        bare = onnx.GraphProto(node=graph.node, input=graph.input, output=graph.output, value_info=graph.value_info)
        named = {value.name for value in graph.input}
        stored = [tensor for tensor in graph.initializer if tensor.name not in named]
        bare.input.extend(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims) for tensor in stored)
        model = onnx.ModelProto(ir_version=self._model.ir_version, opset_import=self._model.opset_import, graph=bare)
        found: dict[str, onnx.TypeProto.Tensor] = {value.name: value.type.tensor_type for value in bare.input}
        try:
            graphs = [onnx.shape_inference.infer_shapes(model).graph]
        except onnx.shape_inference.InferenceError:
            return found
        while graphs:
            inferred = graphs.pop()
            tensors = ((tensor.name, tensor.data_type, tensor.dims) for tensor in inferred.initializer)
            found |= {name: helper.make_tensor_type_proto(kind, dims).tensor_type for name, kind, dims in tensors}
            values = itertools.chain(inferred.input, inferred.output, inferred.value_info)
            found |= {value.name: value.type.tensor_type for value in values if value.type.HasField("tensor_type")}
            attributes = (attribute for node in inferred.node for attribute in node.attribute if attribute.type in GRAPH_TYPES)
            graphs += [graph for attribute in attributes for graph in (attribute.g, *attribute.graphs)]
        return found

    def named(self, name: str, is_wanted: Callable[[TensorProto], bool]) -> Iterator[np.ndarray]:
        """The initializer of the main graph and the Constants anywhere that are called `name`, if `is_wanted` says so."""

        def stored(tensor: TensorProto) -> np.ndarray | None:
            return _stored(tensor) if is_wanted(tensor) else None

        tensor = self._initializers.get(name)
        found = [] if tensor is None else [stored(tensor)]
        found += [constant_value(node, stored) for node in self._constants.get(name, ())]
        return (array for array in found if array is not None)

    @cached_property
    def _initializers(self) -> dict[str, TensorProto]:
        return {tensor.name: tensor for tensor in self._model.graph.initializer}

    @cached_property
    def _constants(self) -> dict[str, list[onnx.NodeProto]]:
        found: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node, _ in default_domain_nodes(self._model):
            if node.op_type == "Constant":
                found[node.output[0]].append(node)
        return found


class Case(NamedTuple):
    """A node, the opset of its form, and the values of its model."""

    node: onnx.NodeProto
    opset: int
    values: Values

    def number(self, name: str, default: int) -> int:
        """The attribute `name`, an integer."""
        return next((attribute.i for attribute in self.node.attribute if attribute.name == name), default)

    def real(self, name: str, default: float) -> float:
        """The attribute `name`, a float."""
        return next((attribute.f for attribute in self.node.attribute if attribute.name == name), default)

    def numbers(self, name: str) -> list[int]:
        """The attribute `name`, a list of integers; an empty list where it is absent."""
        return next((list(attribute.ints) for attribute in self.node.attribute if attribute.name == name), [])

    def text(self, name: str) -> bytes:
        """The attribute `name`, a word; b"" where it is absent."""
        return next((attribute.s for attribute in self.node.attribute if attribute.name == name), b"")

    def states(self, name: str) -> bool:
        """Whether the node has the attribute `name`."""
        return any(attribute.name == name for attribute in self.node.attribute)

    def type_of(self, index: int | None) -> int:
        """The element type of input `index`; UNDEFINED where it is unknown, or there is no such input."""
        return self.values.type_of(self.node.input[index]) if index is not None and self.has_input(index) else TensorProto.UNDEFINED

    def shape_of(self, index: int) -> list[int | None] | None:
        """The dimensions of input `index`, None for each that is open; None where they are unknown."""
        return self.values.shape_of(self.node.input[index]) if self.has_input(index) else None

    def axes(self) -> list[int] | None:
        """The axes that the node states as an attribute or a constant input 1, an empty list for none; None where they come at run
        time.
        """
        if self.states("axes") or not self.has_input(1):
            return self.numbers("axes")
        found = next(self.constants(1, lambda _: True), None)
        return None if found is None else [int(axis) for axis in found.reshape(-1)]

    def has_input(self, index: int) -> bool:
        return len(self.node.input) > index and self.node.input[index] != ""

    def has_output(self, index: int) -> bool:
        return len(self.node.output) > index and self.node.output[index] != ""

    def constants(self, first: int, is_wanted: Callable[[TensorProto], bool]) -> Iterator[np.ndarray]:
        """The constants among the inputs from number `first` on, if `is_wanted` says so."""
        return (array for name in self.node.input[first:] for array in self.values.named(name, is_wanted))


def default_domain_nodes(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, int]]:
    """Every node of the default domain, also in subgraphs and functions, with the opset of its form."""
    bodies = [(model.graph.node, _opset(model))]
    bodies += [(function.node, _opset(function)) for function in model.functions]
    while bodies:
        nodes, opset = bodies.pop()
        for node in nodes:
            if node.domain in DEFAULT_DOMAINS:
                yield node, opset
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    bodies.append((attribute.g.node, opset))
                bodies += [(graph.node, opset) for graph in attribute.graphs]


def _opset(owner: onnx.ModelProto | onnx.FunctionProto) -> int:
    return next((entry.version for entry in owner.opset_import if entry.domain in DEFAULT_DOMAINS), 1)


def _stored(tensor: TensorProto) -> np.ndarray | None:
    """The value of a tensor that is stored in the model file itself; None for others."""
    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except ValueError:  # data that does not fit its shape: the runtimes say so
        return None
