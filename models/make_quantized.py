"""Make quantized models with onnxruntime's own quantizer. Needs onnxruntime, which split-rewrite does not:

    python models/make_quantized.py FOLDER [NAME ...]

Each becomes FOLDER/NAME.onnx, of opset 21, with random weights. They are not kept here: the tests make them anew.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported
from onnxruntime import quantization
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

OPSET = 21
WIDTH, HEADS, LENGTH = 192, 4, 16
"""Of the block of a transformer: not all of its dimensions are multiples of the longer block of weights, 128."""

CONVNET = """convnet (float[N,3,16,16] x) => (float[N,10] y) {
    a = Conv <pads = [1,1,1,1]> (x, w1, b1)
    b = Relu (a)
    c = Conv <pads = [1,1,1,1], strides = [2,2]> (b, w2, b2)
    d = Relu (c)
    e = Conv <pads = [1,1,1,1]> (d, w3, b3)
    f = Add (d, e)
    g = GlobalAveragePool (f)
    h = Flatten (g)
    y = Gemm <transB = 1> (h, w4, b4)
}"""
BLOCK = """block (float[N,16,192] x) => (float[N,16,192] y) {
    n1 = LayerNormalization (x, g1, h1)
    qkv = MatMul (n1, w_qkv)
    biased = Add (qkv, b_qkv)
    q0, k0, v0 = Split <axis = 2, num_outputs = 3> (biased)
    q1 = Reshape (q0, heads)
    k1 = Reshape (k0, heads)
    v1 = Reshape (v0, heads)
    q = Transpose <perm = [0,2,1,3]> (q1)
    k = Transpose <perm = [0,2,3,1]> (k1)
    v = Transpose <perm = [0,2,1,3]> (v1)
    scores = MatMul (q, k)
    scaled = Mul (scores, scale)
    masked = Add (scaled, mask)
    weights = Softmax <axis = -1> (masked)
    context = MatMul (weights, v)
    together = Transpose <perm = [0,2,1,3]> (context)
    flat = Reshape (together, joined)
    projected = MatMul (flat, w_out)
    r1 = Add (x, projected)
    n2 = LayerNormalization (r1, g2, h2)
    up = MatMul (n2, w_up)
    active = Gelu <approximate = "tanh"> (up)
    down = MatMul (active, w_down)
    y = Add (r1, down)
}"""


def _model(text: str, constants: dict[str, Any]) -> onnx.ModelProto:
    """The graph `text` with `constants` as initializers."""
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {OPSET}]> {text}')
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    return model


def convnet() -> onnx.ModelProto:
    """Three convolutions, one of them a residual, and a linear layer."""
    rng = np.random.default_rng(1)
    shapes = {"w1": (8, 3, 3, 3), "w2": (16, 8, 3, 3), "w3": (16, 16, 3, 3), "w4": (10, 16)}
    weights = {name: rng.normal(0, 0.2, shape) for name, shape in shapes.items()}
    biases = {f"b{name[1:]}": rng.normal(0, 0.1, shape[0]) for name, shape in shapes.items()}
    return _model(CONVNET, {name: value.astype(np.float32) for name, value in {**weights, **biases}.items()})


def block() -> onnx.ModelProto:
    """A block of GPT-2: causal attention and two linear layers, with their normalizations."""
    rng = np.random.default_rng(2)
    shapes = {"w_qkv": (WIDTH, 3 * WIDTH), "b_qkv": (3 * WIDTH,), "w_out": (WIDTH, WIDTH), "w_up": (WIDTH, 4 * WIDTH)}
    constants = {name: rng.normal(0, 0.05, shape) for name, shape in {**shapes, "w_down": (4 * WIDTH, WIDTH)}.items()}
    constants |= {name: rng.normal(value, 0.05, WIDTH) for name, value in (("g1", 1), ("h1", 0), ("g2", 1), ("h2", 0))}
    constants |= {"scale": np.array((WIDTH / HEADS) ** -0.5), "mask": np.triu(np.full((LENGTH, LENGTH), -1e4), 1)}
    shapes = {"heads": np.array([0, 0, HEADS, WIDTH // HEADS]), "joined": np.array([0, 0, WIDTH])}
    return _model(BLOCK, {name: value.astype(np.float32) for name, value in constants.items()} | shapes)


def samples(model: onnx.ModelProto, count: int = 4) -> Iterator[dict[str, np.ndarray]]:
    """Inputs for `model`, for calibration and for comparing."""
    rng = np.random.default_rng(3)
    (given,) = model.graph.input
    shape = [dim.dim_value or 2 for dim in given.type.tensor_type.shape.dim]
    yield from ({given.name: rng.normal(size=shape).astype(np.float32)} for _ in range(count))


class _Calibration(quantization.CalibrationDataReader):
    """Hands `samples` to the quantizer, one by one."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._samples = samples(model)

    def get_next(self) -> dict[str, np.ndarray] | None:  # type: ignore[override]
        return next(self._samples, None)


