"""Nodes that work on int64, where int32 holds the numbers: for runtimes whose list does not have int64.

What is known to fit into int32 is what a Cast made of int32, and what is stored and small. Moving and comparing such numbers gives
the same in int32, and a Cast restores the type; the Casts between nodes go. The page of each operator is
https://onnx.ai/onnx/operators/onnx__NAME.html.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from ...rewriter.engine.registry import EVERY_OPERATOR, in_int32
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Fact, Kind, Role, Work

_BOUNDS = np.iinfo(np.int32)
_POSITIONS = (Role.POSITIONS,)
_READ = (Role.DATA, Role.OPERAND, Role.LOWER, Role.UPPER)
"""What an operator may do with numbers that become int32 together; what describes shapes, axes and ranges has to be int64."""


@in_int32(EVERY_OPERATOR, opset=13)
def moved_or_compared(node: Node) -> None:
    """The node reads int32 where it moves or compares numbers, or takes them for positions; what it moves is cast back."""
    fact = facts.of(node.op_type)
    compares = fact.kind is Kind.ELEMENTWISE and fact.work in (Work.MOVES, Work.ORDERS)
    if not compares and fact.kind not in (Kind.MOVES, Kind.CASTS):
        return
    if _read_in_int32(node, _wide(node, fact, _POSITIONS), needs_all=False):
        return
    carried = _wide(node, fact, _READ)
    if _read_in_int32(node, carried, needs_all=True) and (fact.kind is Kind.MOVES or fact.has("keeps-input")):
        _cast_back(node)


def _wide(node: Node, fact: Fact, roles: Sequence[Role]) -> list[int]:
    """The operands of type int64 that have one of the roles."""
    found = [index for index in range(len(node.inputs)) if not fact.role(index).isdisjoint(roles)]
    return [index for index in found if node.has_input(index) and node.elem_type(index) == TensorProto.INT64]


def _read_in_int32(node: Node, places: list[int], *, needs_all: bool) -> bool:
    """Let the node read these operands in int32 where they fit, or none of them; True if it reads one so."""
    narrow = [(index, value) for index in places if (value := _narrow(node, index)) is not None]
    if needs_all and len(narrow) < len(places):
        return False
    for index, value in narrow:
        node.set_input(index, value)
    return bool(narrow)


def _narrow(node: Node, index: int) -> str | None:
    """The operand in int32; None where it is not known to fit."""
    maker, value = node.maker(index), node.constant(index)
    if maker is not None and maker.op_type == "Cast" and maker.elem_type(0) == TensorProto.INT32:
        return maker.input(0)
    if value is None or (value.size and not _BOUNDS.min <= value.min() <= value.max() <= _BOUNDS.max):
        return None
    return node.op.const(value, TensorProto.INT32)


def _cast_back(node: Node) -> None:
    for index, value in enumerate(node.outputs):
        if value:
            node.after.Cast(node.detach_output(index, "int32"), output=value, to=TensorProto.INT64)
