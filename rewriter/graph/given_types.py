"""Writes what the user says about types into the model: shapes of inputs, and types of values that inference cannot find.

This is done before anything else, so that everything that follows finds these types where types are declared.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from onnx import GraphProto, ModelProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, parser
from onnx.helper import make_node, make_tensor_type_proto

from ..errors import ArgumentError, listed, shortened
from ..onnx_model.protos import GraphLike, default_opset, defined_names, subgraphs
from ..opsets import type_protos
from ..opsets.type_protos import Shape
from ..storage.skeleton import Skeleton
from ..structure.declarations import contradict, shapes_of, show
from ..structure.survey import all_graphs
from .model import Model

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FORMULA = re.compile(r"\(*\w+\)*( [-+] \(*\w+\)*|(\*|//)\(*\w+\)*){1,50}")
"""The formulas of sizes that are understood. torch puts spaces around + and -, since a name may contain a hyphen."""


def state_types(skeleton: Skeleton, declare: Mapping[str, str], shapes: Mapping[str, Sequence[int]]) -> None:
    """State the types `declare` of values and the `shapes` of inputs in the model. Raises as the functions that do so."""
    if declare:
        declare_types(skeleton.proto, declare, _derived(skeleton))
    if shapes:
        sizes = overwrite_input_shapes(skeleton.proto, shapes)
        write_sizes(skeleton.proto, sizes, _derived(skeleton))


def _derived(skeleton: Skeleton) -> ModelProto | None:
    return Model(skeleton, constants_as_initializers=False).derived()


def declare_types(proto: ModelProto, texts: Mapping[str, str], derived: ModelProto | None) -> None:
    """State the types of values, name → text such as "float[N,64]", in the graphs of `proto` that define them.

    `derived` has the types that follow from the inputs, or is None where inference fails. The given types may not contradict these;
    other declarations of the model are replaced.
    Raises ArgumentError where a text is not a type, a name is not a value of a graph, or its type is known to be another.
    """
    inferred = None if derived is None else all_graphs(derived)
    for name, text in texts.items():
        kind = _parsed(name, text)
        homes = [index for index, graph in enumerate(all_graphs(proto)) if name in _values_of(graph)]
        if not homes:
            raise ArgumentError(f"--declare: there is no value '{name}' in the graphs of the model")
        for index in homes:
            known = None if inferred is None else _stated_in(inferred[index]).get(name)
            if known is not None and _contradicts(kind, known):
                raise ArgumentError(f"--declare: '{name}' is {shown_type(known)}, not {shown_type(kind)}")
            _declare(all_graphs(proto)[index], name, kind)


def _parsed(name: str, text: str) -> TypeProto:
    """The type that `text` describes, in the notation of onnx.parser."""
    try:
        graph = parser.parse_graph(f"g ({text} v) => () {{}}" if _TYPE.fullmatch(text) else "")
    except (parser.ParseError, RuntimeError, IndexError):  # the last for a number that is too large
        graph = GraphProto()
    if [value.name for value in graph.input] != ["v"] or not type_protos.type_string(graph.input[0].type):
        raise ArgumentError(f"--declare: '{shortened(text)}' of '{name}' is not a type as in float[N,64]")
    return graph.input[0].type


_TYPE = re.compile(r"[\w\s\[\](),?]+")
"""The characters of types. The parser would read other characters as parts of a graph."""


def _values_of(graph: GraphLike) -> set[str]:
    return set(filter(None, defined_names(graph))) if isinstance(graph, GraphProto) else set()


def _stated_in(graph: GraphLike) -> dict[str, TypeProto]:
    if not isinstance(graph, GraphProto):
        return {}
    types = {tensor.name: make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    types.update((value.name, value.type) for value in (*graph.value_info, *graph.output, *graph.input))
    return types


def _contradicts(kind: TypeProto, known: TypeProto) -> bool:
    text = type_protos.type_string(known)
    if text is not None and text != type_protos.type_string(kind):
        return True
    declared, derived = type_protos.shape_of(kind), type_protos.shape_of(known)
    return declared is not None and derived is not None and contradict(declared, derived)


def _declare(graph: GraphLike, name: str, kind: TypeProto) -> None:
    assert isinstance(graph, GraphProto)
    stated = [value for value in (*graph.value_info, *graph.output) if value.name == name]
    for value in stated or [graph.value_info.add(name=name)]:
        value.type.CopyFrom(kind)


def shown_type(kind: TypeProto) -> str:
    """A type as messages show it: "float[N,64]", "float[]" where the rank is unknown, or the notation of
    schemas if it is not a tensor.
    """
    if kind.WhichOneof("value") != "tensor_type":
        return type_protos.type_string(kind) or "of unknown type"
    shape = type_protos.shape_of(kind)
    dims = "[]" if shape is None else show(shape) if shape else ""
    return f"{type_protos.elem_type_name(kind.tensor_type.elem_type)}{dims}"


def overwrite_input_shapes(proto: ModelProto, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Fix the shapes of graph inputs, name → dimensions; only unknown dimensions may change. Returns the size of each symbol.

    A symbol of a fixed input gets the same size in the other inputs.

    Raises ArgumentError where a name is not an input, the rank or a known dimension differs, or one symbol would get two sizes.
    """
    inputs = {value.name: value for value in proto.graph.input}
    symbols: dict[str, int] = {}
    for name, dims in shapes.items():
        if name not in inputs:
            raise ArgumentError(f"--overwrite-input-shape: there is no input '{name}'; inputs are {listed(list(inputs))}")
        _overwrite(inputs[name], dims, symbols)
    for value in inputs.values():
        _write_symbols(value.type, symbols)
    return symbols


