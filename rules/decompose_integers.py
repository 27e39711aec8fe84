"""Arithmetic on whole numbers that came late: Mod, BitShift, BitCast, and the bitwise operators.

https://onnx.ai/onnx/operators/onnx__Mod.html, onnx__BitShift.html, onnx__BitCast.html, onnx__BitwiseAnd.html, …
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose, downgrade
from .decompose_remainder import subtract_multiples
from .indices import int64

_BITS: dict[int, int] = {
    TensorProto.INT8: 8,
    TensorProto.UINT8: 8,
    TensorProto.INT16: 16,
    TensorProto.UINT16: 16,
    TensorProto.INT32: 32,
    TensorProto.UINT32: 32,
    TensorProto.INT64: 64,
    TensorProto.UINT64: 64,
}
_UNSIGNED = (TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64)


class _Layout(NamedTuple):
    """Of an IEEE floating point type: sign, exponent, fraction."""

    bits: int
    fraction: int

    @property
    def exponents(self) -> int:
        return 2 ** (self.bits - 1 - self.fraction)

    @property
    def powers(self) -> list[float]:
        """What a significand is multiplied by, for each exponent: with a fraction of zero, and with any other."""
        bias = self.exponents // 2 - 1 + self.fraction
        finite = [2.0 ** (max(exponent, 1) - bias) for exponent in range(self.exponents - 1)]
        return [*finite, np.inf, *finite, np.nan]


_LAYOUTS = {
    TensorProto.FLOAT16: _Layout(16, 10),
    TensorProto.BFLOAT16: _Layout(16, 7),
    TensorProto.FLOAT: _Layout(32, 23),
    TensorProto.DOUBLE: _Layout(64, 52),
}


def _as(node: Node, name: str, elem_type: int) -> str:
    """`name` as int64, or as uint64, which int64 does not hold."""
    wide = TensorProto.UINT64 if elem_type == TensorProto.UINT64 else TensorProto.INT64
    return name if elem_type == wide else node.before("Cast", [name], what="wide", to=wide)


def _finish(node: Node, value: str, elem_type: int) -> None:
    """Let the node give `value`, int64 or uint64, as `elem_type`."""
    node.become("Cast", [value], to=elem_type)


@decompose("Mod", opset=9)
def remainder_of_division(node: Node) -> None:
    """a - (a / b) * b has the sign of a; where fmod is 0 and it has not the sign of b, b is added. Floats: a long division."""
    elem_type = node.need_elem_type()
    if elem_type not in _BITS:
        subtract_multiples(node)
        return
    a, b = (_as(node, name, elem_type) for name in node.inputs)
    quotient = node.before("Div", [a, b], what="quotient")
    rest = node.before("Sub", [a, node.before("Mul", [quotient, b], what="multiple")], what="rest")
    if node.attr("fmod", 0) == 0 and elem_type not in _UNSIGNED:
        rest = _with_sign_of(node, rest, b)
    _finish(node, rest, elem_type)


def _with_sign_of(node: Node, rest: str, b: str) -> str:
    """Signs are tested in float: no rounding changes a sign, nor a product that is zero."""
    signs = [node.before("Cast", [name], what="sign", to=TensorProto.FLOAT) for name in (rest, b)]
    product = node.before("Mul", signs, what="signs")
    differ = node.before("Less", [product, node.add_constant(0, np.float32, "zero")], what="differ")
    once = node.before("Cast", [differ], what="once", to=TensorProto.INT64)
    return node.before("Add", [rest, node.before("Mul", [once, b], what="shift")], what="wrapped")


@downgrade("BitShift", 28)
def shift_within_the_width(node: Node) -> None:
    """Before 28 only unsigned numbers shift, by less than their width: signed ones shift their bits, or those of -1 - x."""
    elem_type = node.need_elem_type()
    bits, (x, by) = _BITS[elem_type], node.inputs
    known = node.constant(1)
    in_range = known is not None and bool(((known >= 0) & (known < bits)).all())
    if in_range and elem_type in _UNSIGNED:
        return
    arithmetic = elem_type not in _UNSIGNED and node.attr("direction") == "RIGHT"
    # onnxruntime shifts no uint16, and what is discarded in the end may as well be shifted
    unsigned = TensorProto.UINT64 if bits == 64 else TensorProto.UINT32
    x, by = (_as(node, name, elem_type) for name in (x, by))
    inside = None if in_range else _is_inside(node, by, elem_type, bits)
    negative = node.before("Less", [x, int64(node, 0, "zero")], what="negative") if arithmetic else ""
    bit_pattern = _complement_where(node, negative, x) if arithmetic else x
    if inside:
        by = node.before("Mul", [by, inside], what="by")
    operands = [node.before("Cast", [name], what="unsigned", to=unsigned) for name in (bit_pattern, by)]
    shifted = node.before("BitShift", operands, what="shifted", direction=node.attr("direction"))
    wide = TensorProto.UINT64 if elem_type == TensorProto.UINT64 else TensorProto.INT64
    shifted = node.before("Cast", [shifted], what="wide", to=wide)
    if inside:
        shifted = node.before("Mul", [shifted, inside], what="shifted")
    _finish(node, _complement_where(node, negative, shifted) if arithmetic else shifted, elem_type)


def _is_inside(node: Node, by: str, elem_type: int, bits: int) -> str:
    """One where a shift is by no less than 0 and less than `bits`, else zero; in the type of `by`."""
    wide = TensorProto.UINT64 if elem_type == TensorProto.UINT64 else TensorProto.INT64
    bounds = [node.add_constant(bound, helper.tensor_dtype_to_np_dtype(wide), "bound") for bound in (0, bits)]
    from_0 = node.before("Not", [node.before("Less", [by, bounds[0]], what="below")], what="from_0")
    inside = node.before("And", [from_0, node.before("Less", [by, bounds[1]], what="narrow")], what="inside")
    return node.before("Cast", [inside], what="inside", to=wide)


def _complement_where(node: Node, condition: str, number: str) -> str:
    """`number`, and -1 - number where `condition` holds: x * (1 - 2c) - c, modulo 2**64."""
    c = node.before("Cast", [condition], what="c", to=TensorProto.INT64)
    sign = node.before("Sub", [int64(node, 1, "one"), node.before("Add", [c, c], what="twice")], what="sign")
    return node.before("Sub", [node.before("Mul", [number, sign], what="turned"), c], what="complement")


@decompose("BitCast", opset=24)
def cast_of_the_same_width(node: Node) -> None:
    """Between integers of one width, and from bool, Cast keeps the bits; a float is put together from its three parts.

    The other way, the bits of NaN would be lost, which is more than one number.
    """
    source, target = node.need_elem_type(), node.attr("to")
    if source == target:
        node.become("Identity", [node.input(0)])
    elif _BITS.get(target) == (8 if source == TensorProto.BOOL else _BITS.get(source, 0)):
        node.become("Cast", [node.input(0)], to=target)
    elif source in _BITS and target in _LAYOUTS and _BITS[source] == _LAYOUTS[target].bits:
        node.become("Cast", [_float_of(node, _LAYOUTS[target])], to=target)
    else:
        raise Unconvertible("older operators cannot read the bits of a floating point number, or of numbers of another width")


def _float_of(node: Node, layout: _Layout) -> str:
    """The floating point number of the bits of input 0, as double: two of its parts are looked up in tables."""
    signed = next(kind for kind, bits in _BITS.items() if bits == layout.bits and kind not in _UNSIGNED)
    number = node.before("Cast", [node.input(0)], what="signed", to=signed)
    number = node.before("Cast", [number], what="number", to=TensorProto.INT64)
    negative = node.before("Less", [number, int64(node, 0, "zero")], what="negative")
    negative = node.before("Cast", [negative], what="negative", to=TensorProto.INT64)
    lowest = node.before("Mul", [negative, int64(node, -(2 ** (layout.bits - 1)), "lowest")], what="offset")
    number = node.before("Sub", [number, lowest], what="low_bits")
    unit = int64(node, 2**layout.fraction, "unit")
    exponent = node.before("Div", [number, unit], what="exponent")
    fraction = node.before("Sub", [number, node.before("Mul", [exponent, unit], what="high_bits")], what="fraction")
    some = node.before(
        "Cast", [node.before("Cast", [fraction], what="some", to=TensorProto.BOOL)], what="some", to=TensorProto.INT64
    )
    row = node.before("Mul", [some, int64(node, layout.exponents, "row")], what="row")
    place = node.before("Add", [exponent, row], what="place")
    hidden = int64(node, [0] + [2**layout.fraction] * (layout.exponents - 1), "hidden")
    significand = node.before("Add", [fraction, node.before("Gather", [hidden, exponent], axis=0)], what="significand")
    significand = node.before("Cast", [significand], what="significand", to=TensorProto.DOUBLE)
    power = node.before("Gather", [node.add_constant(layout.powers, np.float64, "powers"), place], what="power", axis=0)
    sign = node.before("Gather", [node.add_constant([1, -1], np.float64, "signs"), negative], what="sign", axis=0)
    return node.before("Mul", [node.before("Mul", [significand, power], what="size"), sign], what="float")


@decompose("BitShift", opset=9)
def times_power_of_two(node: Node) -> None:
    """A shift by n multiplies with, or divides by, 2**n, which is looked up in a table."""
    elem_type = node.need_elem_type()
    if elem_type not in _UNSIGNED:
        raise Unconvertible("a shift of signed integers is not defined before opset 28")
    bits = _BITS[elem_type]
    wide = np.uint64 if elem_type == TensorProto.UINT64 else np.int64
    powers = node.add_constant([2**n for n in range(bits)], wide, "powers")
    by = node.before("Cast", [node.input(1)], what="by", to=TensorProto.INT64)
    power = node.before("Gather", [powers, by], what="power", axis=0)
    operator = "Mul" if node.attr("direction") == "LEFT" else "Div"
    _finish(node, node.before(operator, [_as(node, node.input(0), elem_type), power], what="shifted"), elem_type)


@decompose("BitwiseNot", opset=13)
def subtract_from_all_ones(node: Node) -> None:
    """All ones minus the number: -1 - x where it is signed."""
    elem_type = node.need_elem_type()
    ones = 2 ** _BITS[elem_type] - 1 if elem_type in _UNSIGNED else -1
    all_ones = node.add_constant(ones, helper.tensor_dtype_to_np_dtype(elem_type), "ones")
    node.become("Sub", [all_ones, node.input(0)], opset=14)


@decompose(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), opset=13)
def bit_by_bit(node: Node) -> None:
    """The bits along a new last axis, as int64; what the operator does to two bits is arithmetic; their weighted sum."""
    elem_type = node.need_elem_type()
    signed, bits = elem_type not in _UNSIGNED or elem_type == TensorProto.UINT64, _BITS[elem_type]
    a, b = (_bits(node, name, bits, signed) for name in node.inputs)
    both = node.before("Mul", [a, b], what="both")
    result = both
    if node.op_type != "BitwiseAnd":
        times = both if node.op_type == "BitwiseOr" else node.before("Add", [both, both], what="twice")
        result = node.before("Sub", [node.before("Add", [a, b], what="either"), times], what="bits")
    weights = [2**n for n in range(bits - signed)] + ([-(2 ** (bits - 1))] if signed else [])
    _finish(node, _weighted_sum(node, result, weights), elem_type)


def _weighted_sum(node: Node, bits: str, weights: list[int]) -> str:
    """In two halves where there are more than 32: onnxruntime adds int64 as double."""
    if len(weights) > 32:
        low, high = (_part(node, bits, *bounds) for bounds in ((0, 32), (32, len(weights))))
        low = _weighted_sum(node, low, weights[:32])
        high = _weighted_sum(node, high, [weight // 2**32 for weight in weights[32:]])
        return node.before("Add", [low, node.before("Mul", [high, int64(node, 2**32, "half")], what="high")], what="sum")
    weighted = node.before("Mul", [bits, int64(node, weights, "weights")], what="weighted")
    shape = node.output_shape()
    # onnxruntime does not reduce an empty tensor along an axis that counts from the back.
    last = -1 if shape is None else len(shape)
    return node.before("ReduceSum", [weighted, int64(node, [last], "last")], what="sum", keepdims=0)


def _part(node: Node, bits: str, start: int, end: int) -> str:
    bounds = [int64(node, [value], "bound") for value in (start, end, -1)]
    return node.before("Slice", [bits, *bounds], what="part")


def _bits(node: Node, name: str, bits: int, signed: bool) -> str:
    """The bits of `name`, lowest first, along a new last axis. uint64 is read as the int64 of the same bits."""
    number = node.before("Cast", [name], what="wide", to=TensorProto.INT64)
    number = node.before("Unsqueeze", [number, int64(node, [-1], "last")], what="column")
    sign = ""
    if signed:
        negative = node.before("Less", [number, int64(node, 0, "zero")], what="negative")
        sign = node.before("Cast", [negative], what="sign", to=TensorProto.INT64)
        lowest = node.before("Mul", [sign, int64(node, -(2 ** (bits - 1)), "lowest")], what="offset")
        number = node.before("Sub", [number, lowest], what="low_bits")
    powers = int64(node, [2**n for n in range(bits - signed)], "powers")
    shifted = node.before("Div", [number, powers], what="shifted")
    two = int64(node, 2, "two")
    even = node.before("Mul", [node.before("Div", [shifted, two], what="half"), two], what="even")
    low = node.before("Sub", [shifted, even], what="bits")
    return node.before("Concat", [low, sign], what="bits", axis=-1) if signed else low
