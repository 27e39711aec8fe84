"""Operators with the channels last of com.ms.internal.nhwc. No kernel for CPUs has them: the numbers are those of ONNX's own."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from contrib import STANDARD, normal, operators
from helpers import model, run
from onnx import numpy_helper

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
}


@pytest.mark.parametrize("node", NODES)
def test_channels_come_first_and_go_back(node: str) -> None:
    data = np.random.default_rng(2).integers(0, 255, X.shape, dtype=np.uint8) if "QLinear" in node else X
    expected = run(held(node, data, "", NODES[node]), {"x": data})[0].transpose(0, 2, 3, 1)
    last = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    result = convert_version(held(node, last, "com.ms.internal.nhwc", NODES[node]), 18, compare="off", options=STANDARD).model
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