def _quantized(model: onnx.ModelProto, quantize: Callable[[Path, Path], None]) -> onnx.ModelProto:
    """What `quantize`, which reads one file and writes another, makes of `model`."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.onnx"), Path(folder, "made.onnx")
        onnx.save(model, given)
        quantize(given, made)
        return onnx.load(made)


def static(model: onnx.ModelProto, *, kind: quantization.QuantType, per_channel: bool = False) -> onnx.ModelProto:
    """Activations of type `kind` and 8-bit weights behind QuantizeLinear and DequantizeLinear, with scales from calibration."""
    return _quantized(
        model,
        lambda given, made: quantization.quantize_static(
            given,
            made,
            _Calibration(model),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=per_channel,
            activation_type=kind,
            weight_type=quantization.QuantType.QInt8,
        ),
    )


def dynamic(model: onnx.ModelProto) -> onnx.ModelProto:
    """Weights in 8 bits, and activations quantized while the model runs."""
    return _quantized(
        model, lambda given, made: quantization.quantize_dynamic(given, made, weight_type=quantization.QuantType.QInt8)
    )


def four_bits(model: onnx.ModelProto, *, block_size: int, symmetric: bool) -> onnx.ModelProto:
    """Weights of MatMul in 4 bits, with a scale for each block, behind a DequantizeLinear."""
    quantizer = MatMulNBitsQuantizer(
        model, block_size=block_size, is_symmetric=symmetric, quant_format=quantization.QuantFormat.QDQ
    )
    quantizer.process()
    assert quantizer.model is not None
    return quantizer.model.model


def eight_bit_floats(model: onnx.ModelProto) -> onnx.ModelProto:
    """Both operands of each MatMul quantized to float8e4m3fn and back, which onnxruntime's quantizer fails to do."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    kind = onnx.TensorProto.FLOAT8E4M3FN
    model.graph.initializer.append(helper.make_tensor("float8", kind, [], [0.0]))
    nodes = []
    for node in model.graph.node:
        for index, name in enumerate(node.input) if node.op_type == "MatMul" else ():
            largest = np.abs(constants[name]).max() if name in constants else 20
            scale, made = f"{node.output[0]}_scale{index}", f"{node.output[0]}_operand{index}"
            model.graph.initializer.append(numpy_helper.from_array(np.float32(largest / 448), scale))
            nodes.append(helper.make_node("QuantizeLinear", [name, scale, "float8"], [f"{made}_quantized"]))
            nodes.append(helper.make_node("DequantizeLinear", [f"{made}_quantized", scale, "float8"], [made]))
            node.input[index] = made
        nodes.append(node)
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    del quantized.graph.node[:]
    quantized.graph.node.extend(nodes)
    return quantized


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "convnet_uint8": lambda: static(convnet(), kind=quantization.QuantType.QUInt8),
    "convnet_int8_per_channel": lambda: static(convnet(), kind=quantization.QuantType.QInt8, per_channel=True),
    "convnet_int16": lambda: static(convnet(), kind=quantization.QuantType.QInt16),
    "block_uint8": lambda: static(block(), kind=quantization.QuantType.QUInt8),
    "block_dynamic": lambda: dynamic(block()),
    "block_float8": lambda: eight_bit_floats(block()),
    "block_int4_by_32": lambda: four_bits(block(), block_size=32, symmetric=True),
    "block_uint4_by_32": lambda: four_bits(block(), block_size=32, symmetric=False),
    "block_int4_by_128": lambda: four_bits(block(), block_size=128, symmetric=True),
    "block_uint4_by_128": lambda: four_bits(block(), block_size=128, symmetric=False),
}
"""Each model, and what makes it."""


def main(folder: str, *names: str) -> None:
    for name in names or MODELS:
        onnx.save(MODELS[name](), Path(folder, f"{name}.onnx"))


if __name__ == "__main__":
    main(*sys.argv[1:])
