"""Reshape: the shape is an attribute until 4, an input from 5; 14 adds allowzero.

https://onnx.ai/onnx/operators/onnx__Reshape.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import downgrade, upgrade
from .indices import int64
from .parameters import known_input, to_attribute, to_input


@upgrade("Reshape", 5)
def shape_to_input(node: Node) -> None:
    """The attribute shape becomes an input."""
    to_input(node, "shape", 1)


@downgrade("Reshape", 14)
def drop_allowzero(node: Node) -> None:
    """allowzero=1 goes where no 0 can be in the shape, and else the data is empty, and made so along the right dimensions.

    One 0 becomes -1, which an empty tensor turns into 0 again; several are copied from a tensor that was expanded to 0 there.
    """
    if not node.pop_attr("allowzero", 0) or _is_never_empty(node):
        return
    shape = known_input(node, 1)
    length = (node.shape(1) or (None,))[0]
    if shape is None and isinstance(length, int) and length > 1:
        _expand_to_none(node, length, _ones_but_for_zeros(node))
    elif shape is None:
        _infer_zeros_at_run_time(node)
        if length != 1:
            node.caution("a shape with two zeros, computed at run time, ends in an error below opset 14")
    elif np.count_nonzero(shape == 0) == 1:
        node.set_input(1, int64(node, np.where(shape == 0, -1, shape).tolist(), "shape"))
    elif 0 in shape:
        _expand_to_none(node, len(shape), int64(node, (shape != 0).astype(int).tolist(), "ones"))


def _expand_to_none(node: Node, length: int, ones: str) -> None:
    """Let the data have `length` dimensions, all elements along the first, and none along those where `ones` is 0."""
    column = node.before("Reshape", [node.input(0), int64(node, [-1] + [1] * (length - 1), "column")], what="column")
    node.set_input(0, node.before("Expand", [column, ones], what="expanded"))


def _ones_but_for_zeros(node: Node) -> str:
    is_given = node.before("Cast", [node.input(1)], what="given", to=TensorProto.BOOL)
    return node.before("Cast", [is_given], what="ones", to=TensorProto.INT64)


@downgrade("Reshape", 5)
def shape_to_attribute(node: Node) -> None:
    """A constant shape becomes the attribute."""
    to_attribute(node, 1, "shape", "shape")


def _is_never_empty(node: Node) -> bool:
    shape = node.shape()
    return shape is not None and all(isinstance(dim, int) and dim > 0 for dim in shape)


def _infer_zeros_at_run_time(node: Node) -> None:
    is_zero = node.before("Equal", [node.input(1), int64(node, [0], "zero")], what="is_zero")
    as_number = node.before("Cast", [is_zero], what="is_zero", to=TensorProto.INT64)
    node.set_input(1, node.before("Sub", [node.input(1), as_number], what="shape"))
