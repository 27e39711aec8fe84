"""The part of the protobuf wire format that is needed to cut payloads out of a serialized model and to put them back.

This module does not know what a tensor is: `rewrite` walks through the messages that can contain one and lets the caller replace
some; the lengths of all enclosing messages are computed again, from the inside out.
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, Protocol

import onnx

from ..errors import InvalidModelError

VARINT, LENGTH_DELIMITED = 0, 2
_FIXED_SIZE = {1: 8, 5: 4}
_DEEPEST = 100  # protobuf's own limit on nested messages
_LONGEST_HEADER = 20  # a tag and a length, ten bytes each
_WINDOW = 1 << 16
NOWHERE = 1 << 63
"""A value for `minimum` that no message reaches, so that only messages with one of `hits` are visited."""
LARGEST_PROTOBUF = 2**31 - 1  # bytes


class MalformedError(InvalidModelError):
    """The bytes are not a protobuf message; `str()` says where and why."""


class Field(NamedTuple):
    """One field of a message: its number, its wire type, its tag at `head`, and its value from `start` to `stop`."""

    number: int
    wire_type: int
    head: int
    start: int
    stop: int


class Span(NamedTuple):
    """The bytes from `start` to `stop` of the source that is being rewritten."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        """The length of the span in bytes."""
        return self.stop - self.start


class Piece(Protocol):
    """Anything that provides `length` bytes."""

    @property
    def length(self) -> int: ...


class Source(Protocol):
    """Random access to serialized bytes.

    `window` returns a block that contains `position`, and the position where the block begins.
    """

    size: int

    def window(self, position: int) -> tuple[bytes, int]: ...

    def read(self, start: int, stop: int) -> bytes: ...


class MemorySource:
    """A serialized message in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def window(self, position: int) -> tuple[bytes, int]:
        return self.data, 0

    def read(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]


def read_at(descriptor: int, length: int, position: int) -> bytes:
    """Read up to `length` bytes at `position` of a file. No other thread may read from `descriptor` at the same time."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, position)
    os.lseek(descriptor, position, os.SEEK_SET)  # Windows
    return os.read(descriptor, length)


class FileSource:
    """A serialized message in a file, of which only a small window is in memory."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self.size = size

    def window(self, position: int) -> tuple[bytes, int]:
        return read_at(self.descriptor, _WINDOW, position), position

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while start < stop:
            part = read_at(self.descriptor, stop - start, start)
            if not part:
                raise MalformedError(f"the file ends at byte {start}, {stop - start} bytes early")
            parts.append(part)
            start += len(part)
        return b"".join(parts)


MessagePath = tuple[str, ...]
"""The names of the enclosing messages of a message."""
Edit = Callable[[Source, int, int, MessagePath], "Sequence[bytes | Piece] | None"]
"""A function that returns the pieces that replace the message from start to stop, or None where it stays as it is."""


def fields(source: Source, position: int, end: int, minimum: int = 0, hits: Sequence[int] = ()) -> Iterator[Field]:
    """The fields of the message from `position` to `end` that have at least `minimum` bytes or contain one of `hits`.

    `hits` are sorted positions. Skipping a field takes about 0.1 µs, so a graph of a million small nodes is cheap.
    Raises MalformedError.
    """
    buffer, base, ready = b"", 0, -1
    target = _next_hit(hits, position)
    try:
        while position < end:
            if position > ready:
                buffer, base = source.window(position)
                filled = base + len(buffer)
                ready = filled if filled >= source.size else filled - _LONGEST_HEADER
            at = position - base
            key = buffer[at]
            length = buffer[at + 1]
            if key & 0x87 == LENGTH_DELIMITED and length < 0x80:
                stop = position + 2 + length
            elif key & 0x87 == LENGTH_DELIMITED and (high := buffer[at + 2]) < 0x80:
                stop = position + 3 + (length & 0x7F | high << 7)
            else:
                stop = _decode(buffer, base, position).stop
            if stop - position >= minimum or stop > target:
                if stop > end:
                    break
                yield _decode(buffer, base, position)
                target = _next_hit(hits, stop)
            position = stop
    except IndexError:
        raise MalformedError(_ends_inside(position)) from None
    if position != end:
        if end == source.size:
            raise MalformedError(_ends_inside(position))
        raise MalformedError(f"the field at byte {position} reaches beyond the end of its message at byte {end}")


def _ends_inside(position: int) -> str:
    return f"the file ends inside the field at byte {position}; perhaps its download or copy is incomplete"


