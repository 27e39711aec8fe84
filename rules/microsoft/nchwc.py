"""Operators of com.microsoft.nchwc, which onnxruntime's optimizer writes at its level "all": they are refused.

Their weights are stored in blocks whose size is that of the processor on which the model was optimized, and no file states it.
"""

from __future__ import annotations

from ...rewriter.engine.registry import replace
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

_OPERATORS = (
    "AveragePool",
    "Conv",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "MaxPool",
    "ReorderInput",
    "ReorderOutput",
    "Upsample",
)


@replace("com.microsoft.nchwc", _OPERATORS, opset=13, module="microsoft")
def refuse_layout_of_one_processor(node: Node) -> None:
    """Refused: the layout is that of one kind of processor."""
    raise Unconvertible(
        f"{node.op_type} is laid out for one kind of processor",
        "optimize the model at the level extended (ORT_ENABLE_EXTENDED) instead of all",
    )
