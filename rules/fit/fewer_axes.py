"""Nodes of many dimensions written with fewer, for runtimes that limit the rank.

Neighbouring axes become one where the node treats them alike. Each operand is reshaped for that, from the value that it was a
reshaped form of itself, and the result gets its shape back: so the values of many dimensions between nodes end up unread, and go.
The page of each operator is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from math import prod
from typing import NamedTuple

from ...rewriter.engine.registry import EVERY_OPERATOR, fewer_axes
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind
from ..shared.axes import reduced_axes

RuleFunction = Callable[[Node], None]
Sizes = tuple[int, ...]


class _Merged(NamedTuple):
    """Axes in groups of neighbours, each of which becomes one axis. Axes of length 1 are in none, unless they are marked."""

    groups: list[list[int]]
    rank: int

    def sizes(self, shape: Sizes) -> Sizes:
        """The shape after the merge. Shorter ones are aligned from the right."""
        padded = (1,) * (self.rank - len(shape)) + shape
        return tuple(prod(padded[axis] for axis in group) for group in self.groups)

    def broadcast_sizes(self, shape: Sizes) -> Sizes:
        """The same without leading axes of length 1 that the operand did not have; one element keeps its shape if it can."""
        merged = self.sizes(shape)
        if prod(shape) == 1 and len(shape) <= len(merged):
            return shape
        first = next((place for place, size in enumerate(merged) if size != 1), len(merged))
        return merged[min(first, max(len(merged) - len(shape), 0)) :]

    def place(self, axis: int) -> int:
        """The number of the group of an axis."""
        return next(place for place, group in enumerate(self.groups) if axis in group)


def _merged(shapes: Sequence[Sizes], marks: Mapping[int, Hashable]) -> _Merged:
    """Merge the neighbours along which the same of `shapes` have 1, and which have the same mark."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    groups: list[list[int]] = []
    last: Hashable = None
    for axis in range(rank):
        pattern = tuple(shape[axis] != 1 for shape in padded)
        if not any(pattern) and axis not in marks:
            continue
        alike = marks.get(axis, pattern)
        if groups and alike == last:
            groups[-1].append(axis)
        else:
            groups.append([axis])
        last = alike
    return _Merged(groups, rank)


def _shapes(node: Node, *values: str) -> list[Sizes] | None:
    """The shapes of the values; None where one is not known, or has a length of 0."""
    found: list[Sizes] = []
    for value in values:
        shape = node.shape(value)
        sizes = tuple(dim for dim in shape or () if isinstance(dim, int) and dim > 0)
        if shape is None or len(sizes) != len(shape):
            return None
        found.append(sizes)
    return found


def _source(node: Node, value: str) -> str:
    """The first value that has the elements of `value` in the same order."""
    maker = node.maker(value)
    while maker is not None and maker.op_type in facts.with_word("only-reshapes") and _shapes(node, maker.input(0)) is not None:
        value = node.graph.resolve(maker.input(0))
        maker = maker.maker(0)
    return value


def _reshape_input(node: Node, index: int, sizes: Sizes) -> None:
    """Let the node read its operand in the shape `sizes`."""
    value = node.input(index)
    if node.shape(value) == sizes:
        return
    source = _source(node, value)
    node.set_input(index, source if node.shape(source) == sizes else node.op.Reshape(source, node.op.int64([*sizes])))


def _with_outputs_as_before(rewrite: RuleFunction) -> RuleFunction:
    """Let `rewrite` change the node, whose outputs then get back the shapes that they had."""

    @wraps(rewrite)
    def rule(node: Node) -> None:
        shapes = _shapes(node, *filter(None, node.outputs))
        before = node.inputs
        if shapes is None:
            return
        rewrite(node)
        if node.inputs == before:
            return
        places = [index for index, name in enumerate(node.outputs) if name]
        for index, shape in zip(places, shapes, strict=True):
            value = node.output(index)
            node.after.Reshape(node.detach_output(index, "merged"), node.op.int64([*shape]), output=value)

    return rule


