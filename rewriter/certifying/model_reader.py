"""Reads models for the proof: nodes that the outputs depend on, attributes, constants, and what an operator means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper

from ..onnx_model.all_nodes import nodes_with_opset
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GRAPH_TYPES, default_opset, reads, subgraphs
from ..opsets import facts, transitions, type_protos
from ..opsets.facts import Kind


@cache
def meaning(op_type: str, opset: int) -> int:
    """The oldest version of the operator whose nodes mean the same at `opset`."""
    schema = transitions.schema_at(op_type, transitions.form_opset(op_type, opset))
    version = 0 if schema is None else schema.since_version
    while version > 1 and transitions.is_restamp(op_type, version, version - 1):
        older = transitions.schema_at(op_type, version - 1)
        if older is None:
            break
        version = older.since_version
    return version


def needed_outputs(graph: GraphProto) -> set[str]:
    """The values that outputs of the graph depend on: runtimes need not make others."""
    wanted = {value.name for value in graph.output}
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(reads(node))
    return wanted


def newly_declared(original: ModelProto, result: ModelProto, inferred: ModelProto) -> str:
    """A value of which the result declares what neither the original does nor follows from its inputs, as `inferred` says; "" where
    there is none. Runtimes believe it, symbols too.
    """
    known = [dict(_all_declared(model)) for model in (original, inferred)]
    for place, kind in _all_declared(result):
        stated = [types[place] for types in known if place in types]
        if kind.WhichOneof("value") is not None and not any(kind == other or _says_less(kind, other) for other in stated):
            return place[-1]
    return _newly_named(original, result, inferred)


def otherwise_declared(original: ModelProto, result: ModelProto) -> set[str]:
    """The values of the main graphs of which the models do not declare the same; "" among them where that is so inside of nodes or
    functions, or may be inferred. What a Loop collects in no turn has the lengths that runtimes infer from these.
    """
    before, after = (dict(_stated_types(model)) for model in (original, result))
    places = (place for place in before.keys() | after.keys() if before.get(place) != after.get(place))
    found = {place[0] if len(place) == 1 else "" for place in places}
    return found | {""} if _infer_otherwise(original, result) else found


def _infer_otherwise(original: ModelProto, result: ModelProto) -> bool:
    """Whether runtimes may infer other lengths of equal nodes: at another opset, where only one of the models lets callers override
    a stored input, and in functions, which may be exchanged.
    """
    opsets = [default_opset(model.opset_import) for model in (original, result)]
    stored = {tensor.name for tensor in original.graph.initializer}.intersection(value.name for value in original.graph.input)
    are_overridden = bool(stored) and (original.ir_version < 4) != (result.ir_version < 4)
    return opsets[0] != opsets[1] or are_overridden or bool(original.functions or result.functions)


def _stated_types(model: ModelProto) -> Iterator[tuple[Place, bytes]]:
    """The types that are declared of inputs and other values."""
    for place, kind in (*(((value.name,), value.type) for value in model.graph.input), *_all_declared(model)):
        if kind.WhichOneof("value") is not None:
            yield place, kind.SerializeToString(deterministic=True)


def _newly_named(original: ModelProto, result: ModelProto, inferred: ModelProto) -> str:
    """A value with a symbol in the result that neither the original nor inference from its inputs has; "" where there is none.

    A symbol that is there once says nothing, and those that inference makes up are others each time.
    """
    stated, followed = dict(_all_symbols(original)), dict(_symbols(_all_declared(inferred)))
    found = list(dict.fromkeys(_all_symbols(result)))
    counts = Counter(symbol for _, symbol in found)
    given = {dim.dim_param for value in result.graph.input for dim in value.type.tensor_type.shape.dim}
    for axis, symbol in found:
        follows = symbol in given and followed.get(axis) == symbol
        if counts[symbol] > 1 and stated.get(axis) != symbol and not follows:
            return axis[0][-1]
    return ""


def _all_symbols(model: ModelProto) -> Iterator[tuple[tuple[Place, int], str]]:
    """The symbols of the lengths of tensors, also of inputs, by the place of the value and the axis."""
    yield from _symbols(((value.name,), value.type) for value in model.graph.input)
    yield from _symbols(_all_declared(model))


def _symbols(types: Iterable[tuple[Place, TypeProto]]) -> Iterator[tuple[tuple[Place, int], str]]:
    for place, kind in types:
        for axis, dim in enumerate(kind.tensor_type.shape.dim):
            if dim.dim_param:
                yield (place, axis), dim.dim_param


Place: TypeAlias = tuple[str, ...]
"""The name of a value behind the first outputs of the nodes in whose bodies it is, and the function."""


def _all_declared(model: ModelProto) -> Iterator[tuple[Place, TypeProto]]:
    """The values that are declared in the model, but for its inputs, with their types."""
    yield from _declared(model.graph, ())
    for function in model.functions:
        place = ("function", function.domain, function.name, function.overload)
        used = _used(function.node)
        yield from (((*place, value.name), value.type) for value in function.value_info if value.name in used)
        yield from _declared_inside(function.node, place)


def _declared(graph: GraphProto, place: Place) -> Iterator[tuple[Place, TypeProto]]:
    used = {*(tensor.name for tensor in graph.initializer), *_used(graph.node)}
    stated = [*(value for value in graph.value_info if value.name in used), *graph.output]
    yield from (((*place, value.name), value.type) for value in stated)
    yield from _declared_inside(graph.node, place)


def _used(nodes: Iterable[NodeProto]) -> set[str]:
    """The values that the nodes make or read. What is declared of others is of no value."""
    return {name for node in nodes for name in (*node.output, *reads(node))}


def _declared_inside(nodes: Iterable[NodeProto], place: Place) -> Iterator[tuple[Place, TypeProto]]:
    """What is declared in the bodies of nodes."""
    for node in nodes:
        for name, inner in subgraphs(node):
            inside = (*place, next(filter(None, node.output), ""), name)
            yield from (((*inside, value.name), value.type) for value in inner.input)
            yield from _declared(inner, inside)


def is_known_of_loops(node: NodeProto, place: int, kind: TypeProto) -> bool:
    """Whether a type says of an input of a body what Loop says, or less."""
    is_counter = node.op_type == "Loop" and node.domain in DEFAULT_DOMAINS and place < len(_COUNTERS)
    return is_counter and _says_less(kind, _COUNTERS[place])


def has_odd_counter(model: ModelProto) -> bool:
    """Whether a Loop declares of its counter or condition what Loop does not say: onnxruntime obeys it."""
    return any(
        value.type.WhichOneof("value") is not None and not is_known_of_loops(node, place, value.type)
        for node, _ in nodes_with_opset(model)
        if node.op_type == "Loop" and node.domain in DEFAULT_DOMAINS
        for _, body in subgraphs(node)
        for place, value in enumerate(body.input[: len(_COUNTERS)])
    )


_COUNTERS = (helper.make_tensor_type_proto(TensorProto.INT64, ()), helper.make_tensor_type_proto(TensorProto.BOOL, ()))
"""The types of the first two inputs of a Loop's body, its number and its condition."""


