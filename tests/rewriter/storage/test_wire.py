"""Protobuf's wire format: fields are found and rewritten without parsing the message."""

from __future__ import annotations

import pytest
from onnx import TensorProto

from split_rewrite.rewriter.storage.wire import encode_varint, find_all, header, length_of

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (1 << 35, b"\x80\x80\x80\x80\x80\x01")],
)
def test_varints(value: int, encoded: bytes) -> None:
    assert encode_varint(value) == encoded


def test_a_header_and_its_bytes_are_a_field_that_protobuf_reads() -> None:
    data = bytes(range(200))
    message = header(TensorProto.RAW_DATA_FIELD_NUMBER, len(data)) + data
    assert TensorProto.FromString(message).raw_data == data


def test_the_length_of_pieces_is_their_sum() -> None:
    assert length_of([b"abc", b"", b"de"]) == 5


def test_all_places_of_a_pattern_are_found() -> None:
    assert find_all(b"xabcab", b"ab") == [1, 4]
    assert find_all(b"aaa", b"b") == []
