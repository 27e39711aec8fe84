"""Operators with the channels last of com.ms.internal.nhwc. No kernel for CPUs has them: the numbers are those of ONNX's own."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from contrib import STANDARD, operators
from drawing import normal
from helpers import model, run
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter import UnconvertibleError, convert_version

X = normal(2, 4, 6, 8)
STORED = {
    "w": normal(6, 2, 3, 3),
    "t": normal(4, 3, 2, 3),
    "b": normal(6),
    "c": normal(4),
    "m": normal(4),
    "v": np.abs(normal(4)),
    "q": np.random.default_rng(1).integers(-128, 127, (6, 4, 2, 2), dtype=np.int8),
    "s": np.array(0.02, np.float32),
    "z": np.array(128, np.uint8),
    "o": np.array(0, np.int8),
    "p": np.array(117, np.uint8),
    "up": np.array([1, 1, 2, 0.5], np.float32),
    "up_last": np.array([1, 2, 0.5, 1], np.float32),
    "to": np.array([2, 4, 9, 3], np.int64),
    "to_last": np.array([2, 9, 3, 4], np.int64),
    "none": np.array([], np.float32),
    "grid": np.random.default_rng(3).uniform(-1.2, 1.2, (2, 3, 5, 2)).astype(np.float32),
    "qt": np.random.default_rng(4).integers(-128, 127, (4, 3, 2, 3), dtype=np.int8),
    "st": np.array([0.02, 0.03, 0.01], np.float32),
    "ot": np.array([0, 0, 0], np.int8),
    "bt": np.array([1000, -500, 0], np.int32),
}


def held(node: str, x: np.ndarray, domain: str, opset: int) -> onnx.ModelProto:
    """A model of one node; `x` decides the type and the shape of its input, and of its output the type."""
    kind = {"float32": "float", "uint8": "uint8"}[x.dtype.name]
    version = f', "{domain}" : {opset}' if domain else ""
    proto = model(f"""<ir_version: 8, opset_import: ["" : {opset}{version}]>
        g ({kind}[{",".join(map(str, x.shape))}] x) => ({kind}[A,B,C,D] y) {{ y = {f"{domain}." if domain else ""}{node} }}""")
    names = {name.strip() for name in node.rpartition("(")[2].rstrip(")").split(",")}
    proto.graph.initializer.extend(numpy_helper.from_array(STORED[name], name) for name in sorted(names & STORED.keys()))
    return proto


NODES = {
    "Conv <group = 2, pads = [1,0,1,1], strides = [2,1]> (x, w, b)": 11,
    "ConvTranspose <group = 2, strides = [2,2]> (x, t, b)": 11,
    "MaxPool <kernel_shape = [2,3], ceil_mode = 1> (x)": 12,
    "AveragePool <kernel_shape = [2,3], pads = [1,1,0,1], count_include_pad = 1> (x)": 11,
    "LpPool <kernel_shape = [2,3], p = 1> (x)": 11,
    "GlobalAveragePool (x)": 13,
    "GlobalLpPool <p = 1> (x)": 13,
    "GlobalMaxPool (x)": 13,
    "BatchNormalization <epsilon = 0.01> (x, c, c, m, v)": 15,
    "InstanceNormalization <epsilon = 0.01> (x, c, m)": 13,
    "LRN <size = 3, alpha = 0.1> (x)": 13,
    'DepthToSpace <blocksize = 2, mode = "CRD"> (x)': 13,
    "SpaceToDepth <blocksize = 2> (x)": 13,
    "QLinearConv <strides = [2,1]> (x, s, z, q, s, o, s, z)": 13,
    'GridSample <mode = "bilinear", padding_mode = "border"> (x, grid)': 16,
    'Resize <mode = "linear"> (x, , up)': 13,
    'Resize <mode = "cubic", coordinate_transformation_mode = "align_corners"> (x, , , to)': 19,
    'Resize <mode = "nearest"> (x, none, none, to)': 11,
}
LAST = {"up": "up_last", "to": "to_last"}
"""The stored scales and sizes of all axes, where the channels are the last."""


@pytest.mark.parametrize("node", NODES)
def test_channels_come_first_and_go_back(node: str) -> None:
    data = np.random.default_rng(2).integers(0, 255, X.shape, dtype=np.uint8) if "QLinear" in node else X
    expected = run(held(node, data, "", NODES[node]), {"x": data})[0].transpose(0, 2, 3, 1)
    last = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    moved = re.sub(r"\b(up|to)\b", lambda name: LAST[name[0]], node)
    result = convert_version(held(moved, last, "com.ms.internal.nhwc", NODES[node]), 19, compare="off", options=STANDARD).model
    assert operators(result) == ["Transpose", node.partition(" ")[0], "Transpose"]
    assert [entry.domain for entry in result.opset_import] == [""]
    np.testing.assert_allclose(run(result, {"x": last})[0], expected, rtol=1e-5, atol=1e-6)


def test_an_activation_follows() -> None:
    node = 'Conv <group = 2, activation = "LeakyRelu", activation_params = [0.1]> (x, w)'
    plain = run(held("Conv <group = 2> (x, w)", X, "", 11), {"x": X})[0].transpose(0, 2, 3, 1)
    last = np.ascontiguousarray(X.transpose(0, 2, 3, 1))
    result = convert_version(held(node, last, "com.ms.internal.nhwc", 11), 18, compare="off", options=STANDARD).model
    np.testing.assert_allclose(
        run(result, {"x": last})[0], np.where(plain < 0, plain * np.float32(0.1), plain), rtol=1e-5, atol=1e-5
    )


def test_places_of_the_largest_have_no_stated_order() -> None:
    proto = model("""<ir_version: 8, opset_import: ["" : 13, "com.ms.internal.nhwc" : 12]>
        g (float[1,4,4,3] x) => (float[A,B,C,D] y, int64[A,B,C,D] i) {
            y, i = com.ms.internal.nhwc.MaxPool <kernel_shape = [2,2]> (x)
        }""")
    with pytest.raises(UnconvertibleError, match=r"MaxPool of com\.ms\.internal\.nhwc has more than one output"):
        convert_version(proto, 13, compare="off", options=STANDARD)


def bytes_last() -> tuple[np.ndarray, np.ndarray]:
    """Random bytes with the channels behind the batch, and with the channels last."""
    data = np.random.default_rng(2).integers(0, 255, X.shape, dtype=np.uint8)
    return data, np.ascontiguousarray(data.transpose(0, 2, 3, 1))


def test_bytes_are_averaged_as_the_kernel_of_com_microsoft_does() -> None:
    node, (data, last) = "QLinearAveragePool <kernel_shape = [2,3], pads = [1,1,0,1]> (x, s, z, s, p)", bytes_last()
    expected = run(held(node, data, "com.microsoft", 1), {"x": data})[0].transpose(0, 2, 3, 1)
    result = convert_version(held(node, last, "com.ms.internal.nhwc", 1), 18, compare="off", options=STANDARD).model
    assert operators(result) == ["Transpose", "DequantizeLinear", "AveragePool", "QuantizeLinear", "Transpose"]
    assert np.abs(run(result, {"x": last})[0].astype(int) - expected).max() <= 1


@pytest.mark.parametrize(("weights", "scale", "zero"), [("qt", "s", "o"), ("qt", "st", "ot")])
def test_bytes_are_spread_as_the_real_numbers_that_they_stand_for(weights: str, scale: str, zero: str) -> None:
    data, last = bytes_last()
    attributes = "<strides = [2,2], pads = [0,1,1,0], output_padding = [1,0]>"
    plain = model(f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,4,6,8] x, float[4,3,2,3] w, float[3] b) => (float[A,B,C,D] y) {{
        y = ConvTranspose {attributes} (x, w, b)
    }}""")
    steps = STORED["s"] * STORED[scale]
    real = {
        "x": (data.astype(np.float32) - 128) * STORED["s"],
        "w": STORED[weights] * STORED[scale].reshape(-1, 1, 1),
        "b": (STORED["bt"] * steps).astype(np.float32),
    }
    numbers = run(plain, real)[0] / np.float32(0.02) + 117
    node = f"QLinearConvTranspose {attributes} (x, s, z, {weights}, {scale}, {zero}, s, p, bt)"
    result = convert_version(held(node, last, "com.ms.internal.nhwc", 1), 18, compare="off", options=STANDARD).model
    assert operators(result)[-3:] == ["ConvTranspose", "QuantizeLinear", "Transpose"]
    found = run(result, {"x": last})[0].transpose(0, 3, 1, 2).astype(int)
    assert np.abs(found - np.clip(np.rint(numbers), 0, 255)).max() <= 1
    assert len(np.unique(found)) > 10


REFUSED = {
    "QLinearConvTranspose <group = 2> (x, s, z, qt, st, ot, s, p)": "has several groups, and scales of which nothing says how they lie",
    "Resize (x, , r)": "has scales or sizes that are computed",
    "Resize <axes = [1,2]> (x, , r)": "has a region or axes",
    'Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, up)': "has a region or axes",
    "MaxUnpool <kernel_shape = [2,2]> (x, i)": "has indices, and nothing says in which order they count",
}


@pytest.mark.parametrize("node", REFUSED)
def test_what_no_kernel_shows_is_refused(node: str) -> None:
    data = bytes_last()[1] if "QLinear" in node else np.ascontiguousarray(X.transpose(0, 2, 3, 1))
    proto = held(node, data, "com.ms.internal.nhwc", 18)
    for name, kind, dims in (("r", TensorProto.FLOAT, [4]), ("i", TensorProto.INT64, data.shape)):
        proto.graph.input.append(helper.make_tensor_value_info(name, kind, dims))
    with pytest.raises(UnconvertibleError, match=REFUSED[node]):
        convert_version(proto, 18, compare="off", options=STANDARD)
