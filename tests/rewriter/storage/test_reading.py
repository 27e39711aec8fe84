"""Reading: what is refused, and what is cut."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from storage_models import everywhere, field, runnable, tensors_of

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.storage import read, reading
from split_rewrite.rewriter.storage.payload import MARK, is_cut

pytestmark = pytest.mark.quick


@pytest.fixture(params=["parsed whole", "scanned"])
def either_way(request, monkeypatch):
    """Small files are parsed whole, others are scanned: both have to say the same."""
    if request.param == "scanned":
        monkeypatch.setattr(reading, "PARSED_WHOLE", 0)


@pytest.fixture
def scanned(monkeypatch):
    monkeypatch.setattr(reading, "PARSED_WHOLE", 0)


def nested_graphs(levels: int) -> bytes:
    """A model whose If nodes are nested `levels` deep, each three messages: graph, node, attribute."""
    graph = b""
    for _ in range(levels):
        graph = field(1, field(5, field(6, graph)))
    return field(7, graph)


def with_reserved_location() -> bytes:
    model = runnable()
    tensor = model.graph.initializer[1]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=MARK)
    return model.SerializeToString()


WHOLE = runnable().SerializeToString()
INVALID = {
    "an empty file": (b"", "is empty"),
    "half of a file, as after a broken download": (WHOLE[: len(WHOLE) // 2], "the file ends inside the field"),
    "cut inside the header of a field": (WHOLE + b"\x3a", "is corrupt or not an ONNX model"),
    "a length beyond the end of the file": (b"\x3a\xff\xff\xff\xff\x0f", "the file ends inside the field"),
    "a length beyond the end of the graph": (
        b"\x3a\x04\x0a\x64ab\x42\x02\x10\x0d",
        "the field at byte 2 reaches beyond the end of its message at byte 6",
    ),
    "a length of 2**63": (b"\x3a" + b"\xff" * 8 + b"\x7f", "the file ends inside the field"),
    "a number without an end": (b"\x08" + b"\xff" * 30, "more than ten bytes"),
    "field number 0": (b"\x02\x01a", "has the number 0, which is not allowed"),
    "a shape that is no list of numbers": (
        field(7, field(5, field(1, b"\x80") + field(9, bytes(5000)))),
        "is corrupt or not an ONNX model",
    ),
    "noise": (bytes(range(256)) * 40, "is corrupt or not an ONNX model"),
    "a protobuf of something else": (field(2, b"producer"), "has no graph"),
    "graphs nested deeper than protobuf reads": (nested_graphs(40), "nested"),
    "the location that is reserved for cut tensors": (with_reserved_location(), "reserved"),
    "onnx's text format": (b"<ir_version: 8>\ng (float x) => (float y) { y = Relu(x) }", "onnx.parser"),
    "protobuf's text format": (b"ir_version: 8\ngraph {\n}\n", "format='textproto'"),
    "protobuf's JSON": (b'{"irVersion": "8", "graph": {}}', "format='json'"),
}


@pytest.mark.parametrize(("content", "message"), INVALID.values(), ids=INVALID.keys())
def test_refuses_content(tmp_path, either_way, content, message):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(InvalidModelError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def no_file(path: Path) -> None:
    pass


SPECIAL = {
    "nothing there": (no_file, "there is no such file"),
    "a folder": (Path.mkdir, "is a folder"),
    "a FIFO, which would block": (os.mkfifo, "is not a regular file"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
    "a link to itself": (lambda path: path.symlink_to(path), "cannot be read"),
}


@pytest.mark.parametrize(("make", "message"), SPECIAL.values(), ids=SPECIAL.keys())
def test_refuses_what_is_no_file(tmp_path, make, message):
    path = tmp_path / "model.onnx"
    make(path)
    with pytest.raises(InvalidModelError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_refuses_what_the_disk_does_not_give(tmp_path, monkeypatch, either_way):
    def broken(*args: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "model.onnx"
    path.write_bytes(WHOLE)
    monkeypatch.setattr(os, "pread", broken)
    with pytest.raises(InvalidModelError, match=r"model\.onnx: cannot be read: Input/output error"):
        read(path)


def test_refuses_a_path_that_no_file_can_have():
    with pytest.raises(InvalidModelError, match="null"):
        read("a\0b")


def test_a_model_of_protobufs_deepest_nesting_is_read(tmp_path, either_way):
    path = tmp_path / "model.onnx"
    path.write_bytes(nested_graphs(32))
    assert read(path).proto.HasField("graph")


def test_refuses_groups_where_they_would_have_to_be_scanned(tmp_path, scanned):
    path = tmp_path / "model.onnx"
    path.write_bytes(WHOLE + b"\x9b\x06\x9c\x06")
    with pytest.raises(InvalidModelError, match="wire type 3"):
        read(path)


def test_refuses_two_payloads_that_protobuf_merges_into_one_tensor(tmp_path, scanned):
    """A singular field may occur twice on the wire; a cut tensor that merged with another has no clear value."""
    tensor = numpy_helper.from_array(np.zeros(5000, np.float32)).SerializeToString()
    node = field(5, field(5, tensor) + field(5, tensor))
    path = tmp_path / "model.onnx"
    path.write_bytes(field(7, field(1, node)))
    skeleton = read(path)
    with pytest.raises(InvalidModelError, match="two entries"):
        skeleton.array(skeleton.proto.graph.node[0].attribute[0].t)


def test_cuts_every_big_payload_wherever_it_is(tmp_path, scanned):
    model = everywhere()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    skeleton = read(path)
    for original, tensor in zip(tensors_of(model), tensors_of(skeleton.proto), strict=True):
        is_small = original.name in ("shape", "vector that may be a shape")
        assert is_cut(tensor) is not is_small, original.name
        assert (tensor.name, tensor.dims, tensor.data_type) == (original.name, original.dims, original.data_type)
    assert skeleton.proto.graph.doc_string == model.graph.doc_string


def raw(dtype: str, *dims: int) -> TensorProto:
    return numpy_helper.from_array(np.zeros(dims, dtype), "w")


def unknown_to_this_version(tensor: TensorProto) -> TensorProto:
    return TensorProto.FromString(tensor.SerializeToString() + field(77, b"unknown"))


def external(tensor: TensorProto) -> TensorProto:
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    return tensor


THRESHOLDS = {
    "a page of float32": (raw("float32", 1024), True),
    "just less": (raw("float32", 1023), False),
    "an int64 vector of 64 KiB, which may be sizes": (raw("int64", 8192), False),
    "an int64 vector of more": (raw("int64", 8193), True),
    "an int64 matrix": (raw("int64", 16, 64), True),
    "an int32 vector": (raw("int32", 1024), True),
    "packed floats": (helper.make_tensor("w", TensorProto.FLOAT, [1024], np.zeros(1024)), True),
    "strings": (helper.make_tensor("w", TensorProto.STRING, [2000], ["text"] * 2000), False),
    "one long string": (helper.make_tensor("w", TensorProto.STRING, [1], ["text" * 2000]), False),
    "a long doc string": (TensorProto(name="w", doc_string="text" * 2000), False),
    "a long doc string and a payload": (TensorProto(doc_string="t" * 8000, raw_data=bytes(4096), data_type=1), False),
    "a field of a later ONNX beside it": (unknown_to_this_version(raw("float32", 1024)), True),
    "external data with data inside too": (external(raw("float32", 1024)), False),
    "two payload fields": (TensorProto(raw_data=bytes(8192), float_data=[1], data_type=1), False),
}


@pytest.mark.parametrize(("tensor", "is_cut_out"), THRESHOLDS.values(), ids=THRESHOLDS.keys())
def test_threshold(tmp_path, scanned, tensor, is_cut_out):
    model = runnable()
    model.graph.initializer.append(tensor)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString(deterministic=True))
    result = read(path).proto.graph.initializer[-1]
    assert is_cut(result) is is_cut_out
    if not is_cut_out:
        assert result == tensor


def test_a_file_of_up_to_8_mib_is_parsed_whole(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(everywhere(), path)
    assert not any(is_cut(tensor) for tensor in tensors_of(read(path).proto))


def test_fields_with_numbers_and_lengths_of_any_size(tmp_path, scanned):
    """Tags of two bytes, every wire type, and lengths at the limits of one and two bytes, before the payload."""
    lengths = [0, 1, 126, 127, 128, 129, 4091, 4092, 4093, 16383, 16384, 70000]
    unknown = b"".join(field(number, bytes(length)) for number in (99, 3000) for length in lengths)
    unknown += b"\xc0\x3e" + b"\xff" * 9 + b"\x01" + b"\xc1\x3e" + bytes(8) + b"\xc5\x3e" + bytes(4)
    model = runnable().SerializeToString(deterministic=True)
    path = tmp_path / "model.onnx"
    path.write_bytes(unknown + model)
    skeleton = read(path)
    assert is_cut(skeleton.proto.graph.initializer[0])
    assert skeleton.materialize() == onnx.ModelProto.FromString(unknown + model)
