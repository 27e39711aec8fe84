"""Types and shapes of values, by onnx's shape inference in a child process. They are only used for decisions and never saved."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import TypeGuard, TypeVar

import onnx
import onnx.parser
from onnx import TypeProto, shape_inference
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError

from ..process import child_call
from . import facts

Dimension = int | str | None
Shape = tuple[Dimension, ...]
_DEFAULT_DOMAINS = ("", "ai.onnx")
_Data = TypeVar("_Data")


_ML = "ai.onnx.ml"


def infer_model(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy of `model` with the value_info of all graphs filled in; None where inference crashes or refuses the model."""
    serialized = model.SerializeToString()
    has_ml = _ML.encode() in serialized
    replaced: dict[int, onnx.NodeProto] = {}
    if has_ml or _may_need_stand_ins(model, serialized):
        copy = onnx.ModelProto.FromString(serialized)
        replaced = _put_stand_ins(copy)
        _state_ml_types(copy, copy.graph)
        serialized = copy.SerializeToString()
    inferred = _infer_isolated(serialized)
    may_err = any(op_type.encode() in serialized for op_type in _ERRS)
    while may_err and inferred is not None and (wrong := _wrongly_inferred(inferred)):
        serialized = _hidden(serialized, wrong, replaced)
        inferred = _infer_isolated(serialized)
    while has_ml and inferred is not None and _state_ml_types(inferred, inferred.graph):  # what follows says more then
        inferred = _infer_isolated(inferred.SerializeToString())
    if inferred is not None and replaced:
        _take_stand_ins_back(inferred, replaced)
    return inferred


def _infer_isolated(serialized: bytes) -> onnx.ModelProto | None:
    try:
        return onnx.ModelProto.FromString(child_call.infer_model(serialized))
    except (child_call.Crashed, child_call.Refused):
        return None


@cache
def keeps_its_input(op_type: str, opset: int) -> bool:
    """Whether the first output has the type and shape of the first input although onnx does not infer it."""
    opset = min(opset, onnx.defs.onnx_opset_version())  # a function may import any number, and onnx asks for a small one
    if not facts.of(op_type).has("keeps-input") or not onnx.defs.has(op_type, max_inclusive_version=opset):
        return False
    return not onnx.defs.get_schema(op_type, opset, "").has_type_and_shape_inference_function


def _may_need_stand_ins(model: onnx.ModelProto, serialized: bytes) -> bool:
    """Whether `model` contains the names of operators that need a stand-in. Looking at all nodes would take longer."""
    imports = (model.opset_import, *(function.opset_import for function in model.functions))
    opsets = {_default_opset(entries) for entries in imports}
    if b"Slice" in serialized and (10 in opsets or _cuts_by_unknown_steps(model)):
        return True
    return any(
        op_type.encode() in serialized
        for opset in opsets
        for op_type in facts.with_word("keeps-input")
        if keeps_its_input(op_type, opset)
    )


def _cuts_by_unknown_steps(model: onnx.ModelProto) -> bool:
    known = _constants(model)
    return any(_has_unknown_steps(node, known) for node, _ in _nodes_with_opset(model))


def _has_unknown_steps(node: onnx.NodeProto, known: Container[str]) -> bool:
    """Whether `node` is a Slice along axes or by steps that are not among the `known` values.

    onnx infers for it that the steps are 1 and, if the axes are of unknown rank, that the axes are the first ones, as if both were
    absent.
    """
    return node.op_type == "Slice" and any(name and name not in known for name in node.input[3:5])


def _constants(model: onnx.ModelProto) -> set[str]:
    """The names that stand for a constant wherever the model uses them."""
    stored: set[str] = set()
    computed: set[str] = set()
    pending: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while pending:
        graph = pending.pop()
        if isinstance(graph, onnx.GraphProto):
            stored.update(tensor.name for tensor in graph.initializer)
        for node in graph.node:
            (stored if node.op_type == "Constant" else computed).update(node.output)
            pending += [inner for a in node.attribute if a.type in _GRAPHS for inner in (a.g, *a.graphs)]
    return stored - computed


