"""Lists that a Loop carries: onnx takes the shapes of their elements before the first turn for those behind the last one."""

from __future__ import annotations

from itertools import islice

import onnx
from onnx import TypeProto

from ..onnx_model.all_nodes import nodes_with_opset, with_inner
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import subgraphs
from .scoped import scoped_nodes
from .type_protos import shapeless

_FIRST = 2
"""The position of the first carried value in the inputs of a Loop, after trip count and condition."""
_PLACE = "\0split-rewrite list "
"""What the names of values begin with that stand for such a list, for the time of an inference."""


def may_be_carried(serialized: bytes) -> bool:
    """Whether the serialized model contains the names of such operators. Looking at all nodes would take longer."""
    return b"Loop" in serialized and (b"Sequence" in serialized or b"Optional" in serialized)


def without_elements(model: onnx.ModelProto, inferred: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy of `model` in which Loops begin with lists, and optionals, of whose elements only the type is known, unless the body
    declares for the next turn what is known of the first. None where there is no such Loop. `inferred` says what onnx knows.
    """
    forgotten: dict[tuple[int, int], TypeProto] = {}
    outside_functions = sum(1 for _ in with_inner(inferred.graph.node))
    for index, (node, types, _) in enumerate(islice(scoped_nodes(inferred), outside_functions)):
        if node.op_type != "Loop" or node.domain not in DEFAULT_DOMAINS:
            continue
        (_, body), *_ = subgraphs(node)
        for place, (name, made) in enumerate(zip(node.input[_FIRST:], body.output[1:], strict=False), _FIRST):
            kind = types.get(name)
            if kind is not None and _is_list(kind) and shapeless(kind) != kind != made.type:
                forgotten[index, place] = shapeless(kind)
    if not forgotten:
        return None
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    for index, (node, _) in enumerate(nodes_with_opset(copy)):
        for place in range(_FIRST, len(node.input)):
            if (index, place) in forgotten:
                node.input[place] = f"{_PLACE}{index} {place} {node.input[place]}"
                copy.graph.value_info.add(name=node.input[place], type=forgotten[index, place])
    return copy


def restore(model: onnx.ModelProto) -> None:
    """Let the Loops of `model` read the lists again that they read before `without_elements`."""
    for node, _ in nodes_with_opset(model):
        for place, name in enumerate(node.input):
            if name.startswith(_PLACE):
                node.input[place] = name.removeprefix(_PLACE).split(" ", 2)[2]
    kept = [value for value in model.graph.value_info if not value.name.startswith(_PLACE)]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)


def _is_list(kind: TypeProto) -> bool:
    return kind.HasField("sequence_type") or kind.HasField("optional_type")
