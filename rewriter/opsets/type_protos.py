"""Reads TypeProtos: element types, shapes and dimensions, as text and as Python values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TypeGuard

import onnx
from onnx import GraphProto, TypeProto

Dimension = int | str | None

Shape = tuple[Dimension, ...]


@cache
def tensor_type(text: str) -> int:
    """The TensorProto.DataType for "tensor(int64)"; 0 for anything but a tensor type."""
    name = text[7:-1].upper() if text.startswith("tensor(") else ""
    return onnx.TensorProto.DataType.Value(name) if name in set(onnx.TensorProto.DataType.keys()) else 0


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


def batches(graph: onnx.GraphProto) -> frozenset[str]:
    """The symbols of first dimensions of inputs with two or more dimensions: nobody runs a model with a batch of 0
    (docs/promise.md).
    """
    shapes = (shape_of(value.type) or () for value in graph.input)
    return frozenset(shape[0] for shape in shapes if len(shape) > 1 and isinstance(shape[0], str))


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


def _is_text(name: object) -> bool:
    """Whether there is a name and it is valid UTF-8. protobuf returns other names as bytes."""
    return isinstance(name, str) and name != ""


def symbol(dim: onnx.TensorShapeProto.Dimension) -> str:
    """The symbol of a dimension; "" where it has none, or one that is not valid UTF-8."""
    return dim.dim_param if _is_text(dim.dim_param) else ""


_NO_NAMES = frozenset(("?", "-1", "None"))
"""What exporters call a dimension of which they do not know the length. Several of that name need not be equal."""


def is_unknown_size(dim: onnx.TensorShapeProto.Dimension) -> bool:
    """Whether the dimension has a negative size, or one of the names that are none."""
    return dim.dim_value < 0 or dim.dim_param in _NO_NAMES


def forget_no_names(kind: TypeProto) -> None:
    """Let dimensions with a name that is none, or a negative size, be open ones, in place."""
    for tensor in tensors_in(kind):
        for dim in filter(is_unknown_size, tensor.shape.dim):
            dim.ClearField("value")


def shared_no_names(graph: GraphProto) -> frozenset[str]:
    """The names of unknown dimensions that several dimensions of the graph's inputs have."""
    dims = (dim for value in graph.input for tensor in tensors_in(value.type) for dim in tensor.shape.dim)
    counts = Counter(dim.dim_param for dim in dims if dim.dim_param in _NO_NAMES)
    return frozenset(name for name, count in counts.items() if count > 1)


def sizes_and_symbols(shape: onnx.TensorShapeProto) -> tuple[int | str, ...]:
    """The declared sizes and symbols; "" for unknown dimensions. Exporters write negative sizes for those."""
    return tuple([dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else symbol(dim) for dim in shape.dim])


def is_known(shape: Shape | None) -> TypeGuard[Shape]:
    """Whether the rank is known and every dimension is a number."""
    return shape is not None and all(isinstance(dim, int) for dim in shape)


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


def shapeless(kind: TypeProto) -> TypeProto:
    """The type of a tensor, or of a sequence or an optional of them, without its shape."""
    if kind.HasField("optional_type"):
        return TypeProto(optional_type=TypeProto.Optional(elem_type=shapeless(kind.optional_type.elem_type)))
    if kind.HasField("sequence_type"):
        return TypeProto(sequence_type=TypeProto.Sequence(elem_type=shapeless(kind.sequence_type.elem_type)))
    return TypeProto(tensor_type=TypeProto.Tensor(elem_type=kind.tensor_type.elem_type))
