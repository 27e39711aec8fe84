"""Equal: opset 11 adds floating-point numbers, opset 19 strings.

https://onnx.ai/onnx/operators/onnx__Equal.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.indices import int64
from .shared.typed import FLOATING, is_unequal, typed


@downgrade("Equal", 19)
def equal_strings(node: Node) -> None:
    """Strings are numbered by Unique, and the numbers are compared: before opset 19, Equal takes no strings."""
    if node.need_elem_type() != TensorProto.STRING:
        return
    flat = [node.before("Reshape", [name, int64(node, [-1], "flat")], what="flat") for name in node.inputs]
    both = node.before("Concat", flat, what="both", axis=0)
    numbers = node.before_many("Unique", [both], [node.fresh_name("unique"), "", node.fresh_name("numbers")], what="unique")[2]
    first = node.before("Size", [node.input(0)], what="size")
    first = node.before("Reshape", [first, int64(node, [1], "vector")], what="size")
    start, end = int64(node, [0], "start"), int64(node, [np.iinfo(np.int64).max], "end")
    parts = [node.before("Slice", [numbers, *bounds], what="part") for bounds in ((start, first), (first, end))]
    node.become("Equal", [_in_shape(node, part, index) for index, part in enumerate(parts)])


def _in_shape(node: Node, flat: str, index: int) -> str:
    """The vector `flat` in the shape of input `index`, also where a dimension is 0."""
    shape = node.shape(index)
    if shape is not None and len(shape) == 1:
        return flat
    known = [dim for dim in shape or () if isinstance(dim, int) and dim]
    if shape is not None and len(known) == len(shape):
        return node.before("Reshape", [flat, int64(node, known, "shape")], what="shaped")
    sizes = node.before("Shape", [node.input(index)], what="shape")
    return node.before("Reshape", [flat, sizes], what="shaped", allowzero=1)


@downgrade("Equal", 11)
def equal_numbers(node: Node) -> None:
    """Floating-point numbers are equal where neither is less, neither is greater, and neither is NaN."""
    if node.need_elem_type() not in FLOATING:
        return
    a, b = node.inputs
    elem_type = node.need_elem_type()
    differ = is_unequal(node, a, b)
    numbers = [_is_number(node, name, elem_type) for name in dict.fromkeys((a, b))]
    comparable = numbers[0] if len(numbers) == 1 else node.before("And", numbers, what="comparable")
    same = node.before("Not", [differ], what="same")
    node.become("And", [same, comparable])


def _is_number(node: Node, name: str, elem_type: int) -> str:
    """Whether each element of `name` is not NaN: every number is below one or above zero."""
    below = node.before("Less", [name, typed(node, 1, elem_type, "one")], what="below")
    above = node.before("Greater", [name, typed(node, 0, elem_type, "zero")], what="above")
    return node.before("Or", [below, above], what="number")
