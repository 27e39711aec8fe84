"""Removes a SplitToSequence whose number of parts is only known at run time: the nodes that read it compute their part from the
data.

Element i of parts of size c is Slice(x, i*c, (i+1)*c); where the sizes are a vector, the Slice begins at the sum of the sizes
before. torch's exporter writes `chunk` and `split` over a dynamic axis this way. docs/sequences.md explains why this is exact
wherever the original runs.
https://onnx.ai/onnx/operators/onnx__SplitToSequence.html, https://onnx.ai/onnx/operators/onnx__SequenceAt.html,
https://onnx.ai/onnx/operators/onnx__SequenceLength.html, https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Shape
from ..shared.indices import length
from ..shared.part_bounds import as_int64, slice_at
from ..shared.sequence_origin import (
    Parts,
    constant_position,
    gathers_whole,
    run_time_parts,
    scalar,
    undoes_split,
)

_INT64_MAX = 2**63 - 1


@simplify("SequenceAt", opset=13)
def slice_part(node: Node) -> None:
    """SequenceAt of an unknown number of parts becomes a Slice of the data, or a Gather for parts of length 1."""
    parts = run_time_parts(node)
    if parts is None:
        return
    if not parts.sizes:
        _gather_row(node, parts)
        return
    if parts.node.rank(1) == 1:
        slice_at(node, parts.data, parts.axis, as_int64(node, parts.sizes))
        return
    _require_scalar(parts)
    position = constant_position(node, 1)
    size = parts.node.constant(1)
    if size is not None and position is not None and position >= 0:
        starts, ends = (node.op.int64([min(at * int(size), _INT64_MAX)]) for at in (position, position + 1))
    else:
        starts, ends = _bounds(node, parts, position)
    node.become.Slice(parts.data, starts, ends, node.op.int64([parts.axis]))


def _gather_row(node: Node, parts: Parts) -> None:
    """Turn the node into a Gather of one index of the data, for parts of length 1."""
    if not gathers_whole(node, parts.data, parts.axis):
        raise NotSimplified(f"onnxruntime loses strings of '{parts.data}' if a Gather takes rows of it")
    position = constant_position(node, 1)
    if parts.squeezed:
        index = scalar(node, 1) if position is None else node.op.int64(position)
    elif position is None:
        index = _vector(node, node.input(1))
    else:
        index = node.op.int64([position])
    node.become.Gather(parts.data, index, axis=parts.axis)


def _bounds(node: Node, parts: Parts, position: int | None) -> tuple[str, str]:
    """The start and end of the part at `position` (None: at the position in input 1), as int64 vectors of one."""
    op = node.op
    size = _part_size(node, parts)
    if position is not None and position >= 0:
        step = _vector(node, size)  # the end of one part is the start of the next, computed once
        start, end = (op.Mul(step, op.int64([number])) if number else op.int64([0]) for number in (position, position + 1))
        return start, end
    if position is None:
        # Gather in 0, 1, … wraps a negative position and fails out of range, as SequenceAt does.
        bounds = [op.int64(0), _count(node, parts, size), op.int64(1)]
        every = op.Range(*bounds)
        at = op.Gather(every, scalar(node, 1), axis=0)
    else:
        at = op.Add(_count(node, parts, size), op.int64(position))
    start = op.Mul(at, size)
    end = op.Add(start, size)
    return _vector(node, start), _vector(node, end)


def _part_size(node: Node, parts: Parts) -> str:
    """The size of all parts but the last, as an int64 scalar."""
    constant = parts.node.constant(1)
    if constant is not None:
        return node.op.int64(int(constant))
    return as_int64(node, parts.sizes)


def _count(node: Node, parts: Parts, size: str) -> str:
    """The number of parts: the dimension divided by `size`, rounded up, computed without overflow."""
    dimension = length(node, parts.data, parts.axis, "scalar")
    return node.op.Add(*_whole_and_rest(node, dimension, size))


def _whole_and_rest(node: Node, dimension: str, size: str) -> tuple[str, str]:
    """The number of parts of full size, and 1 if a shorter one follows, else 0."""
    op = node.op
    whole = op.Div(dimension, size)
    covered = op.Mul(whole, size)
    rest = op.Sub(dimension, covered)
    has_rest = op.Cast(rest, to=TensorProto.BOOL)
    return whole, op.Cast(has_rest, to=TensorProto.INT64)


def _vector(node: Node, name: str) -> str:
    """`name`, which has one element, as a vector."""
    return node.op.Reshape(name, node.op.int64([1]))


def _require_scalar(parts: Parts) -> None:
    """Raises NotSimplified where it is unknown whether the input split is one size or a vector of sizes."""
    rank = parts.node.rank(1)
    if rank != 0:
        of = f"of SplitToSequence '{parts.node.name}'"
        raise NotSimplified(f"split '{parts.sizes}' {of} is computed at run time, and its rank is unknown")


@simplify("SequenceLength", opset=13)
def compute_length(node: Node) -> None:
    """SequenceLength of an unknown number of parts is computed from the dimension."""
    parts = run_time_parts(node)
    if parts is None:
        return
    if not parts.sizes:
        shape = node.op.Shape(parts.data)
        node.become.Gather(shape, node.op.int64(parts.axis), axis=0)
    elif parts.node.rank(1) == 1:
        node.become.Size(parts.sizes)
    else:
        _require_scalar(parts)
        size = _part_size(node, parts)
        dimension = length(node, parts.data, parts.axis, "scalar")
        node.become.Add(*_whole_and_rest(node, dimension, size))


@simplify("ConcatFromSequence", opset=13)
def undo_split(node: Node) -> None:
    """ConcatFromSequence along the axis of the cuts becomes the data itself; for rows, a Transpose or Reshape of it."""
    parts = run_time_parts(node)
    if parts is None or undoes_split(node, parts):
        return
    shape = node.shape(parts.data)
    if not parts.squeezed or shape is None:
        raise NotSimplified(f"how many parts SplitToSequence '{parts.node.name}' makes is only known at run time")
    if node.attr("new_axis", 0):
        node.become.Transpose(parts.data, perm=_moved(len(shape), parts.axis, node.attr("axis")))
    else:
        _merge_rows(node, parts, shape)


def _moved(rank: int, axis: int, to: int) -> list[int]:
    """The perm of a Transpose that moves `axis` to position `to` of the result."""
    others = [index for index in range(rank) if index != axis % rank]
    place = to % rank
    return [*others[:place], axis % rank, *others[place:]]


def _merge_rows(node: Node, parts: Parts, shape: Shape) -> None:
    """Join rows along one of their own axes: the axis of the cuts is moved before that one and merged with it."""
    own = [dim for index, dim in enumerate(shape) if index != parts.axis % len(shape)]
    at = node.attr("axis") % len(own) if own else 0
    others = [dim for index, dim in enumerate(own) if index != at]
    are_known = all(isinstance(dim, int) and dim > 0 for dim in others)
    if not own or (len(own) != 2 and not are_known):
        raise NotSimplified(f"the elements are rows of '{parts.data}', and not known to have a shape without 0")
    perm = _moved(len(shape), parts.axis, at)
    data = parts.data if perm == sorted(perm) else node.op.Transpose(parts.data, perm=perm)
    if not are_known:
        node.become.Flatten(data, axis=2 - at)
        return
    node.become.Reshape(data, node.op.int64([*own[:at], -1, *own[at + 1 :]]))