def _overwrite(value: ValueInfoProto, dims: Sequence[int], symbols: dict[str, int]) -> None:
    """Fix the shape of one input to `dims`, and add the sizes of its symbols to `symbols`."""
    if value.type.WhichOneof("value") != "tensor_type":
        raise ArgumentError(f"--overwrite-input-shape: input '{value.name}' is not a tensor")
    shape = value.type.tensor_type.shape
    declared = list(shape.dim) if value.type.tensor_type.HasField("shape") else None
    if declared is not None and len(declared) != len(dims):
        raise ArgumentError(
            f"--overwrite-input-shape: input '{value.name}' has rank {len(declared)}, and {len(dims)} dimensions were given"
        )
    for index, size in enumerate(dims):
        if size < 0:
            raise ArgumentError(f"--overwrite-input-shape: input '{value.name}' cannot have a dimension of {size}")
        if declared is not None and declared[index].HasField("dim_value") and declared[index].dim_value != size:
            raise ArgumentError(
                f"--overwrite-input-shape: dimension {index} of input '{value.name}' is {declared[index].dim_value}, not {size}"
            )
        symbol = declared[index].dim_param if declared is not None else ""
        if symbol and symbols.setdefault(symbol, size) != size:
            raise ArgumentError(
                f"--overwrite-input-shape: '{symbol}' would be both {symbols[symbol]} and {size}, "
                f"in dimension {index} of '{value.name}'"
            )
    del shape.dim[:]
    shape.dim.extend(TensorShapeProto.Dimension(dim_value=size) for size in dims)


def write_sizes(proto: ModelProto, sizes: Mapping[str, int], derived: ModelProto | None) -> None:
    """Replace open dimensions by numbers, in all graphs of `proto`, where they are known because its inputs are fixed now.

    `sizes` are the sizes of the symbols of these inputs. `derived` has the types that follow from the inputs; it takes precedence
    over a symbol, since exporters give the same name to dimensions that are equal only by chance. Functions keep their symbols,
    because each call may have other sizes.
    """
    inferred = None if derived is None else all_graphs(derived)
    for position, graph in enumerate(all_graphs(proto)):
        if isinstance(graph, GraphProto):
            shapes = {} if inferred is None else shapes_of(inferred[position])
            for value in (*graph.input, *graph.output, *graph.value_info):
                _write_derived(value.type.tensor_type, shapes.get(value.name))
                _write_symbols(value.type, sizes)


def _write_derived(tensor: TypeProto.Tensor, derived: Shape | None) -> None:
    if derived is not None and len(tensor.shape.dim) == len(derived):
        for dim, size in zip(tensor.shape.dim, derived, strict=True):
            if isinstance(size, int) and not dim.HasField("dim_value"):
                dim.dim_value = size


def _write_symbols(kind: TypeProto, sizes: Mapping[str, int]) -> None:
    for tensor in type_protos.tensors_in(kind):
        for dim in tensor.shape.dim:
            size = _size_of(dim.dim_param, sizes)
            if size is not None:
                dim.dim_value = size


def _size_of(symbol: str, sizes: Mapping[str, int]) -> int | None:
    """The size of `symbol`, a name or, as torch writes it, a formula of names: "((s0 + 1)//2)". None where it is unknown."""
    if symbol in sizes or not _FORMULA.fullmatch(symbol):
        return sizes.get(symbol)
    try:
        size = _evaluated(ast.parse(symbol, mode="eval").body, sizes)
    except (SyntaxError, LookupError, ZeroDivisionError, MemoryError, RecursionError):
        return None
    return size if size >= 0 else None


def _evaluated(formula: ast.expr, sizes: Mapping[str, int]) -> int:
    """The value of a formula. Raises LookupError where a name or an operation is unknown."""
    match formula:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluated(left, sizes), _evaluated(right, sizes))
        case _:
            raise LookupError(ast.dump(formula))


def take_int32(proto: ModelProto) -> list[str]:
    """Let the inputs of type int64 be of int32, with a Cast behind each. Returns their names.

    Stored values, and inputs that are outputs, too, stay.
    """
    graph = proto.graph
    kept = {tensor.name for tensor in graph.initializer} | {value.name for value in graph.output}
    wide = [value for value in graph.input if value.type.tensor_type.elem_type == TensorProto.INT64 and value.name not in kept]
    taken = {name for each in all_graphs(proto) for name in defined_names(each)}
    wider: dict[str, str] = {}
    for value in wide:
        value.type.tensor_type.elem_type = TensorProto.INT32
        wider[value.name] = next(name for number in count(1) if (name := f"{value.name}_int64_{number}") not in taken)
    _read_instead(graph, wider)
    to = TensorProto.INT64 if (default_opset(proto.opset_import) or 1) >= 6 else "INT64"
    nodes = [make_node("Cast", [name], [wide_name], to=to) for name, wide_name in wider.items()]
    nodes += graph.node
    del graph.node[:]
    graph.node.extend(nodes)
    return [*wider]


def _read_instead(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Let the nodes of the graph, and of the graphs in it, read other values."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for _, inner in subgraphs(node):
            _read_instead(inner, names)
            for value in inner.output:
                value.name = names.get(value.name, value.name)
