"""EyeLike below opset 9, where the shape is known: a constant.

https://onnx.ai/onnx/operators/onnx__EyeLike.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.tables import require_few


@decompose("EyeLike", opset=9)
def constant_eye(node: Node) -> None:
    """The matrix becomes a constant. Refused where the shape is unknown."""
    rows, columns = node.need_shape()
    require_few(rows * columns)
    elem_type = node.attr("dtype") or node.need_elem_type()
    eye = np.eye(rows, columns, node.attr("k", 0), dtype=helper.tensor_dtype_to_np_dtype(elem_type))
    node.become.Identity(node.op.const(eye, eye.dtype))
