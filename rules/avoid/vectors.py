"""Values of one axis, which a runtime may keep as columns of a matrix.

https://onnx.ai/onnx/repo-docs/Broadcasting.html, https://onnx.ai/onnx/operators/onnx__Concat.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind
from ..shared.broadcasting import SPREADS_BOTH

_BY_ELEMENTS = (
    *("Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Pow", "Sub"),
    *("Sum", "Where"),
)


@avoid("Vector beside a constant or more axes", _BY_ELEMENTS, opset=13)
def with_two_axes(node: Node) -> None:
    """Computed vectors get as many axes as the result has, but at least two, and a result of one axis loses the other again.

    It is exact for all types. The ranks have to be known. Below opset 7, where operands are spread by attributes, they are refused.
    """
    operands = range(len(node.inputs))
    vectors = [index for index in operands if node.rank(index) == 1 and not _is_stored(node, index)]
    if not vectors:
        return
    rank = node.need_rank(node.output(0))
    if rank == 1 and not any(_is_stored(node, index) for index in operands):
        return
    if node.opset < SPREADS_BOTH:
        raise Unconvertible("an operand has one axis", "choose a target opset from 7 on")
    op, before = node.op, list(range(max(rank, 2) - 1))
    matrices = [op.Unsqueeze(name, op.int64(before)) if i in vectors else name for i, name in enumerate(node.inputs)]
    attributes = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute}
    result = getattr(op, node.op_type)(*matrices, **attributes)
    if rank == 1:
        node.become.Squeeze(result, op.int64([0]))
    else:
        node.give(result)


def _is_stored(node: Node, index: int) -> bool:
    """Whether an operand is a constant, perhaps one that is quantized and made a real number again."""
    maker = node.maker(index)
    is_quantized = maker is not None and facts.of(maker.op_type).kind is Kind.QUANTIZES
    return node.constant(index) is not None or (maker is not None and is_quantized and _is_stored(maker, 0))


@avoid("Concat of a vector and a constant", "Concat", opset=13)
def joined_rows(node: Node) -> None:
    """The operands become matrices of one row, and the result loses the first axis again.

    It is exact for all types.
    """
    stored = [node.constant(name) for name in node.inputs]
    if node.rank(0) != 1 or all(value is None for value in stored):
        return
    op = node.op
    rows = [
        op.Unsqueeze(name, op.int64([0])) if value is None else op.const(value.reshape(1, -1), value.dtype)
        for name, value in zip(node.inputs, stored, strict=True)
    ]
    node.become.Squeeze(op.Concat(*rows, axis=1), op.int64([0]))


@avoid("Negative axis of a vector", ("ArgMax", "ArgMin", "Concat", "CumSum", "LogSoftmax", "Softmax", "TopK"), opset=13)
def only_axis(node: Node) -> None:
    """The only axis of a vector is called 0, not -1.

    It is exact for all types. An axis that is computed at run time stays.
    """
    if node.op_type == "CumSum":
        axis = node.constant(1)
        if node.rank(0) == 1 and axis is not None and (axis < 0).any():
            node.set_input(1, node.op.const(np.zeros_like(axis), axis.dtype))
        return
    is_last_by_default = node.op_type == "TopK" or (node.op_type in ("LogSoftmax", "Softmax") and node.opset >= 13)
    if node.rank(0) == 1 and node.attr("axis", -1 if is_last_by_default else 0) < 0:
        node.set_attr("axis", 0)
