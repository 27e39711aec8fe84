"""Knowledge about integer vectors that describe shapes, where they are not known as a whole: their length, and some entries."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from onnx import NodeProto, TensorProto

from ...onnx_model.domains import DEFAULT_DOMAINS
from ...opsets import facts, partial
from ...opsets.partial import Entries
from .asking import Asked, Finding, type_of
from .constants import proven_shape
from .place import Place, maker
from .record import Question

_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL})


def find_entries(place: Place, name: str) -> Finding:
    """The entries of `name`; None where it does not hold integers, is not a scalar or vector, is longer
    than any shape, or of unknown length.
    """
    constant = yield Asked(place, name, Question.CONSTANT)
    if constant is not None:
        is_short = constant.ndim < 2 and constant.size <= partial.MOST_ENTRIES and constant.dtype.kind in "iub"
        return {name: tuple(int(entry) for entry in constant.reshape(-1)) if is_short else None}
    kind = (yield from type_of(place, name)).type
    shape = yield from proven_shape(place, name)
    if kind is None or shape is None or len(shape) > 1 or kind.tensor_type.elem_type not in _INTEGERS:
        return {name: None}
    length = shape[0] if shape else 1
    found = yield from _computed(place, name)
    if not isinstance(length, int) or (found is not None and len(found) == length):
        return {name: found}
    return {name: (None,) * length if length <= partial.MOST_ENTRIES else None}


def _computed(place: Place, name: str) -> Generator[Asked, Any, Entries | None]:
    """The entries of `name`, computed from those of the inputs of the node that makes it."""
    node, _ = maker(place, name)
    if node is None or node.domain not in DEFAULT_DOMAINS:
        return None
    if node.op_type == "Shape":
        shape = yield from proven_shape(place, node.input[0])
        return None if shape is None else partial.dimensions(shape, node)
    if not facts.of(node.op_type).has("entries"):
        return None
    operands = yield from entries_of(place, node)
    ranks: list[int | None] = []
    for value in node.input:
        shape = (yield from proven_shape(place, value)) if value else None
        ranks.append(None if shape is None else len(shape))
    return partial.entries(node, operands, ranks)


def entries_of(place: Place, node: NodeProto) -> Generator[Asked, Any, list[Entries | None]]:
    """The known entries of the inputs of `node`; None for one of which nothing is known, or that is absent."""
    found: list[Entries | None] = []
    for value in node.input:
        found.append((yield Asked(place, value, Question.ENTRIES)) if value else None)
    return found
