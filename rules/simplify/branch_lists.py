"""A list that both branches of an If put together: the If gives its elements, one an output.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html
"""

from __future__ import annotations

from typing import NamedTuple

from onnx import GraphProto, NodeProto, TypeProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Shape
from ...rewriter.graph.protos import DEFAULT_DOMAINS
from ...rewriter.graph.scope import Scope


class _Element(NamedTuple):
    """A tensor that both branches give, and what is known of its dimensions."""

    elem_type: int
    shape: Shape | None


def _gives_a_list(node: NodeProto, scope: Scope) -> bool:
    return any(_is_sequence(scope.type(name)) for name in node.output if name)


def _is_sequence(kind: TypeProto | None) -> bool:
    return kind is not None and kind.WhichOneof("value") == "sequence_type"


@simplify("If", opset=13, when=_gives_a_list)
def elements_for_a_list(node: Node) -> None:
    """A list that both branches construct of equally many elements is constructed behind the If."""
    branches = list(node.scope.children(node.proto, node.source_index, node.body_opset))
    for index in reversed(range(len(node.outputs))):
        if node.has_output(index) and _is_sequence(node.scope.type(node.output(index))):
            _give_elements(node, branches, index)


def _give_elements(node: Node, branches: list[Scope], index: int) -> None:
    sequence = node.output(index)
    if sequence in node.scope.outputs:
        raise NotSimplified(f"'{sequence}' is an output of the {node.scope.where}")
    columns = [_elements(branch, index) for branch in branches]
    if len({len(names) for names in columns}) != 1:
        raise NotSimplified(f"its branches give lists of {' and '.join(str(len(names)) for names in columns)} elements")
    elements = [_common(branches, pair) for pair in zip(*columns, strict=True)]
    for branch, names in zip(branches, columns, strict=True):
        _put_out(node, branch.graph, index, names, elements)  # type: ignore[arg-type] - a branch is a graph
    outputs = [node.fresh_name(f"element{number}") for number in range(len(elements))]
    node.proto.output[:] = [*node.outputs[:index], *outputs, *node.outputs[index + 1 :]]
    for name, element in zip(outputs, elements, strict=True):
        node.scope.types.note(name, helper.make_tensor_type_proto(element.elem_type, element.shape))
    node.after("SequenceConstruct", outputs, outputs=[sequence])
    node.scope.model.lost_uses.add(sequence)
    node.changed = True


def _elements(branch: Scope, index: int) -> list[str]:
    """The elements of the list that a branch gives. Raises NotSimplified where it does not construct it itself."""
    name = branch.graph.output[index].name  # type: ignore[union-attr] - a branch is a graph
    made_by = branch.producers.get(name)
    if made_by is None or made_by.op_type != "SequenceConstruct" or made_by.domain not in DEFAULT_DOMAINS:
        raise NotSimplified(f"the elements of '{name}', which a branch gives, are not known")
    return list(made_by.input)


def _common(branches: list[Scope], names: tuple[str, ...]) -> _Element:
    """What the elements in one place of the lists have in common. Raises NotSimplified where a type is unknown."""
    places = list(zip(branches, names, strict=True))
    types = {branch.elem_type(name) for branch, name in places}
    elem_type = types.pop() if len(types) == 1 else None
    if elem_type is None:
        raise NotSimplified(f"the types of {' and '.join(map(repr, names))} are not known to be the same")
    one, other = (branch.shape(name) for branch, name in places)
    if one is None or other is None or len(one) != len(other):
        return _Element(elem_type, None)
    return _Element(elem_type, tuple(dim if dim == second else None for dim, second in zip(one, other, strict=True)))


def _put_out(node: Node, graph: GraphProto, index: int, names: list[str], elements: list[_Element]) -> None:
    """Let a branch give the elements `names` in the place of the list. An element may come from outside: an Identity gives it."""
    values = [helper.make_tensor_value_info(node.fresh_name("element"), element.elem_type, element.shape) for element in elements]
    node.scope.model.lost_uses.add(graph.output[index].name)
    for name, value in zip(names, values, strict=True):
        graph.node.append(helper.make_node("Identity", [name], [value.name], name=value.name))
    outputs = [*graph.output[:index], *values, *graph.output[index + 1 :]]
    del graph.output[:]
    graph.output.extend(outputs)