@fewer_axes(EVERY_OPERATOR, opset=13)
@_with_outputs_as_before
def elementwise(node: Node) -> None:
    """An elementwise node keeps those axes apart along which another of its operands is repeated."""
    if len(node.outputs) == 1 and facts.of(node.op_type).kind is Kind.ELEMENTWISE:
        _broadcast(node)


@fewer_axes(("Cast", "Where"), opset=13)
@_with_outputs_as_before
def like_elementwise(node: Node) -> None:
    """A choice, or a change of type, treats each element alone as well."""
    _broadcast(node)


@fewer_axes(("QuantizeLinear", "DequantizeLinear"), opset=13)
@_with_outputs_as_before
def with_one_scale(node: Node) -> None:
    """All elements have the same scale and zero point. Scales along an axis are left alone."""
    shapes = _shapes(node, *filter(None, node.inputs[1:]))
    if shapes is not None and all(prod(shape) == 1 for shape in shapes):
        _broadcast(node)


def _broadcast(node: Node) -> None:
    shapes = _shapes(node, *filter(None, node.inputs))
    if shapes is None:
        return
    merged = _merged(shapes, {})
    if len(merged.groups) < merged.rank:
        for index, shape in zip([at for at, name in enumerate(node.inputs) if name], shapes, strict=True):
            _reshape_input(node, index, merged.broadcast_sizes(shape))


@fewer_axes(("Softmax", "LogSoftmax", "Hardmax", "Concat", "Split", "Gather"), opset=13)
@_with_outputs_as_before
def along_one_axis(node: Node) -> None:
    """The axis along which the node works stays; those before it become one, and those behind it another."""
    shapes = _shapes(node, *(node.inputs if node.op_type == "Concat" else node.inputs[:1]))
    if shapes is None:
        return
    rank = len(shapes[0])
    is_normalized = facts.of(node.op_type).kind is Kind.NORMALIZES
    is_flattened = is_normalized and node.opset < 13
    usual = 0 if not is_normalized else 1 if is_flattened else -1
    axis = node.attr("axis", usual) % rank
    merged = _merged(shapes[:1], {axis: "worked on"})
    if len(merged.groups) >= rank or (is_flattened and axis != rank - 1):
        return
    node.set_attr("axis", merged.place(axis))
    for index, shape in enumerate(shapes):
        _reshape_input(node, index, merged.sizes(shape))
    if node.op_type == "Gather" and len(node.need_shape(1)) > 1:
        _reshape_input(node, 1, (prod(node.need_shape(1)),))


@fewer_axes("Slice", opset=13)
@_with_outputs_as_before
def between_slices(node: Node) -> None:
    """The axes that are cut stay, and the others become one where they are neighbours."""
    shapes, axes = _shapes(node, node.input(0)), node.constant(3) if node.has_input(3) else None
    if shapes is None or node.opset < 10 or (axes is None and node.has_input(3)):
        return
    rank = len(shapes[0])
    cut = [int(axis) % rank for axis in (axes.tolist() if axes is not None else range(len(node.const_input(1, "the starts"))))]
    merged = _merged(shapes, {axis: axis for axis in cut})
    if len(merged.groups) < rank:
        _reshape_input(node, 0, merged.sizes(shapes[0]))
        node.set_input(3, node.op.const([merged.place(axis) for axis in cut], node.need_elem_type(1)))


@fewer_axes(("ReduceMax", "ReduceMin"), opset=13)
@_with_outputs_as_before
def between_extremes(node: Node) -> None:
    """Neighbours become one axis where all of them are reduced, and where none is."""
    _reduce_groups(node)


@fewer_axes(("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"), opset=13, exact=False, sums=True)
@_with_outputs_as_before
def between_sums(node: Node) -> None:
    """Neighbours become one axis where all of them are reduced, and where none is."""
    _reduce_groups(node)


