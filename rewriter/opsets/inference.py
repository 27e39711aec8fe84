"""Types and shapes of values, by onnx's shape inference in a child process. They are only used for decisions and never saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from typing import TypeGuard

import onnx
from onnx import TypeProto, shape_inference
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError

from .. import child_call
from . import facts

Dimension = int | str | None
Shape = tuple[Dimension, ...]
_DEFAULT_DOMAINS = ("", "ai.onnx")


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
    return (10 in opsets and b"Slice" in serialized) or any(
        op_type.encode() in serialized
        for opset in opsets
        for op_type in facts.with_word("keeps-input")
        if keeps_its_input(op_type, opset)
    )


def _put_stand_ins(model: onnx.ModelProto) -> dict[int, onnx.NodeProto]:
    """Replace nodes that onnx cannot infer, or infers wrongly, by others with the right result.

    Returns the old nodes by their position.
    """
    replaced: dict[int, onnx.NodeProto] = {}
    for index, (node, opset) in enumerate(_nodes_with_opset(model)):
        if node.domain not in _DEFAULT_DOMAINS or not node.input or not node.output:
            continue
        is_kept = keeps_its_input(node.op_type, opset)
        if not is_kept and ((node.op_type, opset) != _WRONG_SYMBOLS or len(node.input) not in _SLICES):
            continue
        replaced[index] = onnx.NodeProto.FromString(node.SerializeToString())
        if is_kept:
            node.op_type = "Identity"
            del node.input[1:], node.output[1:], node.attribute[:]
        else:
            node.domain, node.op_type = _STAND_INS, _SLICES[len(node.input)].name
    if any(before.op_type == "Slice" for before in replaced.values()):
        for owner in (model, *model.functions):
            owner.opset_import.add(domain=_STAND_INS, version=1)
        model.functions.extend(_SLICES.values())
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

    Nodes with a subgraph are not inferred: their body may read outer values, which are unknown here and would crash onnx.
    """
    if node.domain not in _DEFAULT_DOMAINS or any(a.type in _GRAPHS for a in node.attribute):
        return {}
    if keeps_its_input(node.op_type, opset):
        return {node.output[0]: types[node.input[0]]} if node.input[0] in types else {}
    try:
        schema = onnx.defs.get_schema(node.op_type, 11 if (node.op_type, opset) == _WRONG_SYMBOLS else opset, "")
        return shape_inference.infer_node_outputs(
            schema,
            node,
            dict(types),
            dict(data),
            None,
            [onnx.helper.make_opsetid("", opset)],
            ir_version,
        )
    except (RuntimeError, ValueError, KeyError, onnx.defs.SchemaError, InferenceError, ValidationError):
        return {}


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


def is_known(shape: Shape | None) -> TypeGuard[Shape]:
    """Whether the rank is known and every dimension is a number."""
    return shape is not None and all(isinstance(dim, int) for dim in shape)


def _is_text(name: object) -> bool:
    """Whether there is a name and it is valid UTF-8. protobuf returns other names as bytes."""
    return isinstance(name, str) and name != ""


def symbol(dim: onnx.TensorShapeProto.Dimension) -> str:
    """The symbol of a dimension; "" where it has none, or one that is not valid UTF-8."""
    return dim.dim_param if _is_text(dim.dim_param) else ""


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
            signatures[key] = [_in_common(a, b) for a, b in zip_longest(before, called, fillvalue=TypeProto())]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _collect_calls(attribute.g, bodies, signatures, types)


def _in_common(a: TypeProto, b: TypeProto) -> TypeProto:
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
    """`body` as a graph whose inputs have `types`, with inferred value_info."""
    graph = onnx.GraphProto(name=body.name, node=body.node)
    for name, kind in zip(body.input, types, strict=False):
        graph.input.append(onnx.ValueInfoProto(name=name, type=kind))
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in body.output)
    whole = onnx.ModelProto(ir_version=model.ir_version, graph=graph, functions=model.functions)
    whole.opset_import.extend(body.opset_import)
    inferred = infer_model(whole)
    return graph if inferred is None else inferred.graph


def infer_subgraph(model: onnx.ModelProto, graph: onnx.GraphProto, outer: Mapping[str, TypeProto], opset: int) -> onnx.GraphProto:
    """`graph`, a subgraph of `model` in the form of `opset`, with inferred value_info. `outer` are the types of captured values."""
    whole = onnx.ModelProto(ir_version=model.ir_version, graph=graph, functions=model.functions)
    whole.graph.input.extend(onnx.ValueInfoProto(name=name, type=kind) for name, kind in outer.items())
    whole.opset_import.extend(entry for entry in model.opset_import if entry.domain not in _DEFAULT_DOMAINS)
    whole.opset_import.append(onnx.helper.make_opsetid("", opset))
    inferred = infer_model(whole)
    return graph if inferred is None else inferred.graph
