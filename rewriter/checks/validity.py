"""Checks that a model is valid: onnx.checker with full_check in a child process, and checks of mistakes that it misses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from ..engine.repeats import Form, OncePerForm, forms_of
from ..errors import ArgumentError, CheckError, InvalidModelError, RuleError
from ..graph.bodies import has_body
from ..graph.model import Model
from ..graph.node import Node
from ..graph.protos import DEFAULT_DOMAINS, GRAPH_HOLDERS, GraphLike, default_opset
from ..graph.scope import Scope
from ..graph.survey import all_graphs
from ..opsets import inference
from ..opsets.choices import CHOOSING, is_taken, other_choices
from ..opsets.transitions import may_hide_mistakes, newest_opset, schema_at
from ..process import child_call
from ..storage.payload import require_fitting_raw_data
from . import wrong_opset
from .function_calls import check_calls
from .operands import OPERAND_CHECKS
from .scales import quantization_problems

MOST_MISSING_PARTS = 4096
"""How many more parts than outputs a Split may have: in older opsets, each of them needs a named output."""
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


def check_target(opset: int) -> None:
    """Raises ArgumentError where the installed onnx does not know the requested opset."""
    if not 1 <= opset <= newest_opset():
        raise ArgumentError(f"the target opset {opset} is unknown: {_known_opsets(opset)}")


def _known_opsets(unknown: int) -> str:
    """The part of a message that says which opsets the installed onnx knows."""
    newest = newest_opset()
    return f"onnx {onnx.__version__} knows 1 to {newest}" + (" (a newer onnx may know it)" if unknown > newest else "")


def check_input(model: Model, target: int | None) -> None:
    """Raises InvalidModelError, naming the node, where the input is not a valid model of the opset that it declares."""
    try:
        check_calls(model.proto)
        _check_values(model.survey.graphs)
        with names_explained(model.survey.graphs):
            for scope in (model.main, *model.functions):
                _check_scope(scope)
        failure = _failure_of_input(model, target or model.main.opset)
        if _DEPRECATED in failure:
            failure = _failure_beside_deprecated(model)
        if failure:
            raise InvalidModelError(f"the input is not a valid model: {failure}")
    except InvalidModelError:
        stranger = wrong_opset.describe(model.survey.graphs, model.main.opset)
        if not stranger:
            raise
        raise InvalidModelError(f"the input is not a valid model: {stranger}") from None


def _failure_of_input(model: Model, target: int) -> str:
    """The complaint of onnx.checker about the input; "" where it passes."""
    is_small = len(model.proto.graph.node) <= FULL_CHECK_OF_INPUT_UP_TO
    if is_small or len(model.survey.graphs) > 1 or not model.main.opset:
        return checker_failure(model.original, full=is_small)
    opset = model.main.opset
    hidden = {op_type for op_type in model.survey.operators if "::" not in op_type and may_hide_mistakes(op_type, opset, target)}
    samples: dict[Form, NodeProto] = {}
    forms = forms_of(model.main)
    protos = model.proto.graph.node
    for index, label in enumerate(model.main.labels):
        if label in hidden:
            node = protos[index]
            samples.setdefault(forms.of(index, node), node)
    nodes = [node.SerializeToString() for node in samples.values()]
    return _failure(child_call.check_nodes, nodes, opset, model.ir_version) if nodes else ""


def _failure_beside_deprecated(model: Model) -> str:
    """The complaint of onnx.checker about a node that is not deprecated; it stops at its first complaint,
    which is about a deprecated one.
    """
    opset = model.main.opset
    nodes = [
        node
        for graph in model.survey.graphs
        if isinstance(graph, GraphProto)
        for node in graph.node
        if not node.domain and node.op_type not in GRAPH_HOLDERS and not _is_deprecated(node.op_type, opset)
    ]
    return _failure(child_call.check_nodes, [node.SerializeToString() for node in nodes], opset, model.ir_version)


def _is_deprecated(op_type: str, opset: int) -> bool:
    """Whether the newest version of the operator up to `opset` is deprecated."""
    return onnx.defs.has(op_type, opset, "") and onnx.defs.get_schema(op_type, opset, "").deprecated


def check_result(serialized: bytes, original: bytes) -> None:
    """Raises CheckError where the result fails the full check, or InvalidModelError where the original fails it too."""
    failure = checker_failure(serialized, full=True)
    if not failure:
        return
    of_input = checker_failure(original, full=True)
    if of_input:
        raise InvalidModelError(f"the input is not a valid model: {of_input}")
    advice = "the model was not written; if the input runs, please report this"
    raise CheckError(f"the result failed onnx.checker: {failure} ({advice})")


def checker_failure(serialized: bytes, *, full: bool) -> str:
    """The complaint of onnx.checker about the model, on one line; "" where it passes."""
    serialized = _with_short_domains(serialized)
    failure = _failure(child_call.check_model, serialized, full)
    if not (failure and full):
        return failure
    # Shape inference looks into ONNX's own function bodies, and there takes an absent attribute for one without a default.
    spelled_out = _spell_out_defaults(serialized)
    return failure if spelled_out == serialized else _failure(child_call.check_model, spelled_out, full)


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


def _with_short_domains(serialized: bytes) -> bytes:
    """The same model, with "ai.onnx", which old releases of onnx do not know, replaced by the short name of the default domain."""
    if b"ai.onnx" not in serialized:
        return serialized
    try:
        model = onnx.ModelProto.FromString(serialized)
    except DecodeError:
        return serialized
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
            _require_text(value.name, *(dim.dim_param for dim in value.type.tensor_type.shape.dim))
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


def _require_text(*names: str) -> None:
    """Raises InvalidModelError where one of the values is not valid UTF-8; protobuf returns such a string as bytes."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise InvalidModelError(f"the input is not a valid model: the name {wrong!r} is not valid UTF-8") from None