def _put_stand_ins(model: onnx.ModelProto) -> dict[int, onnx.NodeProto]:
    """Replace nodes that onnx cannot infer, or infers wrongly, by others with the right result.

    Returns the old nodes by their position.
    """
    replaced: dict[int, onnx.NodeProto] = {}
    known = _constants(model)
    for index, (node, opset) in enumerate(_nodes_with_opset(model)):
        if node.domain not in _DEFAULT_DOMAINS or not node.input or not node.output:
            continue
        is_kept, has_unknown_steps = keeps_its_input(node.op_type, opset), _has_unknown_steps(node, known)
        if not is_kept and not has_unknown_steps and ((node.op_type, opset) != _WRONG_SYMBOLS or len(node.input) not in _SLICES):
            continue
        replaced[index] = onnx.NodeProto.FromString(node.SerializeToString())
        if is_kept:
            node.op_type = "Identity"
            del node.input[1:], node.output[1:], node.attribute[:]
        elif has_unknown_steps:
            node.domain, node.op_type = _STAND_INS, _CUT_ANYHOW.name
            del node.input[2:]
        else:
            node.domain, node.op_type = _STAND_INS, _SLICES[len(node.input)].name
    if any(before.op_type == "Slice" for before in replaced.values()):
        for owner in (model, *model.functions):
            owner.opset_import.add(domain=_STAND_INS, version=1)
        model.functions.extend((*_SLICES.values(), _CUT_ANYHOW))
    return replaced


def _take_stand_ins_back(model: onnx.ModelProto, replaced: Mapping[int, onnx.NodeProto]) -> None:
    """Restore the nodes that `_put_stand_ins` replaced."""
    for index, (node, _) in enumerate(_nodes_with_opset(model)):
        if index in replaced:
            node.CopyFrom(replaced[index])
    for function in [function for function in model.functions if function.domain == _STAND_INS]:
        model.functions.remove(function)
    for owner in (model, *model.functions):
        for entry in [entry for entry in owner.opset_import if entry.domain == _STAND_INS]:
            owner.opset_import.remove(entry)


_STAND_INS = "split_rewrite.stand_ins"
_WRONG_SYMBOLS = "Slice", 10
"""A form for which onnx infers that a symbolic dimension keeps its name when it is cut.

Slice-11 means the same and is inferred right.
"""


def _slice_of_opset_11(inputs: int) -> onnx.FunctionProto:
    names = ["data", "starts", "ends", "axes", "steps"][:inputs]
    node = onnx.helper.make_node("Slice", names, ["part"])
    return onnx.helper.make_function(_STAND_INS, f"Slice{inputs}", names, ["part"], [node], [onnx.helper.make_opsetid("", 11)])


_SLICES = {inputs: _slice_of_opset_11(inputs) for inputs in (3, 4, 5)}
"""The stand-ins for Slice by their number of inputs, because a call cannot pass an absent input to a function."""


def _slice_by_unknown_bounds() -> onnx.FunctionProto:
    """A Slice of which only the rank can be inferred: no inference follows its bounds through an Exp."""
    body = "{ f = Cast <to = 1> (starts)\n e = Exp (f)\n unknown = Cast <to = 7> (e)\n part = Slice (data, unknown, unknown) }"
    return onnx.parser.parse_function(
        f'<domain: "{_STAND_INS}", opset_import: ["" : 13]> SliceAnyhow (data, starts) => (part) {body}'
    )


_CUT_ANYHOW = _slice_by_unknown_bounds()
"""The stand-in for Slice along axes or by steps that are not constant."""


def _attention_errs(inputs: Mapping[int, Shape | None], outputs: Sequence[Shape | None]) -> bool:
    """Whether the inference of Attention took unknown sizes of the values for 0, or left out what it did not know."""
    if any(shape is not None and (0 in shape or len(shape) not in (3, 4)) for shape in outputs):
        return True
    scores = outputs[3] if len(outputs) > 3 else None
    return scores is not None and any(not is_known(inputs[index]) for index in _PAST if index in inputs)


_PAST = (4, 5)
"""The inputs of Attention that precede its keys and values. Where their sizes are unknown, onnx infers the scores without them."""


def _gather_nd_errs(inputs: Mapping[int, Shape | None], outputs: Sequence[Shape | None]) -> bool:
    """Whether the inference of GatherND found a rank although the length of an index is unknown."""
    indices = inputs.get(1)
    return outputs[0] is not None and (not indices or not isinstance(indices[-1], int))


