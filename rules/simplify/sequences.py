"""Removes sequences whose elements are known: the nodes that read the sequence read its elements.

Negative positions count from the end. docs/sequences.md explains why each rewrite is exact.
https://onnx.ai/onnx/operators/onnx__SequenceAt.html, https://onnx.ai/onnx/operators/onnx__SequenceInsert.html,
https://onnx.ai/onnx/operators/onnx__SequenceErase.html, https://onnx.ai/onnx/operators/onnx__SequenceLength.html,
https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html, https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html,
https://onnx.ai/onnx/operators/onnx__SequenceEmpty.html
"""

from __future__ import annotations

import itertools

from onnx import TensorProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Shape
from ..shared.indices import length
from ..shared.part_bounds import slice_at
from ..shared.sequence_origin import (
    constant_position,
    elements,
    gathers_whole,
    parts_of_one_split,
    require_position,
    run_time_parts,
    scalar,
    undoes_split,
    why_unknown,
)
from ..shared.split_sizes import known_sizes

MOST_ELEMENTS = 4096
"""The length up to which a sequence may grow or shrink by one: 10,000 inserts in a row would need 50 million names and 1.3 GB."""


@simplify("SequenceAt", opset=13)
def pick_element(node: Node) -> None:
    """SequenceAt of known elements becomes the element; with a computed position, a Slice or Gather of all elements."""
    if run_time_parts(node) is not None:
        return
    names = elements(node)
    position = constant_position(node, 1)
    if position is None:
        _pick_at_run_time(node, names)
        return
    require_position(node, position, -len(names), len(names) - 1, len(names))
    node.forward(0, names[position])
    node.remove()


def _pick_at_run_time(node: Node, names: list[str]) -> None:
    """Let the node choose one of `names` by a position that is only known at run time."""
    op = node.op
    parts = parts_of_one_split(node, names)
    sizes = None if parts is None else known_sizes(parts.node)
    if parts is not None and parts.squeezed:
        if sizes is not None and gathers_whole(node, parts.data, parts.axis):
            node.become.Gather(parts.data, scalar(node, 1), axis=parts.axis)
            return
    elif parts is not None and sizes is not None:
        _slice_by_table(node, parts.data, parts.axis, sizes)
        return
    elif parts is not None and parts.sizes:
        slice_at(node, parts.data, parts.axis, parts.sizes)
        return
    shapes = {node.shape(name) for name in names}
    shape = shapes.pop() if len(shapes) == 1 else None
    is_known = shape is not None and all(isinstance(dim, int) for dim in shape)
    if not is_known or (shape and node.elem_type(names[0]) == TensorProto.STRING):
        _slice_of_all(node, names)
        return
    axes = op.int64([0])
    rows = {name: op.Unsqueeze(name, axes) for name in dict.fromkeys(names)}
    stack = op.Concat(*([rows[name] for name in names]), axis=0)
    node.become.Gather(stack, scalar(node, 1), axis=0)


def _slice_by_table(node: Node, data: str, axis: int, sizes: list[int]) -> None:
    """Take a part of `data`, which consists of parts with these sizes along `axis`, by a table of the bounds of the parts.

    Gather wraps a negative position and fails out of range, as SequenceAt does.
    """
    op = node.op
    position = scalar(node, 1)
    ends = list(itertools.accumulate(sizes))
    starts = [end - size for end, size in zip(ends, sizes, strict=True)]
    bounds = [op.Gather(op.int64([[bound] for bound in table]), position, axis=0) for table in (starts, ends)]
    node.become.Slice(data, *bounds, op.int64([axis]))


def _slice_of_all(node: Node, names: list[str]) -> None:
    """Choose one of `names`, whose lengths differ along one axis at most, by a Slice of their concatenation."""
    axis = _axis_of_difference(node, names)
    lengths = {name: node.proven_shape(name)[axis] for name in names}  # type: ignore[index] - the axis is of it
    known = [size for name in names if isinstance(size := lengths[name], int)]
    if len(known) == len(names):
        _slice_by_table(node, node.op.Concat(*names, axis=axis), axis, known)
        return
    sizes = {name: length(node, name, axis, "vector") for name in lengths}
    slice_at(node, node.op.Concat(*names, axis=axis), axis, node.op.Concat(*[sizes[name] for name in names], axis=0))


def _axis_of_difference(node: Node, names: list[str]) -> int:
    """The only axis along which `names` may have different lengths. Raises NotSimplified where there may be more."""
    shapes = {name: node.proven_shape(name) for name in names}
    ranks = {None if shape is None else len(shape) for shape in shapes.values()}
    reason = f"position '{node.input(1)}' {why_unknown(node, 1)}, and the elements"
    if len(ranks) != 1 or not (rank := ranks.pop()):
        raise NotSimplified(f"{reason} are not known to have one number of dimensions")
    different = [axis for axis in range(rank) if len({_length_of(node, name, shapes[name], axis) for name in shapes}) > 1]
    if len(different) > 1:
        raise NotSimplified(f"{reason} may have different lengths along axes {' and '.join(map(str, different))}")
    return different[0] if different else 0