@contextmanager
def names_explained(graphs: list[GraphLike]) -> Iterator[None]:
    """Raises InvalidModelError where the code inside the `with` fails because a name is not valid UTF-8.

    Such names do no harm where nothing reads them, and looking at all names would take half as long as a whole conversion.
    """
    try:
        yield
    except (TypeError, AttributeError, UnicodeDecodeError, RuleError):
        for graph in graphs:
            if isinstance(graph, onnx.FunctionProto):
                _require_text(*graph.input, *graph.output)
            for node in graph.node:
                _require_text(node.op_type, node.domain, node.name, *node.input, *node.output)
        raise


def _check_scope(scope: Scope) -> None:
    """Check the nodes of one graph and of its subgraphs."""
    if not scope.opset:
        return
    check_once = OncePerForm(_check_node, scope)
    for index, label in enumerate(scope.labels):
        for problem in _choice_problems(scope.graph.node[index]) if label in CHOOSING else ():
            raise _invalid(Node(scope.graph.node[index], scope, scope.opset), problem)
        if label in _CHECKS:
            check_once(scope.graph.node[index], index)
        elif label in GRAPH_HOLDERS or "::" in label:
            for child in scope.children(scope.graph.node[index], index, scope.opset):
                _check_scope(child)


def _check_node(node: Node) -> None:
    """Raises InvalidModelError where the node has a mistake that onnx.checker misses."""
    if any(attribute.type != _ATTRIBUTE_TYPES.get(attribute.name, attribute.type) for attribute in node.proto.attribute):
        return  # onnx.checker says it
    if node.uncertain_input:
        return  # what is wrong beside an input may be right without it
    for problem in _CHECKS[node.op_type](node):
        raise _invalid(node, problem)


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


def _split_problems(node: Node) -> Iterator[str]:
    """The mistakes of a Split that onnx.checker misses. One makes onnx abort; the others mean different things to different
    runtimes.

    https://onnx.ai/onnx/operators/onnx__Split.html
    """
    if any(attribute.ref_attr_name for attribute in node.proto.attribute):
        return
    if node.opset >= 18:
        yield from _count_problems(node)
    if node.opset >= 13 and node.has_input(1):
        yield from _input_type_problems(node, {TensorProto.INT64})
    stated = node.attr("split")
    value = node.constant(1)
    sizes = None if value is None else [float(size) for size in value.reshape(-1)]
    if stated is not None and sizes is not None:
        yield "it has both the attribute and the input split"
    if value is not None and node.opset >= 13 and value.ndim != 1:
        yield f"split must be 1-D and has rank {value.ndim}"
    sizes = sizes if stated is None else [float(size) for size in stated]
    if sizes is not None:
        yield from _size_problems(sizes, node)
    if sizes is not None and (node.opset < 2 or node.is_captured(1)):  # inference takes what is captured for unknown
        yield from _sum_problems(node, sizes)
    if node.opset < 2 and sizes is None and not node.has_input(1):
        yield from _uneven_problems(node)