def _stft_errs(_inputs: Mapping[int, Shape | None], outputs: Sequence[Shape | None]) -> bool:
    """Whether the inference of STFT found a shape: its number of frequencies does not depend on `onesided`."""
    return outputs[0] is not None


_ERRS: dict[str, Callable[[Mapping[int, Shape | None], Sequence[Shape | None]], bool]] = {
    "Attention": _attention_errs,
    "GatherND": _gather_nd_errs,
    "STFT": _stft_errs,
}
"""Operators of which onnx infers wrong shapes, and when, by the shapes of the given inputs, by position, and of the outputs."""


def is_inferred(node: onnx.NodeProto) -> bool:
    """Whether onnx can infer the outputs of `node`, whatever its domain."""
    if not onnx.defs.has(node.op_type, node.domain):
        return False
    return onnx.defs.get_schema(node.op_type, domain=node.domain).has_type_and_shape_inference_function


def may_be_wrong(op_type: str) -> bool:
    """Whether onnx infers wrong shapes for some nodes of this operator."""
    return op_type in _ERRS


def is_wrongly_inferred(node: onnx.NodeProto, types: Mapping[str, TypeProto], found: Mapping[str, TypeProto]) -> bool:
    """Whether the types `found` for the outputs of `node`, whose inputs have `types`, are known to be wrong."""
    if node.op_type not in _ERRS or node.domain not in _DEFAULT_DOMAINS:
        return False
    empty = TypeProto()
    inputs = {index: shape_of(types.get(name, empty)) for index, name in enumerate(node.input) if name}
    return _ERRS[node.op_type](inputs, [shape_of(found.get(name, empty)) for name in node.output])


def _wrongly_inferred(model: onnx.ModelProto) -> dict[int, dict[str, TypeProto]]:
    """The positions of nodes that onnx inferred wrongly in `model`, each with the element types of its outputs."""
    types: dict[str, TypeProto] = {}
    pending: list[onnx.GraphProto] = [model.graph]
    while pending:
        graph = pending.pop()
        for values in (graph.value_info, graph.output, graph.input):
            types.update((value.name, value.type) for value in values)
        types.update((t.name, onnx.helper.make_tensor_type_proto(t.data_type, t.dims)) for t in graph.initializer)
        pending += [inner for node in graph.node for a in node.attribute if a.type in _GRAPHS for inner in (a.g, *a.graphs)]
    return {
        index: {name: _shapeless(types[name]) for name in node.output if name in types}
        for index, (node, _) in enumerate(_nodes_with_opset(model))
        if is_wrongly_inferred(node, types, types)
    }


def _shapeless(kind: TypeProto) -> TypeProto:
    return TypeProto(tensor_type=TypeProto.Tensor(elem_type=kind.tensor_type.elem_type))


def _hidden(serialized: bytes, wrong: Mapping[int, dict[str, TypeProto]], replaced: dict[int, onnx.NodeProto]) -> bytes:
    """The serialized model in which no inference sees the nodes at the positions `wrong`; they are added to `replaced`."""
    model = onnx.ModelProto.FromString(serialized)
    for index, (node, _) in enumerate(_nodes_with_opset(model)):
        if index in wrong:
            replaced[index] = onnx.NodeProto.FromString(node.SerializeToString())
            node.domain = _STAND_INS
    model.graph.value_info.extend(
        onnx.ValueInfoProto(name=name, type=kind) for types in wrong.values() for name, kind in types.items()
    )
    for owner in (model, *model.functions):
        if not any(entry.domain == _STAND_INS for entry in owner.opset_import):
            owner.opset_import.add(domain=_STAND_INS, version=1)
    return model.SerializeToString()


def _nodes_with_opset(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, int]]:
    """All nodes of all graphs and functions, each with the opset of its form."""
    for body in (model.graph, *model.functions):
        opset = _default_opset(model.opset_import if isinstance(body, onnx.GraphProto) else body.opset_import)
        for node in _with_inner(body.node):
            yield node, opset


def _with_inner(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs) if attribute.type in _GRAPHS else ():
                yield from _with_inner(graph.node)


def _default_opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int:
    return next((entry.version for entry in imports if entry.domain in _DEFAULT_DOMAINS), 0)


