"""What the user says of types: shapes of inputs, and types of values that inference cannot know.

Both are written into the model before anything else is done, so that all that follows finds them where types are declared.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from onnx import GraphProto, ModelProto, TensorShapeProto, TypeProto, ValueInfoProto, parser
from onnx.helper import make_tensor_type_proto

from ..errors import ArgumentError, listed, shortened
from ..opsets import inference
from ..opsets.inference import Shape
from .declarations import contradict, shapes_of, show
from .protos import GraphLike, defined_names
from .survey import all_graphs

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FORMULA = re.compile(r"\(*\w+\)*( [-+] \(*\w+\)*|(\*|//)\(*\w+\)*){1,50}")
"""What may be one: torch puts blanks around + and -, and a name may have a hyphen in it."""


def declare_types(proto: ModelProto, texts: Mapping[str, str], derived: ModelProto | None) -> None:
    """State the types of values, name to text as in "float[N,64]", in the graphs of `proto` that define them.

    `derived`: what inference finds by the inputs alone; None where it finds nothing. It may not be contradicted; what the model
    itself declares beyond that is replaced.
    Raises ArgumentError where a text is no type, a name is no value of a graph, or its type is known to be another.
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
    """The type that `text` says, in the notation of onnx.parser."""
    try:
        graph = parser.parse_graph(f"g ({text} v) => () {{}}" if _TYPE.fullmatch(text) else "")
    except (parser.ParseError, RuntimeError, IndexError):  # the last for a number that is too large
        graph = GraphProto()
    if [value.name for value in graph.input] != ["v"] or not inference.type_string(graph.input[0].type):
        raise ArgumentError(f"--declare: '{shortened(text)}' of '{name}' is not a type as in float[N,64]")
    return graph.input[0].type


_TYPE = re.compile(r"[\w\s\[\](),?]+")
"""The characters of types; others would be taken for more of a graph."""


def _values_of(graph: GraphLike) -> set[str]:
    return set(filter(None, defined_names(graph))) if isinstance(graph, GraphProto) else set()


def _stated_in(graph: GraphLike) -> dict[str, TypeProto]:
    if not isinstance(graph, GraphProto):
        return {}
    types = {tensor.name: make_tensor_type_proto(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    types.update((value.name, value.type) for value in (*graph.value_info, *graph.output, *graph.input))
    return types


def _contradicts(kind: TypeProto, known: TypeProto) -> bool:
    text = inference.type_string(known)
    if text is not None and text != inference.type_string(kind):
        return True
    declared, derived = inference.shape_of(kind), inference.shape_of(known)
    return declared is not None and derived is not None and contradict(declared, derived)


def _declare(graph: GraphLike, name: str, kind: TypeProto) -> None:
    assert isinstance(graph, GraphProto)
    stated = [value for value in (*graph.value_info, *graph.output) if value.name == name]
    for value in stated or [graph.value_info.add(name=name)]:
        value.type.CopyFrom(kind)


def shown_type(kind: TypeProto) -> str:
    """ "float[N,64]", "float[]" where the rank is unknown, or what schemas write for all that is no tensor."""
    if kind.WhichOneof("value") != "tensor_type":
        return inference.type_string(kind) or "of unknown type"
    shape = inference.shape_of(kind)
    dims = "[]" if shape is None else show(shape) if shape else ""
    return f"{inference.elem_type_name(kind.tensor_type.elem_type)}{dims}"


def overwrite_input_shapes(proto: ModelProto, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Fix the shapes of graph inputs, name to dimensions; only unknown dimensions may change. Returns the size of each symbol.

    A symbol of a fixed input gets its size in the other inputs too.

    Raises ArgumentError where a name is no input, its rank or a known dimension differs, or one symbol gets two sizes.
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
    """`symbols`, to which those of `value` are added: what each symbol stands for."""
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
                f"--overwrite-input-shape: '{symbol}' is {symbols[symbol]} and {size} at once, dimension {index} of '{value.name}'"
            )
    del shape.dim[:]
    shape.dim.extend(TensorShapeProto.Dimension(dim_value=size) for size in dims)


def write_sizes(proto: ModelProto, sizes: Mapping[str, int], derived: ModelProto | None) -> None:
    """Write numbers for the open dimensions that are numbers now that inputs of `proto` are fixed, in all its graphs.

    `sizes`: of the symbols of those inputs; `derived`: what inference finds by the inputs alone, which a symbol may contradict,
    since exporters give one name to what is equal only by chance. Functions keep their symbols: each call may pass other sizes.
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
    for tensor in _tensors(kind):
        for dim in tensor.shape.dim:
            size = _size_of(dim.dim_param, sizes)
            if size is not None:
                dim.dim_value = size


def _size_of(symbol: str, sizes: Mapping[str, int]) -> int | None:
    """What `symbol` stands for: a name, or as torch writes it a formula of names, "((s0 + 1)//2)". None where that is open."""
    if symbol in sizes or not _FORMULA.fullmatch(symbol):
        return sizes.get(symbol)
    try:
        size = _evaluated(ast.parse(symbol, mode="eval").body, sizes)
    except (SyntaxError, LookupError, ZeroDivisionError, MemoryError, RecursionError):
        return None
    return size if size >= 0 else None


def _evaluated(formula: ast.expr, sizes: Mapping[str, int]) -> int:
    """Raises LookupError where a name or an operation is unknown."""
    match formula:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluated(left, sizes), _evaluated(right, sizes))
        case _:
            raise LookupError(ast.dump(formula))


def _tensors(kind: TypeProto) -> Iterator[TypeProto.Tensor | TypeProto.SparseTensor]:
    """The tensor types in `kind`: itself, or those that it is a sequence, optional or map of."""
    match kind.WhichOneof("value"):
        case "tensor_type":
            yield kind.tensor_type
        case "sparse_tensor_type":
            yield kind.sparse_tensor_type
        case "sequence_type":
            yield from _tensors(kind.sequence_type.elem_type)
        case "optional_type":
            yield from _tensors(kind.optional_type.elem_type)
        case "map_type":
            yield from _tensors(kind.map_type.value_type)
