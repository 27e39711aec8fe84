"""Finds the types of the outputs of If and Loop from their bodies, where inference of the whole model leaves them open.

onnx infers no shape for a value that a Loop carries, since an iteration may change it. Most iterations do not, which is proved here
by induction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnx import GraphProto, NodeProto, TypeProto, helper

from ..opsets import inference
from .protos import subgraphs

if TYPE_CHECKING:
    from .scope import Scope

Types = dict[str, TypeProto]
_FIRST = 2
"""The position of the first carried value in the inputs of a Loop, after trip count and condition, and of
its body, after number and condition.
"""


def output_types(scope: Scope, node: NodeProto, index: int | None, opset: int) -> Types:
    """The types of the tensor outputs of `node`, an If or Loop of `scope`, by name.

    `index` is its number in the original node list.
    """
    if node.op_type == "If":
        branches = [_output_types(branch) for branch in scope.children(node, index, opset)]
        found = [_common(*pair) for pair in zip(*branches, strict=False)]
    elif _is_loop(node):
        carried = [kind for kind, _ in _carried(scope, node, index, opset)]
        body = _supposing(scope, node, index, opset, carried)
        found = carried + [_stacked(kind) for kind in _output_types(body)[1 + len(carried) :]]
    else:
        return {}
    return {name: kind for name, kind in zip(node.output, found, strict=False) if name and kind is not None}


def carried_types(scope: Scope, node: NodeProto, index: int | None, opset: int) -> Types:
    """The types that the carried values of `node` have in every iteration, by their names in the body;
    empty for any node but a Loop.
    """
    found = _carried(scope, node, index, opset) if _is_loop(node) else ()
    return {name: kind for kind, name in found if kind is not None}


def scanned_types(scope: Scope, node: NodeProto) -> Types:
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
        kind = _tensor(scope.type(name))
        shape = None if kind is None else inference.shape_of(kind)
        if kind is not None and shape is not None:
            rank = len(shape) - (index >= len(node.input) - scanned)
            found[inner.name] = helper.make_tensor_type_proto(kind.tensor_type.elem_type, [None] * rank)
    return found


def _is_loop(node: NodeProto) -> bool:
    """Whether `node` is a Loop whose body has an input and an output for each carried value."""
    body = next((graph for _, graph in subgraphs(node)), None)
    is_whole = body is not None and len(body.input) == len(node.input) and len(body.output) > len(node.input) - _FIRST
    return node.op_type == "Loop" and is_whole


def _carried(scope: Scope, node: NodeProto, index: int | None, opset: int) -> Iterator[tuple[TypeProto | None, str]]:
    """For each carried value, its type in every iteration and its name in the body.

    This is a proof by induction: the value has the type before the first iteration, and an iteration that begins with it ends with
    it.
    """
    kinds = [_tensor(scope.type(name)) if name else None for name in node.input[_FIRST:]]
    while True:
        body = _supposing(scope, node, index, opset, kinds)
        ends = _output_types(body)[1 : 1 + len(kinds)]
        kept = [_common(kind, end) for kind, end in zip(kinds, ends, strict=True)]
        if kept == kinds:
            return zip(kinds, _inner_names(body), strict=True)
        kinds = kept


def _supposing(scope: Scope, node: NodeProto, index: int | None, opset: int, kinds: list[TypeProto | None]) -> Scope:
    """The body of `node`, a Loop, under the assumption that the carried values have the types `kinds`."""
    body = next(scope.children(node, index, opset))
    body.types.suppose(dict(zip(_inner_names(body), kinds, strict=True)))
    return body


def _inner_names(body: Scope) -> list[str]:
    assert isinstance(body.graph, GraphProto)
    return [value.name for value in body.graph.input[_FIRST:]]


def _output_types(body: Scope) -> list[TypeProto | None]:
    assert isinstance(body.graph, GraphProto)
    return [_tensor(body.type(value.name)) for value in body.graph.output]


def _tensor(kind: TypeProto | None) -> TypeProto | None:
    """The tensor type `kind`, reduced to element type and dimensions; None where it is not a tensor type."""
    if kind is None or not kind.tensor_type.elem_type:
        return None
    return helper.make_tensor_type_proto(kind.tensor_type.elem_type, inference.shape_of(kind))


def _common(one: TypeProto | None, other: TypeProto | None) -> TypeProto | None:
    """The type that covers both types: with the dimensions in which they agree; None where the element types differ."""
    if one is None or other is None or one.tensor_type.elem_type != other.tensor_type.elem_type:
        return None
    first, second = inference.shape_of(one), inference.shape_of(other)
    if first is None or second is None or len(first) != len(second):
        return helper.make_tensor_type_proto(one.tensor_type.elem_type, None)
    dims = [dim if dim == same else None for dim, same in zip(first, second, strict=True)]
    return helper.make_tensor_type_proto(one.tensor_type.elem_type, dims)


def _stacked(kind: TypeProto | None) -> TypeProto | None:
    """The type of a scan output whose elements have type `kind`: one more axis in front, of unknown length."""
    shape = None if kind is None else inference.shape_of(kind)
    return None if kind is None or shape is None else helper.make_tensor_type_proto(kind.tensor_type.elem_type, [None, *shape])
