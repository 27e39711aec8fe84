"""Settles which of two meanings a SplitToSequence has, where the user says it or the rest of the model fits only onnxruntime's.

With keepdims=0 and a scalar split, the specification keeps the axis, and onnxruntime removes it: PyTorch exports `unbind` so. Ranks
that the model declares, and operators that take one rank only, tell which one its author saw. The node is then written in a form
that has the same meaning for everybody.

https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import NodeProto

from ..engine.outcome import Remark
from ..onnx_model.all_nodes import with_inner
from ..onnx_model.meanings import Semantics
from ..onnx_model.protos import reads, shown_name, subgraphs
from ..opsets import inference, type_protos
from ..opsets.misinferred import may_lose_its_axis
from ..process import child_call
from ..storage.payload import is_external
from ..storage.skeleton import Skeleton
from ..structure import declarations


def settle(skeleton: Skeleton, semantics: Semantics | None) -> list[Remark]:
    """Write the nodes of two meanings in the main graph and its subgraphs with one meaning, in place, where that is known.

    Returns a warning for each node whose meaning was found in the rest of the model, and not stated as `semantics`.
    """
    nodes = _of_two_meanings(skeleton.proto)
    if not nodes:
        return []
    if semantics is None and not _only_rows_fit(skeleton):
        return []
    splits = {node.input[1] for node in nodes}
    for node in nodes:
        _give(node, semantics or "onnxruntime")
    _remove_unread(skeleton.proto.graph, splits)
    if semantics is not None:
        return []
    message = "it has two meanings, of which only onnxruntime's fits the shapes in the rest of the model: its parts lose their axis"
    return [Remark("warning", "SplitToSequence", shown_name(node), "main graph", message) for node in nodes]


def _of_two_meanings(proto: onnx.ModelProto) -> list[NodeProto]:
    """The SplitToSequence nodes with keepdims=0 and a split that is a scalar, and 1 where it is a constant."""
    wanted = [node for node in with_inner(proto.graph.node) if may_lose_its_axis(node)]
    if not wanted:
        return []
    ranks, stored = _ranks(proto), dict(_stored(proto))
    return [node for node in wanted if ranks.get(node.input[1]) == 0 and stored.get(node.input[1], 1) == 1]


def _ranks(proto: onnx.ModelProto) -> dict[str, int]:
    """The ranks of values, by name, as far as the model stores them or inference finds them."""
    certain = onnx.ModelProto.FromString(declarations.for_all_callers(proto.SerializeToString()))
    inferred = inference.infer_model(certain) or proto
    found: dict[str, int] = {}
    for graph in (inferred.graph, *(inner for node in with_inner(inferred.graph.node) for _, inner in subgraphs(node))):
        for value in (*graph.value_info, *graph.input):
            shape = type_protos.shape_of(value.type)
            if shape is not None:
                found[value.name] = len(shape)
        found |= {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    return found


def _stored(proto: onnx.ModelProto) -> Iterator[tuple[str, int | None]]:
    """The scalars that the model stores, by name; None for one that cannot be read here."""
    for tensor in proto.graph.initializer:
        if not tensor.dims:
            yield tensor.name, _number(tensor)
    for node in with_inner(proto.graph.node):
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value_int" or (attribute.name == "value" and not attribute.t.dims):
                yield node.output[0], attribute.i if attribute.name == "value_int" else _number(attribute.t)


def _number(tensor: onnx.TensorProto) -> int | None:
    if tensor.data_type not in (onnx.TensorProto.INT32, onnx.TensorProto.INT64) or is_external(tensor):
        return None
    try:
        value = onnx.numpy_helper.to_array(tensor)
    except ValueError:  # data that does not fit its shape: the checks of the model say so
        return None
    return int(value) if value.size == 1 else None


def _remove_unread(graph: onnx.GraphProto, names: set[str]) -> None:
    """Remove the constants with these `names` from the main graph that nothing reads any more."""
    named = {name for node in with_inner(graph.node) for name in reads(node)}
    unread = names - named - {value.name for value in (*graph.input, *graph.output)}
    for tensor in [tensor for tensor in graph.initializer if tensor.name in unread]:
        graph.initializer.remove(tensor)
    for node in [node for node in graph.node if node.op_type == "Constant" and node.output[0] in unread]:
        graph.node.remove(node)


def _only_rows_fit(skeleton: Skeleton) -> bool:
    """Whether the types in the model fit together only if the axis is removed.

    Types that fit only the other meaning tell nothing: they may be those that onnx itself inferred.
    """
    return not _fits(skeleton, "specification") and _fits(skeleton, "onnxruntime")


def _fits(skeleton: Skeleton, meaning: Semantics) -> bool:
    """Whether strict inference finds no contradiction if the nodes have this meaning."""
    tried = onnx.ModelProto.FromString(skeleton.checkable())
    for node in _of_two_meanings(tried):
        _give(node, meaning)
    try:
        child_call.infer_strictly(tried.SerializeToString())
    except (child_call.Crashed, child_call.Refused):
        return False
    return True


def _give(node: NodeProto, meaning: Semantics) -> None:
    """Write the node so that it has this meaning for everybody: cut into rows without a split, or with keepdims=1."""
    if meaning == "onnxruntime":
        del node.input[1:]
        return
    next(attribute for attribute in node.attribute if attribute.name == "keepdims").i = 1