def _says_less(kind: TypeProto, other: TypeProto) -> bool:
    """Whether a type of tensors says nothing that the other one does not say, but for symbols: it may leave out lengths."""
    if type_protos.type_string(kind) != type_protos.type_string(other) or kind.WhichOneof("value") != "tensor_type":
        return False
    shape, old = type_protos.shape_of(kind), type_protos.shape_of(other)
    if shape is None or old is None:
        return shape is None
    return len(shape) == len(old) and all(dim == before for dim, before in zip(shape, old, strict=True) if isinstance(dim, int))


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """The attributes by name, strings as str."""
    found = {each.name: helper.get_attribute_value(each) for each in node.attribute if not each.ref_attr_name}
    return {name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value for name, value in found.items()}


def as_written(maker: NodeProto | TensorProto) -> bytes:
    """A node or a stored tensor, without what says nothing: equal for those that are written alike."""
    copy = type(maker).FromString(maker.SerializeToString())
    if isinstance(copy, NodeProto):
        copy.ClearField("name")
    copy.ClearField("doc_string")
    del copy.metadata_props[:]
    return copy.SerializeToString(deterministic=True)


class Functions(NamedTuple):
    """The functions of a model: their nodes by domain, name and overload, and all of them, serialized, with the versions of domains
    that they import. `domains`: the versions of the operators of other domains in the main graph.
    """

    nodes: Mapping[tuple[str, str, str], Sequence[NodeProto]]
    content: tuple[bytes, ...]
    domains: tuple[tuple[str, int], ...]


