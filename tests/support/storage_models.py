"""Models with payloads in every place that ONNX has for them, for the tests of reading and writing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

RUNNABLE = """
<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
g (float[32, 64] x, bool c) => (float[32, 64] y) {
  a = Add(x, w)
  k = Constant<value = float[1] {0}>()
  b = Mul(a, k)
  s = If(c) <
    then_branch = then_g () => (float[32, 64] t) { t = Sub(b, v) },
    else_branch = else_g () => (float[32, 64] e) { e = Identity(b) }
  >
  f = local.shift(s)
  y = Reshape(f, shape)
}
<domain: "local", opset_import: ["" : 18]>
shift (p) => (q) {
  z = Constant<value = float[1] {0}>()
  q = Add(p, z)
}
"""
SHAPE = (32, 64)  # 8 KiB of float32


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)


def runnable(seed: int = 0) -> ModelProto:
    """y = (x + w) * k - v + z, with the 8 KiB each of w, k, v and z in four different kinds of place."""
    model = parser.parse_model(RUNNABLE)
    w, k, v, z = (noise(seed + i) for i in range(4))
    shape = numpy_helper.from_array(np.array(SHAPE, np.int64), "shape")
    model.graph.initializer.extend([numpy_helper.from_array(w, "w"), shape])
    model.graph.node[1].attribute[0].t.CopyFrom(numpy_helper.from_array(k, "k"))
    then_branch = next(a.g for a in model.graph.node[3].attribute if a.name == "then_branch")
    then_branch.initializer.append(helper.make_tensor("v", TensorProto.FLOAT, SHAPE, v.ravel()))
    model.functions[0].node[0].attribute[0].t.CopyFrom(numpy_helper.from_array(z, "z"))
    return model


def inputs() -> dict[str, np.ndarray]:
    return {"x": np.ones(SHAPE, np.float32), "c": np.array(True)}


def expected(seed: int = 0) -> np.ndarray:
    w, k, v, z = (noise(seed + i) for i in range(4))
    return (inputs()["x"] + w) * k - v + z


def everywhere() -> ModelProto:
    """`runnable`, with a big tensor in every other field and place too. As a graph it is not valid."""
    model = runnable()
    graph = model.graph
    graph.initializer.extend(
        [
            helper.make_tensor("double_data", TensorProto.DOUBLE, [600], np.linspace(0, 1, 600)),
            helper.make_tensor("int64_data", TensorProto.INT64, [40, 100], np.arange(4000) * 10**9),
            helper.make_tensor("int32_data", TensorProto.INT32, [5000], np.arange(5000) - 2500),
            helper.make_tensor("uint64_data", TensorProto.UINT64, [3000], np.arange(3000) * 2**40),
            numpy_helper.from_array(np.arange(9000, dtype=np.int64), "big vector"),
            numpy_helper.from_array(np.arange(8000, dtype=np.int64), "vector that may be a shape"),
        ]
    )
    explicit = numpy_helper.from_array(noise(7), "explicit default location")
    explicit.data_location = TensorProto.DEFAULT
    explicit.doc_string = "after the payload"
    graph.initializer.append(explicit)
    sparse = graph.sparse_initializer.add(dims=[100, 100])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(2000, np.float32), "sparse"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.argwhere(np.arange(10000).reshape(100, 100) < 2000)))
    node = graph.node.add(op_type="Custom", domain="local")
    node.attribute.add(name="tensors", type=onnx.AttributeProto.TENSORS).tensors.extend(graph.initializer[:2])
    node.attribute.add(name="sparse", type=onnx.AttributeProto.SPARSE_TENSOR).sparse_tensor.CopyFrom(sparse)
    node.attribute.add(name="sparses", type=onnx.AttributeProto.SPARSE_TENSORS).sparse_tensors.append(sparse)
    graphs = node.attribute.add(name="graphs", type=onnx.AttributeProto.GRAPHS).graphs
    graphs.add(name="inner").initializer.append(graph.initializer[0])
    default = model.functions[0].attribute_proto.add(name="default", type=onnx.AttributeProto.TENSOR)
    default.t.CopyFrom(graph.initializer[0])
    model.training_info.add().initialization.initializer.append(graph.initializer[0])
    graph.doc_string = "long " * 2000
    return model


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field on the wire."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def tensors_of(message: object) -> Iterator[TensorProto]:
    """Every TensorProto in a message, found by looking at every field."""
    if isinstance(message, TensorProto):
        yield message
        return
    for field, value in message.ListFields():  # pyright: ignore[reportAttributeAccessIssue]
        if field.message_type is not None:
            for child in [value] if hasattr(value, "ListFields") else value:
                yield from tensors_of(child)


def to_external(model: ModelProto, location: str, minimum: int = 1024) -> bytes:
    """Turn the raw data of `model` into external data at `location`; the content of that file."""
    content = b""
    for tensor in tensors_of(model):
        if tensor.HasField("raw_data") and len(tensor.raw_data) >= minimum:
            entries = {"location": location, "offset": len(content), "length": len(tensor.raw_data)}
            content += tensor.raw_data
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=str(value))
    return content
