"""Finds the types of the outputs of If and Loop from their bodies, where inference of the whole model leaves them open.

onnx infers no shape for a value that a Loop carries, since an iteration may change it. Most iterations do not, which is proved here
by induction.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from onnx import GraphProto, NodeProto, TypeProto, helper

from ...onnx_model.domains import DEFAULT_DOMAINS
from ...onnx_model.protos import subgraphs
from ...opsets import type_protos
from .asking import Asked, type_of
from .place import Place
from .record import EMPTY, Question, Typed, Types

_FIRST = 2
"""The position of the first carried value in the inputs of a Loop, after trip count and condition, and of
its body, after number and condition.
"""
_ONE_SEQUENCE = 9
"""The first opset in which a Scan takes one sequence instead of a batch."""
FoundTypes = Generator[Asked, Any, Types]
Kinds = list[TypeProto | None]


def output_types(place: Place, node: NodeProto, index: int | None, opset: int) -> FoundTypes:
    """The types of the tensor outputs of `node`, an If or Loop of `place`, by name.

    `index` is its number in the original node list.
    """
    if node.op_type == "If":
        branches: list[Kinds] = []
        for branch in place.children(node, index, opset):
            branches.append((yield from _output_kinds(branch)))
        found = [_common(*pair) for pair in zip(*branches, strict=False)]
    elif _is_loop(node):
        carried = yield from _carried(place, node, index, opset)
        body = yield from _supposing(place, node, index, opset, carried)
        ends = yield from _output_kinds(body)
        found = carried + [_stacked(kind) for kind in ends[1 + len(carried) :]]
    else:
        return {}
    return {name: kind for name, kind in zip(node.output, found, strict=False) if name and kind is not None}


def input_types(place: Place) -> FoundTypes:
    """The types of the inputs of `place` if it is the body of a Loop of the model as it was read, or of a Scan that a rule made."""
    outer, node = place.parent, place.holder
    if outer is None or node is None or node.domain not in DEFAULT_DOMAINS:
        return {}
    if place.origin is None:
        is_sequence = node.op_type == "Scan" and place.opset >= _ONE_SEQUENCE
        return (yield from _scanned_types(outer, node)) if is_sequence else {}
    if not _is_loop(node):
        return {}
    kinds = yield from _carried(outer, node, place.origin[0], place.opset)
    return {name: kind for name, kind in zip(_input_names(place)[_FIRST:], kinds, strict=True) if kind is not None}


def made_types(place: Place, node: NodeProto, opset: int) -> FoundTypes:
    """The types of the outputs of a node with subgraphs that a rule made, from its body: element types, and for Scan the ranks."""
    body = next(place.children(node, None, opset), None)
    if body is None or not isinstance(body.graph, GraphProto):
        return {}
    inner = [value.name for value in body.graph.output][node.op_type == "Loop" :]
    scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
    found: Types = {}
    for index, (outer, name) in enumerate(zip(node.output, inner, strict=False)):
        kind = yield Asked(body, name, Question.STATED)
        if not outer or kind is None or kind.WhichOneof("value") != "tensor_type":
            continue
        shape = type_protos.shape_of(kind) if node.op_type == "Scan" and opset >= _ONE_SEQUENCE else None
        stacked = index >= len(node.input) - scanned
        dims = None if shape is None else [None] * (len(shape) + stacked)
        found[outer] = helper.make_tensor_type_proto(kind.tensor_type.elem_type, dims)
    return found


def _scanned_types(place: Place, node: NodeProto) -> FoundTypes:
    """The element types and ranks of the inputs of the body of `node`, a Scan over one sequence: a state keeps its rank, and a
    scanned value loses an axis.

    https://onnx.ai/onnx/operators/onnx__Scan.html
    """
    body = next((graph for _, graph in subgraphs(node)), None)
    scanned = next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)
    if body is None or len(body.input) != len(node.input):
        return {}
    found: Types = {}
    for index, (inner, name) in enumerate(zip(body.input, node.input, strict=True)):
        kind = _tensor((yield from type_of(place, name)).type)
        shape = None if kind is None else type_protos.shape_of(kind)
        if kind is not None and shape is not None:
            rank = len(shape) - (index >= len(node.input) - scanned)
            found[inner.name] = helper.make_tensor_type_proto(kind.tensor_type.elem_type, [None] * rank)
    return found


def _is_loop(node: NodeProto) -> bool:
    """Whether `node` is a Loop whose body has an input and an output for each carried value."""
    body = next((graph for _, graph in subgraphs(node)), None)
    is_whole = body is not None and len(body.input) == len(node.input) and len(body.output) > len(node.input) - _FIRST
    return node.op_type == "Loop" and is_whole


def _carried(place: Place, node: NodeProto, index: int | None, opset: int) -> Generator[Asked, Any, Kinds]:
    """The type of each carried value in every iteration.

    This is a proof by induction: the value has the type before the first iteration, and an iteration that begins with it ends with
    it.
    """
    kinds: Kinds = []
    for name in node.input[_FIRST:]:
        kinds.append(_tensor((yield from type_of(place, name)).type) if name else None)
    while True:
        body = yield from _supposing(place, node, index, opset, kinds)
        ends = yield from _output_kinds(body)
        kept = [_common(kind, end) for kind, end in zip(kinds, ends[1 : 1 + len(kinds)], strict=True)]
        if kept == kinds:
            return kinds
        kinds = kept


def _supposing(place: Place, node: NodeProto, index: int | None, opset: int, kinds: Kinds) -> Generator[Asked, Any, Place]:
    """A new view of the body of `node`, a Loop, in whose records the carried values have the types `kinds`."""
    body = next(place.children(node, index, opset))
    names = _input_names(body)
    stated: Kinds = []
    for name in names[:_FIRST]:
        stated.append((yield Asked(body, name, Question.STATED)))
    for name, kind in zip(names, [*stated, *kinds], strict=True):
        supposed = Typed(kind, None if kind is None else type_protos.shape_of(kind), is_better=name not in names[:_FIRST])
        body.records[name] = body.records.get(name, EMPTY).with_answer(Question.TYPE, supposed)
    return body


def _input_names(body: Place) -> list[str]:
    assert isinstance(body.graph, GraphProto)
    return [value.name for value in body.graph.input]


def _output_kinds(body: Place) -> Generator[Asked, Any, Kinds]:
    assert isinstance(body.graph, GraphProto)
    kinds: Kinds = []
    for value in body.graph.output:
        kinds.append(_tensor((yield from type_of(body, value.name)).type))
    return kinds


def _tensor(kind: TypeProto | None) -> TypeProto | None:
    """The tensor type `kind`, reduced to element type and dimensions; None where it is not a tensor type."""
    if kind is None or not kind.tensor_type.elem_type:
        return None
    return helper.make_tensor_type_proto(kind.tensor_type.elem_type, type_protos.shape_of(kind))


def _common(one: TypeProto | None, other: TypeProto | None) -> TypeProto | None:
    """The type that covers both types: with the dimensions in which they agree; None where the element types differ."""
    if one is None or other is None or one.tensor_type.elem_type != other.tensor_type.elem_type:
        return None
    first, second = type_protos.shape_of(one), type_protos.shape_of(other)
    if first is None or second is None or len(first) != len(second):
        return helper.make_tensor_type_proto(one.tensor_type.elem_type, None)
    dims = [dim if dim == same else None for dim, same in zip(first, second, strict=True)]
    return helper.make_tensor_type_proto(one.tensor_type.elem_type, dims)


def _stacked(kind: TypeProto | None) -> TypeProto | None:
    """The type of a scan output whose elements have type `kind`: one more axis in front, of unknown length."""
    shape = None if kind is None else type_protos.shape_of(kind)
    return None if kind is None or shape is None else helper.make_tensor_type_proto(kind.tensor_type.elem_type, [None, *shape])
