"""Constant: value_int, value_floats, … came with opset 12, sparse_value with 11.

https://onnx.ai/onnx/operators/onnx__Constant.html
"""

from __future__ import annotations

import numpy as np
from onnx import SparseTensorProto, numpy_helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, downgrade

_MAX_DENSE_ELEMENTS = 1 << 24
"""Sparse constants above this size stay sparse: written out, they would make a file that nobody expects."""


@downgrade("Constant", 12)
def plain_value(node: Node) -> None:
    """value_int, value_floats, value_strings, … become a tensor."""
    form = node.proto.attribute[0].name if node.proto.attribute else ""
    if form in ("value", "sparse_value", ""):
        return
    node.attr(form)  # refuses a parameter of a function
    value = node.scope.constant(node.output(0))
    if value is None:
        raise Unconvertible(f"the constant's attribute {form} cannot be read")
    node.pop_attr(form)
    node.set_attr("value", numpy_helper.from_array(value))


@downgrade("Constant", 11)
def dense_value(node: Node) -> None:
    """A sparse tensor is written out."""
    if not node.has_attr("sparse_value"):
        return
    sparse: SparseTensorProto = node.attr("sparse_value")
    if np.prod(sparse.dims, dtype=object) > _MAX_DENSE_ELEMENTS:
        raise Unconvertible(f"a sparse constant of {'×'.join(map(str, sparse.dims))} elements is too large to be written out")
    node.pop_attr("sparse_value")
    node.set_attr("value", numpy_helper.from_array(_dense(node, sparse)))


def _dense(node: Node, sparse: SparseTensorProto) -> np.ndarray:
    """Indices are [NNZ], into the flattened tensor, or [NNZ, rank]."""
    read = node.scope.model.skeleton.array
    values, indices = read(sparse.values), read(sparse.indices)
    dense = np.zeros(list(sparse.dims), values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense
