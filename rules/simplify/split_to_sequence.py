"""SplitToSequence becomes a Split and a SequenceConstruct of its parts, wherever the number of parts is known.

Written for opset 13, where Split takes its sizes as an input; Split's own rules take it on to the model's opset. keepdims counts
only where split is not given.
https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node
from ..shared.sequence_origin import KEEPDIMS_IGNORED, why_unknown

MAX_PARTS = 4096
"""Parts that a node may become where the model does not list their sizes: enough for a sequence that is unbound step by step, and a
bound on graphs that grow with their data.
"""


@simplify("SplitToSequence", opset=13)
def split_then_construct(node: Node) -> None:
    """SplitToSequence into a known number of parts becomes Split and SequenceConstruct."""
    _require_type(node)
    axis = node.attr("axis", 0)
    sizes = _sizes(node, axis)
    count = _run_time_count(node) if sizes is None else len(sizes)
    if not node.attr("keepdims", 1) and node.rank(1) == 0:
        node.caution(KEEPDIMS_IGNORED)
    if count == 0:
        node.become("SequenceEmpty", [], dtype=node.need_elem_type())
        return
    operand = _int64_split(node) if sizes is None else node.add_constant(sizes, np.int64, "split")
    names = [node.fresh_name(f"part{index}") for index in range(count)]
    parts = node.before_many("Split", [node.input(0), operand], names, axis=axis)
    if not node.has_input(1) and not node.attr("keepdims", 1):
        axes = node.add_constant([axis], np.int64, "axes")
        parts = [node.before("Squeeze", [part, axes], what=f"element{index}") for index, part in enumerate(parts)]
    node.become("SequenceConstruct", parts)
    node.scope.model.lost_uses.add(node.output(0))


def _require_type(node: Node) -> None:
    """Raises NotSimplified for bfloat16, which SplitToSequence takes from 24 on and SequenceConstruct never."""
    elem_type = node.elem_type()
    if elem_type == TensorProto.BFLOAT16:
        raise NotSimplified("its elements are bfloat16, which SequenceConstruct does not take at any opset")
    if elem_type is None and node.opset >= 24:
        raise NotSimplified(f"the type of '{node.input(0)}' is unknown, and SequenceConstruct does not take bfloat16")


def _sizes(node: Node, axis: int) -> list[int] | None:
    """The sizes of the parts; None where split is only known at run time. Raises NotSimplified where the number of parts is
    unknown.
    """
    split = node.constant(1)
    if split is None and node.has_input(1):
        return None
    if split is not None and split.ndim == 1 and split.size:
        return [int(size) for size in split]
    if split is not None and split.ndim:
        raise NotSimplified(f"split must be a scalar or a vector of sizes and has shape {split.shape}")
    return _chunks(node, axis, 1 if split is None else int(split))


def _run_time_count(node: Node) -> int:
    """The number of parts that a split makes whose sizes are only known at run time. Raises NotSimplified where it is unknown."""
    shape = node.shape(1)
    if shape is None or len(shape) != 1 or not isinstance(count := shape[0], int) or count == 0:
        raise NotSimplified(f"split '{node.input(1)}' {why_unknown(node, 1)}, and so is the number of its parts")
    if node.elem_type(1) is None:
        raise NotSimplified(f"the type of split '{node.input(1)}' is unknown, and Split takes only int64")
    return count


def _int64_split(node: Node) -> str:
    """Input split as int64."""
    name = node.input(1)
    return name if node.elem_type(1) == TensorProto.INT64 else node.before("Cast", [name], what="split", to=TensorProto.INT64)


def _chunks(node: Node, axis: int, size: int) -> list[int]:
    """The sizes of parts of `size`, with a last one of what is left. Raises NotSimplified where they are too many."""
    dimension = node.need_dimension(axis)
    if size <= 0:
        raise NotSimplified(f"split must be positive and is {size}")
    if dimension > size * MAX_PARTS:
        raise NotSimplified(f"it makes {-(-dimension // size)} parts, and more than {MAX_PARTS} are not written out")
    whole, rest = divmod(dimension, size)
    return [size] * whole + [rest] * (rest > 0)
