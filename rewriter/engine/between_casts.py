"""Puts Casts around an operator that does not accept a type yet, so that it works in a wider type, where the result is right.

The column `work` of `opsets/facts.txt` says for which operators this is right. It rests on three facts:
- Cast between integers discards the high bits (https://onnx.ai/onnx/operators/onnx__Cast.html), so a Cast to a wider type and back
  changes nothing, and arithmetic modulo 2**64 or 2**32 has the same low bits as arithmetic in the narrow type.
- float32 has more than twice the precision of float16 and bfloat16 plus two bits: rounding one sum, difference, product, quotient
  or square root to float32 and then to the narrow type is the same as rounding it once.
- Any other result that is computed in float32 and rounded once at the end may differ from the narrow type in the last bits; such a
  rewrite is reported as not exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onnx import TensorProto, TypeProto, helper, numpy_helper

from ..errors import Unconvertible
from ..opsets import facts
from ..opsets.facts import Kind, Work
from ..opsets.transitions import OpSchema, newest_opset, schema_at
from ..storage.payload import array_of
from .task import Task

_INTEGERS = {  # bits, signed
    **{f"int{bits}": (bits, True) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (bits, False) for bits in (2, 4, 8, 16, 32, 64)},
}
_SIGNIFICAND = {"float16": 11, "float": 24, "double": 53}
"""The number of significand bits of each floating-point type, including the leading one."""
_FLOATS_IN_FLOAT = frozenset(
    {"float16", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"}
    | {"float6e2m3", "float6e3m2", "float4e2m1"}
)
"""The floating-point types whose values float32 holds."""
_PREFERRED = ("int32", "int64", "float", "double", "uint8", "int8", "uint32", "uint64", "float16")
"""The wider types in the order in which they are tried: first those for which runtimes have kernels."""


def takes_all(_: str) -> bool:
    """True for each element type: what a runtime takes that states no types."""
    return True


def holds(wide: str, narrow: str) -> bool:
    """Whether type `wide` holds every value of type `narrow`, and a Cast back restores it."""
    if wide == narrow:
        return True
    if narrow == "bool":
        return wide in _INTEGERS or wide in _SIGNIFICAND
    if narrow in _INTEGERS:
        bits, signed = _INTEGERS[narrow]
        if wide in _INTEGERS:
            wide_bits, wide_signed = _INTEGERS[wide]
            return wide_bits > bits and (wide_signed or not signed)
        return wide in _SIGNIFICAND and bits <= _SIGNIFICAND[wide]
    if narrow in _FLOATS_IN_FLOAT:
        return wide in ("float", "double")
    return (narrow, wide) == ("float", "double")


@dataclass(frozen=True)
class _Slot:
    """One input or output of a node, by its position."""

    name: str
    index: int
    is_input: bool
    kind: str
    """The element type of the value, as schemas write it."""


def put_between_casts(node: Task, wrong: list[str], schema: OpSchema, takes: Callable[[str], bool] = takes_all) -> bool:
    """Wrap `node` in Casts, so that the values `wrong`, whose types are not accepted, have types that are: of those of `schema`,
    those that the runtime takes.

    Returns whether the result is exact. Raises Unconvertible where no type is known to be right; the node is then as before.
    """
    if node.op_type == "ConstantOfShape":
        _cast_filling(node, schema, takes)
        return True
    groups = [(slots, kinds) for slots, kinds in _groups(node, schema, takes) if any(slot.name in wrong for slot in slots)]
    for slots, wide in [(slots, _choose(node, slots, kinds, schema)) for slots, kinds in groups]:
        _cast_around(node, slots, wide)
    return all(_is_exact(node.op_type, slots) for slots, _ in groups)


def _groups(node: Task, schema: OpSchema, takes: Callable[[str], bool]) -> Iterator[tuple[list[_Slot], frozenset[str]]]:
    """The values of `node` in groups that must have the same type, each group with the element types that are accepted."""
    found: dict[str, tuple[list[_Slot], frozenset[str]]] = {}
    for is_input, names, parameters in ((True, node.inputs, schema.inputs), (False, node.outputs, schema.outputs)):
        for index, name in enumerate(names):
            if not name or not parameters:
                continue
            parameter = parameters[min(index, len(parameters) - 1)]
            alone = not parameter.is_homogeneous or "(" in parameter.type_str
            key = f"{is_input} {index}" if alone else parameter.type_str
            tensors = (kind[7:-1] for kind in parameter.types if kind.startswith("tensor("))
            types = frozenset(filter(takes, tensors))
            slots, _ = found.setdefault(key, ([], types))
            slots.append(_Slot(name, index, is_input, _element_type(node, name, slots)))
    yield from found.values()


def _element_type(node: Task, name: str, tied: list[_Slot]) -> str:
    """The element type of `name`, or of the values `tied`, which have the same type. Raises Unconvertible where it is unknown."""
    kind = node.scope.type_string(name)
    if kind is None and tied:
        return tied[0].kind
    return kind[7:-1] if kind is not None and kind.startswith("tensor(") else kind or "?"


def _choose(node: Task, slots: list[_Slot], allowed: frozenset[str], schema: OpSchema) -> str:
    """The wider type to work in. Raises Unconvertible where there is none."""
    kinds = sorted({slot.kind for slot in slots})
    _require_castable(node, kinds)
    work = None if reduces(node) else facts.of(node.op_type).work
    # The least of nothing is the largest number: uint8 gives true back, and the greatest false
    preferred = ("uint8", *_PREFERRED) if kinds == ["bool"] and work is Work.ORDERS else _PREFERRED
    for wide in preferred:
        if work is not None and wide in allowed and all(_may_work_in(wide, kind, work) for kind in kinds):
            return wide
    raise Unconvertible(
        f"{node.op_type} of opset {schema.since_version} does not take {', '.join(kinds)} ('{slots[0].name}')",
        "choose a newer target" if "(" in slots[0].kind else "cast the model to another type, or choose a newer target",
    )


def reduces(node: Task) -> bool:
    """Whether an operator that moves elements combines them (adds, multiplies, compares) in the mode of this node."""
    return facts.of(node.op_type).kind is Kind.MOVES and node.attr("reduction", "none") != "none"


def _may_work_in(wide: str, kind: str, work: Work) -> bool:
    """Whether an operator that does `work` gives the right result for data of type `kind` when it works in type `wide`."""
    if work is Work.MOVES and (kind, wide) == ("uint64", "int64"):
        return True
    if not holds(wide, kind):
        return False
    if kind == "bool":
        return work in (Work.MOVES, Work.ORDERS)
    if kind in _INTEGERS:
        if work in (Work.WRAPS, Work.DIVIDES):
            return wide in _INTEGERS
        return work is not Work.COMPUTES
    return True


def _is_exact(op_type: str, slots: list[_Slot]) -> bool:
    """Whether the result is the same to the last bit."""
    return facts.of(op_type).work is not Work.COMPUTES or all(slot.kind in _INTEGERS for slot in slots)


def _require_castable(node: Task, kinds: list[str]) -> None:
    """Raises Unconvertible where one of the types `kinds` does not exist at the opset that `node` goes to."""
    for kind in kinds:
        if kind == "string":
            continue
        born = first_opset(kind)
        if born is not None and born > node.written_for:
            raise Unconvertible(
                f"{node.op_type} cannot compute {kind} before opset {born}",
                "convert the weights and activations to float or float16 first" if "float" in kind else "",
            )


def first_opset(kind: str) -> int | None:
    """The first opset whose Cast accepts `kind`, or 6, where types began, if older ones do too; None if there is none."""
    for opset in range(6, newest_opset() + 1):
        schema = schema_at("Cast", opset)
        if schema is not None and f"tensor({kind})" in schema.inputs[0].types:
            return opset
    return None


def _cast_around(node: Task, slots: list[_Slot], wide: str) -> None:
    """Cast the inputs in `slots` to `wide`, and the outputs back."""
    number = TensorProto.DataType.Value(wide.upper())
    cast: dict[str, str] = {}
    for slot in slots:
        if slot.kind == wide:
            continue
        if slot.is_input:
            if slot.name not in cast:
                cast[slot.name] = node.op.Cast(slot.name, to=number)
            node.set_input(slot.index, cast[slot.name])
        else:
            known = node.scope.type(slot.name)
            inner = node.detach_output(slot.index, wide)
            node.scope.types.note(inner, _with_element_type(known, number))
            if _may_give_an_end(node, slot):
                inner = _within_narrow(node, inner, slot.kind)
            node.after.Cast(
                inner, output=slot.name, to=TensorProto.DataType.Value(slot.kind.upper()), **_SATURATE.get(slot.kind, {})
            )


_SATURATE = {"float8e5m2": {"saturate": 0}}
"""Attributes that the Cast back needs. float8e5m2 is the only type of 8 bits with infinities, which
saturation would turn into numbers.
"""


def _may_give_an_end(node: Task, slot: _Slot) -> bool:
    """Whether the node may reduce an empty axis in a type whose smallest or largest value is not what the Cast back gives."""
    if not facts.of(node.op_type).has("by") or slot.kind not in _INTEGERS:
        return False
    shape = node.shape(0)
    return shape is None or any(not isinstance(dim, int) or dim == 0 for dim in shape)


def _within_narrow(node: Task, name: str, kind: str) -> str:
    """`name`, a value of a floating-point type that every opset compares, limited to the range of `kind`."""
    bits, signed = _INTEGERS[kind]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    number = TensorProto.FLOAT if holds("float", kind) else TensorProto.DOUBLE
    end = node.op.const(low if node.op_type == "ReduceMax" else high, number)
    floating = node.after.Cast(name, to=number)
    return getattr(node.after, facts.of(node.op_type).word("by"))(floating, end)


def _with_element_type(known: TypeProto | None, number: int) -> TypeProto:
    """The type `known`, with another element type."""
    kind = TypeProto()
    if known is not None:
        kind.CopyFrom(known)
    kind.tensor_type.elem_type = number
    return kind


def _cast_filling(node: Task, schema: OpSchema, takes: Callable[[str], bool]) -> None:
    """Let a ConstantOfShape fill with a value of a wider type, and cast the result to the type that it does not accept."""
    value = node.attr("value")
    kind = TensorProto.DataType.Name(value.data_type).lower()
    _require_castable(node, [kind])
    allowed = {kind[7:-1] for kind in schema.outputs[0].types}
    wide = next((wide for wide in _PREFERRED if wide in allowed and takes(wide) and holds(wide, kind)), None)
    if wide is None:
        raise Unconvertible(
            f"{node.op_type} of opset {schema.since_version} does not take {kind} ('{node.output(0)}')", "choose a newer target"
        )
    number = TensorProto.DataType.Value(wide.upper())
    array = array_of(value).astype(helper.tensor_dtype_to_np_dtype(number))
    node.set_attr("value", numpy_helper.from_array(array))
    _cast_around(node, [_Slot(node.output(0), 0, False, kind)], wide)
