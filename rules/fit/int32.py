"""Nodes that work on int64, where int32 holds the numbers: for runtimes whose list does not have int64.

What is known to fit into int32 is what a Cast made of such numbers in another type, and what is stored and small. Moving and
comparing them gives the same in int32, and so do sums and products that are known to be small; a Cast restores the type. The Casts
between nodes go. The page of each operator is https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import EVERY_OPERATOR, in_int32
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Fact, Kind, Role, Work
from ..shared.whole_numbers import Bounds, bounds

_BOUNDS = np.iinfo(np.int32)
_POSITIONS = (Role.POSITIONS,)
_CARRIED = (Role.DATA, Role.OPERAND, Role.LOWER, Role.UPPER)
"""What becomes int32 together; what describes shapes, axes and ranges has to be int64."""


@in_int32(EVERY_OPERATOR, opset=13)
def moved_or_compared(node: Node) -> None:
    """The node reads int32 where it moves or compares numbers, or takes them for positions; what it makes of them is cast back."""
    fact = facts.of(node.op_type)
    moves = fact.kind is Kind.MOVES and fact.work is Work.MOVES
    compares = fact.kind is Kind.ELEMENTWISE and fact.work in (Work.MOVES, Work.ORDERS)
    casts = fact.kind is Kind.CASTS and node.op_type != "BitCast"
    if not (moves or compares or casts or _stays_small(node, fact)):
        return
    if _read_in_int32(node, _wide(node, fact, _POSITIONS), needs_all=False) or _adds_up(node):
        return
    made = [] if casts else [index for index, name in enumerate(node.outputs) if name and node.elem_type(name) == TensorProto.INT64]
    if _read_in_int32(node, _wide(node, fact, _CARRIED), needs_all=True):
        _cast_back(node, made)


def _stays_small(node: Node, fact: Fact) -> bool:
    """Whether the node adds or multiplies whole numbers, and int32 is known to hold what it makes of them."""
    is_arithmetic = fact.kind in (Kind.ELEMENTWISE, Kind.ACCUMULATES) and fact.work in (Work.WRAPS, Work.COMPUTES)
    return is_arithmetic and node.elem_type() == TensorProto.INT64 and _is_small(bounds(node, node.output(0)))


def _is_small(found: Bounds | None) -> bool:
    return found is not None and _BOUNDS.min <= found.low and found.high <= _BOUNDS.max


def _adds_up(node: Node) -> bool:
    """Whether the node adds or multiplies what it moves to one place, by which it may leave the range of int32."""
    return node.attr("reduction", "none") in ("add", "mul")


def _wide(node: Node, fact: Fact, roles: Sequence[Role]) -> list[int]:
    """The operands of type int64 that have one of the roles."""
    found = [index for index in range(len(node.inputs)) if not fact.role(index).isdisjoint(roles)]
    return [index for index in found if node.has_input(index) and node.elem_type(index) == TensorProto.INT64]


def _read_in_int32(node: Node, places: list[int], *, needs_all: bool) -> bool:
    """Let the node read these operands in int32 where they fit, or none of them; True if it reads one so."""
    fitting = [index for index in places if _fits(node, index)]
    if needs_all and len(fitting) < len(places):
        return False
    for index in fitting:
        node.set_input(index, _narrow(node, index))
    return bool(fitting)


def _fits(node: Node, index: int) -> bool:
    """Whether int32 is known to hold the operand."""
    value = node.constant(index)
    is_small = value is not None and (not value.size or _is_small(bounds(node, node.input(index))))
    return is_small or _source(node, index) is not None


def _narrow(node: Node, index: int) -> str:
    """The operand, which fits, in int32."""
    source = _source(node, index)
    if source is None:
        return node.op.const(node.constant(index), TensorProto.INT32)
    return source if node.elem_type(source) == TensorProto.INT32 else node.op.Cast(source, to=TensorProto.INT32)


def _source(node: Node, index: int) -> str | None:
    """The value of another type of which the operand is a Cast, if int32 holds its numbers, which are whole; None for others."""
    maker = node.maker(index)
    if maker is None or maker.op_type != "Cast" or maker.elem_type(0) == TensorProto.INT64:
        return None
    return maker.input(0) if _is_small(bounds(maker, maker.input(0))) else None


def _cast_back(node: Node, made: Sequence[int]) -> None:
    for index in made:
        name = node.output(index)
        node.after.Cast(node.detach_output(index, "int32"), output=name, to=TensorProto.INT64)
