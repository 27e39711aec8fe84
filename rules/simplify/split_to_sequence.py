"""SplitToSequence with a known number of parts becomes a Split and a SequenceConstruct.

These are written for opset 13, where Split has its sizes as an input; the rules of Split convert it to the opset of the model. By
the specification, keepdims counts only where split is absent; onnxruntime differs (docs/semantics.md).
https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node
from ..shared.sequence_origin import part_sizes, removes_axis, run_time_count


@simplify("SplitToSequence", opset=13)
def split_then_construct(node: Node) -> None:
    """SplitToSequence into a known number of parts becomes a Split and a SequenceConstruct."""
    op = node.op
    _require_type(node)
    axis = node.attr("axis", 0)
    is_squeezed = removes_axis(node)
    sizes = part_sizes(node)
    count = run_time_count(node) if sizes is None else len(sizes)
    if count == 0:
        node.become.SequenceEmpty(dtype=node.need_elem_type())
        return
    operand = _int64_split(node) if sizes is None else op.int64(sizes)
    names = [node.fresh_name(f"part{index}") for index in range(count)]
    parts = op.Split(node.input(0), operand, outputs=names, axis=axis)
    if is_squeezed:
        axes = op.int64([axis])
        parts = [op.Squeeze(part, axes) for index, part in enumerate(parts)]
    node.become.SequenceConstruct(*parts)
    node.graph.release(node.output(0))


def _require_type(node: Node) -> None:
    """Raises NotSimplified for bfloat16, which SplitToSequence accepts from opset 24 on, but SequenceConstruct never."""
    elem_type = node.elem_type()
    if elem_type == TensorProto.BFLOAT16:
        raise NotSimplified("its elements are bfloat16, which SequenceConstruct does not take at any opset")
    if elem_type is None and node.opset >= 24:
        raise NotSimplified(f"the type of '{node.input(0)}' is unknown, and SequenceConstruct does not take bfloat16")


def _int64_split(node: Node) -> str:
    """The input split as int64."""
    name = node.input(1)
    return name if node.elem_type(1) == TensorProto.INT64 else node.op.Cast(name, to=TensorProto.INT64)
