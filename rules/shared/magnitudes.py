"""How far from 0 the numbers of a value may be, if products of what is computed from the inputs of a model are moderate."""

from __future__ import annotations

from math import inf, isinf, prod

import numpy as np
from onnx import TensorProto

from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind, Work
from .moves import moved
from .whole_numbers import bounds

_FACTORS = 2
"""The operands of a product that are multiplied; a Gemm and a Conv add another."""
_DEEPEST = 6
"""The number of nodes between a value and the products and stored numbers that it is made of."""
_OF_A_PRODUCT = 1e20
"""How far from 0 the numbers of a product are taken to be."""
_OF_A_HALF_PRODUCT = 2.0**13
"""The same for float16."""


def magnitude(reader: Node, name: str, depth: int = _DEEPEST) -> float:
    """How far from 0 the numbers of a value are at most, which `reader` reads; infinity where nobody knows, or it may be NaN."""
    stored, maker, whole = reader.constant(name), reader.maker(name), bounds(reader, name)
    if stored is not None:
        return _of_stored(stored)
    if whole is not None:
        return float(max(-whole.low, whole.high))
    if maker is None or not depth:
        return inf
    fact = facts.of(maker.op_type)
    if fact.kind is Kind.CONTRACTS:
        return _of_product(maker, depth)
    if data := moved(maker):
        return max(magnitude(maker, maker.input(index), depth - 1) for index in data)
    if fact.kind is not Kind.ELEMENTWISE or fact.work is not Work.WRAPS:
        return inf
    operands = [magnitude(maker, operand, depth - 1) for operand in maker.inputs]
    if any(map(isinf, operands)):
        return inf
    return prod(operands) if fact.word("folds") == "mul" else sum(operands)


def _of_stored(value: np.ndarray) -> float:
    is_number = value.size and np.isfinite(value.astype(float)).all()
    return float(np.abs(value.astype(float)).max()) if is_number else inf


def _of_product(product: Node, depth: int) -> float:
    """The magnitude of a product of moderate numbers, and of what it adds; infinity where a factor is not moderate."""
    moderate = _OF_A_HALF_PRODUCT if product.elem_type() == TensorProto.FLOAT16 else _OF_A_PRODUCT
    if any(_may_hold_more(product, product.input(index), moderate, depth - 1) for index in range(_FACTORS)):
        return inf
    return moderate + sum(magnitude(product, name, depth - 1) for name in product.inputs[_FACTORS:] if name)


def _may_hold_more(reader: Node, name: str, most: float, depth: int) -> bool:
    """Whether a factor is computed from stored elements, beside others, that are further from 0 than `most`, infinite or NaN."""
    stored, maker = reader.constant(name), reader.maker(name)
    if stored is not None:
        return _of_stored(stored) > most
    if maker is None or not depth:
        return False
    operands = [maker.input(index) for index in moved(maker)]
    if facts.of(maker.op_type).kind is Kind.ELEMENTWISE:
        operands = maker.inputs
    return any(_may_hold_more(maker, operand, most, depth - 1) for operand in operands if operand)
