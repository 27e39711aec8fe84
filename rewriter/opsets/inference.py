"""Types and shapes of values, by onnx's shape inference in a child process. They are only used for decisions and never saved."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TypeProto, shape_inference
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError

from ..onnx_model.all_nodes import nodes_with_opset
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GRAPH_TYPES
from ..process import child_call
from . import carried_lists, unread
from .followed_entries import are_told_apart
from .foreign import models, registered, schemas
from .foreign.types import infer as types_of_foreign
from .misinferred import (
    WRONG_SYMBOLS,
    certain_types,
    inferred_as,
    is_wrongly_inferred,
    keeps_its_input,
    may_be_wrong,
    may_be_wrong_in,
    usable_data,
    wrongly_inferred,
)
from .ml_types import ML, state_ml_types
from .stand_ins import hidden, may_need_stand_ins, put_stand_ins, take_stand_ins_back
from .type_protos import tensor_type


def infer_model(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy of `model` with the value_info of all graphs filled in; None where inference crashes or refuses the model."""
    serialized = model.SerializeToString()
    has_ml = ML.encode() in serialized
    replaced: dict[int, onnx.NodeProto] = {}
    if has_ml or may_need_stand_ins(model, serialized):
        copy = onnx.ModelProto.FromString(serialized)
        replaced = put_stand_ins(copy)
        state_ml_types(copy, copy.graph)
        serialized = copy.SerializeToString()
    follows = are_told_apart(model)
    inferred = _infer_isolated(serialized, follows)
    has_lists = carried_lists.may_be_carried(serialized)
    if inferred is not None and has_lists:
        shorter = carried_lists.without_elements(onnx.ModelProto.FromString(serialized), inferred)
        if shorter is not None:
            serialized = shorter.SerializeToString()
            inferred = _infer_isolated(serialized, follows)
    may_err = may_be_wrong_in(model, serialized, _oldest_opset(model))
    while may_err and inferred is not None and (wrong := wrongly_inferred(inferred)):
        serialized = hidden(serialized, wrong, replaced)
        inferred = _infer_isolated(serialized, follows)
    while has_ml and inferred is not None and state_ml_types(inferred, inferred.graph):  # what follows says more then
        inferred = _infer_isolated(inferred.SerializeToString(), follows)
    rounds = models.rounds(model, serialized)
    while rounds and inferred is not None and models.state_types(inferred, infer_node):
        inferred, rounds = _infer_isolated(inferred.SerializeToString(), follows), rounds - 1
    if inferred is not None and replaced:
        take_stand_ins_back(inferred, replaced)
    if inferred is not None and has_lists:
        carried_lists.restore(inferred)
    return inferred


