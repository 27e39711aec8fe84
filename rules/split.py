"""Split: the sizes of the parts are an attribute until opset 12 and an input from 13 on; 18 adds num_outputs and requires one of
the two.

https://onnx.ai/onnx/operators/onnx__Split.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import add_rank
from .shared.counting import places_of_ones
from .shared.split_sizes import equal_sizes, explicit_sizes, name_outputs, name_parts, part_count, sizes_at_run_time

_END, _END_BELOW_9 = np.iinfo(np.int64).max, 2**53
"""An end after the last element of any axis, and one that a Constant of opset 8 can hold."""


@upgrade("Split", 2)
def sizes_from_float_input(node: Node) -> None:
    """The float input of opset 1 becomes the attribute, or, if it is only known at run time, an int64 input."""
    if not node.has_attr("axis"):
        _infer_missing_axis(node)
    if not node.has_input(1):
        return
    sizes = node.constant(1)
    if sizes is None:
        cast = node.op.Cast(node.input(1), opset=13, to=TensorProto.INT64)
        node.become.Split(node.input(0), cast, opset=13, axis=node.attr("axis"))
        return
    if (sizes != np.floor(sizes)).any():
        raise Unconvertible(f"the split sizes {sizes.tolist()} are not whole numbers")
    node.set_attr("split", [int(size) for size in sizes.reshape(-1)])
    node.drop_input(1)


def _infer_missing_axis(node: Node) -> None:
    """Set axis=0 for data of rank 1. Raises Unconvertible for other data."""
    if node.rank() != 1:
        raise Unconvertible("axis is not given, and opset 1 has no default for it", "set the attribute axis in the model")
    node.set_attr("axis", 0)


@upgrade("Split", 13)
def sizes_to_input(node: Node) -> None:
    """The attribute split becomes an input."""
    sizes = node.pop_attr("split")
    if sizes is not None:
        node.set_input(1, node.op.int64(sizes))


@upgrade("Split", 18)
def count_equal_parts(node: Node) -> None:
    """A Split without sizes gets num_outputs, or for an empty dimension sizes of 0, which onnxruntime needs."""
    if node.has_input(1):
        return
    parts = len(node.outputs)
    if node.dimension(node.attr("axis", 0)) == 0:
        node.set_input(1, node.op.int64([0] * parts))
        return
    node.drop_input(1)
    node.set_attr("num_outputs", parts)


@downgrade("Split", 18)
def spell_out_parts(node: Node) -> None:
    """num_outputs is removed if the parts are equal; otherwise it becomes sizes, constant ones if the dimension is known.

    Sizes are written for equal parts, too, where another Split of the data makes another number of them: without sizes the two
    look alike, and the optimizer of onnxruntime (seen in 1.32) lets one stand for both.
    """
    if not node.has_attr("num_outputs"):
        return
    parts = part_count(node)
    node.pop_attr("num_outputs")
    name_parts(node, parts)
    axis = node.attr("axis", 0)
    dimension = node.dimension(axis)
    if parts == 1 or (isinstance(dimension, int) and dimension % parts == 0 and not _has_twin(node, parts)):
        return
    if isinstance(dimension, int):
        known = equal_sizes(dimension, parts)
        if known[-1] < 0:
            raise Unconvertible(f"a dimension of {dimension} cannot make {parts} parts, so the node fails if it runs")
        sizes = node.op.int64(known)
    else:
        sizes = sizes_at_run_time(node, axis, parts)
    node.set_input(1, sizes)


def _has_twin(node: Node, parts: int) -> bool:
    """Whether another Split without sizes makes another number of parts of the same data, or of what an equal node makes."""
    return any(
        reader.op_type == node.op_type and len(reader.output) != parts and not any(reader.input[1:])
        for name in _alike(node)
        for reader in node.graph.readers(name)
    )


def _alike(node: Node) -> list[str]:
    """The data, and what may equal it: copies by Identity, and results of nodes with the operator and the input of its maker."""
    data, maker = node.input(0), node.maker(0)
    while maker is not None and maker.op_type == "Identity":
        data, maker = maker.input(0), maker.maker(0)
    names = [data, *(reader.output[0] for reader in node.graph.readers(data) if reader.op_type == "Identity")]
    if maker is not None and maker.inputs:
        names += [other.output[0] for other in node.graph.readers(maker.input(0)) if other.op_type == maker.op_type]
    return list(dict.fromkeys(names))


@downgrade("Split", 13)
def sizes_to_attribute(node: Node) -> None:
    """Constant sizes become the attribute; with sizes that are only known at run time, the Split becomes Slices."""
    name_outputs(node)
    if not node.has_input(1):
        node.drop_input(1)
        return
    sizes = explicit_sizes(node)
    if sizes is None:
        _slice_at_run_time(node)
        return
    node.drop_input(1)
    node.set_attr("split", sizes)


def _slice_at_run_time(node: Node) -> None:
    """Write a Slice for each part, which starts where the part before ends, in the form of opset 12, or Gathers below opset 10.

    The last part goes to the end of the axis, because the sizes of a Split add up to its length.
    """
    op, data = node.op, node.input(0)
    node.explain(f"the sizes '{node.input(1)}' are computed at run time")
    start, axis = op.int64([0]), op.int64([node.attr("axis", 0)])
    last = node.outputs[-1]
    for output, size in zip(node.outputs, _each_size(node), strict=True):
        end = op.Add(size, start) if output != last else op.int64([_END if node.target >= 9 else _END_BELOW_9])
        if node.target == 9:
            _gather(node, start, size, output)
        else:
            op.Slice(data, start, end, axis, output=output)
        start = end
    node.remove()


def _gather(node: Node, start: str, size: str, output: str) -> None:
    """Gather one part. The sizes of a Split are not negative and add up to the length of the data, so positions need no limits."""
    places = node.op.Add(places_of_ones(node, size), start)
    node.op.Gather(node.input(0), places, output=output, opset=10, axis=node.attr("axis", 0))


def _each_size(node: Node) -> list[str]:
    """The sizes one by one, each as an int64 vector of one: the operands of the Concat that makes them, or Slices of them."""
    op = node.op
    sizes, parts = node.input(1), len(node.outputs)
    maker = node.maker(sizes)
    pieces = maker.inputs if maker is not None and maker.op_type == "Concat" else []
    if len(pieces) == parts and all(node.shape(name) == (1,) for name in pieces):
        return pieces
    first = op.int64([0])
    bounds = [op.int64([bound]) for bound in range(parts + 1)]
    return [op.Slice(sizes, *bounds[index : index + 2], first) for index in range(parts)]


@downgrade("Split", 11)
def axis_from_the_front(node: Node) -> None:
    """The rank is added to a negative axis."""
    add_rank(node, "axis")


@downgrade("Split", 2)
def write_out_axis(node: Node) -> None:
    """axis=0 is written out, because opset 1 has no default."""
    if not node.has_attr("axis"):
        node.set_attr("axis", 0)
