"""Constant: before opset 9 only for floating-point types; sparse_value came with opset 11, value_int, value_floats, … with 12.

https://onnx.ai/onnx/operators/onnx__Constant.html
"""

from __future__ import annotations

import numpy as np
from onnx import SparseTensorProto, numpy_helper

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING, type_name

_MAX_DENSE_ELEMENTS = 1 << 24
"""The number of elements up to which a sparse constant is written out as a dense one; beyond, the file
would get unexpectedly large.
"""


@downgrade("Constant", 12)
def plain_value(node: Node) -> None:
    """The attributes value_int, value_floats, value_strings, … become a tensor in the attribute value."""
    form = node.proto.attribute[0].name if node.proto.attribute else ""
    if form in ("value", "sparse_value", ""):
        return
    node.attr(form)  # refuses a parameter of a function
    value = node.constant(node.output(0))
    if value is None:
        raise Unconvertible(f"the constant's attribute {form} cannot be read")
    node.pop_attr(form)
    node.set_attr("value", numpy_helper.from_array(value))


@downgrade("Constant", 11)
def dense_value(node: Node) -> None:
    """A sparse tensor becomes a dense one in the attribute value."""
    if not node.has_attr("sparse_value"):
        return
    sparse: SparseTensorProto = node.attr("sparse_value")
    if np.prod(sparse.dims, dtype=object) > _MAX_DENSE_ELEMENTS:
        raise Unconvertible(f"a sparse constant of {'×'.join(map(str, sparse.dims))} elements is too large to be written out")
    node.pop_attr("sparse_value")
    node.set_attr("value", numpy_helper.from_array(_dense(node, sparse)))


def _dense(node: Node, sparse: SparseTensorProto) -> np.ndarray:
    """The values of `sparse` as a dense array. Its indices are [NNZ], positions in the flattened tensor, or [NNZ, rank]."""
    read = node.graph.read
    values, indices = read(sparse.values), read(sparse.indices)
    dense = np.zeros(list(sparse.dims), values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense


@downgrade("Constant", 9)
def cast_from_double(node: Node) -> None:
    """A constant of integers or booleans becomes a Cast of the same numbers, stored as double."""
    tensor = node.attr("value")
    if tensor is None or tensor.data_type in FLOATING:
        return
    value = node.constant(node.output(0))
    if value is None or value.dtype.kind not in "iub":
        name = type_name(tensor.data_type)
        raise Unconvertible(f"a Constant of type {name} does not exist before opset 9", "make it an initializer")
    doubles = value.astype(np.float64)
    if [int(number) for number in doubles.flat] != [int(number) for number in value.flat]:
        raise Unconvertible("a Constant of 64-bit integers beyond 2^53 does not exist before opset 9", "make it an initializer")
    floating = node.op.Constant(value=numpy_helper.from_array(doubles))
    node.become.Cast(floating, to=tensor.data_type)
