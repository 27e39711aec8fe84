"""TopK: k is an attribute until 9, an input from 10; 11 adds largest, sorted, negative axes and the integer types.

https://onnx.ai/onnx/operators/onnx__TopK.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade, upgrade
from .axes import add_rank
from .indices import int64
from .parameters import MAKE_CONSTANT

_WIDER = {
    TensorProto.FLOAT: (TensorProto.INT8, TensorProto.INT16, TensorProto.UINT8, TensorProto.UINT16),
    TensorProto.DOUBLE: (TensorProto.INT32, TensorProto.UINT32),
}
"""Floats and the integers that they hold: negated, an unsigned or the smallest signed integer is none of its own type."""


@upgrade("TopK", 10)
def k_to_input(node: Node) -> None:
    """The attribute k becomes an input."""
    node.set_input(1, node.add_constant([node.pop_attr("k")], np.int64, "k"))


@downgrade("TopK", 11)
def largest_and_sorted(node: Node) -> None:
    """The smallest are the largest of the negated; an order that was left open may be the sorted one."""
    if node.attr("axis") == -1:
        node.pop_attr("axis")  # the default below, too
    add_rank(node, "axis")
    node.pop_attr("sorted")
    if node.pop_attr("largest", 1):
        return
    kind = node.need_elem_type()
    wider = next((floating for floating, integers in _WIDER.items() if kind in integers), None)
    if wider is not None:
        node.set_input(0, node.before("Cast", [node.input(0)], what="wider", to=wider))
    node.set_input(0, node.before("Neg", [node.input(0)], what="negated"))
    if node.has_output(0):
        output = node.output(0)
        values = node.detach_output(0, "values")
        if wider is not None:
            values = node.after("Neg", [values], what="smallest")
        node.after("Cast" if wider is not None else "Neg", [values], outputs=[output], to=kind if wider is not None else None)


@downgrade("TopK", 10)
def k_to_attribute(node: Node) -> None:
    """A constant k becomes the attribute; with a computed one, the axis is sorted and cut."""
    value = node.constant(1)
    k, data = node.input(1), node.input(0)
    if value is not None:
        node.become("TopK", [data], axis=node.attr("axis"), k=int(value.reshape(())))
        return
    node.why = (f"its k '{k}' is computed at run time", MAKE_CONSTANT)
    axis = node.attr("axis", -1)
    everything = node.need_dimension(axis)
    axes = int64(node, [axis % node.need_rank()], "axis")
    outputs = node.outputs
    for index, output in enumerate(outputs):
        if output:
            _cut(node, node.detach_output(index, "sorted"), k, axes, output)
    node.become("TopK", [data], axis=node.attr("axis"), k=everything)


def _cut(node: Node, values: str, k: str, axes: str, output: str) -> None:
    """The first k of the sorted values; Slice takes computed ends from opset 10 on, its way down knows what to do."""
    node.after("Slice", [values, int64(node, [0], "zero"), k, axes], outputs=[output], opset=10)
