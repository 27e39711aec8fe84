"""Values that are the same in every run: stored ones, and what can be computed from them."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto

from ...onnx_model.domains import DEFAULT_DOMAINS
from ...opsets import by_reference, facts, folding
from ...opsets.defects import is_evaluated_alike
from ...opsets.type_protos import Shape
from .asking import Asked, Finding, type_of
from .place import Place, maker
from .record import EMPTY, Question

_SHAPE_READERS = facts.of_kind(facts.Kind.SHAPE)


def find_constant(place: Place, name: str) -> Finding:
    """The value of `name` if it is the same in every run, else None. Payloads on disk are read.

    Raises InvalidModelError where the data of a tensor is missing or does not fit its shape.
    """
    tensor = place.initializers.get(name)
    if tensor is not None:
        return {name: None if name in place.stated.overridable else place.model.skeleton.array(tensor)}
    node = place.producers.get(name)  # after the initializers, because listing all makers takes 2 µs for each node
    if node is None or node.domain not in DEFAULT_DOMAINS:
        return {name: None}
    if node.op_type == "Constant":
        return {name: folding.constant_value(node, place.model.skeleton.array)}
    if node.op_type in _SHAPE_READERS:
        return {name: _shape_value(node, (yield from proven_shape(place, node.input[0])))}
    if not _may_fold(node.op_type) or _reads_large_data(place, node):
        return {name: None}
    return (yield from _computed(place, name, node))


def proven_shape(place: Place, name: str) -> Generator[Asked, Any, Shape | None]:
    """The dimensions of `name`, with None for each length that is only declared."""
    propagated = place.stated.propagated
    known = None if propagated is None else propagated.shape(place.resolve(name))
    return known if known is not None else (yield from type_of(place, name)).proven


def _may_fold(op_type: str) -> bool:
    """Whether nodes of this operator of the default domain can be computed if their inputs are constant and small."""
    return facts.of(op_type).has("folds") or by_reference.evaluates(op_type)


def _reads_large_data(place: Place, node: NodeProto) -> bool:
    """Whether an input of `node` is stored and too large for `folding`, so that its data need not be read."""
    return any(_is_large(_stored(place, value)) for value in node.input[:] if value)


def _stored(place: Place, name: str) -> TensorProto | None:
    home = place.find(name)
    return None if home is None else home.initializers.get(place.resolve(name))


def _is_large(tensor: TensorProto | None) -> bool:
    return tensor is not None and math.prod(tensor.dims) > folding.MAX_ELEMENTS


def _computed(place: Place, name: str, node: NodeProto) -> Finding:
    """The value of an output of `node`, which makes `name`, computed from its inputs if all of them are constant."""
    fact = facts.of(node.op_type)
    folds = fact.has("folds")
    made, opset = (node, 0) if folds and not fact.has("disputed") else maker(place, name)
    if made is None or made.op_type != node.op_type:
        return {name: None}
    inputs = yield from _values(place, made.input[:])
    if inputs is None:
        return {name: None}
    given = {given: value for given, value in zip(made.input, inputs, strict=True) if given and value is not None}
    if not is_evaluated_alike(made, opset, given, by_reference=not folds):
        return {name: None}
    results = folding.evaluate(made, inputs) if folds else _by_reference(made, opset, inputs)
    return {name: None} if results is None else dict(zip(made.output, results, strict=False))


def _values(place: Place, names: list[str]) -> Generator[Asked, Any, folding.Values | None]:
    """The values of `names`, None for an absent one; None instead of a list if one of them is not constant.

    One that is known not to be constant is looked for first. Most nodes that rules make have one.
    """
    records, resolve = place.records, place.resolve
    changing = [name for name in names if name and records.get(resolve(name), EMPTY).constant is None]
    found: folding.Values = []
    for name in changing[:1] or names:
        found.append((yield Asked(place, name, Question.CONSTANT)) if name else None)
        if name and found[-1] is None:
            return None
    return found


def _by_reference(node: NodeProto, opset: int, inputs: folding.Values) -> list[np.ndarray] | None:
    """The outputs of `node`, in the form of `opset`, as ONNX's reference implementation computes them."""
    if any(value is not None and value.size > folding.MAX_ELEMENTS for value in inputs):
        return None
    return by_reference.evaluate(node, opset, inputs, folding.MAX_ELEMENTS)


def _shape_value(node: NodeProto, shape: Shape | None) -> np.ndarray | None:
    """The value of `node`, a Shape or Size, if the dimensions that it reads are known numbers."""
    if shape is None:
        return None
    if node.op_type == "Size":
        known = [dim for dim in shape if isinstance(dim, int)]
        return np.array(math.prod(known), np.int64) if len(known) == len(shape) else None
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if any(attribute.ref_attr_name for attribute in attributes.values()):
        return None
    start = attributes["start"].i if "start" in attributes else 0
    end = attributes["end"].i if "end" in attributes else len(shape)
    part = shape[start:end]
    return np.array(part, np.int64) if all(isinstance(dim, int) for dim in part) else None
