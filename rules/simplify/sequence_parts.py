"""A SplitToSequence whose number of parts is only known at run time: the nodes that read it compute their part from the data.

Element i of parts of size c is Slice(x, i*c, (i+1)*c). torch's exporter writes such models for `chunk` and `split` over a dynamic
axis. Why that is exact wherever the original runs: docs/sequences.md.
https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node
from ..shared.indices import int64, length
from ..shared.sequence_origin import (
    KEEPDIMS_IGNORED,
    Parts,
    constant_position,
    run_time_parts,
    scalar,
    undoes_split,
)

_INT64_MAX = 2**63 - 1


@simplify("SequenceAt", opset=13)
def slice_part(node: Node) -> None:
    """SequenceAt of parts whose number is unknown becomes a Slice of the data, or a Gather for parts of length 1."""
    parts = run_time_parts(node)
    if parts is None:
        return
    if not parts.node.has_input(1):
        _gather_row(node, parts)
        return
    _require_scalar(parts)
    if not parts.node.attr("keepdims", 1):
        node.caution(KEEPDIMS_IGNORED)
    position = constant_position(node, 1)
    size = parts.node.constant(1)
    if size is not None and position is not None and position >= 0:
        starts, ends = (int64(node, [min(at * int(size), _INT64_MAX)], "bound") for at in (position, position + 1))
    else:
        starts, ends = _bounds(node, parts, position)
    node.become("Slice", [parts.data, starts, ends, int64(node, [parts.axis], "axes")])


def _gather_row(node: Node, parts: Parts) -> None:
    """Let the node be a Gather of one index of the data, for parts of length 1."""
    position = constant_position(node, 1)
    if parts.squeezed:
        index = scalar(node, 1) if position is None else int64(node, position, "index")
    elif position is None:
        index = _vector(node, node.input(1))
    else:
        index = int64(node, [position], "index")
    node.become("Gather", [parts.data, index], axis=parts.axis)


def _bounds(node: Node, parts: Parts, position: int | None) -> tuple[str, str]:
    """Where the part at `position` (None: at input 1) starts and ends, as int64 vectors of one."""
    size = _part_size(node, parts)
    if position is None:
        # Gather in 0, 1, … wraps a negative position and fails out of range, as SequenceAt does.
        bounds = [int64(node, 0, "zero"), _count(node, parts, size), int64(node, 1, "one")]
        every = node.before("Range", bounds, what="positions")
        at = node.before("Gather", [every, scalar(node, 1)], what="position", axis=0)
    elif position >= 0:
        at = int64(node, position, "position")
    else:
        at = node.before("Add", [_count(node, parts, size), int64(node, position, "position")], what="position")
    start = node.before("Mul", [at, size], what="start")
    end = node.before("Add", [start, size], what="end")
    return _vector(node, start), _vector(node, end)


def _part_size(node: Node, parts: Parts) -> str:
    """The size of all parts but the last, as an int64 scalar."""
    constant = parts.node.constant(1)
    if constant is not None:
        return int64(node, int(constant), "size")
    name = parts.node.input(1)
    if parts.node.elem_type(1) == TensorProto.INT64:
        return name
    return node.before("Cast", [name], what="size", to=TensorProto.INT64)


def _count(node: Node, parts: Parts, size: str) -> str:
    """How many parts there are: the dimension divided by `size`, rounded up, with no step that overflows."""
    dimension = length(node, parts.data, parts.axis, "scalar")
    return node.before("Add", [*_whole_and_rest(node, dimension, size)], what="count")


def _whole_and_rest(node: Node, dimension: str, size: str) -> tuple[str, str]:
    """How many parts are whole, and 1 if a shorter one follows, else 0."""
    whole = node.before("Div", [dimension, size], what="whole")
    covered = node.before("Mul", [whole, size], what="covered")
    rest = node.before("Sub", [dimension, covered], what="rest")
    has_rest = node.before("Cast", [rest], what="has_rest", to=TensorProto.BOOL)
    return whole, node.before("Cast", [has_rest], what="last", to=TensorProto.INT64)


def _vector(node: Node, name: str) -> str:
    """`name`, of one element, as a vector."""
    return node.before("Reshape", [name, int64(node, [1], "vector")], what="vector")


def _require_scalar(parts: Parts) -> None:
    """Raises NotSimplified where split may be a vector of sizes."""
    rank = parts.node.rank(1)
    if rank != 0:
        name = parts.node.input(1)
        what = "is a vector of unknown length" if rank == 1 else "is computed at run time, and its rank is unknown"
        raise NotSimplified(f"split '{name}' of SplitToSequence '{parts.node.name}' {what}")


@simplify("SequenceLength", opset=13)
def compute_length(node: Node) -> None:
    """SequenceLength of parts whose number is unknown is computed from the dimension."""
    parts = run_time_parts(node)
    if parts is None:
        return
    if not parts.node.has_input(1):
        shape = node.before("Shape", [parts.data], what="shape")
        node.become("Gather", [shape, int64(node, parts.axis, "axis")], axis=0)
    elif parts.node.rank(1) == 1:
        node.become("Size", [parts.node.input(1)])
    else:
        _require_scalar(parts)
        size = _part_size(node, parts)
        dimension = length(node, parts.data, parts.axis, "scalar")
        node.become("Add", [*_whole_and_rest(node, dimension, size)])


@simplify("ConcatFromSequence", opset=13)
def undo_split(node: Node) -> None:
    """ConcatFromSequence of all parts along the axis on which they were cut becomes the data."""
    parts = run_time_parts(node)
    if parts is not None and not undoes_split(node, parts):
        raise NotSimplified(f"how many parts SplitToSequence '{parts.node.name}' makes is only known at run time")
