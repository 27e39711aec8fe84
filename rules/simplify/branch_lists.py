"""Replaces a list that both branches of an If return, with the same number of elements, by one output for each element.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html
"""

from __future__ import annotations

from typing import NamedTuple

from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Shape, Subgraph
from ..shared.sequence_origin import list_length, maker_of


class _Element(NamedTuple):
    """A tensor that a branch can return, its type, and the nodes that take it out of the list where it has no name of its own."""

    name: str
    elem_type: int | None
    shape: Shape | None
    made_by: tuple[NodeProto, ...] = ()


_GIVES_LISTS = 13
"""The first opset in which an If can return lists.

Before, only a SequenceConstruct after the If can make a list that is an output.
"""


def _gives_a_list(node: Node) -> bool:
    return any(_is_sequence(node.type(name)) for name in node.outputs)


def _is_sequence(kind: TypeProto | None) -> bool:
    return kind is not None and kind.WhichOneof("value") == "sequence_type"


@simplify("If", opset=13, when=_gives_a_list)
def elements_for_a_list(node: Node) -> None:
    """A list with equally many elements in both branches becomes elements, from which it is constructed after the If."""
    branches = node.subgraphs()
    for index in reversed(range(len(node.outputs))):
        if node.has_output(index) and _is_sequence(node.type(node.output(index))):
            _give_elements(node, branches, index)
    if not node.outputs:
        node.remove()


def _give_elements(node: Node, branches: list[Subgraph], index: int) -> None:
    sequence = node.output(index)
    kind = node.type(sequence)
    assert kind is not None  # it is a sequence
    if node.graph.is_output(sequence) and node.target >= _GIVES_LISTS:
        raise NotSimplified(f"'{sequence}' is an output of the {node.where}")
    columns = [_elements(node, branch, index) for branch in branches]
    if len({len(names) for names in columns}) != 1:
        raise NotSimplified(f"its branches give lists of {' and '.join(str(len(names)) for names in columns)} elements")
    types = [_common(one, other) for one, other in zip(*columns, strict=True)]
    for branch, elements in zip(branches, columns, strict=True):
        _put_out(node, branch.proto, index, elements, types)
    outputs = [node.fresh_name(f"element{number}") for number in range(len(types))]
    node.proto.output[:] = [*node.outputs[:index], *outputs, *node.outputs[index + 1 :]]
    for name, element in zip(outputs, types, strict=True):
        node.graph.note_type(name, element)
    if outputs:
        node.after.SequenceConstruct(*outputs, output=sequence)
    else:
        node.after.SequenceEmpty(output=sequence, dtype=kind.sequence_type.elem_type.tensor_type.elem_type)
    node.graph.release(sequence)
    node.edited()


def _elements(node: Node, branch: Subgraph, index: int) -> list[_Element]:
    """The elements of the list that a branch returns. Raises NotSimplified where their number is unknown."""
    name = branch.proto.output[index].name
    made_by = maker_of(branch, name)
    if made_by is not None and made_by.op_type == "SequenceConstruct" and branch.contains(made_by):
        return [_Element(element, branch.elem_type(element), branch.shape(element)) for element in made_by.inputs]
    length = list_length(branch, name)
    if length is None:
        raise NotSimplified(f"the elements of '{name}', which a branch gives, are not known")
    kind = branch.type(name)
    tensor = TypeProto() if kind is None else kind.sequence_type.elem_type
    return [_taken(node, name, position, tensor) for position in range(length)]


def _taken(node: Node, sequence: str, position: int, kind: TypeProto) -> _Element:
    """The element at `position`, a constant, taken by a SequenceAt, which other rules will simplify in the branch."""
    at, element = node.fresh_name("position"), node.fresh_name("taken")
    value = helper.make_tensor(at, TensorProto.INT64, [], [position])
    constant = helper.make_node("Constant", [], [at], name=at, value=value)
    taking = helper.make_node("SequenceAt", [sequence, at], [element], name=element)
    tensor = kind.tensor_type
    shape = tuple(dim.dim_value or None for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return _Element(element, tensor.elem_type or None, shape, (constant, taking))


def _common(one: _Element, other: _Element) -> TypeProto:
    """The common type of two elements at the same position. Raises NotSimplified where a type is unknown."""
    if one.elem_type is None or one.elem_type != other.elem_type:
        raise NotSimplified(f"the types of '{one.name}' and '{other.name}' are not known to be the same")
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        return helper.make_tensor_type_proto(one.elem_type, None)
    dims = [dim if dim == second else None for dim, second in zip(one.shape, other.shape, strict=True)]
    return helper.make_tensor_type_proto(one.elem_type, dims)


def _put_out(node: Node, graph: GraphProto, index: int, elements: list[_Element], types: list[TypeProto]) -> None:
    """Let a branch return `elements` instead of the list. An element from an outer graph is returned by an Identity."""
    values = [ValueInfoProto(name=node.fresh_name("element"), type=kind) for kind in types]
    node.graph.release(graph.output[index].name)
    for element, value in zip(elements, values, strict=True):
        graph.node.extend([*element.made_by, helper.make_node("Identity", [element.name], [value.name], name=value.name)])
    outputs = [*graph.output[:index], *values, *graph.output[index + 1 :]]
    del graph.output[:]
    graph.output.extend(outputs)