def _state_ml_types(model: onnx.ModelProto, graph: onnx.GraphProto) -> bool:
    """Declare the outputs of ai.onnx.ml operators in `graph`, most of which onnx does not infer. Returns whether any was added."""
    version = next((entry.version for entry in model.opset_import if entry.domain == _ML), 0)
    types = {value.name: value.type for values in (graph.input, graph.output, graph.value_info) for value in values}
    types.update((t.name, onnx.helper.make_tensor_type_proto(t.data_type, t.dims)) for t in graph.initializer)
    stated = False
    for node in graph.node if version else ():
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                stated |= _state_ml_types(model, attribute.g)
        if node.domain != _ML:
            continue
        for name, kind in _ml_types(node, version, types).items():
            if name not in types or type_string(types[name]) is None:
                types[name] = kind
                graph.value_info.add(name=name, type=kind)
                stated = True
    return stated


def _ml_types(node: onnx.NodeProto, version: int, types: Mapping[str, TypeProto]) -> dict[str, TypeProto]:
    """The types of the outputs of `node`, of ai.onnx.ml, by its schema, its attributes and the `types` of its inputs."""
    found = fixed_types(node, version, _ML)
    for values in tied_values(node, version, _ML):
        known = next((types[name] for name in values if name in types and type_string(types[name]) is not None), None)
        if known is not None and known.WhichOneof("value") == "tensor_type":
            kind = TypeProto(tensor_type=TypeProto.Tensor(elem_type=known.tensor_type.elem_type))
            found.update((name, kind) for name in values if name in node.output)
    if facts.of(node.op_type, node.domain).has("regresses") and node.output:
        targets = next((attribute.i for attribute in node.attribute if attribute.name in ("n_targets", "targets")), None)
        found[node.output[0]] = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [None, targets])
    for attribute in node.attribute if node.op_type.endswith("Classifier") else ():
        if attribute.name in _CLASS_LABELS and (attribute.ints or attribute.strings):
            found[node.output[0]] = TypeProto(tensor_type=TypeProto.Tensor(elem_type=_CLASS_LABELS[attribute.name]))
    return found


_CLASS_LABELS = {
    "classlabels_ints": onnx.TensorProto.INT64,
    "classlabels_int64s": onnx.TensorProto.INT64,
    "classlabels_strings": onnx.TensorProto.STRING,
}
"""Attributes of classifiers that determine the element type of the first output."""


_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


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
    if node.domain not in _DEFAULT_DOMAINS or _has_parameter(node) or any(a.type in _GRAPHS for a in node.attribute):
        return {}
    if keeps_its_input(node.op_type, opset):
        return {node.output[0]: types[node.input[0]]} if node.input[0] in types else {}
    known = usable_data(node, data)
    try:
        schema = onnx.defs.get_schema(node.op_type, 11 if (node.op_type, opset) == _WRONG_SYMBOLS else opset, "")
        found = shape_inference.infer_node_outputs(
            schema,
            node,
            dict(types),
            dict(known),
            None,
            [onnx.helper.make_opsetid("", opset)],
            ir_version,
        )
        is_wrong = is_wrongly_inferred(node, types, found)
        return {name: _shapeless(kind) for name, kind in found.items()} if is_wrong else found
    except (RuntimeError, ValueError, KeyError, onnx.defs.SchemaError, InferenceError, ValidationError):
        return {}


def usable_data(node: onnx.NodeProto, data: Mapping[str, _Data]) -> Mapping[str, _Data]:
    """The constants among the inputs of `node`, `data`, by which onnx infers it rightly: none, if it is a Slice by other steps."""
    return {} if _has_unknown_steps(node, data) else data


def fixed_types(node: onnx.NodeProto, opset: int, domain: str = "") -> dict[str, TypeProto]:
    """The types of outputs that can only have one type: int64 for Shape, bool for Less. Their shapes are unknown."""
    if node.domain not in ((domain,) if domain else _DEFAULT_DOMAINS):
        return {}
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, domain)
    except onnx.defs.SchemaError:
        return {}
    found: dict[str, TypeProto] = {}
    for name, parameter in zip(node.output, schema.outputs, strict=False):
        if name and len(parameter.types) == 1 and (number := tensor_type(next(iter(parameter.types)))):
            found[name] = TypeProto(tensor_type=TypeProto.Tensor(elem_type=number))
    return found


