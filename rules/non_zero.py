"""NonZero below opset 9, where the shape is known: a sort brings the places of what is not zero to the front.

https://onnx.ai/onnx/operators/onnx__NonZero.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.counting import stack
from .shared.indices import int64
from .shared.tables import arange

_MAX_SORTED = 1 << 22
"""Elements of the largest input: float32 holds the numbers up to twice as many, and their places are a constant in the model."""


@decompose("NonZero", opset=8)
def sort_the_places(node: Node) -> None:
    """TopK sorts the places of what is not zero to the front, and a Loop takes as many as there are."""
    if node.need_elem_type() == TensorProto.STRING:
        raise Unconvertible("NonZero of strings is new in opset 9")
    shape = node.need_shape()
    size = prod(shape)
    if not shape or not 0 < size <= _MAX_SORTED:
        raise Unconvertible(f"NonZero of {size} elements and rank {len(shape)} is new in opset 9")
    flat = node.before("Reshape", [node.input(0), int64(node, [-1], "flat")], what="flat")
    found = node.before("Cast", [flat], what="found", to=TensorProto.BOOL)
    found = node.before("Cast", [found], what="found", to=TensorProto.FLOAT)
    first = node.before("Mul", [found, node.add_constant([size + 1], np.float32, "more")], what="first")
    order = node.before("Sub", [first, node.add_constant(arange(size), np.float32, "places")], what="order")
    _, places = node.before_many("TopK", [order], 2, what="places", k=size, axis=0)
    total = node.before("ReduceSum", [found], what="total", axes=[0], keepdims=0)
    count = node.before("Cast", [total], what="count", to=TensorProto.INT64)
    number, given = node.fresh_name("number"), node.fresh_name("given")
    kept = stack(node, count, number, helper.make_node("Gather", [places, number], [given], name=given, axis=0))
    coordinates = np.array(np.unravel_index(arange(size), shape))
    node.become("Gather", [node.add_constant(coordinates, np.int64, "coordinates"), kept], axis=1)
