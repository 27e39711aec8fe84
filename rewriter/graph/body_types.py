"""Types that the bodies of If and Loop decide, where inference as a whole leaves them open.

onnx says nothing of the shape of what a Loop carries, since a turn may change it. Most do not, which is proven here by induction.
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
"""A Loop, and its body, take a count or number and a condition before what is carried."""


def output_types(scope: Scope, node: NodeProto, index: int | None, opset: int) -> Types:
    """The types of outputs of `node` that are tensors, an If or Loop of `scope`, number `index` in its original node list."""
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
    """The types that the inputs of the body of `node` have in every turn, if that is a Loop; by their names inside."""
    found = _carried(scope, node, index, opset) if _is_loop(node) else ()
    return {name: kind for kind, name in found if kind is not None}


def _is_loop(node: NodeProto) -> bool:
    """Whether `node` is a Loop, and its body takes and gives what it carries."""
    body = next((graph for _, graph in subgraphs(node)), None)
    is_whole = body is not None and len(body.input) == len(node.input) and len(body.output) > len(node.input) - _FIRST
    return node.op_type == "Loop" and is_whole


def _carried(scope: Scope, node: NodeProto, index: int | None, opset: int) -> Iterator[tuple[TypeProto | None, str]]:
    """What is carried: its type in every turn, and its name inside.

    It has this type before the first turn, and a turn that begins with it ends with it.
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
    """The body of `node`, a Loop, as it is if what is carried has these types."""
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
    """`kind`, if it is that of a tensor, without denotations: only its element type and dimensions."""
    if kind is None or not kind.tensor_type.elem_type:
        return None
    return helper.make_tensor_type_proto(kind.tensor_type.elem_type, inference.shape_of(kind))


def _common(one: TypeProto | None, other: TypeProto | None) -> TypeProto | None:
    """What is true of both."""
    if one is None or other is None or one.tensor_type.elem_type != other.tensor_type.elem_type:
        return None
    first, second = inference.shape_of(one), inference.shape_of(other)
    if first is None or second is None or len(first) != len(second):
        return helper.make_tensor_type_proto(one.tensor_type.elem_type, None)
    dims = [dim if dim == same else None for dim, same in zip(first, second, strict=True)]
    return helper.make_tensor_type_proto(one.tensor_type.elem_type, dims)


def _stacked(kind: TypeProto | None) -> TypeProto | None:
    """One element for each turn, of which nobody knows how many there are."""
    shape = None if kind is None else inference.shape_of(kind)
    return None if kind is None or shape is None else helper.make_tensor_type_proto(kind.tensor_type.elem_type, [None, *shape])
