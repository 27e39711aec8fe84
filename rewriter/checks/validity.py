"""Checks that a model is valid: onnx.checker with full_check in a child process, and checks of mistakes that it misses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from ..engine.task import Task
from ..errors import ArgumentError, CheckError, InvalidModelError
from ..graph.bodies import has_body
from ..graph.model import Model
from ..graph.node import Node
from ..graph.scope import Scope
from ..onnx_model.domains import DEFAULT_DOMAINS
from ..onnx_model.protos import GraphLike, default_opset
from ..opsets import unread
from ..opsets.choices import CHOOSING, is_taken, other_choices
from ..opsets.facts import GRAPH_HOLDERS
from ..opsets.transitions import may_hide_mistakes, newest_opset, schema_at
from ..process import child_call
from ..storage.payload import require_fitting_raw_data
from ..structure.function_calls import check_calls
from ..structure.survey import all_graphs
from ..structure.text_names import names_explained, require_text
from . import wrong_opset
from .interface import without_shape
from .operators import CHECKS

_OF_ANOTHER_OPSET = "Opset import for domain in function"
"""Part of onnx.checker's complaint about a function that imports another opset than the model."""
_DEPRECATED = "is deprecated in domain_version"
"""Part of onnx.checker's complaint about GroupNormalization-18 or Upsample-10. Such files exist, and a conversion repairs them."""
FULL_CHECK_OF_INPUT_UP_TO = 20_000
"""The number of nodes up to which the input is checked in full before the conversion.

For a larger input, only what the check of the result cannot see is checked first; the rest follows if the result does not pass.
"""


def check_source(opset: int, of: str = "the model") -> None:
    """Raises InvalidModelError where the installed onnx does not know the opset of the model, or what else `of` names."""
    if not 1 <= opset <= newest_opset():
        raise InvalidModelError(f"{of}'s opset {opset} is unknown: {_known_opsets(opset)}")


def check_assumed(opset: int) -> None:
    """Raises ArgumentError where the installed onnx does not know the opset that the user says the model has."""
    if opset > newest_opset():
        raise ArgumentError(f"--assume-opset {opset}: {_known_opsets(opset)}")


def check_target(opset: int) -> None:
    """Raises ArgumentError where the installed onnx does not know the requested opset."""
    if not 1 <= opset <= newest_opset():
        raise ArgumentError(f"the target opset {opset} is unknown: {_known_opsets(opset)}")


def _known_opsets(unknown: int) -> str:
    """The part of a message that says which opsets the installed onnx knows."""
    newest = newest_opset()
    return f"onnx {onnx.__version__} knows 1 to {newest}" + (" (a newer onnx may know it)" if unknown > newest else "")


class Trust(IntEnum):
    """How far onnx.checker's verdict on a model counts."""

    CHECKER = 0
    """What onnx.checker refuses is refused."""
    OPEN_SHAPES = 1
    """Inputs and outputs of the main graph may state no shape."""
    RUNTIME = 2
    """A runtime takes the model: what ONNX's shape inference disputes is allowed as well."""


def require_valid(serialized: bytes) -> None:
    """Raises InvalidModelError where the full check of onnx.checker refuses the model."""
    failure = checker_failure(serialized, full=True)
    if failure:
        raise InvalidModelError(f"the input is not a valid model: {failure}")


def check_input(model: Model, target: int | None, trust: Trust = Trust.CHECKER) -> None:
    """Raises InvalidModelError, naming the node, where the input is not a valid model of the opset that it declares."""
    try:
        check_calls(model.proto)
        _check_values(model.survey.graphs)
        with names_explained(model.survey.graphs):
            for scope in (model.main, *model.functions):
                _check_scope(scope)
        failure = _failure_of_input(model, target or model.main.opset, trust)
        if _OF_ANOTHER_OPSET in failure:
            failure = wrong_opset.describe_function(model.proto) or failure
        if _DEPRECATED in failure:
            failure = _failure_beside_deprecated(model.proto)
        if failure:
            raise InvalidModelError(f"the input is not a valid model: {failure}")
    except InvalidModelError:
        stranger = wrong_opset.describe(model.proto)
        if not stranger:
            raise
        raise InvalidModelError(f"the input is not a valid model: {stranger}") from None


def _failure_of_input(model: Model, target: int, trust: Trust) -> str:
    """The complaint of onnx.checker about the input; "" where it passes."""
    is_small = len(model.proto.graph.node) <= FULL_CHECK_OF_INPUT_UP_TO
    if is_small or len(model.survey.graphs) > 1 or not model.main.opset:
        return checker_failure(model.original, full=is_small, trust=trust)
    opset = model.main.opset
    hidden = {op_type for op_type in model.survey.operators if "::" not in op_type and may_hide_mistakes(op_type, opset, target)}
    samples: dict[object, NodeProto] = {}
    protos = model.proto.graph.node
    for index, label in enumerate(model.main.labels):
        if label in hidden:
            node = protos[index]
            samples.setdefault(_form(node), node)
    nodes = [node.SerializeToString() for node in samples.values()]
    return _failure(child_call.check_nodes, nodes, opset, model.ir_version) if nodes else ""


