"""What the user says of types: the shapes of inputs, which are fixed in the model before anything else is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onnx import GraphProto, ModelProto, TensorShapeProto, TypeProto, ValueInfoProto

from ..errors import ArgumentError, listed
from ..opsets.inference import Shape
from .declarations import shapes_of
from .survey import all_graphs


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
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]


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
