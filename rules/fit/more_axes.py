"""Nodes of few dimensions written with four, for runtimes of images.

The page of each operator is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from ...rewriter.engine.registry import EVERY_OPERATOR, ITSELF, express
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind
from ..shared.broadcasting import SPREADS_BOTH

_RANK = 4
_AXES_AS_THEY_ARE = 13
"""The opset from which on a Softmax is of one axis, and not of all from that one on."""


@express(EVERY_OPERATOR, opset=13, listed=ITSELF)
def elementwise(node: Node) -> None:
    """A node that treats each element alone gets values with leading axes of length 1, which its result loses again."""
    if facts.of(node.op_type).kind is Kind.ELEMENTWISE and node.opset >= SPREADS_BOTH:
        _with_four_axes(node, range(len(node.inputs)))


@express(("Concat", "LogSoftmax", "Softmax", "Split"), opset=13, listed=ITSELF)
def along_one_axis(node: Node) -> None:
    """A node along one axis gets values with leading axes of length 1, which its results lose again."""
    rank = node.rank(0)
    if rank is None or (node.op_type.endswith("Softmax") and node.opset < _AXES_AS_THEY_ARE):
        return
    usual = {"Concat": 1, "Split": 0}  # Concat has a default below opset 4 alone
    axis = node.attr("axis", usual.get(node.op_type, -1)) % rank
    if _with_four_axes(node, range(len(node.inputs)) if node.op_type == "Concat" else [0]):
        node.set_attr("axis", axis + _RANK - rank)


def _with_four_axes(node: Node, places: range | list[int]) -> bool:
    """Let the node read these operands with four axes; True if it does. Scalars stay, and so do values without elements."""
    shapes = [node.need_shape(name) for name in filter(None, node.outputs)]
    operands = {index: shape for index in places if node.has_input(index) and (shape := node.need_shape(index))}
    if not operands or not 0 < len(shapes[0]) < _RANK or any(0 in shape for shape in (*shapes, *operands.values())):
        return False
    for index, shape in operands.items():
        node.set_input(index, node.op.Reshape(node.input(index), node.op.int64([1] * (_RANK - len(shape)) + [*shape])))
    for index, shape in zip([index for index, name in enumerate(node.outputs) if name], shapes, strict=True):
        name = node.output(index)
        node.after.Reshape(node.detach_output(index, "lifted"), node.op.int64([*shape]), output=name)
    return True