def _length_of(node: Node, name: str, shape: Shape | None, axis: int) -> int | tuple[str, int]:
    """The length of `axis` of `name`, which has the shape `shape`: a number, or a dimension of a model
    input that is certainly equal.
    """
    size = None if shape is None else shape[axis]
    return size if isinstance(size, int) else node.graph.origin_of_dimension(name, axis)


@simplify(("SequenceConstruct", "SequenceEmpty"), opset=13)
def keep_output(node: Node) -> None:
    """A sequence that is an output of the graph stays, because the interface must not change."""
    if node.graph.is_output(node.output(0)):
        raise NotSimplified(f"'{node.output(0)}' is an output of the {node.where}")


@simplify("SequenceLength", opset=13)
def count_elements(node: Node) -> None:
    """SequenceLength of known elements becomes a constant."""
    if run_time_parts(node) is not None:
        return
    length = helper.make_tensor("length", TensorProto.INT64, [], [len(elements(node))])
    node.become.Constant(value=length)
    node.graph.reconsider()


@simplify("SequenceInsert", opset=13)
def insert_element(node: Node) -> None:
    """SequenceInsert at a known position among known elements becomes a longer SequenceConstruct."""
    names = elements(node)
    position = _position(node, 2, len(names))
    require_position(node, position, -len(names), len(names), len(names))
    _require_few(names)
    at = position if position >= 0 else position + len(names)
    node.become.SequenceConstruct(*names[:at], node.input(1), *names[at:])


@simplify("SequenceErase", opset=13)
def erase_element(node: Node) -> None:
    """SequenceErase at a known position among known elements becomes a shorter SequenceConstruct, or SequenceEmpty."""
    names = elements(node)
    position = _position(node, 1, len(names) - 1)
    require_position(node, position, -len(names), len(names) - 1, len(names))
    _require_few(names)
    erased = names.pop(position)
    if names:
        node.become.SequenceConstruct(*names)
        return
    elem_type = node.elem_type(erased)
    if elem_type is None:
        raise NotSimplified(f"it leaves no element, and the type of '{erased}' is unknown")
    node.become.SequenceEmpty(dtype=elem_type)


def _require_few(names: list[str]) -> None:
    """Raises NotSimplified where the sequence is so long that a chain of such nodes would become too large."""
    if len(names) >= MOST_ELEMENTS:
        raise NotSimplified(f"each insert into a sequence of {MOST_ELEMENTS:,} elements or more would list them all again")


def _position(node: Node, index: int, default: int) -> int:
    """The position in input `index`, or `default` where it is absent. Raises NotSimplified where it is not constant."""
    if not node.has_input(index):
        return default
    position = constant_position(node, index)
    if position is None:
        raise NotSimplified(f"position '{node.input(index)}' {why_unknown(node, index)}")
    return position


@simplify("ConcatFromSequence", opset=13)
def concat_elements(node: Node) -> None:
    """ConcatFromSequence of known elements becomes a Concat; with new_axis=1, each element first gets a new axis."""
    if run_time_parts(node) is not None:
        return
    names = elements(node)
    if not names:
        raise NotSimplified("the sequence is empty, and the specification does not say what its concatenation is")
    axis, new_axis = node.attr("axis"), bool(node.attr("new_axis", 0))
    if undoes_split(node, parts_of_one_split(node, names)):
        return
    _require_one_shape(node, names, None if new_axis else axis)
    if new_axis:
        axes = node.op.int64([axis])
        wider = {name: node.op.Unsqueeze(name, axes) for name in dict.fromkeys(names)}
        names = [wider[name] for name in names]
    if len(names) == 1:
        node.forward(0, names[0])
        node.remove()
        return
    node.become.Concat(*names, axis=axis)


def _require_one_shape(node: Node, names: list[str], axis: int | None) -> None:
    """Raises NotSimplified where elements are known to have different lengths along another axis than `axis`.

    Such a node is not valid, but onnxruntime runs it where one of the elements is empty.
    """
    shapes = [shape for name in dict.fromkeys(names) if (shape := node.shape(name)) is not None]
    if len({len(shape) for shape in shapes}) > 1:
        raise NotSimplified("its elements do not have the same number of dimensions")
    for index, sizes in enumerate(zip(*shapes, strict=True)):
        is_free = axis is not None and index == axis % len(shapes[0])
        if not is_free and len({size for size in sizes if isinstance(size, int)}) > 1:
            raise NotSimplified(f"its elements have different lengths along axis {index}")
