"""Types and shapes of values, from an ordered list of sources: what is stated, and what follows from the node that makes it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Protocol

import numpy as np
from onnx import NodeProto, TypeProto, helper

from ...onnx_model.domains import DEFAULT_DOMAINS
from ...opsets import facts, inference, partial, schema_types, type_protos
from ...opsets.facts import GRAPH_HOLDERS
from ...storage.payload import element_type_of, tensor_of
from ...structure.declarations import contradict
from . import bodies
from .asking import Asked, Finding, type_of
from .entries import entries_of
from .place import Place, maker, stated_directly
from .record import NONE_UNPROVEN, NOTHING, Question, Typed, Types, Unasked, merged

FoundTypes = Generator[Asked, Any, Types]


def find_stated(place: Place, name: str) -> Finding:
    """The type that the model, inference of the whole model or a rule states for `name`, here or in an outer graph."""
    known = stated_directly(place, name)
    if not isinstance(known, Unasked):
        return {name: known}
    home: Place | None = place
    while home is not None and name not in home.made:
        home = home.parent
    assert home is not None, "otherwise it is stated directly, or not at all"
    answers: dict[str, TypeProto | None] = {name: None}
    answers.update((yield from _made_types(home, name)))
    known = answers[name]
    if known is None or type_protos.type_string(known) is None:
        answers[name] = home.stated.kind(name)
    return answers if home is place else {name: answers[name]}


def _made_types(place: Place, name: str) -> FoundTypes:
    """The types of the outputs of the node that a rule made for `name`: as rules noted them, or inferred from the node."""
    if name in place.noted:
        return {name: place.noted[name]}
    node, opset = place.made[name]
    types: Types = {}
    for value in node.input:
        kind = (yield Asked(place, value, Question.STATED)) if value else None
        if kind is not None:
            types[value] = kind
    constants = yield from _small_constants(place, types)
    found = _inferred(place, node, opset, types, constants)
    found.update((yield from bodies.made_types(place, node, opset)))
    return {value: kind for value, kind in found.items() if value in place.made and place.stated.found(value) is None}


def find_type(place: Place, name: str) -> Finding:
    """The types of `name`, and of what the same node makes, with everything that the `SOURCES` know."""
    known = _Growing(place)
    yield from known.begin(name)
    for source in SOURCES:
        if not known.is_unsettled(name):
            break
        found = yield from source.find(place, name, known)
        yield from known.grow(found)
    return known.answers


class _Growing:
    """What is known about the outputs of one node, or about the inputs of one body, while it grows."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.answers: dict[str, Typed] = {}

    def begin(self, name: str) -> Generator[Asked, Any, None]:
        """Take what is stated about `name`."""
        stated = stated_directly(self._place, name)
        if isinstance(stated, Unasked):
            stated = yield Asked(self._place, name, Question.STATED)
        self._set(name, stated, is_better=False)

    def _set(self, name: str, kind: TypeProto | None, *, is_better: bool) -> None:
        shape = None if kind is None else type_protos.shape_of(kind)
        self.answers[name] = Typed(kind, shape, self._place.stated.unproven.get(name, NONE_UNPROVEN), is_better)

    def is_open(self, name: str) -> bool:
        """Whether a dimension that may have a size is unknown."""
        return self.answers[name].is_open(self._place.model.input_symbols)

    def is_unsettled(self, name: str) -> bool:
        """Whether more, or other sizes, may be found than what is stated."""
        return self.is_open(name) or name in self._place.stated.claimed

    def grow(self, found_types: Types) -> Generator[Asked, Any, None]:
        """Add the found types to what is known about each value. They replace claims that they contradict."""
        for name, found in found_types.items():
            if name not in self.answers:
                yield from self.begin(name)
            known = self.answers[name].type
            is_claim = name in self._place.stated.claimed
            if is_claim and known is not None and _contradict(known, found):
                grown = found
            elif is_claim or self.is_open(name):
                grown = merged(known, found)
            else:
                continue
            if grown != known:
                self._set(name, grown, is_better=True)


class Source(Protocol):
    """Something that may know more about a type than what is stated."""

    def find(self, place: Place, name: str, known: _Growing) -> FoundTypes:
        """The types of `name`, and of other values that the same node makes."""
        ...


