"""SequenceMap over known elements: a copy of its body for each of them.

https://onnx.ai/onnx/operators/onnx__SequenceMap.html
"""

from __future__ import annotations

from onnx import GraphProto, helper

from ...rewriter.engine.registry import simplify
from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Subgraph
from ..shared.draws import repeats_draws
from ..shared.sequence_origin import elements
from ..shared.written_out import nodes_within

MAX_NODES = 4096
"""The number of nodes that one SequenceMap may become."""


@simplify("SequenceMap", opset=17)
def inline_body(node: Node) -> None:
    """SequenceMap over known elements becomes a copy of its body for each element."""
    (inner,) = node.subgraphs()
    body = inner.proto
    arguments = _arguments(node, body)
    count, size = len(arguments), nodes_within(inner)
    if count * size > MAX_NODES:
        raise NotSimplified(f"{count} copies of {size} nodes are more than the {MAX_NODES} that are written out")
    if len(body.output) != len(node.outputs):
        raise NotSimplified(f"its body gives {len(body.output)} outputs, and the node has {len(node.outputs)}")
    if count == 0:
        _map_nothing(node, body)
        return
    if repeats_draws(inner, count):
        raise NotSimplified("copies of its body would draw the same random numbers, from the seed in it")
    _require_plain(body)
    stored = inner.move_initializers()
    results = [_copy_body(node, inner, {**stored, **bound}) for bound in arguments]
    for index, output in enumerate(node.outputs):
        if output:
            node.op.SequenceConstruct(*([result[index] for result in results]), output=output)
            node.graph.release(output)
    node.remove()


def _arguments(node: Node, body: GraphProto) -> list[dict[str, str]]:
    """For each element, the values for the inputs of the body.

    Raises NotSimplified where the elements of a sequence are unknown.
    """
    columns = [elements(node)]
    count = len(columns[0])
    for index in range(1, len(node.inputs)):
        kind = node.type(index)
        if kind is None:
            raise NotSimplified(f"the type of '{node.input(index)}' is unknown")
        is_sequence = kind.WhichOneof("value") == "sequence_type"
        columns.append(elements(node, index) if is_sequence else [node.input(index)] * count)
    if any(len(column) != count for column in columns):
        raise NotSimplified(f"its sequences have {', '.join(str(len(column)) for column in columns)} elements")
    names = [value.name for value in body.input]
    if len(names) != len(columns):
        raise NotSimplified(f"its body takes {len(names)} inputs, and the node has {len(columns)}")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _map_nothing(node: Node, body: GraphProto) -> None:
    """Make the empty sequences that a SequenceMap over no elements returns."""
    kinds = [value.type.tensor_type.elem_type for value in body.output]
    if not all(kinds):
        raise NotSimplified("the sequence is empty, and the types of the body's outputs are not declared")
    for output, kind in zip(node.outputs, kinds, strict=False):
        if output:
            node.op.SequenceEmpty(output=output, dtype=kind)
            node.graph.release(output)
    node.remove()


def _require_plain(body: GraphProto) -> None:
    """Raises NotSimplified where the nodes of the body cannot be copied to the outer graph."""
    if body.sparse_initializer:
        raise NotSimplified("its body has sparse initializers")
    if any(attribute.ref_attr_name for inner in body.node for attribute in inner.attribute):
        raise NotSimplified("its body uses parameters of the function around it")


def _copy_body(node: Node, body: Subgraph, names: dict[str, str]) -> list[str]:
    """Put a copy of the body before `node`. Returns its outputs."""
    body.paste(names)
    results = [names.get(value.name, value.name) for value in body.proto.output]
    for value, result in zip(body.proto.output, results, strict=True):
        if node.type(result) is None and value.type.tensor_type.elem_type:
            node.graph.note_type(result, helper.make_tensor_type_proto(value.type.tensor_type.elem_type, None))
    return results
