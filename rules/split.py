"""Split: piece sizes are an attribute until 12, an input from 13; 18 adds num_outputs and wants one of the two.

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
from .shared.split_sizes import equal_sizes, explicit_sizes, name_outputs


@upgrade("Split", 2)
def sizes_from_float_input(node: Node) -> None:
    """The float input of opset 1 becomes the attribute, or an int64 input where it is only known at run time."""
    if not node.has_attr("axis"):
        _infer_missing_axis(node)
    if not node.has_input(1):
        return
    sizes = node.constant(1)
    if sizes is None:
        cast = node.before("Cast", [node.input(1)], what="sizes", opset=13, to=TensorProto.INT64)
        node.become("Split", [node.input(0), cast], opset=13, axis=node.attr("axis"))
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
        node.set_input(1, node.add_constant(sizes, np.int64, "split"))


@upgrade("Split", 18)
def count_equal_parts(node: Node) -> None:
    """A Split without sizes gets num_outputs; for an empty dimension it gets sizes of 0, as onnxruntime wants."""
    if node.has_input(1):
        return
    parts = len(node.outputs)
    if node.dimension(node.attr("axis", 0)) == 0:
        node.set_input(1, node.add_constant([0] * parts, np.int64, "split"))
        return
    node.drop_input(1)
    node.set_attr("num_outputs", parts)


@downgrade("Split", 18)
def spell_out_parts(node: Node) -> None:
    """num_outputs goes where the parts are equal; else it becomes sizes, constant where the dimension is known, else computed."""
    parts = node.pop_attr("num_outputs")
    if parts is None:
        return
    for index in range(len(node.outputs), parts):
        node.set_output(index, node.fresh_name(f"part{index}"))
    name_outputs(node)
    axis = node.attr("axis", 0)
    dimension = node.dimension(axis)
    if parts == 1 or (isinstance(dimension, int) and dimension % parts == 0):
        return
    if isinstance(dimension, int):
        known = equal_sizes(dimension, parts)
        if known[-1] < 0:
            raise Unconvertible(f"a dimension of {dimension} cannot make {parts} parts, so the node fails if it runs")
        sizes = node.add_constant(known, np.int64, "split")
    else:
        sizes = _sizes_at_run_time(node, axis, parts)
    node.set_input(1, sizes)


def _sizes_at_run_time(node: Node, axis: int, parts: int) -> str:
    """What `equal_sizes` gives for the dimension that the data turns out to have."""
    dimension = node.dimension(axis)
    label = f"dimension '{dimension}'" if dimension else f"dimension {axis}"
    node.explain(f"{label} of '{node.input(0)}' is unknown, so the sizes are computed at run time", node.shape_hint())
    shape = node.before("Shape", [node.input(0)], what="shape")
    length = node.before("Gather", [shape, node.add_constant([axis], np.int64, "axis")], what="dim", axis=0)
    rounded_up = node.before("Add", [length, node.add_constant([parts - 1], np.int64, "round_up")], what="rounded_up")
    size = node.before("Div", [rounded_up, node.add_constant([parts], np.int64, "parts")], what="size")
    before_last = node.before("Mul", [size, node.add_constant([parts - 1], np.int64, "before_last")], what="used")
    last = node.before("Sub", [length, before_last], what="last")
    return node.before("Concat", [size] * (parts - 1) + [last], what="split", axis=0)


@downgrade("Split", 13)
def sizes_to_attribute(node: Node) -> None:
    """Constant sizes become the attribute; sizes that are only known at run time turn the Split into Slices."""
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
    """Write one Slice for each part, from the end of the one before, for opset 12, possible down to 10; at 9 Gathers."""
    node.explain(f"the sizes '{node.input(1)}' are computed at run time")
    start = node.add_constant([0], np.int64, "zero")
    for output, size in zip(node.outputs, _each_size(node), strict=True):
        if node.scope.target == 9:
            _gather(node, start, size, output)
        else:
            _slice(node, start, size, output)
        start = node.before("Add", [size, start], what="end")
    node.remove()


def _slice(node: Node, start: str, size: str, output: str) -> None:
    end = node.before("Add", [size, start], what="end")
    axes = node.add_constant([node.attr("axis", 0)], np.int64, "axes")
    node.before("Slice", [node.input(0), start, end, axes], outputs=[output])


def _gather(node: Node, start: str, size: str, output: str) -> None:
    """The sizes of a Split are not negative and end where the data does: nothing has to be clamped."""
    places = node.before("Add", [places_of_ones(node, size), start], what="places")
    node.before("Gather", [node.input(0), places], outputs=[output], opset=10, axis=node.attr("axis", 0))


def _each_size(node: Node) -> list[str]:
    """The sizes one by one, each an int64 vector of one: what they were concatenated of, or Slices of them."""
    sizes, parts = node.input(1), len(node.outputs)
    maker = node.scope.producer(sizes)
    pieces = list(maker.input) if maker is not None and maker.op_type == "Concat" else []
    if len(pieces) == parts and all(node.scope.shape(name) == (1,) for name in pieces):
        return pieces
    first = node.add_constant([0], np.int64, "zero")
    bounds = [node.add_constant([bound], np.int64, f"bound{bound}") for bound in range(parts + 1)]
    return [node.before("Slice", [sizes, *bounds[index : index + 2], first], what=f"size{index}") for index in range(parts)]


@downgrade("Split", 11)
def axis_from_the_front(node: Node) -> None:
    """A negative axis gets the rank added."""
    add_rank(node, "axis")


@downgrade("Split", 2)
def write_out_axis(node: Node) -> None:
    """axis=0 is written out: opset 1 has no default."""
    if not node.has_attr("axis"):
        node.set_attr("axis", 0)
