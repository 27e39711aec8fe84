"""OneHot: from opset 11 on indices in [-depth, -1] count from the back; before, they select nothing.

https://onnx.ai/onnx/operators/onnx__OneHot.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade, upgrade
from .indices import int64, wrapped

_UNSIGNED = (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)


@upgrade("OneHot", 11)
def mind_negative_indices(node: Node) -> None:
    """Nothing changes, unless an index is negative."""
    if _may_be_negative(node):
        node.caution("indices that are negative selected nothing before opset 11, and count from the back from 11 on")


@downgrade("OneHot", 11)
def indices_from_the_front(node: Node) -> None:
    """Negative indices get the depth added, and the axis the output's rank (-1 was always the last)."""
    axis = node.attr("axis", -1)
    if axis < -1:
        node.set_attr("axis", axis + node.need_rank() + 1)
    if not _may_be_negative(node):
        return
    indices, depth = node.inputs[:2]
    whole = node.before("Cast", [indices], what="indices", to=TensorProto.INT64)
    size = node.before("Cast", [depth], what="depth", to=TensorProto.INT64)
    size = node.before("Reshape", [size, int64(node, [], "scalar")], what="depth")
    once = wrapped(node, whole, TensorProto.INT64, size)
    # What is still negative selects nothing: as the depth itself, which is not negative, as the old text wants.
    sign = node.before("Cast", [once], what="sign", to=TensorProto.FLOAT)
    outside = node.before("Less", [sign, node.add_constant(0, np.float32, "zero")], what="outside")
    outside = node.before("Cast", [outside], what="outside", to=TensorProto.INT64)
    missing = node.before("Mul", [outside, node.before("Sub", [size, once], what="to_depth")], what="shift")
    node.set_input(0, node.before("Add", [once, missing], what="indices"))


def _may_be_negative(node: Node) -> bool:
    known = node.constant(0)
    return bool((known < 0).any()) if known is not None else node.elem_type(0) not in _UNSIGNED