def infer_as_runtimes(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy of `model` with what onnx infers, right or wrong; None where inference crashes or refuses the model, or where no node
    may be inferred wrongly.
    """
    serialized = model.SerializeToString()
    is_possible = may_be_wrong_in(model, serialized, _oldest_opset(model))
    if not is_possible or not any(may_be_wrong(node, opset) for node, opset in nodes_with_opset(model)):
        return None
    return _infer_isolated(serialized)


def _oldest_opset(model: onnx.ModelProto) -> int:
    """The lowest version of ONNX's own operators that the model or one of its functions imports."""
    imports = (entry for owner in (model, *model.functions) for entry in owner.opset_import if entry.domain in DEFAULT_DOMAINS)
    return min((entry.version for entry in imports), default=1)


def _infer_isolated(serialized: bytes, follows: bool = True) -> onnx.ModelProto | None:
    """The model with what onnx infers, in a child process; None where it crashes or refuses the model. Hidden nodes stay hidden.

    `follows`: entries of shapes are followed through what computes with them.
    """
    if not unread.are_in(serialized):
        return _infer_shown(serialized, follows)
    model = onnx.ModelProto.FromString(serialized)
    domains = [domain for _, domain in unread.domains(model)]
    unread.show(model)
    inferred = _infer_shown(model.SerializeToString(), follows)
    for (node, _), domain in zip(unread.domains(inferred) if inferred is not None else (), domains, strict=False):
        node.domain = domain
    return inferred


def _infer_shown(serialized: bytes, follows: bool) -> onnx.ModelProto | None:
    try:
        return onnx.ModelProto.FromString((child_call.infer_model if follows else child_call.infer_without_entries)(serialized))
    except (child_call.Crashed, child_call.Refused):
        return None


def infer_node(
    node: onnx.NodeProto,
    opset: int,
    types: Mapping[str, TypeProto],
    data: Mapping[str, onnx.TensorProto],
    ir_version: int,
) -> dict[str, TypeProto]:
    """The types of the outputs of one node that a rule made, in the form of `opset`; empty where they cannot be found.

    Nodes with a subgraph are not inferred: their body may read outer values, which are unknown here and would crash onnx. Nor are
    nodes with a parameter of a function, which onnx takes for 0.
    """
    if node.domain in schemas.known_domains():
        return types_of_foreign(node, types, data)
    if (own := registered.schema_of(node, None)) is not None:
        return registered.infer(own, node, types, data)
    if node.domain not in DEFAULT_DOMAINS or has_parameter(node) or any(a.type in GRAPH_TYPES for a in node.attribute):
        return {}
    if keeps_its_input(node.op_type, opset):
        return {node.output[0]: types[node.input[0]]} if node.input[0] in types else {}
    known = usable_data(node, data)
    try:
        schema = onnx.defs.get_schema(inferred_as(node.op_type, opset), 11 if (node.op_type, opset) == WRONG_SYMBOLS else opset, "")
        found = shape_inference.infer_node_outputs(
            schema,
            node,
            dict(types),
            dict(known),
            None,
            [onnx.helper.make_opsetid("", opset)],
            ir_version,
        )
        is_wrong = is_wrongly_inferred(node, opset, types, found, known)
        return certain_types(node, types, found) if is_wrong else found
    except (RuntimeError, ValueError, KeyError, onnx.defs.SchemaError, InferenceError, ValidationError):
        return {}


def infer_subgraph(model: onnx.ModelProto, graph: onnx.GraphProto, outer: Mapping[str, TypeProto], opset: int) -> onnx.GraphProto:
    """`graph`, a subgraph of `model` in the form of `opset`, with inferred value_info. `outer` are the types of captured values."""
    whole = onnx.ModelProto(ir_version=model.ir_version, graph=graph, functions=model.functions)
    whole.graph.input.extend(onnx.ValueInfoProto(name=name, type=kind) for name, kind in outer.items())
    whole.opset_import.extend(entry for entry in model.opset_import if entry.domain not in DEFAULT_DOMAINS)
    whole.opset_import.append(onnx.helper.make_opsetid("", opset))
    inferred = infer_model(whole)
    return graph if inferred is None else inferred.graph


def is_mere_number(node: onnx.NodeProto, attribute: onnx.AttributeProto) -> bool:
    """Whether no type and no shape depends on `attribute` of `node`: it is a single float, as a slope is."""
    is_float = attribute.type == onnx.AttributeProto.FLOAT
    return is_float and node.domain in DEFAULT_DOMAINS and node.op_type != "Constant"


def has_parameter(node: onnx.NodeProto) -> bool:
    """Whether `node` has an attribute that a function's caller sets, and on which types or shapes may depend."""
    return any(attribute.ref_attr_name and not is_mere_number(node, attribute) for attribute in node.attribute)


def state_cast_types(graph: onnx.GraphProto) -> None:
    """Declare the output types of the Casts of `graph`, which is in the form of an opset below 6, where a Cast names its type as
    text.

    Inference does not read this text. Without a type, nodes that need the type of their input, such as Split-2, do not pass the
    check.
    """
    stated = {value.name for values in (graph.value_info, graph.output) for value in values}
    for node in graph.node:
        if node.op_type != "Cast" or node.domain not in DEFAULT_DOMAINS:
            continue
        text = next((attribute.s for attribute in node.attribute if attribute.name == "to"), b"")
        number = tensor_type(f"tensor({text.decode(errors='replace').lower()})")
        if number and node.output[0] not in stated:
            graph.value_info.add(name=node.output[0], type=onnx.helper.make_tensor_type_proto(number, None))
