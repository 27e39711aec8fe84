"""Decides where each payload of a result goes, before any byte is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import TensorProto

from ..errors import ArgumentError, InvalidModelError, SplitRewriteError
from . import wire
from .payload import Payload, has_raw_layout, is_cut, is_vector_of_sizes, label, raw_length, refer, without_payload
from .skeleton import LARGEST_PROTOBUF, Skeleton, restored
from .source_file import SourceFile, location_problem
from .widened import WidenedPayload

_MODES = ("auto", "keep", "copy", "inline", "split")
_SPLIT_FROM = 1024  # bytes, as in onnx.save_model
"""The number of bytes from which on "split" puts a tensor into the data file, as in onnx.save_model."""
PAGE = 4096  # bytes; payloads of a page or more begin on one, so that runtimes can map them
_ALIGNMENT = 64  # bytes, of smaller payloads


@dataclass
class Layout:
    """The future contents of the model file and the data file, and the data files that stay in use. Spans refer to `source`."""

    source: wire.Source
    model: list[bytes | wire.Piece] = field(default_factory=list)
    data: list[bytes | wire.Piece] = field(default_factory=list)
    kept: set[tuple[int, int]] = field(default_factory=set)


def lay_out(skeleton: Skeleton, external_data: str, data_name: str, same_folder: bool) -> Layout:
    """Plan the result in the mode `external_data` (see `stage`), with `data_name` as the name of the data file.

    `same_folder` says whether the result will be in the folder of the input. Raises SplitRewriteError for an impossible mode, and
    InvalidModelError where a payload is missing, unsafe or of the wrong length.
    """
    mode, split_from = parsed(external_data)
    source, hits = skeleton.with_references()
    if mode == "auto":
        layout = _Planner(skeleton, source, "keep" if same_folder else "copy", 0, data_name).layout_of(hits)
        if wire.length_of(layout.model) <= LARGEST_PROTOBUF:
            return layout
        mode = "split"
    layout = _Planner(skeleton, source, mode, split_from, data_name).layout_of(hits)
    if layout.kept and not same_folder:
        raise ArgumentError("external data can only be kept if the result is written to the folder of the input")
    if wire.length_of(layout.model) > LARGEST_PROTOBUF:
        raise SplitRewriteError("the result has more than the 2 GiB that one file can hold; split its data off")
    return layout


def parsed(external_data: str) -> tuple[str, int]:
    """The mode of `--external-data` and the size in bytes of "split:BYTES". Raises ArgumentError for an unknown mode."""
    mode, colon, size = external_data.partition(":")
    if mode not in _MODES or (colon and not (mode == "split" and size.isascii() and size.isdigit() and len(size) < 20)):
        raise ArgumentError(f"--external-data: expected {', '.join(_MODES)} or split:BYTES, not {external_data!r}")
    return mode, int(size) if colon else _SPLIT_FROM


class _Planner:
    """Plans one result in one mode."""

    def __init__(self, skeleton: Skeleton, source: wire.Source, mode: str, split_from: int, data_name: str) -> None:
        self._skeleton = skeleton
        self._mode = mode
        self._split_from = split_from
        self._data_name = data_name
        self._problem = _name_problem(data_name)
        self._layout = Layout(source)
        self._data_length = 0
        self._places: dict[Payload | WidenedPayload, int] = {}

    def layout_of(self, hits: list[int]) -> Layout:
        """The layout of the model; `hits` are the positions of tensors that may refer to payloads on disk."""
        looked_at_from = self._split_from if self._mode == "split" else wire.NOWHERE
        self._layout.model = wire.rewrite(self._layout.source, {"TensorProto": self._tensor}, looked_at_from, hits)
        return self._layout

    def _tensor(self, source: wire.Source, start: int, stop: int, path: wire.MessagePath) -> list[bytes | wire.Piece] | None:
        """The pieces that replace the tensor from `start` to `stop`; None where it stays as it is."""
        tensor = TensorProto.FromString(source.read(start, stop))
        payload = self._skeleton.payload(tensor)
        if self._mode == "split" and _can_be_external(path):
            movable = _inline_payload(tensor, source, start, stop) if payload is None else payload
            if movable is not None and self._is_split_off(tensor, movable):
                return self._placed(tensor, movable)
        if payload is None:
            return None
        if is_cut(tensor) or self._mode in ("inline", "split"):
            return restored(tensor, payload)
        if self._mode == "copy" or isinstance(payload, WidenedPayload):
            return self._placed(tensor, payload)
        assert isinstance(payload.file, SourceFile)
        self._layout.kept.add(payload.file.identity)
        return None

    def _is_split_off(self, tensor: TensorProto, payload: Payload | WidenedPayload | wire.Span) -> bool:
        """Whether `tensor` goes to the data file."""
        if payload.length < self._split_from or is_vector_of_sizes(tensor, payload.length):
            return False
        return isinstance(payload, wire.Span) or has_raw_layout(tensor, payload.field)

    def _placed(self, tensor: TensorProto, payload: Payload | WidenedPayload | wire.Span) -> list[bytes | wire.Piece]:
        """The pieces for `tensor` if its `payload` goes to the data file."""
        if self._problem:
            raise SplitRewriteError(f"'{self._data_name}' cannot be the name of a data file: it {self._problem}")
        head = without_payload(tensor)
        refer(head, self._data_name, self._place(payload), payload.length)
        return [head.SerializeToString(deterministic=True)]

    def _place(self, payload: Payload | WidenedPayload | wire.Span) -> int:
        """Put `payload` into the data file, only once if several tensors share it. Returns its offset there in bytes."""
        if not isinstance(payload, wire.Span) and payload in self._places:
            return self._places[payload]
        length = payload.length
        gap = -self._data_length % (PAGE if length >= PAGE else _ALIGNMENT)
        offset = self._data_length + gap
        self._layout.data += [bytes(gap), payload] if gap else [payload]
        self._data_length = offset + length
        if not isinstance(payload, wire.Span):
            self._places[payload] = offset
        return offset


def _name_problem(name: str) -> str:
    """Why a data file cannot have this name; "" where it can."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "is not valid Unicode"
    return location_problem(name)


def _can_be_external(path: wire.MessagePath) -> bool:
    """Whether `onnx.load` reads external data for a tensor at this place in the model."""
    if path[-1] == "SparseTensorProto" or "TrainingInfoProto" in path:
        return False
    if path[-1] == "GraphProto":
        return "FunctionProto" not in path
    return path[-2] == "NodeProto"


def _inline_payload(tensor: TensorProto, source: wire.Source, start: int, stop: int) -> wire.Span | None:
    """The span in `source` with the bytes of a tensor, if they are in one piece and have the layout of raw data; else None."""
    spans = [
        wire.Span(field.start, field.stop)
        for field in wire.fields(source, start, stop)
        if field.wire_type == wire.LENGTH_DELIMITED and has_raw_layout(tensor, field.number)
    ]
    if tensor.data_type == TensorProto.STRING or len(spans) != 1:
        return None
    if spans[0].length != raw_length(tensor):
        raise InvalidModelError(f"{label(tensor)}: its data does not fit its type and shape {list(tensor.dims)}")
    return spans[0]