def _form(node: NodeProto) -> tuple[object, ...]:
    """A key that is equal for nodes that differ only in their name and in the names of values.

    onnx.checker says the same about all of them.
    """
    attributes = [attribute.SerializeToString() for attribute in node.attribute]
    return node.op_type, tuple(map(bool, node.input)), tuple(map(bool, node.output)), *attributes


def _failure_beside_deprecated(proto: onnx.ModelProto) -> str:
    """The complaint of onnx.checker about a node that is not deprecated; it stops at its first complaint,
    which is about a deprecated one.
    """
    opset = default_opset(proto.opset_import) or 0
    nodes = [
        node
        for graph in all_graphs(proto)
        if isinstance(graph, GraphProto)
        for node in graph.node
        if not node.domain and node.op_type not in GRAPH_HOLDERS and not _is_deprecated(node.op_type, opset)
    ]
    return _failure(child_call.check_nodes, [node.SerializeToString() for node in nodes], opset, proto.ir_version)


def _is_deprecated(op_type: str, opset: int) -> bool:
    """Whether the newest version of the operator up to `opset` is deprecated."""
    return onnx.defs.has(op_type, opset, "") and onnx.defs.get_schema(op_type, opset, "").deprecated


def check_result(serialized: bytes, original: bytes, trust: Trust = Trust.CHECKER) -> None:
    """Raises CheckError where the result fails the full check, or InvalidModelError where the original fails it too."""
    failure = checker_failure(serialized, full=True, trust=trust)
    if not failure:
        return
    of_input = checker_failure(original, full=True, trust=trust)
    if _DEPRECATED in failure and _DEPRECATED in of_input:  # what was deprecated in the input may be so in the result
        failure, of_input = (_failure_beside_deprecated(onnx.ModelProto.FromString(data)) for data in (serialized, original))
        if not failure:
            return
    if of_input:
        raise InvalidModelError(f"the input is not a valid model: {of_input}")
    advice = "the model was not written; if the input runs, please report this"
    raise CheckError(f"the result failed onnx.checker: {failure} ({advice})")


def checker_failure(serialized: bytes, *, full: bool, trust: Trust = Trust.CHECKER) -> str:
    """The complaint of onnx.checker about the model, on one line, as far as `trust` lets it count; "" where it passes."""
    serialized = _as_onnx_knows_it(serialized)
    if trust is Trust.RUNTIME:
        return _failure_beside_shapes(serialized, full=False)
    failure = _failure_of(child_call.check_model, serialized, full)
    if _NO_SHAPE in failure and trust is Trust.OPEN_SHAPES:
        return _failure_beside_shapes(serialized, full=full)
    return failure


_NO_SHAPE = "Field 'shape' of 'type' is required"
"""Part of onnx.checker's complaint about an input or output that states no shape."""


def _failure_beside_shapes(serialized: bytes, *, full: bool) -> str:
    """The complaint of onnx.checker about anything but absent shapes of inputs and outputs.

    A copy with shapes is checked, and its inference, which the full check adds, sees the model as it is.
    """
    model = onnx.ModelProto.FromString(serialized)
    for value in without_shape(model):
        value.type.tensor_type.shape.SetInParent()
    failure = _failure(child_call.check_model, model.SerializeToString(), False)
    if failure or not full:
        return failure
    return _failure_of(lambda checked, _: child_call.infer_strictly(checked), serialized, full)


def _failure_of(check: Callable[[bytes, bool], None], serialized: bytes, full: bool) -> str:
    """The complaint of `check` about the model, and with `full` also about the same model with all defaults written out."""
    failure = _failure(check, serialized, full)
    if not (failure and full):
        return failure
    # Shape inference looks into ONNX's own function bodies, and there takes an absent attribute for one without a default.
    spelled_out = _spell_out_defaults(serialized)
    return failure if spelled_out == serialized else _failure(check, spelled_out, full)


def _failure(check: Callable[..., None], *arguments: object) -> str:
    """The complaint of `check` called with `arguments`, on one line; "" where there is none."""
    try:
        check(*arguments)
    except child_call.Crashed as crash:
        return f"onnx.checker crashed on it ({crash})"
    except child_call.Refused as refusal:
        return str(refusal)
    return ""


