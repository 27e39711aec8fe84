"""Brings operands that have to be vectors into that form: onnxruntime takes a scalar or a matrix as well, and rules do not."""

from __future__ import annotations

from ..graph.node import Node

_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_VECTORS: dict[str, tuple[int, ...]] = {
    **{f"Reduce{name}": (1,) for name in _REDUCTIONS},
    "AffineGrid": (1,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "Pad": (1, 3),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Squeeze": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""Operator to the positions of the inputs that are vectors by its specification: axes, shapes, sizes, pads, scales and bounds."""


def make_vectors(node: Node) -> None:
    """Reshape each operand of `node` that has to be a vector and is known to be of another rank."""
    for index in _VECTORS.get(node.op_type, ()):
        if not node.has_input(index) or node.rank(index) in (None, 1):
            continue
        value = node.constant(index)
        if value is None:
            node.set_input(index, node.op.Reshape(node.input(index), node.op.int64([-1])))
        else:
            node.set_input(index, node.op.const(value.reshape(-1), value.dtype))
