"""What computes with shapes, as stored numbers. The page of each operator is https://onnx.ai/onnx/operators/onnx__NAME.html."""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import EVERY_OPERATOR, respell
from ...rewriter.graph.node import Node

_MOST = 1024
"""The elements of a value up to which it is stored: more are hardly a shape, and would make the file larger."""

_HAS_INTEGERS = 9
"""The opset from which on a Constant holds integers."""


@respell("CastLike", opset=13, exact=True)
def cast(node: Node) -> None:
    """A CastLike to a known type of integers, of which what computes shapes is made, becomes a Cast."""
    kind = node.elem_type(1)
    if kind in (TensorProto.INT64, TensorProto.INT32):
        node.become.Cast(node.input(0), to=kind)


@respell(EVERY_OPERATOR, opset=13, exact=True)
def stored(node: Node) -> None:
    """A node that gives the same few integers or booleans in every run, such as a Shape of fixed lengths, becomes a Constant."""
    value = node.constant(node.output(0)) if node.inputs and len(node.outputs) == 1 and not _is_stored(node) else None
    if value is not None and value.dtype.kind in "iub" and value.size <= _MOST:
        node.fold()


def _is_stored(node: Node) -> bool:
    """Whether the node is a Cast of doubles that stand for its integers, which a Constant below opset 9 cannot hold."""
    if node.target >= _HAS_INTEGERS or node.op_type != "Cast":
        return False
    stored = node.maker()
    return stored is not None and stored.op_type == "Constant"
