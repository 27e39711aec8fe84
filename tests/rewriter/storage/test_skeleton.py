"""The values of tensors, wherever they are, and the skeleton that onnx checks in place of the model."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import run_isolated
from onnx import TensorProto, helper, numpy_helper, parser
from storage_models import everywhere, field, noise, runnable, tensors_of, to_external

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.storage import read, reading
from split_rewrite.rewriter.storage.payload import array_of, is_cut, is_external, tensor_of
from split_rewrite.rewriter.storage.skeleton import Skeleton


@pytest.fixture(autouse=True)
def scanned(monkeypatch):
    monkeypatch.setattr(reading, "PARSED_WHOLE", 0)


def saved(folder: Path, *tensors: TensorProto) -> tuple[Skeleton, list[TensorProto]]:
    """A model file with these initializers, read."""
    graph = helper.make_graph([], "g", [], [], list(tensors))
    path = folder / "model.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    skeleton = read(path)
    return skeleton, list(skeleton.proto.graph.initializer)


def external(dims: list[int], data_type: int = TensorProto.FLOAT, **entries: object) -> TensorProto:
    tensor = TensorProto(name="w", dims=dims, data_type=data_type, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "w.bin", **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    return tensor


def data_file(path: Path) -> None:
    path.write_bytes(bytes(64))


def link_to(target: str):
    return lambda path: path.symlink_to(target)


def hard_link(path: Path) -> None:
    data_file(path.with_name("other"))
    os.link(path.with_name("other"), path)


UNSAFE = {
    "no location": (external([4], location=None), data_file, "no location"),
    "an empty location": (external([4], location=""), data_file, "is not a file name"),
    "the folder itself": (external([4], location="."), data_file, "is not a file name"),
    "an absolute path": (external([4], location="/etc/passwd"), data_file, "absolute path"),
    "an absolute path on Windows": (external([4], location="C:\\w.bin"), data_file, "absolute path"),
    "out of the folder": (external([4], location="../w.bin"), data_file, "leaves the model's folder"),
    "out of the folder by a detour": (external([4], location="a/../../w.bin"), data_file, "leaves the model's folder"),
    "out of the folder on Windows": (external([4], location="..\\w.bin"), data_file, "leaves the model's folder"),
    "no file there": (external([4], location="v.bin"), data_file, "there is no such file in"),
    "a file as a folder": (external([4], location="w.bin/v"), data_file, "cannot be read: Not a directory"),
    "a name that is too long": (external([4], location="w" * 300), data_file, "cannot be read: File name too long"),
    "a name with a null byte": (external([4], location="w\0.bin"), data_file, "is not a file name"),
    "data in the memory of onnxruntime": (external([4], location="*/_ORT_MEM_ADDR_/*"), data_file, "there is no such file in"),
    "a symbolic link": (external([4]), link_to("model.onnx"), "symbolic link"),
    "a link that leads nowhere": (external([4]), link_to("nothing"), "symbolic link"),
    "a linked folder": (external([4], location="w.bin/passwd"), link_to("/etc"), "symbolic link"),
    "a hard link": (external([4]), hard_link, "hard links"),
    "a folder": (external([4]), Path.mkdir, "not a regular file"),
    "a FIFO, which would block": (external([4]), os.mkfifo, "not a regular file"),
    "a file that is too short": (external([17]), data_file, "bytes 0 to 68"),
    "an offset beyond the end": (external([4], offset=60), data_file, "bytes 60 to 76"),
    "a negative offset": (external([4], offset=-1), data_file, "the offset of its external data is '-1'"),
    "an offset that is no number": (external([4], offset="1e3"), data_file, "'1e3', not a byte count"),
    "a huge offset": (external([4], offset="9" * 5000), data_file, "not a byte count"),
    "a length that does not fit the shape": (external([4], length=64), data_file, "has 64 bytes of data"),
    "strings": (external([4], TensorProto.STRING), data_file, "has 0 strings"),
    "no element type": (external([4], TensorProto.UNDEFINED), data_file, "element type 0 cannot be stored as bytes"),
    "an unknown element type": (external([4], 999), data_file, "element type 999 cannot be stored as bytes"),
    "a negative dimension": (external([-4, -4]), data_file, "negative dimension"),
}


@pytest.mark.parametrize(("tensor", "make_file", "message"), UNSAFE.values(), ids=UNSAFE.keys())
def test_refuses_external_data(tmp_path, tensor, make_file, message):
    make_file(tmp_path / "w.bin")
    skeleton, (tensor,) = saved(tmp_path, tensor)
    with pytest.raises(InvalidModelError) as caught:
        skeleton.array(tensor)
    assert message in str(caught.value)
    assert "tensor 'w'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refuses_external_data_of_a_model_without_a_folder():
    with pytest.raises(InvalidModelError, match="folder of the model is not known"):
        Skeleton.of(onnx.ModelProto()).array(external([4]))


MISFITS = {
    "raw data too short": TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes(12)),
    "raw data too long": TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes(20)),
    "raw data too long, cut out": TensorProto(name="w", data_type=1, dims=[2000], raw_data=bytes(8004)),
    "too few numbers": TensorProto(name="w", data_type=1, dims=[4], float_data=[1, 2, 3]),
    "too many numbers, cut out": TensorProto(name="w", data_type=1, dims=[2000], float_data=[1] * 2001),
    "half a number, cut out": TensorProto(name="w", data_type=1, dims=[2000], raw_data=bytes(7999)),
    "too many integers, cut out": TensorProto(name="w", data_type=6, dims=[2000], int32_data=[1] * 8001),
    "numbers in the field of another type": TensorProto(name="w", data_type=1, dims=[4], double_data=[1] * 4),
    "numbers in the field of another type, cut out": TensorProto(name="w", data_type=7, dims=[4], float_data=[1] * 4000),
    "no data": TensorProto(name="w", data_type=1, dims=[4]),
    "too many packed 4-bit integers": TensorProto(name="w", data_type=22, dims=[4], int32_data=[1] * 3),
    "strings in raw data": TensorProto(name="w", data_type=8, dims=[1], raw_data=b"text"),
    "a string that is not UTF-8": TensorProto(name="w", data_type=8, dims=[1], string_data=[b"\xff"]),
    "a segment": TensorProto(name="w", data_type=1, dims=[1], float_data=[1], segment={"begin": 0, "end": 1}),
    "no element type": TensorProto(name="w", dims=[1], float_data=[1]),
    "a dimension that numpy cannot have": TensorProto(name="w", data_type=1, dims=[0, 2**62, 4]),
}


@pytest.mark.parametrize("tensor", MISFITS.values(), ids=MISFITS.keys())
def test_refuses_data_that_does_not_fit(tmp_path, tensor):
    skeleton, (tensor,) = saved(tmp_path, tensor)
    with pytest.raises(InvalidModelError, match="tensor 'w': "):
        skeleton.array(tensor)


BROKEN_INTEGERS = {
    "no end at all": b"\xff" * 8000,
    "no end of the last": bytes(7999) + b"\x80",
    "one of eleven bytes": b"\x80" * 10 + b"\x01" + bytes(7999),
    "one across the border of what is read at once": bytes((1 << 20) - 5) + b"\x80" * 10 + bytes(8000),
}


@pytest.mark.parametrize("data", BROKEN_INTEGERS.values(), ids=BROKEN_INTEGERS.keys())
def test_refuses_packed_integers_that_protobuf_would_not_parse(tmp_path, data):
    """Cut out, they are not seen by protobuf."""
    head = TensorProto(name="w", data_type=TensorProto.INT32, dims=[8000]).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(field(7, field(5, head + field(TensorProto.INT32_DATA_FIELD_NUMBER, data))))
    with pytest.raises(Exception, match="parsing"):
        onnx.load(path)
    skeleton = read(path)
    with pytest.raises(InvalidModelError, match="tensor 'w': has "):
        skeleton.array(skeleton.proto.graph.initializer[0])


def test_refuses_a_file_that_changed_meanwhile(tmp_path):
    skeleton, (tensor,) = saved(tmp_path, numpy_helper.from_array(noise(0), "w"))
    with open(tmp_path / "model.onnx", "ab") as file:
        file.write(b"more")
    with pytest.raises(InvalidModelError, match=r"model\.onnx: changed on disk"):
        skeleton.array(tensor)


COUNT = 2400


def values_of(data_type: int) -> tuple[np.ndarray, bytes, dict[str, list]]:
    """COUNT values as numpy has them, as raw data, and in the typed field that ONNX wants: made by numpy alone."""
    integers = np.arange(COUNT) % 200
    small = {2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 9: "?", 10: "<f2"}
    if data_type in small:
        values = (integers - 100 if data_type != 9 else integers % 2).astype(small[data_type])
        bits = values.view(f"<u{values.itemsize}") if data_type in (9, 10) else values
        return values, values.tobytes(), {"int32_data": bits.tolist()}
    if data_type == TensorProto.BFLOAT16:
        values = (integers - 100).astype("<f4")
        bits = (values.view("<u4") >> 16).astype("<u2")
        return values, bits.tobytes(), {"int32_data": bits.tolist()}
    if data_type == TensorProto.FLOAT8E4M3FN:
        bits = np.tile(np.array([0x00, 0x38, 0x40, 0xB8], "u1"), COUNT // 4)
        return np.tile(np.array([0, 1, 2, -1], "f4"), COUNT // 4), bits.tobytes(), {"int32_data": bits.tolist()}
    if data_type in (TensorProto.UINT4, TensorProto.INT4):
        nibbles = (np.arange(COUNT) % 16).astype("u1")
        packed = nibbles[0::2] | nibbles[1::2] << 4
        values = nibbles.astype("i1")
        values[values > 7] -= 16 if data_type == TensorProto.INT4 else 0
        return values, packed.tobytes(), {"int32_data": packed.tolist()}
    wide = {1: ("<f4", "float_data"), 11: ("<f8", "double_data"), 7: ("<i8", "int64_data")}
    wide |= {12: ("<u4", "uint64_data"), 13: ("<u8", "uint64_data")}
    if data_type in wide:
        dtype, field = wide[data_type]
        values = (integers * 1000).astype(dtype)
        return values, values.tobytes(), {field: values.tolist()}
    dtype, half, field = {14: ("<c8", "<f4", "float_data"), 15: ("<c16", "<f8", "double_data")}[data_type]
    values = (integers + 1j).astype(dtype)
    return values, values.tobytes(), {field: values.view(half).tolist()}


DATA_TYPES = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 21, 22]
type_names = [TensorProto.DataType.Name(number) for number in DATA_TYPES]
every_type = pytest.mark.parametrize("data_type", DATA_TYPES, ids=type_names)
in_every_way = pytest.mark.parametrize("way", ["raw inside", "typed inside", "raw cut", "typed cut", "external"])


def in_way(folder: Path, data_type: int, way: str) -> tuple[Skeleton, TensorProto, np.ndarray]:
    """A tensor of shape [2, COUNT / 2] in that way, and its value."""
    values, raw, typed = values_of(data_type)
    tensor = TensorProto(name="w", data_type=data_type, dims=[2, COUNT // 2])
    if way == "external":
        (folder / "w.bin").write_bytes(b"before" + raw + b"after")
        tensor.CopyFrom(external([2, COUNT // 2], data_type, offset=6))
    elif "raw" in way:
        tensor.raw_data = raw
    else:
        for field, numbers in typed.items():
            getattr(tensor, field).extend(numbers)
    if "inside" in way:
        return Skeleton.of(onnx.ModelProto()), tensor, values.reshape(2, -1)
    skeleton, (tensor,) = saved(folder, tensor)
    assert is_external(tensor) or way == "typed cut" or len(raw) < 4096
    return skeleton, tensor, values.reshape(2, -1)


def assert_equal(array: np.ndarray, expected: np.ndarray) -> None:
    assert array.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(array).astype(expected.dtype), expected)


@every_type
@in_every_way
def test_array(tmp_path, data_type, way):
    skeleton, tensor, expected = in_way(tmp_path, data_type, way)
    assert_equal(skeleton.array(tensor), expected)


@every_type
@in_every_way
@pytest.mark.parametrize(("start", "stop"), [(0, COUNT), (100, 1501), (7, 8), (1001, COUNT), (5, 5)])
def test_part(tmp_path, data_type, way, start, stop):
    skeleton, tensor, expected = in_way(tmp_path, data_type, way)
    part = skeleton.part(tensor, start, stop, [stop - start, 1], "part")
    assert (part.name, part.data_type, part.dims) == ("part", data_type, [stop - start, 1])
    assert_equal(skeleton.array(part), expected.reshape(-1, 1)[start:stop])


def test_strings():
    tensor = TensorProto(name="w", data_type=8, dims=[2, 2], string_data=[b"a", b"b", b"c", "ü".encode()])
    skeleton = Skeleton.of(onnx.ModelProto())
    assert skeleton.array(tensor).tolist() == [["a", "b"], ["c", "ü"]]
    assert skeleton.array(skeleton.part(tensor, 1, 3, [2], "part")).tolist() == ["b", "c"]


def test_a_big_part_refers_to_the_bytes_on_disk_and_a_small_one_holds_them(tmp_path):
    (tmp_path / "w.bin").write_bytes(noise(1).tobytes())
    skeleton, (cut, outside) = saved(tmp_path, numpy_helper.from_array(noise(0), "c"), external([32, 64]))
    assert is_cut(skeleton.part(cut, 64, 2048, [31, 64], "big"))
    part = skeleton.part(outside, 64, 2048, [31, 64], "big")
    entries = {entry.key: entry.value for entry in part.external_data}
    assert entries == {"location": "w.bin", "offset": "256", "length": "7936"}
    for tensor in (cut, outside):
        assert skeleton.part(tensor, 0, 64, [64], "small").HasField("raw_data")


@pytest.mark.parametrize(("start", "stop", "dims"), [(0, 5, [5]), (-1, 2, [3]), (2, 1, [1]), (0, 4, [3])])
def test_part_refuses_what_is_no_part(start, stop, dims):
    tensor = numpy_helper.from_array(np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="elements"):
        Skeleton.of(onnx.ModelProto()).part(tensor, start, stop, dims, "part")


def check(data: bytes) -> None:
    onnx.checker.check_model(data, full_check=True)


def test_checkable_passes_without_any_weights(tmp_path):
    """Cut tensors in the graph, a subgraph, a Constant node and a function; external ones, whose file does not even exist."""
    model = runnable()
    onnx.save(model, tmp_path / "cut.onnx")
    to_external(model, "missing.bin")
    onnx.save(model, tmp_path / "external.onnx")
    for name in ("cut.onnx", "external.onnx"):
        skeleton = read(tmp_path / name)
        assert sum(map(is_external, tensors_of(skeleton.proto))) >= 3
        data = skeleton.checkable()
        run_isolated(check, data)
        assert len(data) < 3000 or name == "external.onnx"


def test_checkable_keeps_a_name_that_is_not_text(tmp_path, monkeypatch):
    """A damaged byte in it is found by the checks of names, which come later."""
    tensor = onnx.numpy_helper.from_array(np.ones((32, 64), np.float32), "w")
    content = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [tensor])).SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(content.replace(b"\x42\x01w", b"\x42\x01\x80"))
    monkeypatch.setattr(reading, "PARSED_WHOLE", 0)
    assert b"\x42\x01\x80" in read(path).checkable()


def test_checkable_of_a_sparse_initializer(tmp_path):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "local" : 1]>g (float[100, 100] x) => (float[100, 100] y) { y = local.Add(x, s) }'
    )
    model.graph.sparse_initializer.append(everywhere().graph.sparse_initializer[0])
    model.graph.sparse_initializer[0].values.name = "s"
    onnx.save(model, tmp_path / "model.onnx")
    run_isolated(check, model.SerializeToString())
    skeleton = read(tmp_path / "model.onnx")
    assert all(map(is_cut, tensors_of(skeleton.proto)))
    run_isolated(check, skeleton.checkable())


WRONG = {
    "the element type of a cut tensor": TensorProto(name="w", data_type=11, dims=[1000], raw_data=bytes(8000)),
    "the shape of a cut tensor": TensorProto(name="w", data_type=1, dims=[1100], raw_data=bytes(4400)),
}


@pytest.mark.parametrize("tensor", WRONG.values(), ids=WRONG.keys())
def test_checkable_still_shows_what_is_wrong(tmp_path, tensor):
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> g (float[1000] x) => (float[1000] y) { y = Add(x, w) }')
    model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "model.onnx")
    skeleton = read(tmp_path / "model.onnx")
    assert is_cut(skeleton.proto.graph.initializer[0])
    for data in (model.SerializeToString(), skeleton.checkable()):
        with pytest.raises(Exception, match=r"(?i)infer"):
            run_isolated(check, data)


def infer(data: bytes) -> bytes:
    return onnx.shape_inference.infer_shapes(data, strict_mode=True, data_prop=True).SerializeToString()


def test_shape_inference_sees_shapes_that_are_external_data(tmp_path):
    """Exporters move even the shape of a Reshape out of the file; without its value the output has no shape."""
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[32, 64] x) => (float y) {'
        " a = Add(x, w)  r = Reshape(a, shape)  y = ReduceSum<keepdims = 0>(r) }"
    )
    model.graph.initializer.append(numpy_helper.from_array(noise(0), "w"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([4, -1], np.int64), "shape"))
    (tmp_path / "w.bin").write_bytes(to_external(model, "w.bin", minimum=0))
    onnx.save(model, tmp_path / "model.onnx")
    inferred = onnx.ModelProto.FromString(run_isolated(infer, read(tmp_path / "model.onnx").checkable()))
    shapes = {info.name: [dim.dim_value for dim in info.type.tensor_type.shape.dim] for info in inferred.graph.value_info}
    assert shapes["r"] == [4, 512]


def test_checkable_of_a_whole_model_is_the_model():
    model = runnable()
    assert onnx.ModelProto.FromString(Skeleton.of(model).checkable()) == model


def test_materialize_gives_back_the_model(tmp_path):
    model = everywhere()
    onnx.save(model, tmp_path / "cut.onnx")
    moved = everywhere()
    (tmp_path / "w.bin").write_bytes(to_external(moved, "w.bin"))
    onnx.save(moved, tmp_path / "external.onnx")
    assert read(tmp_path / "cut.onnx").materialize() == model
    for tensor in tensors_of(model):
        tensor.ClearField("data_location")  # one says explicitly that it is not external, which external data cannot say
    assert read(tmp_path / "external.onnx").materialize() == model


def test_materialize_leaves_external_data_of_a_model_without_a_folder():
    model = runnable()
    to_external(model, "w.bin")
    skeleton = Skeleton.of(model)
    assert skeleton.materialize() == model
    run_isolated(check, skeleton.checkable())


def test_materialize_refuses_more_than_one_protobuf_can_hold(tmp_path):
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(3 << 30)
    skeleton, _ = saved(tmp_path, external([3 << 28]))
    with pytest.raises(InvalidModelError, match="write it to a file"):
        skeleton.materialize()


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4", "uint4"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_arrays_of_narrow_types_become_tensors_and_come_back(name: str, count: int) -> None:
    array = np.arange(count).astype(getattr(ml_dtypes, name))
    tensor = tensor_of(array, "a")
    back = array_of(tensor)
    assert (tensor.name, list(tensor.dims), back.dtype) == ("a", [count], array.dtype)
    np.testing.assert_array_equal(back, array)
