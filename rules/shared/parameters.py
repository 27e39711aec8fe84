"""Operands such as axes, sizes, pads and bounds that are an attribute in old versions of an operator and an input in new ones.

Both forms are read and converted here, so that a rule need not know which one its node has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node


def known_input(node: Node, index: int) -> np.ndarray | None:
    """Input `index` if it is the same in every run: a constant, or a tensor that is empty by its shape (returned as int64)."""
    value = node.constant(index)
    if value is None and 0 in (node.shape(index) or ()):
        return np.zeros([dim if isinstance(dim, int) else 0 for dim in node.shape(index) or ()], np.int64)
    return value


def one_number(constant: np.ndarray) -> np.ndarray:
    """A constant that must have one element, as a scalar. Raises Unconvertible where it has more or none."""
    if constant.size != 1:
        raise Unconvertible(
            f"a constant of shape {list(constant.shape)} is given where a single number is needed", "correct the model"
        )
    return constant.reshape(())


def known_ints(node: Node, attribute: str, index: int) -> list[int] | None:
    """The integers in `attribute` or in input `index`; None where they are absent or only known at run time."""
    if node.has_attr(attribute):
        value = node.attr(attribute)
        return [int(item) for item in value] if isinstance(value, list) else [int(value)]
    array = known_input(node, index)
    return None if array is None else [int(item) for item in array.reshape(-1)]


def is_given(node: Node, attribute: str, index: int) -> bool:
    """Whether the operand exists in either form, even if its value is unknown."""
    return node.has_attr(attribute) or node.has_input(index)


def axes_of(node: Node, index: int = 1) -> list[int] | None:
    """The axes of a node in either form, perhaps negative; None where they are absent or only known at run time."""
    return known_ints(node, "axes", index)


def to_input(node: Node, attribute: str, index: int, dtype: Any = np.int64) -> None:
    """Turn `attribute`, if the node has it, into a constant at input `index`."""
    value = node.pop_attr(attribute)
    if value is not None:
        node.set_input(index, node.op.const(value, dtype))


def to_attribute(node: Node, index: int, attribute: str, what: str) -> None:
    """Turn input `index`, if the node has it, into the list attribute `attribute`.

    Raises Unconvertible, which calls the input `what`, where it is only known at run time.
    """
    if not node.has_input(index):
        node.drop_input(index)
        return
    value = known_input(node, index)
    if value is None:
        value = node.const_input(index, what)
    node.drop_input(index)
    node.set_attr(attribute, value.reshape(-1).tolist())


def is_stored(node: Node, index: int) -> bool:
    """Whether input `index` is an initializer or a Constant, so that a runtime has its value without computing it."""
    maker = node.maker(index)
    return node.constant(index) is not None and (maker is None or maker.op_type == "Constant")