def _next_hit(hits: Sequence[int], position: int) -> int:
    """The first of `hits` at or after `position`; NOWHERE if there is none."""
    index = bisect_left(hits, position)
    return hits[index] if index < len(hits) else NOWHERE


def _decode(buffer: bytes, base: int, position: int) -> Field:
    """The field whose tag is at `position`; `buffer` begins at `base`."""
    key, at = _varint(buffer, position - base)
    number, wire_type = key >> 3, key & 7
    if number == 0:
        raise MalformedError(f"the field at byte {position} has the number 0, which is not allowed")
    if wire_type == VARINT:
        _, stop = _varint(buffer, at)
        return Field(number, wire_type, position, base + at, base + stop)
    if wire_type == LENGTH_DELIMITED:
        length, at = _varint(buffer, at)
        return Field(number, wire_type, position, base + at, base + at + length)
    if wire_type in _FIXED_SIZE:
        return Field(number, wire_type, position, base + at, base + at + _FIXED_SIZE[wire_type])
    raise MalformedError(f"wire type {wire_type} at byte {position} does not occur in ONNX")


def _varint(buffer: bytes, at: int) -> tuple[int, int]:
    """The number in the varint at `at`, and the position behind it."""
    value = shift = 0
    while True:
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedError("a number has more than ten bytes")


def encode_varint(value: int) -> bytes:
    """`value` as a varint."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def header(number: int, length: int) -> bytes:
    """The tag and the length of a length-delimited field."""
    return encode_varint(number << 3 | LENGTH_DELIMITED) + encode_varint(length)


def length_of(pieces: Sequence[bytes | Piece]) -> int:
    """The length of all `pieces` in bytes."""
    return sum(len(piece) if isinstance(piece, bytes) else piece.length for piece in pieces)


@cache
def tensor_holders() -> Mapping[str, Mapping[int, str]]:
    """For each message, the fields through which it can contain a TensorProto: message → field number → inner message."""
    found: dict[str, dict[int, str]] = {}
    pending = [onnx.ModelProto.DESCRIPTOR]
    while pending:
        message = pending.pop()
        if message.name not in found:
            children = {field.number: field.message_type for field in message.fields if field.message_type is not None}
            found[message.name] = {number: child.name for number, child in children.items()}
            pending.extend(children.values())
    holders = {"TensorProto"}
    while grown := {name for name, children in found.items() if holders & set(children.values())} - holders:
        holders |= grown
    return {name: {n: child for n, child in found[name].items() if child in holders} for name in holders}


def rewrite(
    source: Source,
    edits: Mapping[str, Edit],
    minimum: int = NOWHERE,
    hits: Sequence[int] = (),
) -> list[bytes | Piece]:
    """The ModelProto in `source` with some messages replaced, as pieces that are to be written one after the other.

    `edits` maps the name of a message to `edit(source, start, stop, path)`, which returns the pieces that replace it, or None to
    leave it and to look inside, if it can contain tensors; `path` names the enclosing messages. Only messages of at least `minimum`
    bytes, or with one of `hits` (sorted positions) inside, are visited; all others stay byte for byte. Raises MalformedError.
    """
    whole = Span(0, source.size)
    return _rewrite_message(source, edits, minimum, hits, whole, ("ModelProto",)) or [whole]


def _rewrite_message(
    source: Source,
    edits: Mapping[str, Edit],
    minimum: int,
    hits: Sequence[int],
    span: Span,
    path: MessagePath,
) -> list[bytes | Piece] | None:
    """The pieces of the message at `span`; None where nothing in it changed."""
    if len(path) > _DEEPEST:
        raise MalformedError(f"messages are nested more than {_DEEPEST} deep")
    children = tensor_holders()[path[-1]]
    pieces: list[bytes | Piece] = []
    copied = span.start
    for field in fields(source, span.start, span.stop, minimum, hits):
        child = children.get(field.number)
        if child is None or field.wire_type != LENGTH_DELIMITED:
            continue
        inside = edits[child](source, field.start, field.stop, path) if child in edits else None
        if inside is None and child != "TensorProto":
            inside = _rewrite_message(source, edits, minimum, hits, Span(field.start, field.stop), (*path, child))
        if inside is None:
            continue
        pieces.append(Span(copied, field.head))
        pieces.append(header(field.number, length_of(inside)))
        pieces.extend(inside)
        copied = field.stop
    if not pieces:
        return None
    pieces.append(Span(copied, span.stop))
    return pieces


def find_all(data: bytes, pattern: bytes) -> list[int]:
    """The positions of `pattern` in `data`, sorted."""
    found = []
    position = data.find(pattern)
    while position >= 0:
        found.append(position)
        position = data.find(pattern, position + 1)
    return found