def state_cast_types(graph: onnx.GraphProto) -> None:
    """Declare the output types of the Casts of `graph`, which is in the form of an opset below 6, where a Cast names its type as
    text.

    Inference does not read this text. Without a type, nodes that need the type of their input, such as Split-2, do not pass the
    check.
    """
    stated = {value.name for values in (graph.value_info, graph.output) for value in values}
    for node in graph.node:
        if node.op_type != "Cast" or node.domain not in _DEFAULT_DOMAINS:
            continue
        text = next((attribute.s for attribute in node.attribute if attribute.name == "to"), b"")
        number = tensor_type(f"tensor({text.decode(errors='replace').lower()})")
        if number and node.output[0] not in stated:
            graph.value_info.add(name=node.output[0], type=onnx.helper.make_tensor_type_proto(number, None))


@cache
def tensor_type(text: str) -> int:
    """The TensorProto.DataType for "tensor(int64)"; 0 for anything but a tensor type."""
    name = text[7:-1].upper() if text.startswith("tensor(") else ""
    return onnx.TensorProto.DataType.Value(name) if name in set(onnx.TensorProto.DataType.keys()) else 0


def tied_values(node: onnx.NodeProto, opset: int, domain: str = "") -> list[list[str]]:
    """Groups of two or more inputs and outputs of `node` that must have the same type by its schema."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, domain)
    except onnx.defs.SchemaError:
        return []
    tied: dict[str, dict[str, None]] = {}
    for values, parameters in ((node.output, schema.outputs), (node.input, schema.inputs)):
        for index, value in enumerate(values if parameters else ()):
            parameter = parameters[min(index, len(parameters) - 1)]
            if value and parameter.is_homogeneous and "(" not in parameter.type_str:
                tied.setdefault(parameter.type_str, {})[value] = None
    return [list(values) for values in tied.values() if len(values) > 1]


def type_string(proto: TypeProto) -> str | None:
    """The type `proto` as schemas write it: "tensor(float)", "seq(tensor(int64))"; None where it is not set."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type" or kind == "sparse_tensor_type":
        number = getattr(proto, kind).elem_type
        return None if number == 0 else f"{'sparse_' if kind[0] == 's' else ''}tensor({elem_type_name(number)})"
    if kind == "sequence_type":
        inner = type_string(proto.sequence_type.elem_type)
        return None if inner is None else f"seq({inner})"
    if kind == "optional_type":
        inner = type_string(proto.optional_type.elem_type)
        return None if inner is None else f"optional({inner})"
    if kind == "map_type":
        inner = type_string(proto.map_type.value_type)
        return None if inner is None else f"map({elem_type_name(proto.map_type.key_type)},{inner})"
    return None


def elem_type_name(number: int) -> str:
    """The schema's name for a TensorProto.DataType: "float" for 1."""
    try:
        return onnx.TensorProto.DataType.Name(number).lower()  # type: ignore[arg-type]
    except ValueError:
        return f"type {number}"


def shape_of(proto: TypeProto) -> Shape | None:
    """The dimensions of a tensor type: numbers, symbols of the model's author, or None.

    None instead of a tuple where the rank is unknown.
    """
    tensor = proto.tensor_type  # an empty one where it is no tensor
    return tuple([_dimension(dim) for dim in tensor.shape.dim]) if tensor.HasField("shape") else None


def tensors_in(kind: TypeProto) -> Iterator[TypeProto.Tensor | TypeProto.SparseTensor]:
    """The tensor types in `kind`: itself, or those of the elements of a sequence, optional or map."""
    match kind.WhichOneof("value"):
        case "tensor_type":
            yield kind.tensor_type
        case "sparse_tensor_type":
            yield kind.sparse_tensor_type
        case "sequence_type":
            yield from tensors_in(kind.sequence_type.elem_type)
        case "optional_type":
            yield from tensors_in(kind.optional_type.elem_type)
        case "map_type":
            yield from tensors_in(kind.map_type.value_type)


def is_known(shape: Shape | None) -> TypeGuard[Shape]:
    """Whether the rank is known and every dimension is a number."""
    return shape is not None and all(isinstance(dim, int) for dim in shape)


def _is_text(name: object) -> bool:
    """Whether there is a name and it is valid UTF-8. protobuf returns other names as bytes."""
    return isinstance(name, str) and name != ""


