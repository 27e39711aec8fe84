"""Replaces operators that the target lacks: by their value if it is constant, or by ONNX's own function body.

A function body defines an operator by older ones. For operators whose body is not right, there is a rule in `rules/`, which is
preferred.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    TypeProto,
)

from ..errors import Unconvertible
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import bind_attributes, default_opset, reads, subgraphs
from ..opsets import by_reference, facts, folding
from ..opsets.defects import is_evaluated_alike
from ..opsets.transitions import form_opset, path, schema_at
from ..storage.payload import element_dtype, tensor_of
from .editing import Editing, is_held
from .scope import Scope
from .surroundings import Surroundings

_NEEDS_A_RULE = ("H", "V", "N")
"""The review codes of transitions that change the meaning of a node, or what it may contain."""
_CAST_BY_NUMBER = 6
"""The first opset in which a Cast names its type by a number, which shape inference understands."""

_NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
"""The types that hold fewer numbers than a float attribute."""
Attributes = dict[str, AttributeProto] | None


def fold(node: Editing) -> bool:
    """Replace `node` by a Constant if its only output is the same in every run. Returns whether it was replaced."""
    if len(node.outputs) != 1:
        return False
    value = node.constant(node.output(0))
    if value is None:
        return False
    _become(node, value)
    return True


def fold_roughly(node: Editing, most: int = folding.MAX_ELEMENTS) -> bool:
    """As `fold`, but also where the operator rounds: the last bits are then those of ONNX's reference implementation.

    Values of more than `most` elements are not computed.
    """
    values = [node.constant(index) for index in range(len(node.inputs))]
    if len(node.outputs) != 1 or any(value is None and node.has_input(index) for index, value in enumerate(values)):
        return False
    results = by_reference.evaluate_roughly(node.proto, node.opset, values, most)
    if results is None:
        return False
    known = {
        name: value for name, value in zip((*node.inputs, node.output(0)), (*values, results[0]), strict=True) if value is not None
    }
    if not is_evaluated_alike(node.proto, node.opset, known, by_reference=True):
        return False
    node.approximate = True
    _become(node, results[0])
    return True


def _become(node: Editing, value: np.ndarray) -> None:
    # Constant-1 takes floats only: the node is one of opset 9, whose way down knows what to do.
    node.become.Constant(opset=max(node.opset, 9), value=tensor_of(value, ""))


def has_body(op_type: str, opset: int) -> bool:
    """Whether the schema of `op_type` at `opset` has a function body."""
    schema: Any = schema_at(op_type, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def expand(node: Editing) -> bool:
    """Replace `node` by the nodes of its function body, in the form of the opset of that body. Returns whether the result is exact.

    Raises Unconvertible where the schema has no body, or where a context-dependent body needs types that are unknown.
    """
    for name in [attribute.name for attribute in node.proto.attribute if not attribute.ref_attr_name]:
        node.attr(name)  # refuses a value that the specification does not list
    schema = schema_at(node.op_type, node.opset)
    body = None if schema is None else _body(schema, node)
    if schema is None or body is None:
        born = path(node.op_type, node.opset, 1)[-1].newer
        raise Unconvertible(f"{node.op_type} is new in opset {born} and older operators cannot express it exactly")
    opset = default_opset(body.opset_import)
    if any(entry.domain not in DEFAULT_DOMAINS for entry in body.opset_import) or opset is None:
        raise Unconvertible(f"the function body of {node.op_type} needs operators of another domain")
    _require_held_attributes(node)
    if next(subgraphs(node.proto), None) is not None:
        opset = max(opset, node.body_opset)  # onnx puts the nodes of the subgraph into the body, which means the same at both
    inline(node, body, opset, {name: attribute.default_value for name, attribute in schema.attributes.items()})
    return facts.of(node.op_type).has("exact-body")


def _require_held_attributes(node: Editing) -> None:
    """Raises Unconvertible where a body, which casts attributes to the type of the input, would turn one into 0 or an infinity.

    An epsilon is added in a wider type.
    """
    kind = node.elem_type()
    if kind is None or kind not in _NARROW:
        return
    for attribute in node.proto.attribute:
        if attribute.type == AttributeProto.FLOAT and attribute.name != "epsilon" and not attribute.ref_attr_name:
            _require_held(attribute.name, node.attr(attribute.name), kind)


def _require_held(name: str, number: float, kind: int) -> None:
    """Raises Unconvertible where the type `kind` turns the number of the attribute `name` into 0 or an infinity."""
    with np.errstate(over="ignore"):
        array = np.array(number, element_dtype(TensorProto(data_type=kind)))
    if not is_held(number, array):
        raise Unconvertible(f"{name}={number:g} becomes {float(array):g} in {array.dtype}", "correct the model")


def _body(schema: Any, node: Editing) -> FunctionProto | None:
    """The function body for the lowest opset, whose nodes need the fewest steps down; None where there is none."""
    if schema.has_function:
        text = schema.get_function_with_opset_version(min(schema.function_opset_versions))
        return FunctionProto.FromString(text) if text else None
    if not schema.has_context_dependent_function:
        return None
    types = _input_types(node)
    try:
        text = schema.get_context_dependent_function_with_opset_version(
            min(schema.context_dependent_function_opset_versions), node.proto.SerializeToString(), types
        )
    except Exception as error:  # of whatever type C++ throws
        raise Unconvertible(f"onnx cannot write {node.op_type} as a function: {error}", "correct the node") from error
    return FunctionProto.FromString(text) if text else None


def _input_types(node: Editing) -> list[bytes]:
    types: list[bytes] = []
    for name in node.inputs:
        kind = node.type(name) if name else TypeProto()
        if kind is None:
            raise Unconvertible(f"the type of '{name}' is unknown, and the expansion depends on it", "declare it in value_info")
        types.append(kind.SerializeToString())
    return types


def inline(node: Editing, body: FunctionProto, opset: int, defaults: dict[str, AttributeProto]) -> None:
    """Replace `node`, a call, by the nodes of `body` in the form of `opset`. Nodes whose outputs are not used are left out."""
    names = dict(zip(body.input, [*node.inputs, *[""] * len(body.input)], strict=False))
    names |= {inner: outer for inner, outer in zip(body.output, node.outputs, strict=False) if outer}
    attributes = {attribute.name: attribute for attribute in node.proto.attribute}
    given = {attribute.name: attribute for attribute in body.attribute_proto}
    for name, default in {**defaults, **given}.items():
        if name not in attributes and default.type != AttributeProto.UNDEFINED:
            attributes[name] = default
    node.remove()
    live = _live(body, {inner for inner, outer in zip(body.output, node.outputs, strict=False) if outer})
    paste(node, live, opset, names, attributes)


def paste(call: Editing, nodes: Iterable[NodeProto], opset: int, names: dict[str, str], attributes: Attributes = None) -> None:
    """Put copies of `nodes`, in the form of `opset`, before `call`.

    `names` maps the names of values in `nodes` to names at the call. Values that `nodes` make and that are not in it get fresh
    names, which are added to it. `attributes` are the arguments of the function that the nodes come from; None where they come from
    a graph.
    """
    for inner in nodes:
        copy = NodeProto()
        copy.CopyFrom(inner)
        _rename(call, copy, names, attributes)
        _type_body_inputs(call, copy)
        call._add_node(copy, opset)


def paste_graph(call: Editing, scope: Scope, names: dict[str, str]) -> None:
    """As `paste`, for the nodes of `scope`, a subgraph of `call`. The known types of their values are kept."""
    types = {name: scope.type(name) for name in scope.producers}
    paste(call, scope.graph.node, call.body_opset, names)
    for name, kind in types.items():
        if kind is not None:
            call._scope.types.note(names[name], kind)
            if call.body_opset < _CAST_BY_NUMBER and scope.producers[name].op_type == "Cast":
                # Shape inference does not read it, and the subgraph may have stated it.
                Surroundings(call._scope).declare(names[name], kind.tensor_type.elem_type)


def needs_a_rule(graph: GraphProto, opset: int, target: int) -> bool:
    """Whether any node of `graph`, in the form of `opset`, or of its subgraphs has to be rewritten on the way to opset `target`."""
    return any(
        step.older is None or step.review in _NEEDS_A_RULE
        for op_type, form in _operators(graph, opset)
        for step in path(op_type, form, target)
    )


def _operators(graph: GraphProto, opset: int) -> set[tuple[str, int]]:
    """The operators of the default domain in `graph` and its subgraphs, at any depth, each with the opset of its form."""
    found: set[tuple[str, int]] = set()
    pending = [graph]
    while pending:
        for inner in pending.pop().node:
            if inner.domain in DEFAULT_DOMAINS:
                found.add((inner.op_type, form_opset(inner.op_type, opset)))
            pending.extend(graph for _, graph in subgraphs(inner))
    return found


def move_initializers(node: Editing, graph: GraphProto) -> dict[str, str]:
    """Move the initializers of `graph`, a subgraph of `node`, to the graph around it. Returns their new names by the old ones."""
    moved: dict[str, str] = {}
    for tensor in graph.initializer:
        outer = TensorProto()
        outer.CopyFrom(tensor)
        outer.name = node.fresh_name(tensor.name)
        moved[tensor.name] = node.add_tensor(outer)
    return moved


def _live(body: FunctionProto, wanted: set[str]) -> list[NodeProto]:
    """The nodes of `body`, in order, that are needed for the outputs `wanted`."""
    kept: list[NodeProto] = []
    for inner in reversed(body.node):
        if wanted.isdisjoint(inner.output):
            continue
        kept.append(inner)
        wanted.update(reads(inner))
    return kept[::-1]


def _rename(call: Editing, inner: NodeProto, names: dict[str, str], attributes: Attributes) -> None:
    """Replace the names of values and the referenced attributes in the copied node by those at the call."""
    inner.name = call._scope.model.fresh_name(f"{call.name}_{inner.name or inner.op_type.lower()}")
    for index, name in enumerate(inner.input):
        inner.input[index] = names.get(name, name)
    for index, name in enumerate(inner.output):
        if name and name not in names:
            names[name] = call.fresh_name(name)
        inner.output[index] = names.get(name, "")
    if attributes is not None:
        bind_attributes(inner, attributes)
    for _, graph in subgraphs(inner):
        _rename_graph(call, graph, dict(names), attributes)


def _rename_graph(call: Editing, graph: GraphProto, names: dict[str, str], attributes: Attributes) -> None:
    for value in _named_values(graph):
        names[value.name] = call.fresh_name(value.name)
        value.name = names[value.name]
    for inner in graph.node:
        _rename(call, inner, names, attributes)
    for value in graph.output:
        value.name = names.get(value.name, value.name)
    if attributes is not None:
        del graph.value_info[:]
    for value in graph.value_info:
        value.name = names.get(value.name, value.name)


def _named_values(graph: GraphProto) -> Iterable[onnx.ValueInfoProto | TensorProto]:
    yield from graph.input
    yield from graph.initializer


def _type_body_inputs(call: Editing, inner: NodeProto) -> None:
    """State the element types of the inputs of a loop body, which function bodies leave open: those of the node's inputs.

    The rank of a state of a Scan stays the same; a scanned input has one axis less.
    """
    if not facts.of(inner.op_type).has("iterates"):
        return
    fallback = (TensorProto.INT64, TensorProto.BOOL)
    scanned = next((attribute.i for attribute in inner.attribute if attribute.name == "num_scan_inputs"), 0)
    for _, graph in subgraphs(inner):
        for index, value in enumerate(graph.input):
            outer = inner.input[index] if index < len(inner.input) else ""
            elem_type = call.elem_type(outer) if outer else fallback[index] if index < 2 else None
            if elem_type is None or value.type.tensor_type.elem_type:
                continue
            value.type.tensor_type.elem_type = elem_type
            shape = call.shape(outer) if inner.op_type == "Scan" else None
            if shape is not None:
                rank = len(shape) - (index >= len(graph.input) - scanned)
                value.type.tensor_type.shape.dim.extend(TensorShapeProto.Dimension() for _ in range(rank))
