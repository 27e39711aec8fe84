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
from .shared.split_sizes import equal_sizes, explicit_sizes, name_outputs


@upgrade("Split", 2)
def sizes_from_float_input(node: Node) -> None:
    """The float input of opset 1 becomes the attribute (an int64 input where it is only known at run time)."""
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
    """A Split without sizes says how many parts it makes; parts of an empty dimension are spelled out, as onnxruntime wants."""
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
    """num_outputs goes where the parts are equal, else becomes sizes: constant ones if the dimension is known, else computed."""
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
    """`equal_sizes` of the dimension that the data turns out to have."""
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
    """One Slice a part, from the end of the one before; written for opset 12, possible down to 10."""
    data, sizes = node.input(0), node.input(1)
    node.explain(f"the sizes '{sizes}' are computed at run time")
    axes = node.add_constant([node.attr("axis", 0)], np.int64, "axes")
    first = node.add_constant([0], np.int64, "zero")
    start = node.add_constant([0], np.int64, "zero")
    for index, output in enumerate(node.outputs):
        bounds = [node.add_constant([bound], np.int64, f"bound{bound}") for bound in (index, index + 1)]
        size = node.before("Slice", [sizes, *bounds, first], what=f"size{index}")
        end = node.before("Add", [start, size], what=f"end{index}")
        node.before("Slice", [data, start, end, axes], outputs=[output])
        start = end
    node.remove()


@downgrade("Split", 11)
def axis_from_the_front(node: Node) -> None:
    """Before 11 an axis counts from the front."""
    add_rank(node, "axis")


@downgrade("Split", 2)
def write_out_axis(node: Node) -> None:
    """Opset 1 has no default axis."""
    if not node.has_attr("axis"):
        node.set_attr("axis", 0)
