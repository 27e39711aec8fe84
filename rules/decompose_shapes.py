"""Tensors that are made from a shape: Expand, ConstantOfShape, Range, EyeLike, Trilu.

https://onnx.ai/onnx/operators/onnx__Expand.html, onnx__ConstantOfShape.html, onnx__Range.html, onnx__EyeLike.html,
onnx__Trilu.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .counting import count_to
from .decompose_comparison import FLOATING
from .indices import int64, length
from .parameters import one_number
from .tables import arange, require_few


@decompose("Expand", opset=7)
def tile_the_ones(node: Node) -> None:
    """Tile, as often along each axis as the shape says where the data has length 1."""
    rank = node.need_rank()
    shape = node.scope.shape_worked_out(node.input(1))
    wanted = shape[0] if shape is not None and len(shape) == 1 else None
    if not isinstance(wanted, int):
        raise Unconvertible(f"the length of the shape '{node.input(1)}' is unknown", node.shape_hint())
    data, sizes = node.input(0), node.input(1)
    if wanted > rank:
        data = node.before("Unsqueeze", [data], what="ranked", axes=list(range(wanted - rank)))
    elif wanted < rank:
        sizes = node.before("Concat", [int64(node, [1] * (rank - wanted), "ones"), sizes], what="sizes", axis=0)
    if max(rank, wanted) == 0:
        node.become("Identity", [data])
        return
    one = int64(node, [1], "one")
    dims = node.before("Shape", [data], what="dims")
    is_one = node.before("Cast", [node.before("Equal", [dims, one], what="is_one")], what="is_one", to=TensorProto.INT64)
    more = node.before("Mul", [is_one, node.before("Sub", [sizes, one], what="more")], what="more")
    node.become("Tile", [data, node.before("Add", [more, one], what="repeats")])


@decompose("ConstantOfShape", opset=8)
def expand_the_value(node: Node) -> None:
    """The value, expanded to the shape."""
    tensor = node.attr("value")
    value = np.zeros(1, np.float32) if tensor is None else numpy_helper.to_array(tensor)
    node.become("Expand", [node.add_constant(one_number(value), value.dtype, "value"), node.input(0)])


@decompose("Range", opset=10)
def count_then_scale(node: Node) -> None:
    """start + i * delta for i from 0, as many as the specification counts; i is where NonZero (9) finds ones, or a Loop counts."""
    elem_type = node.need_elem_type()
    work = elem_type if elem_type in FLOATING else TensorProto.INT64
    node.approximate = work != TensorProto.INT64
    start, limit, delta = (name if elem_type == work else node.before("Cast", [name], what="wide", to=work) for name in node.inputs)
    span = node.before("Sub", [limit, start], what="span")
    span, step = (node.before("Cast", [name], what="double", to=TensorProto.DOUBLE) for name in (span, delta))
    steps = node.before("Ceil", [node.before("Div", [span, step], what="steps")], what="steps")
    count = node.before("Cast", [node.before("Relu", [steps], what="count")], what="count", to=TensorProto.INT64)
    count = node.before("Reshape", [count, int64(node, [], "scalar")], what="count")
    index = count_to(node, count) if node.scope.target < 9 else _places_of_ones(node, count)
    scaled = node.before("Mul", [node.before("Cast", [index], what="index", to=work), delta], what="scaled")
    node.become("Cast", [node.before("Add", [scaled, start], what="values")], to=elem_type)


def _places_of_ones(node: Node, count: str) -> str:
    """0, 1, … below `count`, an int64 scalar: quicker than a Loop."""
    sizes = node.before("Reshape", [count, int64(node, [1], "vector")], what="count")
    ones = node.before("ConstantOfShape", [sizes], what="ones", value=numpy_helper.from_array(np.ones(1, np.int64)))
    places = node.before("NonZero", [ones], what="places")
    return node.before("Reshape", [places, int64(node, [-1], "flat")], what="index")


@decompose("EyeLike", opset=9)
def constant_eye(node: Node) -> None:
    """A constant, where the shape is known."""
    rows, columns = node.need_shape()
    require_few(rows * columns)
    elem_type = node.attr("dtype") or node.need_elem_type()
    eye = np.eye(rows, columns, node.attr("k", 0), dtype=helper.tensor_dtype_to_np_dtype(elem_type))
    node.become("Identity", [node.add_constant(eye, eye.dtype, "eye")])


@decompose("Trilu", opset=16)
def where_the_triangle_is(node: Node) -> None:
    """Where(column - row compares with k, x, 0)."""
    elem_type = node.need_elem_type()
    if elem_type == TensorProto.STRING:
        raise Unconvertible("nobody says what Trilu puts in the place of strings", "use Where, which says it")
    rows, columns = (_count(node, axis) for axis in (-2, -1))
    rows = node.before("Unsqueeze", [rows, int64(node, [1], "column")], what="rows")
    distance = node.before("Sub", [columns, rows], what="distance")
    k = node.input(1) if node.has_input(1) else int64(node, 0, "k")
    bounds = [distance, k] if node.attr("upper", 1) else [k, distance]
    outside = node.before("Less", bounds, what="outside")
    zero = node.add_constant(0, helper.tensor_dtype_to_np_dtype(elem_type), "zero")
    node.become("Where", [outside, zero, node.input(0)])


def _count(node: Node, axis: int) -> str:
    """0, 1, … below the length of the axis."""
    dimension = node.dimension(axis)
    if isinstance(dimension, int):
        return int64(node, arange(dimension).tolist(), "count")
    rank = node.need_rank()
    limit = node.before("Reshape", [length(node, node.input(0), axis + rank), int64(node, [], "scalar")], what="limit")
    return node.before("Range", [int64(node, 0, "zero"), limit, int64(node, 1, "one")], what="count")
