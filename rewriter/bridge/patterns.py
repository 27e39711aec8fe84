"""Applies onnxscript's rewrite rules to a skeleton. A tensor is read only when a rule asks for its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass
from onnxscript.rewriter import RULE_NAME_TAG, RewriteRule, RewriteRuleSet

from ..engine.failures import WHATEVER_A_CALLER_RAISES
from ..errors import ArgumentError, listed
from ..onnx_model.protos import GraphLike
from ..storage.payload import is_external, refer
from ..storage.skeleton import Skeleton
from ..structure.survey import all_graphs, all_tensors
from .ir_model import bodies_of, first_line, swapped_tensors

_PLACE = "\0split-rewrite payload "
"""The beginning of the location that stands for a payload of the skeleton, followed by its number. No file can have this name."""


def apply_patterns(skeleton: Skeleton, rules: Sequence[RewriteRule]) -> list[tuple[str, onnx.NodeProto]]:
    """Apply `rules` wherever they match. Returns the nodes that they made, each with the name of its rule.

    Where no rule matches, the skeleton does not change. The model's inputs and outputs always keep names, order and types.
    Raises: ArgumentError where a rule fails, or removes an input or output of the model.
    """
    payloads = _Payloads(skeleton)
    before = skeleton.proto.graph
    try:
        model = ir.from_proto(payloads.proto)
    except Exception as error:  # onnx_ir wraps whatever goes wrong in errors of its own
        raise ArgumentError(
            f"rules: no onnxscript rule can be applied, as onnx_ir cannot hold the model: {first_line(error)}"
        ) from error
    try:
        proto = _rewritten(model, payloads, rules, before)
    except WHATEVER_A_CALLER_RAISES as error:  # at once, or when what it made is written
        raise ArgumentError(f"rules: an onnxscript rule failed ({names_of(rules)}): {first_line(error)}") from error
    if proto is None:
        return []
    _restore_interface(proto.graph, before)
    payloads.put_back(proto)
    proto.graph.sparse_initializer.extend(before.sparse_initializer)  # onnx_ir does not know them
    skeleton.proto.CopyFrom(proto)
    return list(_written(skeleton.proto))


def names_of(rules: Sequence[RewriteRule]) -> str:
    """The names of the rules that ran, for a message about one of them."""
    names = listed([rule.name or "without a name" for rule in rules])
    return names if len(rules) == 1 else f"one of {names}"


def _rewritten(
    model: ir.Model, payloads: _Payloads, rules: Sequence[RewriteRule], before: onnx.GraphProto
) -> onnx.ModelProto | None:
    """`model`, with these payloads, after the `rules`; None where no rule matches. `before` is its main graph as it was."""
    with swapped_tensors([body for _, body in bodies_of(model)], payloads.lazy):
        if not RewriteRuleSet(rules).apply_to_model(model):
            return None
        RemoveUnusedNodesPass()(model)  # as onnxscript does: what the rules no longer need
        _restore_names(model.graph, [value.name for value in before.input], [value.name for value in before.output])
        with swapped_tensors([body for _, body in bodies_of(model)], payloads.reference):
            return ir.to_proto(model)


def _restore_names(graph: ir.Graph, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Give the inputs and outputs of the main graph their old names again: a rule that returns a value it
    matched renames that value.
    """
    for value, name in zip(graph.inputs, inputs, strict=False):
        if value.name != name:
            value.name = name
    given: set[int] = set()
    for index, (value, name) in enumerate(zip(list(graph.outputs), outputs, strict=False)):
        if value.name != name and (id(value) in given or value.is_graph_input() or value.is_initializer()):
            copy = ir.node("Identity", [value])
            graph.append(copy)
            value = graph.outputs[index] = copy.outputs[0]
        if value.name != name:
            value.name = name
        given.add(id(value))


def _restore_interface(graph: onnx.GraphProto, before: onnx.GraphProto) -> None:
    """Let `graph` declare its inputs and outputs as `before` does. Raises ArgumentError where a rule removed or added one."""
    for values, old in ((graph.input, before.input), (graph.output, before.output)):
        names = [value.name for value in values]
        if names != [value.name for value in old]:
            raise ArgumentError("rules: an onnxscript rule removed an input or an output of the model, which has to stay")
        del values[:]
        values.extend(old)


class _Payloads:
    """Numbers the payloads of a skeleton. `proto` is a copy of its model with these numbers in place of the payloads."""

    def __init__(self, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self.proto = onnx.ModelProto()
        self.proto.CopyFrom(skeleton.proto)
        self._tensors: list[onnx.TensorProto] = []
        self._held: dict[int, tuple[ir.LazyTensor, int]] = {}
        for tensor in all_tensors(self.proto):
            if is_external(tensor):
                original = onnx.TensorProto()
                original.CopyFrom(tensor)
                del tensor.external_data[:]
                refer(tensor, f"{_PLACE}{len(self._tensors)}", 0, 0)
                self._tensors.append(original)

    def lazy(self, tensor: Any) -> Any:
        """`tensor`; where it stands for a payload, a tensor that reads the payload when its values are needed."""
        if not (isinstance(tensor, ir.ExternalTensor) and str(tensor.location).startswith(_PLACE)):
            return tensor
        number = int(str(tensor.location).removeprefix(_PLACE))
        proto = self._tensors[number]

        def read() -> ir.Tensor[Any]:
            return ir.Tensor(np.asarray(self._skeleton.array(proto)), dtype=tensor.dtype, name=proto.name)

        lazy = ir.LazyTensor(read, dtype=tensor.dtype, shape=tensor.shape, name=tensor.name)
        self._held[id(lazy)] = lazy, number
        return lazy

    def reference(self, tensor: Any) -> Any:
        """`tensor`; where `lazy` made it, a tensor with the number of its payload again."""
        if id(tensor) not in self._held:
            return tensor
        proto = onnx.TensorProto(name=tensor.name, data_type=tensor.dtype.value, dims=tensor.shape.numpy())
        refer(proto, f"{_PLACE}{self._held[id(tensor)][1]}", 0, 0)
        return ir.serde.TensorProtoTensor(proto)

    def put_back(self, proto: onnx.ModelProto) -> None:
        """Let the tensors of `proto` refer to the payloads again that the numbers stand for."""
        for tensor in all_tensors(proto):
            location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
            if location.startswith(_PLACE):
                original = self._tensors[int(location.removeprefix(_PLACE))]
                del tensor.external_data[:]
                tensor.external_data.extend(original.external_data)


def _written(proto: onnx.ModelProto) -> Iterator[tuple[str, onnx.NodeProto]]:
    graphs: Sequence[GraphLike] = all_graphs(proto)
    for graph in graphs:
        for node in graph.node:
            for entry in node.metadata_props:
                if entry.key == RULE_NAME_TAG:
                    yield entry.value, node