def _reduce_groups(node: Node) -> None:
    shapes, axes = _shapes(node, node.input(0)), reduced_axes(node)
    if shapes is None or not axes:
        return
    long = [axis for axis in axes if shapes[0][axis] != 1] or axes[:1]
    merged = _merged(shapes, dict.fromkeys(long, "reduced"))
    if len(merged.groups) >= len(shapes[0]):
        return
    places = sorted({merged.place(axis) for axis in long})
    _reshape_input(node, 0, merged.sizes(shapes[0]))
    node.set_attr("keepdims", 1)
    if node.has_attr("axes"):
        node.set_attr("axes", places)
    elif node.has_input(1):
        node.set_input(1, node.op.int64(places))


@fewer_axes("MatMul", opset=13)
@_with_outputs_as_before
def batches(node: Node) -> None:
    """Neighbouring axes of the batch become one where both operands have them, or the same one has not."""
    shapes = _shapes(node, *node.inputs)
    if shapes is None or min(map(len, shapes)) < 2:
        return
    merged = _merged([shape[:-2] for shape in shapes], {})
    if len(merged.groups) < merged.rank:
        for index, shape in enumerate(shapes):
            _reshape_input(node, index, (*merged.broadcast_sizes(shape[:-2]), *shape[-2:]))


@fewer_axes("Expand", opset=13)
@_with_outputs_as_before
def repeated(node: Node) -> None:
    """Neighbours become one axis where all of them are repeated, and where none is."""
    shapes = _shapes(node, node.input(0), node.output(0))
    merged = _merged(shapes, {}) if shapes else None
    if shapes and merged is not None and len(merged.groups) < merged.rank:
        _reshape_input(node, 0, merged.broadcast_sizes(shapes[0]))
        node.set_input(1, node.op.int64([*merged.sizes(shapes[1])]))


@fewer_axes("Transpose", opset=13)
@_with_outputs_as_before
def blocks(node: Node) -> None:
    """Axes that stay neighbours become one. If none do, one axis goes to its place first, past the block of those before it."""
    shapes = _shapes(node, node.input(0))
    if shapes is None:
        return
    (shape,) = shapes
    order = [axis for axis in node.attr("perm", [*range(len(shape))][::-1]) if shape[axis] != 1]
    groups = _runs(order)
    sizes = [prod(shape[axis] for axis in group) for group in sorted(groups)]
    perm = [sorted(groups).index(group) for group in groups]
    if len(sizes) < len(shape):
        _reshape_input(node, 0, tuple(sizes))
        node.set_attr("perm", perm)
    elif len(sizes) > _SWAPPED:
        _swap_first(node, perm)


_SWAPPED = 4
"""The number of axes that a Transpose of two neighbouring blocks needs, with what stands before and behind them."""


def _swap_first(node: Node, perm: list[int]) -> None:
    """Move the first axis that is not in its place to it, and let the node do the rest."""
    to = next(place for place, axis in enumerate(perm) if place != axis)
    come = perm[to]
    moved = [*range(to), come, *range(to, come), *range(come + 1, len(perm))]
    swapped = node.op.Transpose(node.input(0), perm=moved)
    node.set_input(0, swapped)
    node.set_attr("perm", [moved.index(axis) for axis in perm])


def _runs(order: Sequence[int]) -> list[list[int]]:
    """The axes in groups that follow each other in `order` as they do in the shape. Those of length 1 are not among them."""
    ranks = {axis: rank for rank, axis in enumerate(sorted(order))}
    groups: list[list[int]] = []
    for axis in order:
        if groups and ranks[axis] == ranks[groups[-1][-1]] + 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


@fewer_axes(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), opset=13)
def from_its_source(node: Node) -> None:
    """The node reshapes what its input is a reshaped form of."""
    shapes = _shapes(node, node.input(0), node.output(0))
    source = _source(node, node.input(0))
    if shapes and source != node.input(0):
        node.become.Reshape(source, node.op.int64([*shapes[1]]))
