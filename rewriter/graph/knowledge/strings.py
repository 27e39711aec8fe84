"""The kind of a value and its element type: as declared or found, or as operators around the value require it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from onnx import TypeProto

from ...opsets import schema_types, type_protos
from .asking import Asked, Finding
from .place import Place, stated_directly
from .record import Question, Unasked


def find_string(place: Place, name: str) -> Finding:
    """The type of `name` as "tensor(float)", "seq(tensor(int64))", …; None where neither it nor the nodes around it tell."""
    stated = place.stated
    known = stated.propagated.type_string(name) if name not in stated.declared and stated.propagated is not None else None
    if known is None:
        kind: TypeProto | None = stated.declared.get(name)
        if kind is None or type_protos.type_string(kind) is None:  # declared types need no inference
            stated = stated_directly(place, name)
            kind = (yield Asked(place, name, Question.STATED)) if isinstance(stated, Unasked) else stated
        known = None if kind is None else type_protos.type_string(kind)
    return {name: known or (yield tied(place, name))}


def tied(place: Place, name: str) -> Asked:
    """The question for the type that `name` has because of the operators in `place`. It is the same for a whole group of values."""
    return Asked(place, place.stated.tied.get(name, [name])[0], Question.TIED)


def find_tied(place: Place, name: str) -> Finding:
    """The type of `name`, as schemas write it, if the type of any value that must have the same one in `place` is known."""
    for value in place.stated.tied.get(name, [name]):
        known = yield from _stated(place, value)
        if known is not None:
            return {name: known}
    return {name: None}


def _stated(place: Place, name: str) -> Generator[Asked, Any, str | None]:
    home, first = place.find(name), place.stated.makers.get(name)
    if home is not None and home is not place:
        return (yield Asked(home, name, Question.STRING))
    kind = None if first is None else schema_types.fixed_types(first[1], place.opset).get(name)
    kind = kind or (yield Asked(place, name, Question.STATED))
    return None if kind is None else type_protos.type_string(kind)