def _spell_out_defaults(serialized: bytes) -> bytes:
    """The same model, with default attributes written out for operators that have a function body."""
    try:
        model = onnx.ModelProto.FromString(serialized)
    except DecodeError:
        return serialized
    opset = default_opset(model.opset_import) or 0
    for graph in all_graphs(model):
        for node in graph.node:
            schema = None if node.domain else schema_at(node.op_type, opset)
            if schema is not None and has_body(node.op_type, opset):
                present = {attribute.name for attribute in node.attribute}
                defaults = [a.default_value for name, a in schema.attributes.items() if name not in present]
                node.attribute.extend(default for default in defaults if default.type)
    return model.SerializeToString()


def _as_onnx_knows_it(serialized: bytes) -> bytes:
    """The same model as onnx knows it: nothing is hidden, and the short name of the default domain is in the place of "ai.onnx",
    which old releases do not know.
    """
    if b"ai.onnx" not in serialized and not unread.are_in(serialized):
        return serialized
    try:
        model = onnx.ModelProto.FromString(serialized)
    except DecodeError:
        return serialized
    unread.show(model)
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            entry.domain = "" if entry.domain in DEFAULT_DOMAINS else entry.domain
    return model.SerializeToString()


def _check_values(graphs: list[GraphLike]) -> None:
    """Raises InvalidModelError for element types that onnx.checker accepts though onnx does not know them,
    and for names that are not UTF-8.
    """
    known = set(TensorProto.DataType.values())
    for graph in graphs:
        if not isinstance(graph, onnx.GraphProto):
            continue
        for value in (*graph.input, *graph.output):
            require_text(value.name, *(dim.dim_param for dim in value.type.tensor_type.shape.dim))
        for tensor in graph.initializer:
            if min(tensor.dims, default=0) < 0:
                raise InvalidModelError(f"the input is not a valid model: the shape of '{tensor.name}' is {list(tensor.dims)}")
            require_fitting_raw_data(tensor)
        types = [(tensor.name, tensor.data_type) for tensor in graph.initializer]
        types += [(value.name, value.type.tensor_type.elem_type) for value in (*graph.input, *graph.output)]
        fed = {value.name for value in graph.input if value.type.HasField("tensor_type")} if graph is graphs[0] else ()
        for name, elem_type in types:
            if elem_type not in known or (elem_type == TensorProto.UNDEFINED and name in fed):
                raise InvalidModelError(f"the input is not a valid model: '{name}' is of an unknown element type, {elem_type}")


def _check_scope(scope: Scope) -> None:
    """Check the nodes of one graph and of its subgraphs."""
    if not scope.opset:
        return
    for index, label in enumerate(scope.labels):
        for problem in _choice_problems(scope.graph.node[index]) if label in CHOOSING else ():
            raise _invalid(Task(scope.graph.node[index], scope, scope.opset), problem)
        if label in CHECKS:
            _check_node(Task(scope.graph.node[index], scope, scope.opset, index))
        elif label in GRAPH_HOLDERS or "::" in label:
            for child in scope.children(scope.graph.node[index], index, scope.opset):
                _check_scope(child)


def _check_node(node: Task) -> None:
    """Raises InvalidModelError where the node has a mistake that onnx.checker misses."""
    if _has_other_types(node):
        return  # onnx.checker says it
    if node.uncertain_input:
        return  # what is wrong beside an input may be right without it
    for problem in CHECKS[node.op_type](node):
        raise _invalid(node, problem)


def _has_other_types(node: Task) -> bool:
    """Whether an attribute of the node is of another type than its schema says."""
    known = _attribute_types(node.op_type, node.opset)
    return any(attribute.type != known.get(attribute.name, attribute.type) for attribute in node.proto.attribute)


@cache
def _attribute_types(op_type: str, opset: int) -> dict[str, int]:
    """The types of the attributes of an operator, as AttributeProto numbers them."""
    schema = schema_at(op_type, opset)
    return (
        {}
        if schema is None
        else {
            name: int(attribute.type.value)  # type: ignore[attr-defined]
            for name, attribute in schema.attributes.items()
        }
    )


def _invalid(node: Node, problem: str) -> InvalidModelError:
    return InvalidModelError(f"{node.op_type} '{node.name}' ({node.where}) is invalid: {problem}")


def _choice_problems(node: NodeProto) -> Iterator[str]:
    """The attributes with a value that no specification lists and no runtime takes."""
    for attribute in node.attribute:
        if attribute.type not in (AttributeProto.STRING, AttributeProto.INT) or attribute.ref_attr_name:
            continue
        value = attribute.s.decode(errors="backslashreplace") if attribute.type == AttributeProto.STRING else attribute.i
        known = other_choices(node.op_type, attribute.name, value)
        if known and not is_taken(attribute.name, value):
            yield f"{attribute.name} is {value!r}; {node.op_type} has only {known}"
