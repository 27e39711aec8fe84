"""Where the bytes of a tensor are if they are not in the model's protobuf, and how many there have to be.

Two kinds of tensors have their bytes elsewhere: those with external data, as ONNX defines it, and those whose payload was cut out
when the model was read, or stayed with the library that owns it. The latter are marked as external data at a location that no file
can have, so that a copy of the TensorProto also has the reference. https://onnx.ai/onnx/repo-docs/ExternalData.html
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from onnx import TensorProto, numpy_helper

from ..errors import InvalidModelError
from . import wire
from .foreign_tensors import ForeignTensors
from .source_file import SourceFile

MARK = "\0split-rewrite"
"""The location of payloads that were cut out of the model file; no file can have this name."""
LOCATION_KEY = b"\x08location"  # how the key of every external location looks on the wire
CUT_FROM = 4096  # bytes; cutting a tensor out and putting it back takes 0.1 ms, no longer than to carry 16 KiB along
KEPT_INT64 = 1 << 16  # bytes
"""The number of bytes up to which an int64 vector stays in memory, because it may hold sizes, shapes or axes."""

RAW_DATA = TensorProto.RAW_DATA_FIELD_NUMBER
_FLOATS = {TensorProto.FLOAT_DATA_FIELD_NUMBER, TensorProto.DOUBLE_DATA_FIELD_NUMBER}
_VARINTS = {
    TensorProto.INT32_DATA_FIELD_NUMBER,
    TensorProto.INT64_DATA_FIELD_NUMBER,
    TensorProto.UINT64_DATA_FIELD_NUMBER,
}
CUT_FIELDS = {RAW_DATA} | _FLOATS | _VARINTS
"""The numbers of the TensorProto fields that may be cut out."""
_TYPED_FIELDS: dict[int, int] = {
    TensorProto.FLOAT: TensorProto.FLOAT_DATA_FIELD_NUMBER,
    TensorProto.COMPLEX64: TensorProto.FLOAT_DATA_FIELD_NUMBER,
    TensorProto.DOUBLE: TensorProto.DOUBLE_DATA_FIELD_NUMBER,
    TensorProto.COMPLEX128: TensorProto.DOUBLE_DATA_FIELD_NUMBER,
    TensorProto.INT64: TensorProto.INT64_DATA_FIELD_NUMBER,
    TensorProto.UINT32: TensorProto.UINT64_DATA_FIELD_NUMBER,
    TensorProto.UINT64: TensorProto.UINT64_DATA_FIELD_NUMBER,
}
DATA_FIELDS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
"""The names of the TensorProto fields that hold elements."""

# By number, because the oldest supported onnx has no names for the youngest types: bits of an element in raw data, dtype.
_TYPES = {
    1: (32, "float32"),
    2: (8, "uint8"),
    3: (8, "int8"),
    4: (16, "uint16"),
    5: (16, "int16"),
    6: (32, "int32"),
    7: (64, "int64"),
    9: (8, "bool"),
    10: (16, "float16"),
    11: (64, "float64"),
    12: (32, "uint32"),
    13: (64, "uint64"),
    14: (64, "complex64"),
    15: (128, "complex128"),
    16: (16, "bfloat16"),
    17: (8, "float8_e4m3fn"),
    18: (8, "float8_e4m3fnuz"),
    19: (8, "float8_e5m2"),
    20: (8, "float8_e5m2fnuz"),
    21: (4, "uint4"),
    22: (4, "int4"),
    23: (4, "float4_e2m1fn"),
    24: (8, "float8_e8m0fnu"),
    25: (2, "uint2"),
    26: (2, "int2"),
    27: (6, "float6_e2m3fn"),
    28: (6, "float6_e3m2fn"),
}
_WINDOW = 1 << 20  # bytes


def label(tensor: TensorProto) -> str:
    """The name of `tensor` in messages."""
    return f"tensor {tensor.name!r}" if tensor.name else "a tensor without a name"


def element_bits(tensor: TensorProto) -> int:
    """The number of bits of one element of `tensor` as raw data. Raises InvalidModelError for types without a fixed size."""
    if tensor.data_type not in _TYPES:
        raise InvalidModelError(f"{label(tensor)}: element type {tensor.data_type} cannot be stored as bytes")
    return _TYPES[tensor.data_type][0]


def element_count(tensor: TensorProto) -> int:
    """The number of elements in the shape of `tensor`."""
    if any(dim < 0 for dim in tensor.dims):
        raise InvalidModelError(f"{label(tensor)}: its shape {list(tensor.dims)} has a negative dimension")
    return math.prod(tensor.dims)


def raw_length(tensor: TensorProto) -> int:
    """The number of bytes of raw data for the type and shape of `tensor`."""
    return (element_count(tensor) * element_bits(tensor) + 7) // 8


def is_vector_of_sizes(tensor: TensorProto, length: int) -> bool:
    """Whether `tensor`, of `length` bytes, may hold sizes, shapes or axes, which shape inference reads."""
    return tensor.data_type == TensorProto.INT64 and len(tensor.dims) <= 1 and length <= KEPT_INT64


def is_kept(tensor: TensorProto, length: int) -> bool:
    """Whether a payload of `length` bytes stays in memory."""
    return length < CUT_FROM or is_vector_of_sizes(tensor, length)


@dataclass(frozen=True)
class Payload:
    """`length` bytes at `offset` of a file or of a ForeignTensors: the value of the TensorProto field with the number `field`."""

    file: SourceFile | ForeignTensors
    offset: int
    length: int
    field: int = RAW_DATA

    def read(self) -> bytes:
        """Read the bytes. Raises InvalidModelError where the file has changed."""
        return self.file.read(self.offset, self.length)

    def raw_range(self, start: int, stop: int) -> Payload:
        """The part of the payload from byte `start` to byte `stop`."""
        return Payload(self.file, self.offset + start, stop - start, self.field)

    def follows(self, other: Payload) -> bool:
        """Whether this payload begins where `other` ends in the same file."""
        return self.file == other.file and self.offset == other.offset + other.length


class Readable(wire.Piece, Protocol):
    """Anything that can be read as the value of the TensorProto field with the number `field`."""

    @property
    def field(self) -> int: ...

    def read(self) -> bytes: ...


def is_external(tensor: TensorProto) -> bool:
    """Whether the payload is outside the TensorProto: it was cut out, or is external data."""
    return tensor.data_location == TensorProto.EXTERNAL


def is_cut(tensor: TensorProto) -> bool:
    """Whether the payload was cut out of the model file."""
    return is_external(tensor) and any(entry.value == MARK for entry in tensor.external_data)


def typed_field(tensor: TensorProto) -> int:
    """The number of the field with the elements of `tensor` if they are not raw data."""
    return _TYPED_FIELDS.get(tensor.data_type, TensorProto.INT32_DATA_FIELD_NUMBER)


def has_raw_layout(tensor: TensorProto, field: int) -> bool:
    """Whether the bytes of `field` of `tensor` are the same as its raw data."""
    return field == RAW_DATA or (field in _FLOATS and field == typed_field(tensor))


def external_entries(tensor: TensorProto) -> dict[str, str]:
    """The external data entries of `tensor`: key → value."""
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if not isinstance(entry.key, str) or not isinstance(entry.value, str):  # protobuf hands on bytes that are not text
            raise InvalidModelError(f"{label(tensor)}: its external data has an entry that is not UTF-8")
        if entry.key in entries:
            raise InvalidModelError(f"{label(tensor)}: its external data has two entries '{entry.key}'")
        entries[entry.key] = entry.value
    if "location" not in entries:
        raise InvalidModelError(f"{label(tensor)}: its external data has no location")
    return entries


def byte_number(tensor: TensorProto, entries: dict[str, str], key: str, default: int) -> int:
    """The entry `key` as a number of bytes, or `default` where it is absent. Raises InvalidModelError for anything but a number."""
    text = entries.get(key, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InvalidModelError(f"{label(tensor)}: the {key} of its external data is {text[:30]!r}, not a byte count")
    return int(text)


def refer(tensor: TensorProto, location: str, offset: int, length: int, **more: int) -> None:
    """Let `tensor` refer to `length` bytes at `offset` of `location` as its payload."""
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": offset, "length": length, **more}.items():
        tensor.external_data.add(key=key, value=str(value))


def refer_to_cut(tensor: TensorProto, offset: int, length: int, field: int) -> None:
    """Mark the payload of `tensor`, the field `field`, as cut out: it is `length` bytes at `offset` of the model file or
    ForeignTensors.

    Some writers write a data_location although it is the default; this is remembered.
    """
    more = {} if field == RAW_DATA else {"field": field}
    if tensor.HasField("data_location"):
        more["explicit"] = 1
    refer(tensor, MARK, offset, length, **more)


def without_payload(tensor: TensorProto) -> TensorProto:
    """A copy of `tensor` as it was in the file, but without its payload."""
    head = TensorProto()
    head.CopyFrom(tensor)
    for field in (*DATA_FIELDS, "external_data", "data_location"):
        head.ClearField(field)
    if is_cut(tensor) and "explicit" in external_entries(tensor):
        head.data_location = TensorProto.DEFAULT
    return head


def cut_payload(tensor: TensorProto, model: SourceFile | ForeignTensors) -> Payload:
    """The payload of `tensor` that was cut out of `model`.

    Raises InvalidModelError where its length does not fit type and shape.
    """
    entries = external_entries(tensor)
    if any(tensor.HasField(n) if n == "raw_data" else len(getattr(tensor, n)) for n in DATA_FIELDS):
        raise InvalidModelError(f"{label(tensor)}: has two payloads")
    payload = Payload(model, int(entries["offset"]), int(entries["length"]), int(entries.get("field", RAW_DATA)))
    if has_raw_layout(tensor, payload.field):
        _require_length(tensor, payload.length)
    elif payload.field != typed_field(tensor):
        raise InvalidModelError(f"{label(tensor)}: has its data in a field that is not for its element type")
    else:
        _require_varints(tensor, payload)
    return payload


def file_payload(tensor: TensorProto, file: SourceFile) -> Payload:
    """The payload of a tensor whose external data is in `file`. Raises: InvalidModelError if it does not fit."""
    entries = external_entries(tensor)
    needed = raw_length(tensor)
    offset = byte_number(tensor, entries, "offset", 0)
    _require_length(tensor, byte_number(tensor, entries, "length", needed))
    if offset + needed > file.size:
        raise InvalidModelError(f"{label(tensor)}: needs bytes {offset} to {offset + needed} of {file.name}, which has {file.size}")
    return Payload(file, offset, needed)


def require_fitting_raw_data(tensor: TensorProto) -> None:
    """Raises InvalidModelError where `tensor` holds more or less raw data than type and shape take."""
    if tensor.HasField("raw_data") and tensor.data_type in _TYPES and not is_external(tensor):
        _require_length(tensor, len(tensor.raw_data))


def _require_length(tensor: TensorProto, length: int) -> None:
    """Raises InvalidModelError where `length` bytes do not fit type and shape."""
    if length != raw_length(tensor):
        raise InvalidModelError(
            f"{label(tensor)}: has {length} bytes of data, but its type and shape {list(tensor.dims)} take {raw_length(tensor)}"
        )


def _require_varints(tensor: TensorProto, payload: Payload) -> None:
    """Raises InvalidModelError where the payload is not a list of packed integers with as many elements as the tensor's shape.

    Neither protobuf nor onnx will look at this payload, so a single wrong byte would go unnoticed.
    """
    count = unfinished = 0
    for start in range(0, payload.length, _WINDOW):
        window = np.frombuffer(payload.raw_range(start, min(start + _WINDOW, payload.length)).read(), np.uint8)
        last_bytes = np.flatnonzero(window < 0x80)
        lengths = np.diff(last_bytes, prepend=-1 - unfinished)
        if np.any(lengths > 10):
            raise InvalidModelError(f"{label(tensor)}: has a packed integer of more than ten bytes")
        count += len(last_bytes)
        unfinished = len(window) - 1 - last_bytes[-1] if len(last_bytes) else unfinished + len(window)
    needed = raw_length(tensor) if element_bits(tensor) in (2, 4) else element_count(tensor)
    if unfinished or count != needed:
        raise InvalidModelError(f"{label(tensor)}: has {count} packed integers, its type and shape take {needed}")


def inline_copy(tensor: TensorProto, payload: Readable) -> TensorProto:
    """A copy of `tensor` that contains `payload`."""
    copy = TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
    copy.MergeFromString(wire.header(payload.field, payload.length) + payload.read())
    return copy


def raw_bytes(tensor: TensorProto) -> bytes:
    """The payload of a tensor that contains it, as raw data: little-endian, with elements of less than a byte packed.

    Raises InvalidModelError where it does not fit type and shape.
    """
    if tensor.HasField("segment"):
        raise InvalidModelError(f"{label(tensor)}: is one segment of a tensor, which is not supported")
    if tensor.HasField("raw_data"):
        _require_length(tensor, len(tensor.raw_data))
        return tensor.raw_data
    field = typed_field(tensor)
    if field == TensorProto.FLOAT_DATA_FIELD_NUMBER:
        values = np.array(tensor.float_data, dtype="<f4")
    elif field == TensorProto.DOUBLE_DATA_FIELD_NUMBER:
        values = np.array(tensor.double_data, dtype="<f8")
    elif field == TensorProto.INT64_DATA_FIELD_NUMBER:
        values = np.array(tensor.int64_data, dtype="<i8")
    elif field == TensorProto.UINT64_DATA_FIELD_NUMBER:
        values = np.array(tensor.uint64_data, dtype="<u8").astype(f"<u{element_bits(tensor) // 8}")
    else:
        bits = element_bits(tensor)
        numbers = np.array(tensor.int32_data, dtype="<i4")
        _require_bits(tensor, numbers, max(bits, 8))
        values = numbers.astype(f"<u{max(1, bits // 8)}")
        if bits == 6:
            values = np.packbits(np.unpackbits(values[:, None], axis=1, count=6, bitorder="little"), bitorder="little")
    raw = values.tobytes()
    _require_length(tensor, len(raw))
    return raw


def _require_bits(tensor: TensorProto, numbers: np.ndarray, bits: int) -> None:
    """Raises InvalidModelError where one of `numbers` does not fit into `bits` bits, signed or unsigned."""
    beyond = numbers[(numbers < -(1 << (bits - 1))) | (numbers >= 1 << bits)]
    if beyond.size:
        raise InvalidModelError(f"{label(tensor)}: has the number {beyond[0]} in its data, which does not fit {bits} bits")


def element_range(raw: bytes, bits: int, start: int, stop: int) -> bytes:
    """The elements from `start` to `stop` of packed raw data, as packed raw data."""
    if bits % 8 == 0:
        return raw[start * bits // 8 : stop * bits // 8]
    unpacked = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
    return np.packbits(unpacked[start * bits : stop * bits], bitorder="little").tobytes()


def array_of(tensor: TensorProto) -> np.ndarray:
    """The elements of a tensor that contains them, as an array; types that numpy lacks are those of ml_dtypes.

    Raises InvalidModelError where they do not fit type and shape, and for strings. onnx's own `to_array` is not used, because in
    onnx 1.17 it returns the bits of bfloat16 and narrower floats as integers.
    """
    return decoded(raw_bytes(tensor), tensor)


def tensor_of(array: np.ndarray, name: str) -> TensorProto:
    """A tensor `name` with the elements of `array`: the inverse of `array_of`. onnx 1.17 has none that
    accepts the types of ml_dtypes.
    """
    if array.dtype.kind in "biufcOSU":
        return numpy_helper.from_array(array, name)
    tensor = TensorProto(name=name, data_type=element_type_of(array.dtype), dims=array.shape)
    tensor.raw_data = np.ascontiguousarray(array).tobytes()
    bits = element_bits(tensor)
    if bits % 8:
        of_elements = np.unpackbits(np.frombuffer(tensor.raw_data, np.uint8)[:, None], axis=1, count=bits, bitorder="little")
        tensor.raw_data = np.packbits(of_elements, bitorder="little").tobytes()
    return tensor


def decoded(raw: bytes, tensor: TensorProto) -> np.ndarray:
    """Raw data that fits the type and shape of `tensor`, as an array; types that numpy lacks are those of ml_dtypes."""
    bits = element_bits(tensor)
    dtype = element_dtype(tensor)
    if bits % 8 == 0:
        values = np.frombuffer(raw, dtype)
    else:
        of_elements = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[: element_count(tensor) * bits]
        values = np.packbits(of_elements.reshape(-1, bits), axis=1, bitorder="little").ravel().view(dtype)
    try:
        return values.reshape(tensor.dims)
    except (ValueError, OverflowError) as error:
        raise InvalidModelError(f"{label(tensor)}: its shape {list(tensor.dims)}: {error}") from error


def element_type_of(dtype: np.dtype) -> int:
    """The TensorProto.DataType for arrays of `dtype`. onnx 1.17 does not know it for the types of ml_dtypes."""
    named = {name: number for number, (_, name) in _TYPES.items()}
    return TensorProto.STRING if dtype.kind in "OSU" else named[dtype.name]


def element_dtype(tensor: TensorProto) -> np.dtype:
    """The numpy dtype of the elements of `tensor`."""
    _, name = _TYPES[tensor.data_type]
    if name in np.sctypeDict:
        return np.dtype(name).newbyteorder("<")
    import ml_dtypes  # only few models need it, and onnx 1.17 does not import it

    if not hasattr(ml_dtypes, name):
        raise InvalidModelError(f"{label(tensor)}: element type {name} needs a newer ml_dtypes")
    return np.dtype(getattr(ml_dtypes, name))
