"""Cast and CastLike: `to` is a string until opset 5 and a number from 6 on; saturate (19) and round_mode (24) matter only for 8-bit
floats.

https://onnx.ai/onnx/operators/onnx__Cast.html, https://onnx.ai/onnx/operators/onnx__CastLike.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade, widen
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.integers import BITS
from .shared.rounding import (
    FLOAT4E2M1,
    FLOAT6E2M3,
    FLOAT6E3M2,
    FLOAT8,
    FLOAT8E8M0,
    FORMATS,
    become_value,
    rounded,
    rounded_to_power,
)
from .shared.typed import type_name

_UNSIGNED_ZERO = frozenset({TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2FNUZ})
"""The 8-bit floats without infinities and without -0, for which opset 24 changed the table of saturated values."""
_NARROW_INTEGERS = {21: (4, False), 22: (4, True), 25: (2, False), 26: (2, True)}
"""The number of bits of UINT4, INT4, UINT2 and INT2, and whether they are signed, by type number: old onnx
lacks some of the names.
"""
_HELD = {
    *((kind, TensorProto.BFLOAT16) for kind in (*FLOAT8, FLOAT6E2M3, FLOAT6E3M2, FLOAT4E2M1)),
    *((kind, TensorProto.FLOAT8E4M3FN) for kind in (FLOAT6E2M3, FLOAT6E3M2, FLOAT4E2M1)),
    *((kind, TensorProto.FLOAT8E5M2) for kind in (FLOAT6E3M2, FLOAT4E2M1)),
    *((FLOAT4E2M1, kind) for kind in (FLOAT6E2M3, FLOAT6E3M2)),
    *((TensorProto.BOOL, kind) for kind in _NARROW_INTEGERS),
    *((25, kind) for kind in (21, 22)),
    (26, 22),
}
"""Pairs of a type and a narrow type that holds all numbers of the first."""


@upgrade("Cast", 6)
def type_to_number(node: Node) -> None:
    """The name of the type in `to` becomes its number."""
    name = str(node.attr("to")).upper()
    if name not in TensorProto.DataType.keys() or name == "UNDEFINED":  # noqa: SIM118 - an enum wrapper is no dict
        raise Unconvertible(f"'{node.attr('to')}' is not a type that Cast knows")
    node.set_attr("to", int(TensorProto.DataType.Value(name)))


@downgrade("Cast", 6)
def type_to_name(node: Node) -> None:
    """The number of the type in `to` becomes its name. Refused in a function, whose types onnx cannot check.

    The type of the result is declared in the model: onnx does not infer it before opset 6, and does not check a Loop without it.
    """
    if node.graph.is_function:
        raise Unconvertible("onnx cannot check a function with a Cast before opset 6", "inline the function before converting")
    node.graph.declare(node.output(0), node.attr("to"))
    node.set_attr("to", TensorProto.DataType.Name(node.attr("to")))


@downgrade("Cast", 19)
def drop_saturate(node: Node) -> None:
    """saturate is removed where the result is not an 8-bit float, for which alone it has a meaning."""
    if node.attr("to") not in FLOAT8:
        node.pop_attr("saturate")


@downgrade("CastLike", 19)
def drop_saturate_of_cast_like(node: Node) -> None:
    """saturate is removed where the result is not an 8-bit float, for which alone it has a meaning."""
    if node.need_elem_type(1) not in FLOAT8:
        node.pop_attr("saturate")


@upgrade("Cast", 24)
def saturated_infinity_changes(node: Node) -> None:
    """Nothing changes. Refused where an infinity may be cast to an 8-bit float without infinities, which opset 24 redefined."""
    _mind_infinity(node, node.attr("to"))


@downgrade("Cast", 24)
def drop_round_mode(node: Node) -> None:
    """round_mode is removed where the result is not float8e8m0. Refused where infinity may become a float without infinities."""
    if node.attr("to") != FLOAT8E8M0:
        node.pop_attr("round_mode")
    _mind_infinity(node, node.attr("to"))


@upgrade("CastLike", 24)
def saturated_infinity_changes_in_cast_like(node: Node) -> None:
    """Nothing changes. Refused where an infinity may be cast to an 8-bit float without infinities, which opset 24 redefined."""
    _mind_infinity(node, node.elem_type(1))


@downgrade("CastLike", 24)
def drop_round_mode_of_cast_like(node: Node) -> None:
    """round_mode is removed where the result is not float8e8m0. Refused where infinity may become a float without infinities."""
    if node.need_elem_type(1) != FLOAT8E8M0:
        node.pop_attr("round_mode")
    _mind_infinity(node, node.elem_type(1))


def _mind_infinity(node: Node, to: int | None) -> None:
    """Raises Unconvertible where an infinity may be cast to `to` and opset 24 changed the result, unless
    onnxruntime's meaning is chosen.
    """
    if _saturates_infinity(node, to) and _infinity(node) == "specification":
        raise Unconvertible("an infinite input gives NaN before opset 24, the largest number from 24 on")


def _saturates_infinity(node: Node, to: int | None) -> bool:
    """Whether the cast may get an infinity that the type `to` cannot hold."""
    is_whole = node.elem_type() in (*BITS, *_NARROW_INTEGERS, TensorProto.BOOL)
    return to in _UNSIGNED_ZERO and bool(node.attr("saturate", 1)) and not is_whole


def _infinity(node: Node) -> str:
    return node.meaning(
        "an infinite input gives NaN before opset 24, the largest number from 24 on", "gives the largest number at every opset"
    )


@decompose("CastLike", opset=15)
def cast_to_known_type(node: Node) -> None:
    """CastLike becomes Cast to the type of its second input; of a number that is stored in the model, the number in that type."""
    stored = node.constant(0)
    node.become.Cast(node.input(0), to=node.need_elem_type(1))
    if stored is None:
        return
    node.renew()  # as a Cast, it is known to be constant
    if stored.size == 1:
        node.fold()


# Types that the target does not have.


@widen(("Cast", "CastLike"))
def cast_in_wider_types(node: Node) -> None:
    """A cast to a type that the target lacks gives the number that this type would hold, in a wider type."""
    source = node.need_elem_type()
    to = node.attr("to") if node.op_type == "Cast" else node.need_elem_type(1)
    x, held, wide = node.input(0), node.wider(source), node.wider(to)
    if wide != to:
        x, held = _narrowed(node, x, source, to)
    elif held == source:
        return
    elif to == TensorProto.STRING:
        raise Unconvertible(f"the text of {type_name(source)} may not be that of {type_name(held)}")
    if held == wide:
        become_value(node, x)
    elif wide != to:
        node.become.Cast(x, to=wide)


def _narrowed(node: Node, x: str, source: int, to: int) -> tuple[str, int]:
    """The numbers of type `to` to which `x`, of type `source`, is cast, and the type in which they are held."""
    if source == to or (source, to) in _HELD:
        return x, node.wider(source)
    if source == TensorProto.STRING or to not in (*FORMATS, *_NARROW_INTEGERS, FLOAT8E8M0):
        raise Unconvertible(f"older operators cannot cast {type_name(source)} to {type_name(to)}")
    if to in _NARROW_INTEGERS:
        return _wrapped(node, _whole(node, x, source), to), TensorProto.INT32
    return _rounded(node, x, source, to)


def _wrapped(node: Node, x: str, to: int) -> str:
    """The lowest bits of `x`, integers of any type, as numbers of type `to`, held in int32."""
    op = node.op
    bits, signed = _NARROW_INTEGERS[to]
    x = op.Cast(x, to=TensorProto.INT32)
    modulus = op.const(2**bits, TensorProto.INT32)
    if not signed:
        return op.Mod(x, modulus)
    half = op.const(2 ** (bits - 1), TensorProto.INT32)
    low_bits = op.Mod(op.Add(x, half), modulus)
    return op.Sub(low_bits, half)


def _whole(node: Node, x: str, source: int) -> str:
    """`x`, of type `source`, rounded to whole numbers, in any type that Cast accepts."""
    op = node.op
    if source in (*BITS, *_NARROW_INTEGERS, TensorProto.BOOL):
        return x
    rounding = node.meaning(
        "a cast to a type of 4 or 2 bits drops the fraction, as one to int8 does",
        "rounds to the nearest integer, halves away from zero",
    )
    if rounding == "specification":
        return x
    if source != TensorProto.DOUBLE:
        source, x = TensorProto.FLOAT, op.Cast(x, to=TensorProto.FLOAT)
    size = op.Abs(x)
    floor = op.Floor(size)
    below = op.Less(op.Sub(size, floor), op.const(0.5, source))
    step = op.Cast(op.Not(below), to=source)
    return op.Mul(op.Sign(x), op.Add(floor, step))


def _rounded(node: Node, x: str, source: int, to: int) -> tuple[str, int]:
    """`x`, of type `source`, rounded to the floating-point type `to`, and the type in which the result is held."""
    work = TensorProto.FLOAT
    if source == TensorProto.DOUBLE:
        once = node.meaning("a cast rounds once", "rounds double to float first, and that to the narrow type")
        work = TensorProto.DOUBLE if once == "specification" else work
    if node.wider(source) != work:
        x = node.op.Cast(x, to=work)
    if to == FLOAT8E8M0:
        mode = node.attr("round_mode", "up")
        return rounded_to_power(node, x, mode, work, saturate=bool(node.attr("saturate", 1))), work
    saturate = to not in FLOAT8 or bool(node.attr("saturate", 1))
    if not saturate and to not in _UNSIGNED_ZERO:
        beyond = node.meaning(
            "what is beyond the largest number becomes infinity or NaN, as the type has it",
            "makes some of it the largest number, or NaN where it should be infinity",
        )
        if beyond == "onnxruntime":
            raise Unconvertible("what onnxruntime makes of numbers beyond the largest cannot be written with older operators")
    if node.opset < 24 and _saturates_infinity(node, to) and _infinity(node) == "specification":
        x = node.op.Add(x, node.op.Sub(x, x))  # inf - inf is NaN
    return rounded(node, x, to, work, saturate=saturate), work
