"""Guards against NaN, for runtimes whose list has no operator for them: a Softmax of numbers is a number.

torch writes attention as Where(IsNaN(weights), 0, weights), since a row that is masked as a whole would be NaN. None is
where each row has a number.
https://onnx.ai/onnx/operators/onnx__IsNaN.html, https://onnx.ai/onnx/operators/onnx__Softmax.html
"""

from __future__ import annotations

import numpy as np

from ...rewriter.engine.registry import of_numbers
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind, Role, Work

_LAST_AXIS_IS_DEFAULT = 13
"""The opset from which on Softmax works along one axis, by default the last."""
_FACTORS = 2
"""The operands of a product that are multiplied; a Gemm and a Conv add another."""
_DEEPEST = 6
"""The number of nodes between a product and a Softmax."""


@of_numbers("IsNaN", opset=13)
def weights_are_numbers(node: Node) -> None:
    """The IsNaN of a Softmax along the last axis, by which a Where chooses between another number and the Softmax, is false.

    Only where each row has a number: what is added to products is a constant that has one in each row, or holds numbers alone.
    """
    softmax, name = node.maker(), node.output(0)
    readers = node.graph.readers(name)
    if softmax is None or softmax.op_type != "Softmax" or not node.graph.is_read_once(name) or not readers:
        return
    chooses = readers[0].op_type == "Where" and list(readers[0].input[::2]) == [name, node.input(0)]
    rank = node.rank()
    if chooses and rank and _is_along_last_axis(softmax, rank) and _rows_have_numbers(softmax):
        node.give(node.op.const(np.zeros([1] * rank, bool), bool))


@of_numbers("Where", opset=13)
def constant_choice(node: Node) -> None:
    """A Where whose condition is the same for all elements, in every run, is the operand that it chooses."""
    condition = node.constant(0)
    if condition is None or not condition.size or not (condition == condition.flat[0]).all():
        return
    chosen = node.input(1 if condition.flat[0] else 2)
    shape = node.shape(chosen)
    if shape is not None and None not in shape and shape == node.shape(node.output(0)):
        node.give(chosen)


def _is_along_last_axis(softmax: Node, rank: int) -> bool:
    return softmax.opset >= _LAST_AXIS_IS_DEFAULT and softmax.attr("axis", -1) in (-1, rank - 1)


def _rows_have_numbers(softmax: Node) -> bool:
    """Whether each row that the node takes has a number, and neither NaN nor infinity, if all products are numbers."""
    scores = softmax.maker()
    if scores is not None and scores.op_type == "Add":
        for index in (0, 1):
            mask = scores.constant(index)
            if mask is not None and mask.ndim and (mask < np.inf).all() and _is_moderate(mask).any(axis=-1).all():
                return _is_a_number(scores, scores.input(1 - index))
    return _is_a_number(softmax, softmax.input(0))


def _is_a_number(reader: Node, name: str, depth: int = _DEEPEST) -> bool:
    """Whether the value holds numbers alone: it adds, multiplies, moves or chooses among products and stored numbers."""
    value, maker = reader.constant(name), reader.maker(name)
    if value is not None:
        return bool(_is_moderate(value).all())
    if maker is None or not depth:
        return False
    fact = facts.of(maker.op_type)
    if fact.kind is Kind.CONTRACTS:
        return _adds_numbers(maker, depth)
    if fact.kind is Kind.MOVES:
        operands = [maker.input(index) for index in range(len(maker.inputs)) if Role.DATA in fact.role(index)]
    elif fact.kind is Kind.ELEMENTWISE and fact.work is Work.WRAPS:
        operands = maker.inputs
    else:
        return False
    return bool(operands) and all(_is_a_number(maker, operand, depth - 1) for operand in operands)


def _adds_numbers(product: Node, depth: int) -> bool:
    """Whether a product of numbers is a number: its stored factors hold numbers alone, and so does what is added to it."""
    stored = [product.constant(index) for index in range(_FACTORS)]
    added = [name for name in product.inputs[_FACTORS:] if name]
    is_moderate = all(factor is None or _is_moderate(factor).all() for factor in stored)
    return is_moderate and all(_is_a_number(product, name, depth - 1) for name in added)


def _is_moderate(value: np.ndarray) -> np.ndarray:
    """Which elements are numbers to which a product can be added. The lowest of float16 is not: a few tens less are -infinity."""
    if value.dtype == np.float16:
        return np.abs(value) <= np.finfo(np.float16).max / 2
    return np.isfinite(value)
