"""Types and shapes of values in the bodies of local functions, by what all calls of a function agree on."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

import onnx
from onnx import TypeProto

from ..onnx_model.all_nodes import with_inner
from .inference import has_parameter, infer_model
from .type_protos import in_common


def infer_functions(model: onnx.ModelProto) -> dict[tuple[str, str, str], onnx.GraphProto]:
    """The bodies of the local functions of `model`, which has inferred types, as graphs with inferred types.

    Only what all calls of a function agree on is known in it. If two calls pass different lengths, this is the element type and the
    rank.
    """
    bodies = {(f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}
    signatures: dict[tuple[str, str, str], list[TypeProto]] = {}
    done: dict[tuple[str, str, str], onnx.GraphProto] = {}
    pending = [model.graph]
    while pending:
        _collect_calls(pending.pop(), bodies, signatures)
        for key, types in signatures.items():
            if key not in done and not pending and _calls_all_seen(key, bodies, done):
                done[key] = infer_body(model, bodies[key], types)
                pending.append(done[key])
    return done


def _collect_calls(
    graph: onnx.GraphProto,
    bodies: Mapping[tuple[str, str, str], onnx.FunctionProto],
    signatures: dict[tuple[str, str, str], list[TypeProto]],
    outer: Mapping[str, TypeProto] | None = None,
) -> None:
    """Collect the types that `graph` and its subgraphs pass to each function; for several calls, what they have in common."""
    types = dict(outer or {})
    for values in (graph.value_info, graph.input, graph.output):
        types.update((value.name, value.type) for value in values)
    for tensor in graph.initializer:
        types.setdefault(tensor.name, onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims))
    for node in graph.node:
        key = (node.domain, node.op_type, getattr(node, "overload", ""))
        if key in bodies:
            called = [types.get(name, TypeProto()) for name in node.input]
            before = signatures.get(key, called)
            signatures[key] = [in_common(a, b) for a, b in zip_longest(before, called, fillvalue=TypeProto())]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _collect_calls(attribute.g, bodies, signatures, types)


def _calls_all_seen(
    key: tuple[str, str, str],
    bodies: Mapping[tuple[str, str, str], onnx.FunctionProto],
    done: Mapping[tuple[str, str, str], onnx.GraphProto],
) -> bool:
    """Whether all functions that call `key` have been processed."""
    return all(
        other in done
        for other, body in bodies.items()
        if other != key and any((n.domain, n.op_type, getattr(n, "overload", "")) == key for n in body.node)
    )


def infer_body(model: onnx.ModelProto, body: onnx.FunctionProto, types: list[TypeProto]) -> onnx.GraphProto:
    """`body` as a graph whose inputs have `types`, with inferred value_info.

    Nothing is inferred for nodes with a parameter of the function, which onnx takes for 0.
    """
    graph = onnx.GraphProto(name=body.name, node=body.node)
    for name, kind in zip(body.input, types, strict=False):
        graph.input.append(onnx.ValueInfoProto(name=name, type=kind))
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in body.output)
    whole = onnx.ModelProto(ir_version=model.ir_version, graph=graph, functions=model.functions)
    whole.opset_import.extend(body.opset_import)
    hidden = _hide_parameters(whole)
    inferred = infer_model(whole)
    for index, node in enumerate(with_inner(inferred.graph.node) if inferred is not None and hidden else ()):
        if index in hidden:
            node.CopyFrom(hidden[index])
    return graph if inferred is None else inferred.graph


def _hide_parameters(model: onnx.ModelProto) -> dict[int, onnx.NodeProto]:
    """Give nodes of the main graph that have a parameter of a function, which onnx takes for 0, a domain that onnx does not know.

    Returns the old nodes by their position.
    """
    hidden: dict[int, onnx.NodeProto] = {}
    for index, node in enumerate(with_inner(model.graph.node)):
        if has_parameter(node):
            hidden[index] = onnx.NodeProto.FromString(node.SerializeToString())
            node.domain = _UNKNOWN
    if hidden:
        model.opset_import.add(domain=_UNKNOWN, version=1)
    return hidden


_UNKNOWN = "split_rewrite.unknown"
"""A domain without operators."""
