"""Computes with integer vectors of which only some entries are known, and with the shapes that they describe.

Exporters compute shapes as vectors: Concat(Gather(Shape(x), 0), [12, -1]). An entry is a number, a symbol of the model's author,
which is a size and so never negative, or None. From single entries follows, for example, the rank of the output of a Reshape by a
vector of known length. onnx's inference does not find this in older opsets, or where the vector is the result of arithmetic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from onnx import AttributeProto, NodeProto, helper

from . import facts
from .ambiguity import has_odd_form
from .type_protos import Dimension, Shape

Entries = tuple[Dimension, ...]
"""The known entries of a scalar, or of a vector of known length. Booleans are 0 and 1."""
Operands = Sequence[Entries | None]
ABSENT: Entries = ("absent",)
"""Stands for an input that the node does not have, while None stands for one of which nothing is known."""
MOST_ENTRIES = 64
"""The number of entries up to which a vector may describe a shape."""


def entries(node: NodeProto, operands: Operands, ranks: Sequence[int | None]) -> Entries | None:
    """The entries of the output of `node`, from the entries and ranks of its inputs; None where they are unknown.

    A result has at most MOST_ENTRIES entries.
    """
    function = _ENTRIES.get(facts.of(node.op_type, node.domain).word("entries"))
    if function is None or not node.input:
        return None
    attributes = _attributes(node)
    given = [operand if name else ABSENT for name, operand in zip(node.input, operands, strict=True)]
    found = None if attributes is None else function(given, ranks, attributes)
    return None if found is None or len(found) > MOST_ENTRIES else found


def dimensions(shape: Shape, node: NodeProto) -> Entries | None:
    """The entries of the output of `node`, a Shape, for a tensor of this shape."""
    attributes = _attributes(node)
    return None if attributes is None else shape[attributes.get("start", 0) : attributes.get("end", len(shape))]


def _attributes(node: NodeProto) -> dict[str, Any] | None:
    """The attributes of `node`; None where the caller of a function sets one of them, one is a graph, or they have two meanings."""
    if has_odd_form(node) or any(attribute.ref_attr_name or attribute.type == AttributeProto.GRAPH for attribute in node.attribute):
        return None
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _same(operands: Operands, _ranks: Sequence[int | None], _attributes: dict[str, Any]) -> Entries | None:
    return operands[0]


def _cast(operands: Operands, _ranks: Sequence[int | None], attributes: dict[str, Any]) -> Entries | None:
    """The entries after a Cast between integer types.

    Numbers that int32 cannot hold become others. A size that it cannot hold does not occur in a model that runs.
    """
    if attributes.get("to") not in _INTEGERS or operands[0] is None:
        return None
    return tuple(map(_small, operands[0])) if attributes["to"] == _INT32 else operands[0]


_INT32 = 6
_INTEGERS = (_INT32, 7)
"""The TensorProto.DataType of int32 and of int64."""


def _small(entry: Dimension) -> Dimension:
    """`entry`; None where it is a number that int32 cannot hold, so that arithmetic may overflow."""
    return entry if not isinstance(entry, int) or -(1 << 31) <= entry < 1 << 31 else None


def _reshape(operands: Operands, _ranks: Sequence[int | None], _attributes: dict[str, Any]) -> Entries | None:
    """The entries after a Reshape to a scalar or a vector; None for any other rank, which has no entries."""
    return operands[0]


def _concat(operands: Operands, _ranks: Sequence[int | None], _attributes: dict[str, Any]) -> Entries | None:
    known = [operand for operand in operands if operand is not None]
    return tuple(entry for operand in known for entry in operand) if len(known) == len(operands) else None


def _gather(operands: Operands, ranks: Sequence[int | None], _attributes: dict[str, Any]) -> Entries | None:
    data, indices = operands[:2]
    if data is None or indices is None or ranks[0] != 1:
        return None
    return tuple(_entry(data, index) for index in indices)


def _entry(data: Entries, index: Dimension) -> Dimension:
    return data[index] if isinstance(index, int) and -len(data) <= index < len(data) else None


def _slice(operands: Operands, _ranks: Sequence[int | None], attributes: dict[str, Any]) -> Entries | None:
    """The entries after a Slice with step 1, whose bounds are attributes or inputs."""
    data, *bounds = operands
    bounds = [tuple(attributes[name]) for name in ("starts", "ends") if name in attributes] or bounds
    steps = bounds[3] if len(bounds) > 3 else ABSENT
    if data is None or steps not in (ABSENT, (1,)) or [bound and len(bound) for bound in bounds[:2]] != [1, 1]:
        return None
    start, end = (bound[0] for bound in bounds[:2] if bound is not None)
    return data[start:end] if isinstance(start, int) and isinstance(end, int) else None


def _where(operands: Operands, _ranks: Sequence[int | None], _attributes: dict[str, Any]) -> Entries | None:
    return _by_entry(lambda condition, yes, no: no if condition == 0 else yes if condition == 1 or yes == no else None, operands)


def _equal(one: Dimension, other: Dimension) -> Dimension:
    if one is None or other is None:
        return None
    if one == other:
        return 1
    both_numbers = isinstance(one, int) and isinstance(other, int)
    is_negative = any(isinstance(entry, int) and entry < 0 for entry in (one, other))
    return 0 if both_numbers or is_negative else None


def _add(one: Dimension, other: Dimension) -> Dimension:
    if isinstance(one, int) and isinstance(other, int):
        return _small(one + other)
    return other if one == 0 else one if other == 0 else None


def _subtract(one: Dimension, other: Dimension) -> Dimension:
    if isinstance(one, int) and isinstance(other, int):
        return _small(one - other)
    return one if other == 0 else 0 if one is not None and one == other else None


def _multiply(one: Dimension, other: Dimension) -> Dimension:
    if isinstance(one, int) and isinstance(other, int):
        return _small(one * other)
    return other if one == 1 else one if other == 1 else None


def _divide(one: Dimension, other: Dimension) -> Dimension:
    if isinstance(one, int) and isinstance(other, int):
        return one // other if one >= 0 and other > 0 else None
    return one if other == 1 else None


def _elementwise(function: Callable[..., Dimension]) -> Callable[..., Entries | None]:
    def apply(operands: Operands, _ranks: Sequence[int | None], attributes: dict[str, Any]) -> Entries | None:
        return None if attributes else _by_entry(function, operands)

    return apply


def _by_entry(function: Callable[..., Dimension], operands: Operands) -> Entries | None:
    """Apply `function` to the entries at each position. An operand with a single entry has it at all positions."""
    known = [operand for operand in operands if operand is not None]
    length = max(map(len, known), default=0)
    if len(known) != len(operands) or any(len(operand) not in (1, length) for operand in known):
        return None
    return tuple(function(*(operand[at if len(operand) > 1 else 0] for operand in known)) for at in range(length))


_ENTRIES: dict[str, Callable[[Operands, Sequence[int | None], dict[str, Any]], Entries | None]] = {
    "same": _same,
    "cast": _cast,
    "reshape": _reshape,
    "concat": _concat,
    "gather": _gather,
    "slice": _slice,
    "where": _where,
    "equal": _elementwise(_equal),
    "add": _elementwise(_add),
    "sub": _elementwise(_subtract),
    "mul": _elementwise(_multiply),
    "div": _elementwise(_divide),
}
"""The functions that rows of facts name, behind `entries=`."""


def output_shape(node: NodeProto, data: Shape | None, said: Operands) -> Shape | None:
    """The shape of the output of `node`, whose first input has the shape `data`. `said` are the known entries of all inputs.

    None where the entries do not tell more than onnx's inference knows.
    """
    function = _SHAPES.get(facts.of(node.op_type, node.domain).word("sized"))
    attributes = _attributes(node)
    shape = None if function is None or attributes is None else function(data, said, attributes)
    return None if shape is None else tuple(None if isinstance(dim, int) and dim < 0 else dim for dim in shape)


def _reshaped(data: Shape | None, said: Operands, attributes: dict[str, Any]) -> Shape | None:
    """The shape after a Reshape.

    A symbol may be 0, which copies a dimension, so it is used only where it equals the copied dimension, or where there is none to
    copy: there, a 0 fails.
    """
    wanted = said[1] if len(said) > 1 else None
    if wanted is None:
        return None
    keeps_zero = bool(attributes.get("allowzero", 0))
    rank = len(wanted) if data is None else len(data)
    sizes: list[Dimension] = []
    for at, entry in enumerate(wanted):
        copied = _copied(data, at)
        if entry == 0 and not keeps_zero:
            sizes.append(copied)
        else:
            is_sure = keeps_zero or isinstance(entry, int) or entry == copied or at >= rank
            sizes.append(entry if is_sure else None)
    return tuple(_left(data, sizes) if size == -1 else size for size in sizes)


def _copied(data: Shape | None, axis: int) -> Dimension:
    return data[axis] if data is not None and axis < len(data) else None


def _left(data: Shape | None, sizes: list[Dimension]) -> Dimension:
    """The size that -1 stands for among `sizes`: the elements of `data`, divided by all other sizes."""
    if data is None:
        return None
    others = [size for size in sizes if size != -1]
    symbols, taken = Counter(dim for dim in data if not isinstance(dim, int)), Counter(s for s in others if not isinstance(s, int))
    if None in symbols or None in taken or taken - symbols:
        return None
    left = list((symbols - taken).elements())
    total, part = (math.prod(dim for dim in dims if isinstance(dim, int)) for dims in (data, others))
    if part <= 0 or total % part:
        return None
    number = total // part
    return number if not left else left[0] if len(left) == 1 and number == 1 else None


def _expanded(data: Shape | None, said: Operands, _attributes: dict[str, Any]) -> Shape | None:
    wanted = said[1]
    if wanted is None or data is None:
        return None
    rank = max(len(data), len(wanted))
    padded = [(1,) * (rank - len(dims)) + dims for dims in (data, wanted)]
    return tuple(_broadcast(one, other) for one, other in zip(*padded, strict=True))


def _broadcast(one: Dimension, other: Dimension) -> Dimension:
    if one == 1 or one == other:
        return other
    if other == 1 or (isinstance(one, int) and one > 1):
        return one
    return other if isinstance(other, int) and other > 1 else None


def _filled(_data: Shape | None, said: Operands, _attributes: dict[str, Any]) -> Shape | None:
    return said[0]


def _counted(_data: Shape | None, said: Operands, _attributes: dict[str, Any]) -> Shape | None:
    """The shape after a Range from 0 with step 1, whose limit is a symbol: that symbol."""
    start, limit, delta = said
    return limit if start == (0,) and delta == (1,) and limit is not None and isinstance(limit[0], str) else None


def _unsqueezed(data: Shape | None, said: Operands, _attributes: dict[str, Any]) -> Shape | None:
    axes = said[1] if len(said) > 1 else None
    return None if data is None or axes is None else (None,) * (len(data) + len(axes))


def _squeezed(data: Shape | None, said: Operands, _attributes: dict[str, Any]) -> Shape | None:
    axes = said[1] if len(said) > 1 else None
    known = [axis for axis in axes or () if isinstance(axis, int)]
    if data is None or axes is None or len(known) < len(axes):
        return None
    cut = {axis % len(data) for axis in known if -len(data) <= axis < len(data)}  # an axis may be named twice
    return (None,) * (len(data) - len(cut)) if axes else None


def _sliced(data: Shape | None, said: Operands, _attributes: dict[str, Any]) -> Shape | None:
    """The shape after a Slice: axes that it does not name stay.

    For other axes, inference finds the length if the bounds are constant.
    """
    if data is None or len(said) < 3:
        return None
    axes = said[3] if len(said) > 3 else None if said[1] is None else tuple(range(len(said[1])))
    cut = [axis + len(data) * (axis < 0) for axis in axes or () if isinstance(axis, int)]
    if axes is None or len(cut) < len(axes):
        return None
    return tuple(None if axis in cut else dim for axis, dim in enumerate(data))


def _resized(_data: Shape | None, said: Operands, attributes: dict[str, Any]) -> Shape | None:
    """The shape after a Resize to sizes of all axes."""
    stretches = attributes.get("keep_aspect_ratio_policy", "stretch") in ("stretch", b"stretch")
    return said[3] if len(said) > 3 and stretches and "axes" not in attributes else None


_SHAPES: dict[str, Callable[[Shape | None, Operands, dict[str, Any]], Shape | None]] = {
    "reshaped": _reshaped,
    "expanded": _expanded,
    "filled": _filled,
    "counted": _counted,
    "unsqueezed": _unsqueezed,
    "squeezed": _squeezed,
    "sliced": _sliced,
    "resized": _resized,
}
"""The functions that rows of facts name, behind `sized=`."""
