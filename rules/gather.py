"""Gather: indices may be negative from opset 11 on.

https://onnx.ai/onnx/operators/onnx__Gather.html
"""

from __future__ import annotations

from onnx import NodeProto, TensorProto

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.axes import add_rank
from .shared.indices import length, wrapped

_NEVER_NEGATIVE = frozenset({"ArgMax", "ArgMin", "NonZero", "Shape", "Size"})
"""Operators whose outputs are positions or counts."""
_PASS_ON = frozenset({"Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze"})
"""Operators that give elements of their first input as they are."""
_MAX_LOOK_BACK = 8
"""Nodes that the proof of a sign looks back. Exporters put one or two between the source of indices and a Gather."""


@downgrade("Gather", 11)
def indices_from_the_front(node: Node) -> None:
    """Indices that are negative, or may be, get the length of the axis added."""
    add_rank(node, "axis")
    indices = node.constant(1)
    if indices is None:
        if not _is_never_negative(node, node.input(1), _MAX_LOOK_BACK):
            _wrap(node)
        return
    if not (indices < 0).any():
        return
    dimension = node.dimension(node.attr("axis", 0))
    if isinstance(dimension, int):
        positive = indices + (indices < 0).astype(indices.dtype) * indices.dtype.type(dimension)
        node.set_input(1, node.add_constant(positive, indices.dtype, "indices"))
    else:
        _wrap(node)


def _wrap(node: Node) -> None:
    """Add the length of the axis to negative indices at run time."""
    size = length(node, node.input(0), node.attr("axis", 0), "scalar")
    node.set_input(1, wrapped(node, node.input(1), node.need_elem_type(1), size))


def _is_never_negative(node: Node, name: str, steps: int) -> bool:
    """Whether the nodes that make `name`, up to `steps` back, prove that it has no negative element."""
    name = node.scope.resolve(name)
    value = node.scope.constant(name)
    if value is not None:
        return bool((value >= 0).all())
    producer = node.scope.producer(name)
    if producer is None or producer.domain or steps == 0:
        return False
    if producer.op_type in _NEVER_NEGATIVE:
        return True
    if producer.op_type == "TopK":
        return name == producer.output[-1] and len(producer.output) == 2
    if producer.op_type == "Cast":
        return _is_unsigned(node, producer)
    return producer.op_type in _PASS_ON and _is_never_negative(node, producer.input[0], steps - 1)


def _is_unsigned(node: Node, cast: NodeProto) -> bool:
    """Whether `cast` reads an unsigned type whose values all fit into any integer type."""
    return node.scope.elem_type(cast.input[0]) in (TensorProto.BOOL, TensorProto.UINT8, TensorProto.UINT16)
