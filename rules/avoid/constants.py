"""Constants in forms that runtimes read wrongly.

https://onnx.ai/onnx/operators/onnx__Constant.html, https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import TensorProto, numpy_helper

from ...rewriter.engine.registry import EVERY_OPERATOR, avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts

_TYPED_CONSTANTS = 9
"""The first opset in which a Constant can be of any type."""
_INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)
_MOST_BYTES = 1 << 20
"""The largest size in bytes of a value that is written down in place of the nodes that compute it."""
_MOST_ELEMENTS = 1 << 22
"""The largest number of elements of a value that is written down where a runtime does not compute it, such as the bias that a
window of an image adds to an attention. Of what combines neighbours, a million takes ten seconds, so that it has the usual limit.
"""
_NARROW = frozenset(map(np.dtype, ("bool", "int8", "uint8", "int16", "uint16", "float16")))
"""What some runtimes read wrongly in a constant, and write rightly in a Cast."""


@avoid("Constant without the attribute value", "Constant", opset=9)
@avoid("Constant without the attribute value at opset 12", "Constant", opset=9)
def plain_tensor(node: Node) -> None:
    """The attributes value_int, value_floats, … become a tensor in the attribute value.

    It is exact for all types.
    """
    if node.has_attr("value"):
        return
    value = node.constant(node.output(0))
    if value is None:
        raise Unconvertible("its value cannot be read", "make it an initializer")
    node.become.Constant(value=numpy_helper.from_array(value))


@avoid("ConstantOfShape without value", "ConstantOfShape", opset=9)
def state_value(node: Node) -> None:
    """The default value, 0, is written out.

    It is exact: the default is a float.
    """
    if not node.has_attr("value"):
        node.set_attr("value", numpy_helper.from_array(np.zeros(1, np.float32)))


@avoid("ConstantOfShape of a scalar", "ConstantOfShape", opset=9)
def fold_scalar(node: Node) -> None:
    """If the shape is known, the result becomes a constant.

    It is exact for all types, up to a size of 1 MB.
    """
    _fold(node)


@avoid("Operator on constants", EVERY_OPERATOR, opset=9)
def fold_constants(node: Node) -> None:
    """The result becomes a constant, unless it is that of a comparison of floats or of a Cast of stored doubles.

    Some runtimes read no constants of type bool, and before opset 9 constants of int64 are written as such a Cast. It is exact
    for all types where runtimes agree about the result, and else right up to the last bits.
    """
    is_comparison = node.op_type == "Greater" and node.elem_type(0) == TensorProto.FLOAT
    is_spelled = node.target < _TYPED_CONSTANTS and node.op_type == "Cast" and _spells_integers(node)
    if not node.inputs or is_comparison or is_spelled or _fold(node) or _fold_parts(node):
        return
    if facts.of(node.op_type).kind in facts.COMBINING:
        node.fold_roughly()
    else:
        node.fold_roughly(_MOST_ELEMENTS)


@avoid("Constant of bool, or of 8 or 16 bits", EVERY_OPERATOR, opset=9)
def widen(node: Node) -> None:
    """A constant operand becomes one of float or int32, and a Cast.

    It is exact for all types: float has every number of float16, and int32 those of the integers.
    """
    for position in range(len(node.inputs)):
        value = node.constant(position)
        if value is None or value.dtype not in _NARROW or not _is_stored(node, position):
            continue
        wide = node.op.const(value, TensorProto.FLOAT if value.dtype == np.float16 else TensorProto.INT32)
        node.set_input(position, node.keep(node.op.Cast(wide, to=node.need_elem_type(position))))


@avoid("Stored value that another operator reads", EVERY_OPERATOR, opset=9)
def store_apart(node: Node) -> None:
    """A stored operand that nodes of other operators read, too, is stored once more, for this node alone.

    So is what is added to a MatMul, which a runtime may read as an operand of that. It is exact for all types.
    """
    if node.op_type == "Add" and not _adds_to_product(node):
        return
    _store_again(node, lambda name: _is_read_otherwise(node, name))


@avoid("Stored value that is read twice", EVERY_OPERATOR, opset=9)
def store_for_each_reader(node: Node) -> None:
    """A stored operand that is read in another place, too, is stored once more, for this place alone.

    It is exact for all types.
    """
    _store_again(node, lambda name: not node.graph.is_read_once(name))


def _store_again(node: Node, is_shared: Callable[[str], bool]) -> None:
    """Store each operand that is stored and shared, by what `is_shared` says of its name, once more."""
    for position in range(len(node.inputs)):
        value = node.constant(position)
        if value is not None and _is_stored(node, position) and is_shared(node.input(position)):
            node.set_input(position, node.add_tensor(numpy_helper.from_array(value, node.fresh_name("own"))))


def _is_read_otherwise(node: Node, name: str) -> bool:
    """Whether a node of another operator reads the value, too, or may do so because a rule has just made it."""
    graph = node.graph
    if graph.is_read_once(name):
        return False
    readers = [reader.op_type for reader in graph.readers(name)]
    return node.op_type == "Add" or len(readers) < 2 or any(op_type != node.op_type for op_type in readers)


def _adds_to_product(node: Node) -> bool:
    makers = [node.maker(index) for index in (0, 1)]
    return any(maker is not None and maker.op_type == "MatMul" for maker in makers)


def _spells_integers(node: Node) -> bool:
    """Whether the node, a Cast, makes integers of stored doubles."""
    return node.elem_type(0) == TensorProto.DOUBLE and node.attr("to") in _INTEGERS and _is_stored(node, 0)


def _is_stored(node: Node, position: int) -> bool:
    """Whether the value is written in the model, and not computed from what is."""
    maker = node.maker(position)
    return maker is None or maker.op_type == "Constant"


def _fold(node: Node) -> bool:
    value = node.constant(node.output(0)) if len(node.outputs) == 1 else None
    return value is not None and value.nbytes <= _MOST_BYTES and node.fold()


def _fold_parts(node: Node) -> bool:
    """Store the outputs of a node that has several, such as the parts of a stored value; True where all of them are known."""
    values = [node.constant(name) for name in node.outputs if name]
    if len(node.outputs) < 2 or len(values) < len(node.outputs) or any(value is None for value in values):
        return False
    for index, value in enumerate(values):
        node.forward(index, node.op.const(value, node.need_elem_type(node.output(index))))
    node.remove()
    return True
