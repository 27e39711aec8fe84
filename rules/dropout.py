"""Dropout: whether it trains is stated by is_test until opset 6, by nothing from 7 to 11 (runtimes do not drop), by training_mode
from 12 on.

In opset 10 the mask becomes boolean. In 12 the ratio becomes an input, and the mask of a Dropout that does not train is all true.
https://onnx.ai/onnx/operators/onnx__Dropout.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.parameters import one_number

_RATIO, _TRAINING = 1, 2
_MASK = 1


@upgrade("Dropout", 7)
def drop_is_test(node: Node) -> None:
    """is_test=1 is removed. A node without it trains, which only opset 12 can state again, so it becomes a node of opset 12."""
    if node.pop_attr("is_test", 0):
        _drop_unread_mask(node, "is not filled where is_test=1")
        return
    share = node.pop_attr("ratio", 0.5)
    if not 0 <= share < 1:
        raise Unconvertible(f"ratio={share:g}: opset 12 takes ratios from 0 on and below 1 only", "correct the model")
    ratio = node.op.const(share, np.float32)
    if _has_read_mask(node):
        kind, output = node.need_elem_type(), node.output(_MASK)
        node.after.Cast(node.detach_output(_MASK, "mask"), output=output, to=kind)
    node.become.Dropout(node.input(0), ratio, node.op.const(True, np.bool_), opset=12)


@upgrade("Dropout", 10)
def mask_to_boolean(node: Node) -> None:
    """The mask becomes boolean, and is cast back to numbers for the nodes that read it."""
    _cast_mask(node, node.need_elem_type())


@downgrade("Dropout", 10)
def mask_to_numbers(node: Node) -> None:
    """The mask gets the type of the data, and is cast back to boolean for the nodes that read it."""
    _cast_mask(node, TensorProto.BOOL)


@upgrade("Dropout", 12)
def ratio_to_input(node: Node) -> None:
    """The attribute ratio becomes an input; the node does not train, as before."""
    _refuse_mask(node, "is true throughout from opset 12 on, and left open before")
    ratio = node.pop_attr("ratio")
    if ratio is not None and 0 <= ratio < 1:  # runtimes refuse others from opset 12 on, and nothing is dropped here
        node.set_input(_RATIO, node.op.const(ratio, np.float32))


@downgrade("Dropout", 12)
def ratio_to_attribute(node: Node) -> None:
    """The ratio of a Dropout that does not train becomes an attribute, its mask all true; one that may train is written out."""
    op = node.op
    ratio = node.constant(_RATIO)
    if not _drops_nothing(node, ratio):
        _write_out(node)
        return
    for index in (_TRAINING, _RATIO):
        node.drop_input(index)
    node.pop_attr("seed")
    if ratio is not None:
        node.set_attr("ratio", float(one_number(ratio)))
    is_read, output = _has_read_mask(node), node.output(_MASK)
    if node.has_output(_MASK):
        node.drop_output(_MASK)
    if is_read:
        some = op.Cast(node.input(0), to=TensorProto.BOOL)
        op.Or(some, op.Not(some), output=output)


def _write_out(node: Node) -> None:
    """Compare random numbers with the ratio: elements beside smaller ones become 0, and the others are divided by 1 - ratio.

    That is done in every run, or where the input training_mode says so.
    """
    op, kind, data = node.op, node.need_elem_type(), node.input(0)
    share = op.Cast(node.input(_RATIO), to=TensorProto.FLOAT) if node.has_input(_RATIO) else op.const(0.5, np.float32)
    training = None if node.constant(_TRAINING) is not None else node.input(_TRAINING)
    seed = node.attr("seed")
    draw = op.RandomUniformLike(data, low=0.0, high=1.0, seed=None if seed is None else float(seed), dtype=TensorProto.FLOAT)
    kept = op.Not(op.Less(draw, share))
    scale = op.Cast(op.Div(op.const(1, np.float32), op.Sub(op.const(1, np.float32), share)), to=kind)
    dropped = op.Mul(op.Mul(data, scale), op.Cast(kept, to=kind))
    is_read, mask = _has_read_mask(node), node.output(_MASK)
    if node.has_output(_MASK):
        node.drop_output(_MASK)
    if training is None:
        if is_read:
            op.Identity(kept, output=mask)
        node.give(dropped)
        return
    if is_read:
        op.Or(kept, op.Not(training), output=mask)
    node.become.Where(training, dropped, data)


@downgrade("Dropout", 7)
def add_is_test(node: Node) -> None:
    """is_test=1 is written out, since the node does not train. Refused where the mask is read, which is_test=1 does not fill."""
    _drop_unread_mask(node, "is not filled before opset 7")
    node.set_attr("is_test", 1)


def _drops_nothing(node: Node, ratio: np.ndarray | None) -> bool:
    """Whether the node is known not to train, or to have the ratio 0."""
    if not node.has_input(_TRAINING):
        return True
    training = node.constant(_TRAINING)
    return (training is not None and not training.any()) or (ratio is not None and not ratio.any())


def _cast_mask(node: Node, kind: int) -> None:
    """Cast the mask back to type `kind` for its readers, because the next form of the node gives it another type."""
    is_read = _has_read_mask(node)
    node.become.Dropout(*node.inputs, ratio=node.attr("ratio"))
    if is_read:
        output = node.output(_MASK)
        node.after.Cast(node.detach_output(_MASK, "mask"), output=output, to=kind)
    elif node.has_output(_MASK):
        node.drop_output(_MASK)


def _has_read_mask(node: Node) -> bool:
    """Whether anything reads the mask of the node."""
    return node.is_read(_MASK)


def _drop_unread_mask(node: Node, why: str) -> None:
    """Remove the mask. Raises Unconvertible, with the reason `why`, where something reads it."""
    _refuse_mask(node, why)
    if node.has_output(_MASK):
        node.drop_output(_MASK)


def _refuse_mask(node: Node, why: str) -> None:
    """Raises Unconvertible, with the reason `why`, where something reads the mask."""
    if _has_read_mask(node):
        raise Unconvertible(f"the mask '{node.output(_MASK)}' {why}", "remove what reads the mask")