def functions_of(model: ModelProto) -> Functions:
    """The functions of `model`."""
    nodes = {(each.domain, each.name, each.overload): each.node for each in model.functions}
    content = tuple(sorted(each.SerializeToString(deterministic=True) for each in model.functions))
    domains = sorted({(entry.domain, entry.version) for entry in model.opset_import if entry.domain not in DEFAULT_DOMAINS})
    return Functions(nodes, content, tuple(domains))


def essence(node: NodeProto, opset: int, functions: Functions, scope: int) -> tuple[Any, ...]:
    """What a node does apart from its inputs and its bodies, equal for nodes that mean the same. What draws random numbers draws
    the same only in the same `scope`.

    What may call a function, or an operator of another domain, means the same only where both models have the same functions and
    versions of domains.
    """
    is_onnx = node.domain in DEFAULT_DOMAINS
    has_body = any(True for _ in subgraphs(node))
    drawn = (scope, *node.output) if may_draw(node, functions) else ()
    called = () if is_onnx and not has_body else (functions.content, functions.domains, node.overload)
    own = (node.domain, node.op_type, meaning(node.op_type, opset) if is_onnx else 0, len(node.output), drawn, called)
    defaults = _defaults(node.op_type, opset) if is_onnx else ()
    plain = (each for each in node.attribute if each.type not in GRAPH_TYPES)
    return (*own, *sorted(raw for each in plain if (raw := _attribute_essence(each)) not in defaults))


def contents_of_bodies(node: NodeProto, opset: int) -> tuple[Any, ...]:
    """The bodies of a node as they are stored, and the versions of the operators in them."""
    bodies = sorted(_attribute_essence(each) for each in node.attribute if each.type in GRAPH_TYPES)
    return (*bodies, *_inner_meanings(node, opset))


def may_draw(node: NodeProto, functions: Functions) -> bool:
    """Whether two such nodes may give different results for the same inputs: they draw random numbers, or nobody knows."""
    called = functions.nodes.get((node.domain, node.op_type, node.overload))
    inner = [*(called or ()), *(each for _, graph in subgraphs(node) for each in graph.node)]
    if any(may_draw(each, functions) for each in inner):
        return True
    row = facts.of(node.op_type, node.domain)
    return row.kind is Kind.RANDOM or row.has("may-draw") or (node.domain not in DEFAULT_DOMAINS and called is None)


@cache
def _defaults(op_type: str, opset: int) -> frozenset[bytes]:
    """The attributes that an operator has where none is stated."""
    schema = transitions.schema_at(op_type, transitions.form_opset(op_type, opset))
    stated = [] if schema is None else [attribute.default_value for attribute in schema.attributes.values()]
    return frozenset(_attribute_essence(attribute) for attribute in stated if attribute.name)


def _attribute_essence(attribute: AttributeProto) -> bytes:
    copy = AttributeProto.FromString(attribute.SerializeToString())
    copy.ClearField("doc_string")
    if copy.HasField("t"):
        copy.t.ClearField("name")
    return copy.SerializeToString(deterministic=True)


def _inner_meanings(node: NodeProto, opset: int) -> Iterator[int]:
    for _, graph in subgraphs(node):
        for inner in graph.node:
            yield meaning(inner.op_type, opset)
            yield from _inner_meanings(inner, opset)
