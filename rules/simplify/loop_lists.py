"""Simplifies Loops that carry lists: a list that a Loop only reads stays outside, one that it appends to becomes a scan output.

TorchScript exports a list that a loop fills as SequenceEmpty, a Loop with a SequenceInsert in its body, and then
ConcatFromSequence, SequenceAt or SequenceLength. The elements become the rows of a scan output, and the list a SplitToSequence of
it, whose readers have rules of their own. docs/sequences.md explains why this is exact.
https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Dimension, Node, Shape
from ...rewriter.graph.protos import DEFAULT_DOMAINS, reads
from ...rewriter.graph.scope import Scope
from ..shared.indices import length
from ..shared.loop_turns import FIRST, few_turns, write_out
from ..shared.sequence_origin import maker

_NEVER_JOINED = frozenset({TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128})
"""Element types that are not collected: onnxruntime loses strings in a Loop, and ConstantOfShape has no complex numbers."""


def _carries_a_list(node: NodeProto, scope: Scope) -> bool:
    kinds = (scope.type(name) for name in node.input[FIRST:] if name)
    return any(kind is not None and kind.WhichOneof("value") == "sequence_type" for kind in kinds)


@simplify("Loop", opset=13, when=_carries_a_list)
def lists_without_carrying(node: Node) -> None:
    """A Loop no longer carries a list that it only reads, or one that starts empty and gets an element in each iteration.

    Elements of equal shape become a scan output. Otherwise, few iterations are written out, and elements that are only concatenated
    afterwards are concatenated in each iteration.
    """
    body = next(node.scope.children(node.proto, node.source_index, node.body_opset))
    graph = body.graph
    if not isinstance(graph, GraphProto) or len(graph.input) != len(node.inputs):
        return
    for carried in reversed(range(len(node.inputs) - FIRST)):
        kind = node.scope.type(node.input(FIRST + carried))
        if kind is None or kind.WhichOneof("value") != "sequence_type":
            continue
        if _is_handed_on(body, graph, carried):
            _leave_outside(node, graph, carried)
            continue
        try:
            _stack(node, body, graph, carried)
        except NotSimplified:
            turns = few_turns(node, body)
            if turns is not None:
                write_out(node, body, turns)
                return
            if not _join(node, body, graph, carried):
                raise


def _is_handed_on(body: Scope, graph: GraphProto, carried: int) -> bool:
    """Whether each iteration returns the list unchanged."""
    return body.original(graph.output[1 + carried].name) == graph.input[FIRST + carried].name


def _leave_outside(node: Node, graph: GraphProto, carried: int) -> None:
    """Let the body read the list from the outer graph."""
    model, inner = node.scope.model, graph.input[FIRST + carried].name
    outer = node.scope.resolve(node.input(FIRST + carried))
    if not model.is_unique(inner) or not model.is_unique(outer):
        raise NotSimplified(f"the name '{inner}' or '{outer}' of the list that it reads is used twice")
    node.forward(carried, outer)
    model.lost_uses.add(graph.output[1 + carried].name)
    _drop(node, graph, carried)
    model.aliases[inner] = outer
    model.new_uses.add(outer)


def _stack(node: Node, body: Scope, graph: GraphProto, carried: int) -> None:
    """The elements that the iterations append become rows of a scan output, which a SplitToSequence after
    the Loop cuts into rows.
    """
    appending, sequence = _appending(node, body, graph, carried), node.output(carried)
    if sequence in ("", *node.scope.outputs):
        raise NotSimplified("the list that it makes is not read, or is an output of the graph")
    row = _row(node, body, appending.input[1])
    kind, inner = row.type.tensor_type, graph.input[FIRST + carried].name
    rows = node.fresh_name("rows")
    _drop(node, graph, carried)
    _copy_row(appending, row.name)
    graph.output.append(row)
    node.proto.output.extend([""] * (len(graph.output) - 2 - len(node.proto.output)))
    node.proto.output.append(rows)
    node.scope.types.note(rows, helper.make_tensor_type_proto(kind.elem_type, [None, *_dims(kind)]))
    node.after.SplitToSequence(rows, output=sequence, axis=0, keepdims=0)
    node.scope.model.retired.add(inner)


def _drop(node: Node, graph: GraphProto, carried: int) -> None:
    """Remove a carried value from the Loop and its body."""
    node.scope.model.lost_uses.add(node.input(FIRST + carried))
    del node.proto.input[FIRST + carried], graph.input[FIRST + carried], graph.output[1 + carried]
    if carried < len(node.proto.output):
        del node.proto.output[carried]
    node.changed = True


def _copy_row(appending: NodeProto, row: str) -> None:
    """Replace the SequenceInsert by a copy of its element.

    The node stays in its place, by which nodes of the original are identified.
    """
    element = appending.input[1]
    appending.op_type = "Identity"
    del appending.input[:], appending.output[:], appending.attribute[:]
    appending.input.append(element)
    appending.output.append(row)


def _appending(node: Node, body: Scope, graph: GraphProto, carried: int) -> NodeProto:
    """The SequenceInsert that appends to the list in each iteration.

    Raises NotSimplified where anything else is done with the list.
    """
    made_by = maker(node, FIRST + carried)
    if made_by is None or made_by.op_type != "SequenceEmpty":
        raise NotSimplified(f"the list '{node.input(FIRST + carried)}' that it carries is not known to start empty")
    before, after = graph.input[FIRST + carried].name, graph.output[1 + carried].name
    uses = Counter(name for inner in graph.node for name in reads(inner))
    uses.update(value.name for value in graph.output)
    appending = body.producers.get(after)
    is_insert = appending is not None and appending.op_type == "SequenceInsert" and appending.domain in DEFAULT_DOMAINS
    if appending is None or not is_insert or appending.input[0] != before or any(appending.input[2:]):
        raise NotSimplified(f"its body does not just append an element to the list '{before}'")
    if uses[before] != 1 or uses[after] != 1:
        raise NotSimplified(f"its body also reads the list '{before}' that it appends to")
    return appending


def _row(node: Node, body: Scope, element: str) -> ValueInfoProto:
    """The element as an output of the body. Raises NotSimplified where its type or shape may change between iterations."""
    elem_type, shape = body.elem_type(element), body.shape(element)
    if elem_type is None or elem_type == TensorProto.STRING:
        raise NotSimplified(f"'{element}', which it appends to a list, is text or of unknown type")
    if shape is None or not all(isinstance(dim, int) or dim in _symbols(node) for dim in shape):
        raise NotSimplified(f"'{element}', which it appends to a list, is not known to have one shape in all iterations")
    return helper.make_tensor_value_info(node.fresh_name("row"), elem_type, shape)


def _join(node: Node, body: Scope, graph: GraphProto, carried: int) -> bool:
    """Let the Loop carry the concatenated elements, if the list is only concatenated. Returns whether this is so.

    The tensor starts with no rows. Its other dimensions are known numbers, or dimensions of the model's inputs.
    """
    appending, sequence = _appending(node, body, graph, carried), node.output(carried)
    element = appending.input[1]
    elem_type, shape, axis = body.elem_type(element), body.shape(element), _joined_axis(node, sequence)
    if elem_type is None or elem_type in _NEVER_JOINED or shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return False
    sizes: list[Dimension] = [0 if index == axis % len(shape) else dim for index, dim in enumerate(shape)]
    start = _zeros(node, elem_type, sizes)
    if start is None:
        return False
    dims = [None if index == axis % len(shape) else dim for index, dim in enumerate(shape)]
    kind = helper.make_tensor_type_proto(elem_type, dims)
    before, after, joined = (node.fresh_name(what) for what in ("so_far", "longer", "joined"))
    appending.CopyFrom(helper.make_node("Concat", [before, element], [after], name=appending.name, axis=axis % len(shape)))
    node.scope.model.retired.update((graph.input[FIRST + carried].name, graph.output[1 + carried].name))
    graph.input[FIRST + carried].CopyFrom(ValueInfoProto(name=before, type=kind))
    graph.output[1 + carried].CopyFrom(ValueInfoProto(name=after, type=kind))
    node.set_input(FIRST + carried, start)
    node.proto.output[carried] = joined
    node.scope.types.note(joined, kind)
    node.after.SequenceConstruct(joined, output=sequence)
    return True


def _zeros(node: Node, elem_type: int, sizes: Sequence[Dimension]) -> str | None:
    """A tensor of shape `sizes`, one of which is 0; None where another one is neither a number nor a dimension of a model input."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        return node.add_tensor(helper.make_tensor(node.fresh_name("none"), elem_type, numbers, []))
    places = {symbol: place for symbol, place in _symbols(node).items() if _is_of_main_graph(node.scope.find(place[0]))}
    if not all(isinstance(size, int) or size in places for size in sizes):
        return None
    op = node.op
    lengths = [op.int64([size]) if isinstance(size, int) else length(node, *places[str(size)]) for size in sizes]
    return op.ConstantOfShape(op.Concat(*lengths, axis=0), value=helper.make_tensor("zero", elem_type, [1], [0]))


