"""The number of bytes that a tensor has to have, and parts of a payload."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from split_rewrite.rewriter.errors import InvalidModelError
from split_rewrite.rewriter.storage.payload import KEPT_INT64, Payload, is_kept, raw_length
from split_rewrite.rewriter.storage.source_file import model_file


@pytest.mark.parametrize(
    ("kind", "dims", "length"),
    [
        (TensorProto.FLOAT, (2, 3), 24),
        (TensorProto.COMPLEX128, (2,), 32),
        (TensorProto.INT4, (3,), 2),
        (TensorProto.UINT4, (0, 7), 0),
        (TensorProto.BOOL, (), 1),
    ],
)
def test_a_type_and_a_shape_take_a_number_of_bytes(kind: int, dims: tuple[int, ...], length: int) -> None:
    assert raw_length(TensorProto(data_type=kind, dims=dims)) == length


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (
            TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, -1]),
            r"tensor 'w': its shape \[2, -1\] has a negative dimension",
        ),
        (TensorProto(data_type=TensorProto.STRING, dims=[2]), "a tensor without a name: element type 8 cannot be stored as bytes"),
    ],
)
def test_what_has_no_length_is_refused(tensor: TensorProto, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        raw_length(tensor)


def test_vectors_that_may_hold_sizes_stay_in_memory() -> None:
    sizes = TensorProto(data_type=TensorProto.INT64, dims=[KEPT_INT64 // 8])
    assert is_kept(sizes, KEPT_INT64) and not is_kept(sizes, KEPT_INT64 + 8)
    assert not is_kept(TensorProto(data_type=TensorProto.FLOAT, dims=[2048]), 8192)


def test_a_part_of_a_payload_is_read_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes(range(32)))
    whole = Payload(model_file(path), 8, 16)
    first, second = whole.raw_range(0, 4), whole.raw_range(4, 16)
    assert first.read() == bytes(range(8, 12)) and second.read() == bytes(range(12, 24))
    assert second.follows(first) and not first.follows(second)
    assert whole.field == onnx.TensorProto.RAW_DATA_FIELD_NUMBER
