"""Div and Mod of integers, and Div by lengths. https://onnx.ai/onnx/operators/onnx__Div.html,
https://onnx.ai/onnx/operators/onnx__Mod.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind
from ..shared.broadcasting import SPREADS_BOTH
from ..shared.places import LARGEST, are_places

_WHOLE = (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8)


@avoid("Div of integers", "Div", opset=13)
def quotients_of_places(node: Node) -> None:
    """What an ArgMax or ArgMin found is divided by a stored positive number as a float, and rounded down; others are refused.

    It is exact, since both numbers are below 2^22.
    """
    kind, divisor = node.elem_type(), node.constant(1)
    if kind not in _WHOLE:
        return
    if node.opset < SPREADS_BOTH or divisor is None or not _is_small(divisor) or not are_places(node, node.input(0)):
        raise Unconvertible("it divides integers, and no other form of it is exact", "choose another runtime")
    op = node.op
    quotient = op.Div(op.Cast(node.input(0), to=TensorProto.FLOAT), op.const(divisor, TensorProto.FLOAT))
    node.become.Cast(op.Floor(quotient), to=kind)


@avoid("Mod of integers", "Mod", opset=13)
def remainders_of_places(node: Node) -> None:
    """Of what an ArgMax or ArgMin found, the whole multiples of a stored positive number are subtracted.

    It is exact: neither number is negative.
    """
    divisor = node.constant(1)
    if divisor is None or not _is_small(divisor) or not are_places(node, node.input(0)):
        return
    multiples = node.op.Mul(node.op.Div(node.input(0), node.input(1)), node.input(1))
    node.become.Sub(node.input(0), multiples)


def _is_small(divisor: np.ndarray) -> bool:
    return divisor.size > 0 and 0 < divisor.min() <= divisor.max() < LARGEST


@avoid("Div by what follows from open shapes", "Div", opset=7, exact=False)
def times_the_reciprocal(node: Node) -> None:
    """A Div of floats by a number that follows from open shapes alone becomes the product with its reciprocal.

    It may differ in the last bits.
    """
    if node.elem_type() in (TensorProto.FLOAT, TensorProto.FLOAT16) and node.constant(1) is None and _follows_from_shapes(node):
        node.become.Mul(node.input(0), node.op.Reciprocal(node.input(1)))


_MOST_NODES = 64
"""The nodes that are looked at for what a divisor is computed of."""


def _follows_from_shapes(node: Node) -> bool:
    """Whether the divisor is computed of shapes, and of nothing else that may be another in the next run."""
    pending, reads_shapes = [(node, node.input(1))], False
    for _ in range(_MOST_NODES):
        if not pending:
            return reads_shapes
        reader, name = pending.pop()
        if reader.constant(name) is not None:
            continue
        maker = reader.maker(name)
        if maker is None or maker.subgraphs():
            return False
        if facts.of(maker.op_type).kind is Kind.SHAPE:
            reads_shapes = True
        else:
            pending += [(maker, value) for value in maker.inputs if value]
    return False
