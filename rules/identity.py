"""Identity: it takes sequences from opset 14 on, and optionals from 16 on.

https://onnx.ai/onnx/operators/onnx__Identity.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node

_SEQUENCES = 11
"""The opset that introduced sequences."""


@downgrade("Identity", 14)
def insert_and_erase_element(node: Node) -> None:
    """The Identity of a sequence becomes a SequenceInsert of an element at the front, and a SequenceErase of that element."""
    op = node.op
    if node.elem_type() is not None or node.target < _SEQUENCES:
        return
    kind = node.type()
    element = 0 if kind is None else kind.sequence_type.elem_type.tensor_type.elem_type
    if not element:
        return
    value = np.array("", object) if element == TensorProto.STRING else np.zeros((), helper.tensor_dtype_to_np_dtype(element))
    front = op.int64(0)
    longer = op.SequenceInsert(node.input(0), op.const(value, value.dtype), front)
    node.become.SequenceErase(longer, front)
