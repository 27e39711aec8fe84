"""Simplifies Loops that carry lists: a list that a Loop only reads stays outside, one that it appends to becomes a scan output.

TorchScript exports a list that a loop fills as SequenceEmpty, a Loop with a SequenceInsert in its body, and then
ConcatFromSequence, SequenceAt or SequenceLength. The elements become the rows of a scan output, and the list a SplitToSequence of
it, whose readers have rules of their own. docs/sequences.md explains why this is exact.
https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Dimension, Node, Shape, Subgraph
from ..shared.indices import length
from ..shared.loop_turns import FIRST, few_turns, write_out
from ..shared.sequence_origin import maker

_NEVER_JOINED = frozenset({TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128})
"""Element types that are not collected: onnxruntime loses strings in a Loop, and ConstantOfShape has no complex numbers."""


def _carries_a_list(node: Node) -> bool:
    return any(_is_list(node, index) for index in range(FIRST, len(node.inputs)))


@simplify("Loop", opset=13, when=_carries_a_list)
def lists_without_carrying(node: Node) -> None:
    """A Loop no longer carries a list that it only reads, or one that starts empty and gets an element in each iteration.

    Elements of equal shape become a scan output. Otherwise, few iterations are written out, and elements that are only concatenated
    afterwards are concatenated in each iteration.
    """
    body = node.subgraphs()[0]
    graph = body.proto
    if len(graph.input) != len(node.inputs):
        return
    lists = [carried for carried in range(len(node.inputs) - FIRST) if _is_list(node, FIRST + carried)]
    turns = few_turns(node, body)
    if turns is not None and not all(
        _is_handed_on(body, graph, carried) or _can_stack(node, body, graph, carried) for carried in lists
    ):
        write_out(node, body, turns)
        return
    failures = [failure for carried in reversed(lists) if (failure := _take_out(node, body, graph, carried)) is not None]
    if len(failures) == len(lists):
        raise failures[0]


def _take_out(node: Node, body: Subgraph, graph: GraphProto, carried: int) -> NotSimplified | None:
    """Let the Loop not carry this list. Returns why it has to, and has changed nothing then."""
    try:
        if _is_handed_on(body, graph, carried):
            _leave_outside(node, graph, carried)
        elif _can_stack(node, body, graph, carried) or not _join(node, body, graph, carried):
            _stack(node, body, graph, carried)  # which says why, where neither is possible
    except NotSimplified as failure:
        return failure
    return None


def _is_list(node: Node, index: int) -> bool:
    kind = node.type(index)
    return kind is not None and kind.WhichOneof("value") == "sequence_type"


def _is_handed_on(body: Subgraph, graph: GraphProto, carried: int) -> bool:
    """Whether each iteration returns the list unchanged."""
    return body.original(graph.output[1 + carried].name) == graph.input[FIRST + carried].name


def _leave_outside(node: Node, graph: GraphProto, carried: int) -> None:
    """Let the body read the list from the outer graph."""
    around, inner = node.graph, graph.input[FIRST + carried].name
    outer = around.resolve(node.input(FIRST + carried))
    if any(value.name == inner for index, value in enumerate(graph.output) if index != 1 + carried):
        raise NotSimplified(f"its body also gives '{inner}' that it reads for another list")
    if not around.is_unique(inner) or not around.is_unique(outer):
        raise NotSimplified(f"the name '{inner}' or '{outer}' of the list that it reads is used twice")
    node.forward(carried, outer)
    around.release(graph.output[1 + carried].name)
    _drop(node, graph, carried)
    around.replace(inner, outer)


def _can_stack(node: Node, body: Subgraph, graph: GraphProto, carried: int) -> bool:
    try:
        _stackable(node, body, graph, carried)
    except NotSimplified:
        return False
    return True


def _stackable(node: Node, body: Subgraph, graph: GraphProto, carried: int) -> tuple[NodeProto, TypeProto]:
    """The SequenceInsert that appends to the list, and the type of the elements.

    Raises NotSimplified where they cannot become rows of a scan output.
    """
    appending, sequence = _appending(node, body, graph, carried), node.output(carried)
    if not sequence or node.graph.is_output(sequence):
        raise NotSimplified("the list that it makes is not read, or is an output of the graph")
    return appending, _type_of_row(node, body, appending.input[1])


def _stack(node: Node, body: Subgraph, graph: GraphProto, carried: int) -> None:
    """The elements that the iterations append become rows of a scan output, which a SplitToSequence after
    the Loop cuts into rows.
    """
    appending, of_row = _stackable(node, body, graph, carried)
    row = ValueInfoProto(name=node.fresh_name("row"), type=of_row)
    kind, inner, sequence = of_row.tensor_type, graph.input[FIRST + carried].name, node.output(carried)
    rows = node.fresh_name("rows")
    _drop(node, graph, carried)
    _copy_row(appending, row.name)
    graph.output.append(row)
    node.proto.output.extend([""] * (len(graph.output) - 2 - len(node.proto.output)))
    node.proto.output.append(rows)
    node.graph.note_type(rows, helper.make_tensor_type_proto(kind.elem_type, [None, *_dims(kind)]))
    node.after.SplitToSequence(rows, output=sequence, axis=0, keepdims=0)
    node.graph.retire(inner)


def _drop(node: Node, graph: GraphProto, carried: int) -> None:
    """Remove a carried value from the Loop and its body."""
    node.graph.release(node.input(FIRST + carried))
    del node.proto.input[FIRST + carried], graph.input[FIRST + carried], graph.output[1 + carried]
    if carried < len(node.proto.output):
        del node.proto.output[carried]
    node.edited()


def _copy_row(appending: NodeProto, row: str) -> None:
    """Replace the SequenceInsert by a copy of its element.

    The node stays in its place, by which nodes of the original are identified.
    """
    element = appending.input[1]
    appending.op_type = "Identity"
    del appending.input[:], appending.output[:], appending.attribute[:]
    appending.input.append(element)
    appending.output.append(row)


def _appending(node: Node, body: Subgraph, graph: GraphProto, carried: int) -> NodeProto:
    """The SequenceInsert that appends to the list in each iteration.

    Raises NotSimplified where anything else is done with the list.
    """
    made_by = maker(node, FIRST + carried)
    if made_by is None or made_by.op_type != "SequenceEmpty":
        raise NotSimplified(f"the list '{node.input(FIRST + carried)}' that it carries is not known to start empty")
    before, after = graph.input[FIRST + carried].name, graph.output[1 + carried].name
    uses = {name: len(body.readers(name)) + sum(value.name == name for value in graph.output) for name in (before, after)}
    appending = body.maker(after)
    is_insert = appending is not None and appending.op_type == "SequenceInsert" and body.contains(appending)
    if appending is None or not is_insert or appending.input(0) != before or any(appending.inputs[2:]):
        raise NotSimplified(f"its body does not just append an element to the list '{before}'")
    if uses[before] != 1 or uses[after] != 1:
        raise NotSimplified(f"its body also reads the list '{before}' that it appends to")
    return appending.proto


def _type_of_row(node: Node, body: Subgraph, element: str) -> TypeProto:
    """The type of the element. Raises NotSimplified where it, or the shape, may change between iterations."""
    elem_type, shape = body.elem_type(element), body.shape(element)
    if elem_type is None or elem_type == TensorProto.STRING:
        raise NotSimplified(f"'{element}', which it appends to a list, is text or of unknown type")
    if shape is None or not all(isinstance(dim, int) or dim in node.graph.input_symbols for dim in shape):
        raise NotSimplified(f"'{element}', which it appends to a list, is not known to have one shape in all iterations")
    return helper.make_tensor_type_proto(elem_type, shape)


def _join(node: Node, body: Subgraph, graph: GraphProto, carried: int) -> bool:
    """Let the Loop carry the concatenated elements, if the list is only concatenated. Returns whether this is so.

    The tensor starts with no rows. If its other dimensions are not known before, the first iteration gives its element alone.
    """
    appending, sequence = _appending(node, body, graph, carried), node.output(carried)
    element = appending.input[1]
    elem_type, shape, axis = body.elem_type(element), body.shape(element), _joined_axis(node, sequence)
    if elem_type is None or elem_type in _NEVER_JOINED or shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return False
    sizes: list[Dimension] = [0 if index == axis % len(shape) else dim for index, dim in enumerate(shape)]
    start = _zeros(node, elem_type, sizes)
    known = shape if start is not None else [dim if isinstance(dim, int) else None for dim in shape]
    dims = [None if index == axis % len(shape) else dim for index, dim in enumerate(known)]
    kind = helper.make_tensor_type_proto(elem_type, dims)
    before, after, joined = (node.fresh_name(what) for what in ("so_far", "longer", "joined"))
    longer = helper.make_node("Concat", [before, element], [after], name=appending.name, axis=axis % len(shape))
    if start is None:
        start = _stored_zeros(node, elem_type, [size if isinstance(size, int) else 0 for size in sizes])
        longer = _but_first(node, graph, longer, kind)
    appending.CopyFrom(longer)
    node.graph.retire(graph.input[FIRST + carried].name, graph.output[1 + carried].name)
    graph.input[FIRST + carried].CopyFrom(ValueInfoProto(name=before, type=kind))
    graph.output[1 + carried].CopyFrom(ValueInfoProto(name=after, type=kind))
    node.set_input(FIRST + carried, start)
    node.proto.output[carried] = joined
    node.graph.note_type(joined, kind)
    node.after.SequenceConstruct(joined, output=sequence)
    return True


def _but_first(node: Node, graph: GraphProto, longer: NodeProto, kind: TypeProto) -> NodeProto:
    """An If in the body `graph` that does what `longer`, a Concat, does, but gives its last input alone in the first iteration.

    A bool that the Loop carries tells which one it is.
    """
    number = len(node.inputs) - FIRST
    is_first, is_later = node.fresh_name("is_first"), node.fresh_name("is_later")
    flag = helper.make_tensor_type_proto(TensorProto.BOOL, [])
    node.add_input(node.op.const(True, np.bool_))
    graph.input.append(ValueInfoProto(name=is_first, type=flag))
    graph.output.insert(1 + number, ValueInfoProto(name=is_later, type=flag))
    outputs = node.proto.output  # all of which have a name, since onnxruntime crashes on a Loop where that is not so
    outputs.extend([node.fresh_name("unread") for _ in range(number - len(outputs))])
    outputs.insert(number, node.fresh_name("unread"))
    graph.node.append(helper.make_node("Xor", [is_first, is_first], [is_later], name=is_later))
    element, (result,) = longer.input[1], longer.output
    alone, both = node.fresh_name("alone"), node.fresh_name("both")
    copied = helper.make_node("Identity", [element], [alone], name=alone)
    joined = helper.make_node("Concat", longer.input, [both], name=both, axis=longer.attribute[0].i)
    then, otherwise = (
        helper.make_graph([inner], inner.name, [], [ValueInfoProto(name=inner.name, type=kind)]) for inner in (copied, joined)
    )
    return helper.make_node("If", [is_first], [result], name=longer.name, then_branch=then, else_branch=otherwise)


def _zeros(node: Node, elem_type: int, sizes: Sequence[Dimension]) -> str | None:
    """A tensor of shape `sizes`, one of which is 0; None where another one is neither a number nor a dimension of a model input."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        return _stored_zeros(node, elem_type, numbers)
    places = {size: place for size in sizes if isinstance(size, str) and (place := node.graph.input_with(size)) is not None}
    if not all(isinstance(size, int) or size in places for size in sizes):
        return None
    op = node.op
    lengths = [op.int64([size]) if isinstance(size, int) else length(node, *places[str(size)]) for size in sizes]
    return op.ConstantOfShape(op.Concat(*lengths, axis=0), value=helper.make_tensor("zero", elem_type, [1], [0]))


def _stored_zeros(node: Node, elem_type: int, numbers: Sequence[int]) -> str:
    """A stored tensor without elements, of the shape `numbers`, one of which is 0."""
    return node.add_tensor(helper.make_tensor(node.fresh_name("none"), elem_type, numbers, []))


def _joined_axis(node: Node, sequence: str) -> int | None:
    """The axis along which all readers of `sequence` concatenate its elements; None where one does something else."""
    readers = node.graph.readers(sequence)
    axes = {attribute.i for reader in readers for attribute in reader.attribute if attribute.name == "axis"}
    only_join = all(
        reader.op_type == "ConcatFromSequence"
        and not reader.domain
        and not any(attribute.name == "new_axis" and attribute.i for attribute in reader.attribute)
        for reader in readers
    )
    return axes.pop() if only_join and len(axes) == 1 and not node.graph.is_output(sequence) else None


def _dims(kind: TypeProto.Tensor) -> Shape:
    return tuple(dim.dim_param or dim.dim_value for dim in kind.shape.dim)