class CarriedValues:
    """The types of the inputs of bodies: of what a Loop carries, by induction, and of what a Scan hands to its body."""

    def find(self, place: Place, name: str, known: _Growing) -> FoundTypes:
        return (yield from bodies.input_types(place)) if name in place.inputs else {}


class Bodies:
    """The types of the outputs of If and Loop, from their bodies."""

    def find(self, place: Place, name: str, known: _Growing) -> FoundTypes:
        node, _ = maker(place, name)
        if node is None or node.op_type not in GRAPH_HOLDERS:
            return {}
        held = place.producers.get(name)
        if held is None or held.domain not in DEFAULT_DOMAINS:
            return {}
        made, first = place.made.get(name), place.stated.makers.get(name)
        position, opset = (None if first is None else first[0], place.opset) if made is None else (None, made[1])
        return (yield from bodies.output_types(place, held, position, opset))


class NodeInference:
    """ONNX's inference of the node, with what is known about its inputs beyond what inference of the whole model saw."""

    def find(self, place: Place, name: str, known: _Growing) -> FoundTypes:
        node, opset = maker(place, name)
        if node is None or node.op_type in GRAPH_HOLDERS:
            return {}
        types: Types = {}
        is_better = _is_remade(place, name)
        for value in node.input:
            operand = (yield from type_of(place, value)) if value else NOTHING
            if operand.type is not None:
                types[value] = operand.type
                is_better = is_better or _is_better(place, value, operand)
        constants = yield from _small_constants(place, types)
        if not is_better and not (constants and known.is_open(name)):
            return {}  # inference of the whole model knew as much
        types.update((value, helper.make_tensor_type_proto(element_type_of(a.dtype), a.shape)) for value, a in constants.items())
        return _inferred(place, node, opset, types, constants)


class DescribedShape:
    """The shape of the output of a Reshape, Expand, …, from the known entries of the input that describes it."""

    def find(self, place: Place, name: str, known: _Growing) -> FoundTypes:
        node, _ = maker(place, name)
        if node is None or not facts.of(node.op_type, node.domain).has("sized") or not known.is_open(name):
            return {}
        data = (yield from type_of(place, node.input[0])).shape if node.input[0] else None
        said = yield from entries_of(place, node)
        shape = partial.output_shape(node, data, said)
        elem_type = type_protos.tensor_type((yield Asked(place, node.output[0], Question.STRING)) or "")
        if shape is None or not elem_type:
            return {}
        return {node.output[0]: helper.make_tensor_type_proto(elem_type, shape)}


SOURCES: tuple[Source, ...] = (CarriedValues(), Bodies(), NodeInference(), DescribedShape())
"""What may know more than what is stated, in the order in which they are asked."""


def _small_constants(place: Place, types: Types) -> Generator[Asked, Any, dict[str, np.ndarray]]:
    """The values in `types` that are constant and may describe a shape."""
    found: dict[str, np.ndarray] = {}
    for value, kind in types.items():
        shape = type_protos.shape_of(kind)
        array = None if shape is None or len(shape) > 1 else (yield Asked(place, value, Question.CONSTANT))
        if array is not None and array.dtype.kind != "V":  # types of ml_dtypes never say a shape
            found[value] = array
    return found


def _inferred(place: Place, node: NodeProto, opset: int, types: Types, constants: Mapping[str, np.ndarray]) -> Types:
    """Infer the types of the outputs of `node`, whose inputs have `types`. Some of them are known to be `constants`."""
    found = schema_types.fixed_types(node, opset)
    if all(value in types for value in node.input if value):
        data = {value: tensor_of(array, value) for value, array in constants.items()}
        found.update(inference.infer_node(node, opset, types, data, place.model.ir_version))
    return found


def _is_remade(place: Place, name: str) -> bool:
    """Whether a rule replaced the node that makes `name`, so that inference of the whole model saw another node."""
    return name in place.made and (name in place.stated.given or place.stated.found(name) is not None)


def _is_better(place: Place, name: str, known: Typed) -> bool:
    """Whether more is `known` about `name`, an input of a node, than in the inference of the whole model, where it may have been
    another value.
    """
    return known.is_better or (place.resolve(name) != name and known.type != stated_directly(place, name))


def _contradict(declared: TypeProto, derived: TypeProto) -> bool:
    shapes = type_protos.shape_of(declared), type_protos.shape_of(derived)
    return shapes[0] is not None and shapes[1] is not None and contradict(shapes[0], shapes[1])