def _is_of_main_graph(home: Scope | None) -> bool:
    return home is not None and home.is_main


def _joined_axis(node: Node, sequence: str) -> int | None:
    """The axis along which all readers of `sequence` concatenate its elements; None where one does something else."""
    readers = [reader for reader in node.scope.graph.node if sequence in reads(reader)]
    axes = {attribute.i for reader in readers for attribute in reader.attribute if attribute.name == "axis"}
    only_join = all(
        reader.op_type == "ConcatFromSequence"
        and reader.domain in DEFAULT_DOMAINS
        and not any(attribute.name == "new_axis" and attribute.i for attribute in reader.attribute)
        for reader in readers
    )
    return axes.pop() if only_join and len(axes) == 1 and sequence not in node.scope.outputs else None


def _symbols(node: Node) -> dict[str, tuple[str, int]]:
    """The symbols of the dimensions of the model's inputs, which are constant during a run: symbol → input and axis."""
    values = node.scope.model.proto.graph.input
    dims = ((value.name, axis, dim) for value in values for axis, dim in enumerate(value.type.tensor_type.shape.dim))
    return {dim.dim_param: (name, axis) for name, axis, dim in dims if dim.dim_param}


def _dims(kind: TypeProto.Tensor) -> Shape:
    return tuple(dim.dim_param or dim.dim_value for dim in kind.shape.dim)
