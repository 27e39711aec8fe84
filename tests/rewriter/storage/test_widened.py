"""Stored elements of narrow types, read and written as wider ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version, known
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter.storage import read
from split_rewrite.rewriter.storage.skeleton import Skeleton

FLOATS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def dequantizing(shape: list[int], data: bytes, kind: int = TensorProto.INT4) -> onnx.ModelProto:
    """A model with a weight of `kind` in raw data."""
    weight = TensorProto(name="w", data_type=kind, dims=shape, raw_data=data)
    nodes = [helper.make_node("Transpose", ["w"], ["t"]), helper.make_node("DequantizeLinear", ["t", "s"], ["y"])]
    interface = helper.make_tensor_value_info("s", TensorProto.FLOAT, []), helper.make_tensor_value_info("y", 1, shape[::-1])
    graph = helper.make_graph(nodes, "g", [interface[0]], [interface[1]], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def packed(shape: list[int]) -> tuple[bytes, np.ndarray]:
    """Random elements of int4 as raw data, and their values as int8."""
    count = int(np.prod(shape))
    values = np.random.default_rng(0).integers(-8, 8, count, dtype=np.int8)
    low_bits = np.append(values, np.int8(0))[: count + count % 2].view(np.uint8) & 15
    return (low_bits[::2] | low_bits[1::2] << 4).tobytes(), values.reshape(shape)


def save_external(path: Path, proto: onnx.ModelProto) -> None:
    onnx.save(proto, path, save_as_external_data=True, location="m.data", size_threshold=1)


@pytest.mark.parametrize("mode", ["auto", "copy", "inline", "split"])
@pytest.mark.parametrize("shape", [[3, 5], [301, 1999]], ids=["small_and_odd", "larger_than_a_buffer"])
def test_external_data(tmp_path: Path, shape: list[int], mode: str) -> None:
    data, values = packed(shape)
    save_external(tmp_path / "m.onnx", dequantizing(shape, data))
    before = hashlib.sha1((tmp_path / "m.data").read_bytes()).hexdigest()
    ended = command_line(f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx", "-t", "13", "--external-data", mode)
    assert ended.status == 0, ended.err
    assert hashlib.sha1((tmp_path / "m.data").read_bytes()).hexdigest() == before
    (weight,) = onnx.load(tmp_path / "o.onnx").graph.initializer
    assert weight.data_type == TensorProto.INT8
    np.testing.assert_array_equal(numpy_helper.to_array(weight), values)


def test_large_data_in_the_model_file(tmp_path: Path) -> None:
    shape = [4111, 4099]  # more than 8 MiB, from which on weights are cut out
    data, values = packed(shape)
    onnx.save(dequantizing(shape, data), tmp_path / "m.onnx")
    assert command_line(f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx", "-t", "13", "--compare", "off").status == 0
    (weight,) = onnx.load(tmp_path / "o.onnx").graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(weight), values)


INT4, FLOAT8 = TensorProto.INT4, TensorProto.FLOAT8E4M3FN


@pytest.mark.parametrize(
    ("kind", "raw", "numbers", "message"),
    [
        pytest.param(INT4, 7, [], "has 7 bytes of data, but its type and shape [3, 5] take 8", id="raw_too_short"),
        pytest.param(INT4, 9, [], "has 9 bytes of data, but its type and shape [3, 5] take 8", id="raw_too_long"),
        pytest.param(INT4, 15, [], "has 15 bytes of data, but its type and shape [3, 5] take 8", id="raw_not_packed"),
        pytest.param(INT4, 0, [1] * 7, "has 7 bytes of data, but its type and shape [3, 5] take 8", id="numbers_too_few"),
        pytest.param(INT4, 0, [1] * 15, "has 15 bytes of data, but its type and shape [3, 5] take 8", id="numbers_not_packed"),
        pytest.param(INT4, 0, [1, 256] * 4, "has the number 256 in its data, which does not fit 8 bits", id="no_byte"),
        pytest.param(FLOAT8, 0, [-129] * 15, "has the number -129 in its data, which does not fit 8 bits", id="no_float8"),
    ],
)
def test_bad_data(tmp_path: Path, kind: int, raw: int, numbers: list[int], message: str) -> None:
    given = dequantizing([3, 5], b"\0" * raw, kind)
    if numbers:
        given.graph.initializer[0].ClearField("raw_data")
        given.graph.initializer[0].int32_data.extend(numbers)
    (tmp_path / "m.onnx").write_bytes(given.SerializeToString())
    ended = command_line(f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx", "-t", "13")
    assert (ended.status, len(ended.err.splitlines())) == (2, 1)
    if "raw_data size" not in message or not onnx.__version__.startswith("1.17"):
        assert message in ended.err
    assert not (tmp_path / "o.onnx").exists()


def test_external_data_of_wrong_length(tmp_path: Path) -> None:
    save_external(tmp_path / "m.onnx", dequantizing([3, 5], packed([3, 5])[0]))
    (tmp_path / "m.data").write_bytes(b"\0" * 7)
    ended = command_line(f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx", "-t", "13")
    assert (ended.status, len(ended.err.splitlines())) == (2, 1)
    assert "tensor 'w': needs bytes 0 to 8 of data file 'm.data', which has 7" in ended.err


def test_elements_in_int32_data() -> None:
    data, values = packed([3, 5])
    given = dequantizing([3, 5], b"")
    given.graph.initializer[0].ClearField("raw_data")
    given.graph.initializer[0].int32_data.extend(data)
    (weight,) = convert_version(given, 13).model.graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(weight), values)


@pytest.mark.parametrize("name", FLOATS)
def test_every_float_of_eight_bits(name: str) -> None:
    kind = TensorProto.DataType.Value(name.replace("_", "").upper())
    tensor = TensorProto(name="w", data_type=kind, dims=[256], raw_data=bytes(range(256)))
    wide = Skeleton.of(onnx.ModelProto()).widened(tensor, TensorProto.FLOAT16)
    expected = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32)
    np.testing.assert_array_equal(numpy_helper.to_array(wide).astype(np.float32), expected)


SIX_BITS = pytest.mark.skipif(not known(28), reason="onnx has no float6")


def six_bits(count: int) -> tuple[bytes, np.ndarray]:
    """Random elements of float6e2m3 as raw data, and their values as float16."""
    codes = np.random.default_rng(0).integers(0, 64, count, dtype=np.uint8)
    bits = np.unpackbits(codes[:, None], axis=1, count=6, bitorder="little")
    return np.packbits(bits, bitorder="little").tobytes(), codes.view(ml_dtypes.float6_e2m3fn).astype(np.float16)


@SIX_BITS
@pytest.mark.parametrize("count", [1, 2, 3, 5, 600_001], ids=str)
def test_external_data_of_six_bits(tmp_path: Path, count: int) -> None:
    """An element may cross the end of a byte, but none crosses the end of a buffer, of which the last case takes two."""
    data, values = six_bits(count)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT6E2M3, dims=[count], raw_data=data)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", 1, [count])], [weight])
    save_external(tmp_path / "m.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=14))
    ended = command_line(f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx", "-t", "13", "--unpack-at-run-time")
    assert ended.status == 0, ended.err
    (wide,) = onnx.load(tmp_path / "o.onnx").graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(wide), values)


def test_every_bfloat16() -> None:
    numbers = np.arange(1 << 16, dtype=np.uint16)
    tensor = TensorProto(name="w", data_type=TensorProto.BFLOAT16, dims=[1 << 16], raw_data=numbers.tobytes())
    wide = numpy_helper.to_array(Skeleton.of(onnx.ModelProto()).widened(tensor, TensorProto.FLOAT))
    np.testing.assert_array_equal(wide.view(np.uint32) >> 16, numbers)


@pytest.mark.parametrize(("start", "stop"), [(0, 20000), (20000, 40000), (20001, 40000), (3, 6)])
def test_part(tmp_path: Path, start: int, stop: int) -> None:
    data, values = packed([40000])
    save_external(tmp_path / "m.onnx", dequantizing([40000], data))
    skeleton = read(tmp_path / "m.onnx")
    wide = skeleton.widened(skeleton.proto.graph.initializer[0], TensorProto.INT8)
    part = skeleton.part(wide, start, stop, [stop - start], "part")
    np.testing.assert_array_equal(skeleton.array(part), values[start:stop])
