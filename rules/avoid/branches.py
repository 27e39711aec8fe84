"""If that a runtime decides once, and then keeps to.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__Where.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Dimension, Node, Shape, Subgraph
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind, Role, Work
from ..shared.typed import ANY_FLOATING

_NEVER_FAIL = frozenset({Kind.CASTS, Kind.ELEMENTWISE, Kind.NORMALIZES})
"""The kinds of operators that compute with any elements."""
_NO_NUMBERS = (TensorProto.STRING, TensorProto.UNDEFINED, None)
_MOST_NODES = 32
"""The number of nodes up to which a branch is computed that may not be taken, and a condition is looked into."""


@avoid("If of open lengths", "If", opset=9)
def compute_both(node: Node) -> None:
    """Both branches are computed, and a Where chooses from what they make.

    It is exact for all numbers, where both branches compute element by element or move elements along known axes, so that neither
    can fail, and make tensors of the same named lengths. Else the lengths have to be fixed. A condition on lengths alone is the
    same as long as they are.
    """
    open_ones = [name for name in node.outputs if name and not _is_fixed(node, name)]
    if not open_ones or _follows_from_lengths(node):
        return
    branches = {branch.name: branch for branch in node.subgraphs()}
    taken, other = branches["then_branch"], branches["else_branch"]
    if not (_never_fails(taken) and _never_fails(other) and _are_alike(taken, other) and _spreads(node, taken)):
        node.need_shape(open_ones[0])
    node.graph.release(*taken.captured, *other.captured)
    for index, pair in enumerate(zip(_pasted(taken), _pasted(other), strict=True)):
        if node.has_output(index):
            node.forward(index, node.op.Where(node.input(0), *pair))
    node.remove()


@avoid("If of unlike ranks", "If", opset=7)
def refuse_unlike_ranks(node: Node) -> None:
    """The node is refused where one branch makes a tensor of more axes than the other, since only a known condition leaves one."""
    one, other = node.subgraphs()
    for left, right in zip(one.proto.output, other.proto.output, strict=True):
        shape, wanted = one.shape(left.name), other.shape(right.name)
        if shape is not None and wanted is not None and len(shape) != len(wanted):
            raise Unconvertible(
                f"its branches make tensors of {len(shape)} and {len(wanted)} axes",
                "let both make as many axes, or where it decides on lengths, fix them with --overwrite-input-shape",
            )


def _is_fixed(node: Node, name: str) -> bool:
    shape = node.shape(name)
    return shape is not None and all(isinstance(length, int) for length in shape)


def _follows_from_lengths(node: Node) -> bool:
    """Whether the condition depends on constants and on lengths alone that are also those of what the branches read."""
    pending, seen = [(node, 0)], set[str]()
    lengths = {
        dim
        for branch in node.subgraphs()
        for name in branch.captured
        for dim in node.graph.shape(name) or ()
        if dim in node.graph.input_symbols
    }
    while pending:
        reader, index = pending.pop()
        if reader.constant(index) is not None or reader.input(index) in seen:
            continue
        seen.add(reader.input(index))
        maker = reader.maker(index)
        if maker is None or not maker.inputs or maker.subgraphs() or len(seen) > _MOST_NODES:
            return False
        row = facts.of(maker.op_type)
        measured = [i for i in range(len(maker.inputs)) if Role.MEASURED in row.role(i)]
        if row.kind is Kind.RANDOM or row.has("may-draw") or not all(_has_lengths(maker, i, lengths) for i in measured):
            return False
        pending += [(maker, i) for i in range(len(maker.inputs)) if maker.has_input(i) and i not in measured]
    return True


def _has_lengths(node: Node, index: int, lengths: set[Dimension]) -> bool:
    shape = node.shape(index)
    return shape is not None and all(isinstance(dim, int) or dim in lengths for dim in shape)


def _never_fails(branch: Subgraph) -> bool:
    nodes = branch.proto.node
    if len(nodes) > _MOST_NODES or branch.proto.sparse_initializer or any(proto.domain for proto in nodes):
        return False
    makers = [branch.maker(next(filter(None, proto.output))) for proto in nodes]
    return all(maker is not None and _computes_any(maker) for maker in makers)


def _computes_any(node: Node) -> bool:
    """Whether the node takes any numbers, and the lengths of its operands are known to fit."""
    row = facts.of(node.op_type)
    if row.kind is Kind.FILLS and not node.inputs:
        return True
    kinds = {node.elem_type(name) for name in (*node.inputs, *node.outputs) if name}
    if not kinds.isdisjoint(_NO_NUMBERS) or (row.work is Work.DIVIDES and not kinds <= {*ANY_FLOATING}):
        return False
    if row.kind is Kind.MOVES:
        return _moves_along_known_axes(node)
    shape = node.shape(node.output(0))
    if row.kind not in _NEVER_FAIL or len(node.outputs) > 1 or shape is None or None in shape:
        return False
    return all(_fits(node.shape(name), shape) for name in node.inputs if name)


def _moves_along_known_axes(node: Node) -> bool:
    """Whether the node moves elements by constants, and no open length of its data becomes another one."""
    row, data = facts.of(node.op_type), set[tuple[str, ...] | None]()
    for index, name in enumerate(node.inputs):
        if row.role(index) == {Role.DATA}:
            data.add(_open_lengths(node, name))
        elif name and node.constant(index) is None:
            return False
    return len(data) == 1 and None not in data and all(_open_lengths(node, name) in data for name in node.outputs if name)


def _open_lengths(node: Node, name: str) -> tuple[str, ...] | None:
    """The names of the open lengths, in their order by name; None where a length has no name."""
    shape = node.shape(name)
    if shape is None or None in shape:
        return None
    return tuple(sorted(dim for dim in shape if isinstance(dim, str)))


def _fits(operand: Shape | None, shape: Shape) -> bool:
    """Whether `operand` is `shape`, or is spread to it."""
    if operand is None or len(operand) > len(shape):
        return False
    return all(dim in (1, length) for dim, length in zip(reversed(operand), reversed(shape), strict=False))


def _are_alike(one: Subgraph, other: Subgraph) -> bool:
    """Whether the outputs of both have the same types and the same lengths, all of which are known or have a name."""
    pairs = zip(one.proto.output, other.proto.output, strict=True)
    return all(_is_alike(one, left.name, other, right.name) for left, right in pairs)


def _is_alike(one: Subgraph, left: str, other: Subgraph, right: str) -> bool:
    shape, kind = one.shape(left), one.elem_type(left)
    if shape is None or None in shape or kind in _NO_NUMBERS:
        return False
    return shape == other.shape(right) and kind == other.elem_type(right)


def _spreads(node: Node, branch: Subgraph) -> bool:
    """Whether the condition leaves the shapes of the outputs as they are when a Where spreads it."""
    return node.shape(0) == () or (node.shape(0) == (1,) and all(branch.shape(value.name) != () for value in branch.proto.output))


def _pasted(branch: Subgraph) -> list[str]:
    """The outputs of the branch, after its nodes were written before the If."""
    names = branch.move_initializers()
    branch.paste(names)
    return [names.get(value.name, value.name) for value in branch.proto.output]
