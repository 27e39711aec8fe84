"""Attention of opset 23, for the products, the Softmax and the mask that exporters wrote before.

Queries, keys and values have four axes: batch, head, position, and element.
https://onnx.ai/onnx/operators/onnx__Attention.html
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node, Shape
from ..shared.spelled_out import either_way, inner, scalar

_RANK = 4
_TURNS: dict[tuple[int, ...], list[int]] = {(0, 1, 3, 2): [], (0, 2, 3, 1): [0, 2, 1, 3]}
"""The permutations of keys before their product with queries, each with what is left of it without the last exchange of axes."""
_MASKED = -1000.0
"""A number of a mask below which a position may count for nothing."""


class _Scores(NamedTuple):
    """The products of queries and keys, times `scale`. `turn`: the permutation that brings the keys into order; none is needed if
    it is empty.
    """

    queries: str
    keys: str
    turn: list[int]
    scale: float


@respell("MatMul", opset=23, sums=True)
def attention(node: Node) -> None:
    """softmax(Q Kᵀ * scale + mask) V becomes an Attention."""
    values = node.input(1)
    softmax = inner(node, node.input(0), "Softmax")
    if softmax is None or node.elem_type() != TensorProto.FLOAT or softmax.attr("axis", -1) not in (-1, _RANK - 1):
        return
    if not node.graph.may_write("Attention"):
        return
    found, mask = _scores(node, softmax.input(0)), ""
    plus = inner(node, softmax.input(0), "Add") if found is None else None
    for scores, added in either_way(plus) if plus is not None else ():
        if found is None:
            found, mask = _scores(node, scores), added
    if found is None or not _fits(node, found, values, mask):
        return
    keys = node.op.Transpose(found.keys, perm=found.turn) if found.turn else found.keys
    if not all(isinstance(length, int) for name in (found.queries, found.keys) for length in node.shape(name) or (None,)):
        node.caution("it fails at run time if a dimension of its inputs is 0", only_if_empty=True)
    node.become.Attention(found.queries, keys, values, *([mask] if mask else []), scale=found.scale)


def _scores(node: Node, name: str) -> _Scores | None:
    """What `name` is the product of; None where it is anything else than queries times transposed keys, scaled or not."""
    scaled, factor = _scaled(node, name)
    product = inner(node, scaled, "MatMul")
    if product is None:
        return None
    queries, of_queries = _scaled(node, product.input(0))
    turned, of_turned = _scaled(node, product.input(1))
    transpose = inner(node, turned, "Transpose")
    perm = tuple((None if transpose is None else transpose.attr("perm")) or ())
    if transpose is None or perm not in _TURNS:
        return None
    keys, of_keys = _scaled(node, transpose.input(0))
    return _Scores(queries, keys, _TURNS[perm], factor * of_queries * of_turned * of_keys)


def _scaled(node: Node, name: str) -> tuple[str, float]:
    """The value that `name` is a multiple of, and the factor."""
    product, quotient = inner(node, name, "Mul"), inner(node, name, "Div")
    for value, number in either_way(product) if product is not None else ():
        factor = scalar(node, number, node.rank(value))
        if factor is not None:
            return value, factor
    divisor = None if quotient is None else scalar(node, quotient.input(1), node.rank(quotient.input(0)))
    return (quotient.input(0), 1 / divisor) if quotient is not None and divisor else (name, 1.0)


def _fits(node: Node, found: _Scores, values: str, mask: str) -> bool:
    """Whether all operands have the ranks, and the numbers of heads, for which the operator does what the nodes do."""
    queries, keys, parts = (node.shape(name) or () for name in (found.queries, found.keys, values))
    keys = tuple(keys[axis] for axis in found.turn) if found.turn and len(keys) == _RANK else keys
    if not 0 < np.float32(found.scale) < np.inf or not len(queries) == len(keys) == len(parts) == _RANK:
        return False
    if not queries[:2] == keys[:2] == parts[:2] or None in queries[:2]:
        return False
    if 0 in (*queries, *keys, *parts):  # which runtimes refuse
        return False
    return not mask or _is_mask(node, mask, queries, keys)


def _is_mask(node: Node, mask: str, queries: Shape, keys: Shape) -> bool:
    """Whether `mask` states all positions, and masks no row as a whole: the operator would extend a shorter one, where Add repeats
    it, and runtimes disagree about what is left of a row without a position.
    """
    shape, value = node.shape(mask), node.constant(mask)
    if value is None or not value.size or not value.max(axis=-1).min() >= _MASKED:  # NaN
        return False
    if shape is None or not 2 <= len(shape) <= _RANK or None in shape or node.elem_type(mask) != TensorProto.FLOAT:
        return False
    wanted = [*queries[:3], keys[2]]
    last, before = list(shape[-2:]), list(zip(shape[-3::-1], wanted[1::-1], strict=False))
    return last == wanted[2:] and all(length in (1, other) for length, other in before)