def symbol(dim: onnx.TensorShapeProto.Dimension) -> str:
    """The symbol of a dimension; "" where it has none, or one that is not valid UTF-8."""
    return dim.dim_param if _is_text(dim.dim_param) else ""


def sizes_and_symbols(shape: onnx.TensorShapeProto) -> tuple[int | str, ...]:
    """The declared sizes and symbols; "" for unknown dimensions. Exporters write negative sizes for those."""
    return tuple([dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else symbol(dim) for dim in shape.dim])


def _dimension(dim: onnx.TensorShapeProto.Dimension) -> Dimension:
    size = dim.dim_value
    if size > 0:
        return size
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        # Inference may compute a negative length from an invalid model.
        return dim.dim_value if dim.dim_value >= 0 else None
    if kind == "dim_param" and _is_text(dim.dim_param) and not dim.dim_param.startswith("unk__"):
        # Inference gives all elements of a ragged sequence one and the same "unk__N": such symbols prove nothing.
        return dim.dim_param
    return None


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


def in_common(a: TypeProto, b: TypeProto) -> TypeProto:
    """The common part of two types: everything if they are equal; for tensors of one element type, the rank
    and each equal dimension.
    """
    if a == b:
        return a
    kinds = {a.WhichOneof("value"), b.WhichOneof("value")}
    if kinds != {"tensor_type"} or a.tensor_type.elem_type != b.tensor_type.elem_type:
        return TypeProto()
    found = TypeProto(tensor_type=TypeProto.Tensor(elem_type=a.tensor_type.elem_type))
    dims = (a.tensor_type.shape.dim, b.tensor_type.shape.dim)
    if all(kind.tensor_type.HasField("shape") for kind in (a, b)) and len(dims[0]) == len(dims[1]):
        unknown = onnx.TensorShapeProto.Dimension()
        equal = [one if one == other else unknown for one, other in zip(*dims, strict=True)]
        found.tensor_type.shape.CopyFrom(onnx.TensorShapeProto(dim=equal))
    return found


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
    for index, node in enumerate(_with_inner(inferred.graph.node) if inferred is not None and hidden else ()):
        if index in hidden:
            node.CopyFrom(hidden[index])
    return graph if inferred is None else inferred.graph


def is_mere_number(node: onnx.NodeProto, attribute: onnx.AttributeProto) -> bool:
    """Whether no type and no shape depends on `attribute` of `node`: it is a single float, as a slope is."""
    is_float = attribute.type == onnx.AttributeProto.FLOAT
    return is_float and node.domain in _DEFAULT_DOMAINS and node.op_type != "Constant"


def _has_parameter(node: onnx.NodeProto) -> bool:
    """Whether `node` has an attribute that a function's caller sets, and on which types or shapes may depend."""
    return any(attribute.ref_attr_name and not is_mere_number(node, attribute) for attribute in node.attribute)


def _hide_parameters(model: onnx.ModelProto) -> dict[int, onnx.NodeProto]:
    """Give nodes of the main graph that have a parameter of a function, which onnx takes for 0, a domain that onnx does not know.

    Returns the old nodes by their position.
    """
    hidden: dict[int, onnx.NodeProto] = {}
    for index, node in enumerate(_with_inner(model.graph.node)):
        if _has_parameter(node):
            hidden[index] = onnx.NodeProto.FromString(node.SerializeToString())
            node.domain = _UNKNOWN
    if hidden:
        model.opset_import.add(domain=_UNKNOWN, version=1)
    return hidden


_UNKNOWN = "split_rewrite.unknown"
"""A domain without operators."""


def infer_subgraph(model: onnx.ModelProto, graph: onnx.GraphProto, outer: Mapping[str, TypeProto], opset: int) -> onnx.GraphProto:
    """`graph`, a subgraph of `model` in the form of `opset`, with inferred value_info. `outer` are the types of captured values."""
    whole = onnx.ModelProto(ir_version=model.ir_version, graph=graph, functions=model.functions)
    whole.graph.input.extend(onnx.ValueInfoProto(name=name, type=kind) for name, kind in outer.items())
    whole.opset_import.extend(entry for entry in model.opset_import if entry.domain not in _DEFAULT_DOMAINS)
    whole.opset_import.append(onnx.helper.make_opsetid("", opset))
    inferred = infer_model(whole)
    return graph if inferred is None else inferred.graph