def _count_problems(node: Node) -> Iterator[str]:
    """What is wrong with num_outputs or the number of outputs."""
    count = node.attr("num_outputs")
    if node.has_input(1) == (count is not None):
        yield "it has both split and num_outputs" if count is not None else "it has neither split nor num_outputs"
        return
    if count is None:
        return
    if count < 1:
        yield f"num_outputs is {count}"
        return
    if len(node.outputs) > count:
        yield f"it has {len(node.outputs)} outputs and num_outputs is {count}"
        return
    if count > len(node.outputs) + MOST_MISSING_PARTS:
        yield f"num_outputs is {count}, and only {len(node.outputs)} of the parts are outputs"
        return
    dimension = node.dimension(node.attr("axis", 0))
    if not isinstance(dimension, int) or not node.is_in_main_graph:
        return  # a branch may never run
    if dimension < -(-dimension // count) * (count - 1):
        size = -(-dimension // count)
        yield f"a dimension of {dimension} cannot make {count} parts: parts of {size} leave nothing for the last"


def _size_problems(sizes: list[float], node: Node) -> Iterator[str]:
    """What is wrong with the single sizes, such as a negative one."""
    if any(size < 0 for size in sizes):
        yield f"split has negative sizes: {_shown(sizes)}"
    if len(sizes) != len(node.outputs):
        yield f"split has {len(sizes)} sizes and the node {len(node.outputs)} outputs"


def _sum_problems(node: Node, sizes: list[float]) -> Iterator[str]:
    """What is wrong with the sum of the sizes, where onnx does not check it.

    Split-1 has no shape inference, and inference does not see constants that a subgraph captures.
    """
    dimension = _split_dimension(node)
    if dimension is not None and sum(sizes) != dimension:
        yield f"the sizes {_shown(sizes)} do not add up to the dimension {dimension}"


def _uneven_problems(node: Node) -> Iterator[str]:
    """What is wrong with a Split into equal parts whose axis cannot be divided equally."""
    dimension = _split_dimension(node)
    if dimension is not None and dimension % len(node.outputs):
        yield f"a dimension of {dimension} does not divide into {len(node.outputs)} equal parts"


def _split_dimension(node: Node) -> int | None:
    """The length of the axis that is split; None where it is unknown."""
    axis = node.attr("axis", None if node.opset < 2 else 0)
    dimension = None if axis is None else node.dimension(axis)
    return dimension if isinstance(dimension, int) else None


def _input_type_problems(node: Node, allowed: set[int]) -> Iterator[str]:
    """What is wrong with the types of the inputs."""
    declared = node.declared_type(1)
    if declared is None or declared.WhichOneof("value") != "tensor_type":
        return
    number = declared.tensor_type.elem_type
    if number and number not in allowed:
        names = " or ".join(sorted(inference.elem_type_name(kind) for kind in allowed))
        yield f"split must be {names} and is {inference.elem_type_name(number)}"
    shape = inference.shape_of(declared)
    if shape is not None and len(shape) != 1 and node.op_type == "Split":
        yield f"split must be 1-D and has rank {len(shape)}"


def _sequence_problems(node: Node) -> Iterator[str]:
    """The mistakes of a SplitToSequence: those that inference misses for symbolic dimensions, and one that crashes onnxruntime.

    https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
    """
    yield from _input_type_problems(node, {TensorProto.INT64, TensorProto.INT32})
    sizes = node.constant(1)
    if sizes is None:
        return
    if sizes.ndim == 0 and sizes <= 0:
        yield f"a scalar split must be positive and is {sizes}"
    if sizes.ndim > 1:
        yield f"split must be a scalar or 1-D and has rank {sizes.ndim}"
    if sizes.ndim == 1 and not sizes.size:
        yield "split is empty"
    if sizes.ndim == 1 and (sizes < 0).any():
        yield f"split has negative sizes: {_shown(sizes.tolist())}"


def _shown(sizes: list[float]) -> str:
    """The sizes as messages show them."""
    text = ", ".join(f"{size:g}" for size in sizes[:8])
    return f"[{text}, …]" if len(sizes) > 8 else f"[{text}]"


_ATTRIBUTE_TYPES = {
    "axis": AttributeProto.INT,
    "keepdims": AttributeProto.INT,
    "block_size": AttributeProto.INT,
    "num_outputs": AttributeProto.INT,
    "output_dtype": AttributeProto.INT,
    "split": AttributeProto.INTS,
}
"""The type that AttributeProto has to state for each attribute."""
_CHECKS = {
    "Split": _split_problems,
    "SplitToSequence": _sequence_problems,
    "QuantizeLinear": quantization_problems,
    "DequantizeLinear": quantization_problems,
    **OPERAND_CHECKS,
}
"""The further checks for single operators."""
