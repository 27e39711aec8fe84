"""The types that a model declares for its inputs: their shapes, dtypes and text, and what fits them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from ...errors import ArgumentError
from ...execution.dtypes import ML_DTYPES, numpy_dtype
from ...opsets.type_protos import sizes_and_symbols
from .readers import Dim

Shape = tuple[Dim, ...] | None


def values_of(serialized: Sequence[bytes]) -> list[onnx.ValueInfoProto]:
    return [onnx.ValueInfoProto.FromString(data) for data in serialized]


def _tensor_type(declared: onnx.TypeProto) -> onnx.TypeProto.Tensor | None:
    """The tensor type in `declared`: the type itself, or that of the elements of a sequence or optional;
    None where there is none.
    """
    while (kind := declared.WhichOneof("value")) in ("sequence_type", "optional_type"):
        declared = getattr(declared, kind).elem_type
    return declared.tensor_type if kind == "tensor_type" else None


def declared_shape(declared: onnx.TypeProto) -> Shape:
    """The dimensions: sizes, names, or "" for unknown ones; None where the rank is unknown."""
    tensor = _tensor_type(declared)
    if tensor is None:
        return ()
    if not tensor.HasField("shape"):
        return None
    return sizes_and_symbols(tensor.shape)


def holds_integers(declared: onnx.TypeProto) -> bool:
    """Whether the input may need small values: integers that may be indices, or strings that may be read as numbers."""
    tensor = _tensor_type(declared)
    if tensor is None:
        return False
    name = onnx.TensorProto.DataType.Name(tensor.elem_type)
    return "INT" in name or name == "STRING"


def holds_floats(declared: onnx.TypeProto) -> bool:
    tensor = _tensor_type(declared)
    name = onnx.TensorProto.DataType.Name(tensor.elem_type) if tensor is not None else ""
    return "FLOAT" in name or name == "DOUBLE"


def input_types(serialized: Sequence[bytes]) -> list[str]:
    """Name and type of each input of a Description, without its shape: "x float32"."""
    return [f"{value.name} {type_text(value.type, with_shape=False)}" for value in values_of(serialized)]


def check_dtype(name: str, array: np.ndarray, declared: onnx.TypeProto) -> None:
    if declared.WhichOneof("value") != "tensor_type":
        raise ArgumentError(f"--input-data {name}: an array does not fit the declared {type_text(declared)}")
    dtype = numpy_dtype(declared.tensor_type.elem_type)
    if dtype.hasobject and array.dtype.kind in "OUST":
        return
    if array.dtype != dtype and array.dtype != np.dtype(f"V{dtype.itemsize}"):
        raise ArgumentError(f"--input-data {name}: {array.dtype} does not fit the declared {type_text(declared)}")


def as_declared(array: np.ndarray, declared: onnx.TypeProto) -> np.ndarray:
    """`array` in the declared dtype: .npy files store strings as fixed-width text, and bfloat16 as raw bytes."""
    dtype = numpy_dtype(declared.tensor_type.elem_type)
    if dtype.hasobject:
        return array.astype(str).astype(object)
    return array.view(dtype) if array.dtype.kind == "V" else array


def type_text(declared: onnx.TypeProto, with_shape: bool = True) -> str:
    """A type in words: "float32[batch,3]", "seq(float32[?])", "optional(…)", "map"."""
    kind = declared.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({type_text(declared.sequence_type.elem_type, with_shape)})"
    if kind == "optional_type":
        return f"optional({type_text(declared.optional_type.elem_type, with_shape)})"
    if kind != "tensor_type":
        return (kind or "no type").removesuffix("_type")
    name = onnx.TensorProto.DataType.Name(declared.tensor_type.elem_type)
    if name == "UNDEFINED":
        return "a tensor of no element type"
    dtype = ML_DTYPES.get(name) or ("string" if name == "STRING" else numpy_dtype(declared.tensor_type.elem_type).name)
    if not with_shape:
        return dtype
    shape = declared_shape(declared)
    return f"{dtype} of unknown rank" if shape is None else dtype + list_text(["?" if dim == "" else dim for dim in shape])


def list_text(dims: Sequence[Any]) -> str:
    return f"[{','.join(map(str, dims))}]"
