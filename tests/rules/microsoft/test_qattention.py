"""QAttention as Attention behind DequantizeLinear, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import normal, whole
from helpers import convert_version

from split_rewrite.rewriter import UnconvertibleError

X, BIAS = whole(np.uint8, 2, 3, 6), normal(24)
NAMES = ("x", "w", "b", "s", "t", "m", "z", "o", "p")


def node_of(given: dict[str, np.ndarray], attributes: str = "", outputs: str = "y") -> str:
    names = [name if name in given else "ABSENT" for name in NAMES]
    while names[-1] == "ABSENT":
        names.pop()
    listed = ", ".join(filter(None, ["num_heads = 2", attributes]))
    return f"{outputs} = com.microsoft.QAttention <{listed}> ({', '.join(names)})"


def stored(kind: type, **more: np.ndarray) -> dict[str, np.ndarray]:
    """Weights and scales with which softmax is not steep: else the last bits of a product would be seen in the results."""
    return {"w": whole(kind, 6, 24), "b": BIAS, "s": np.array(0.002, np.float32), "t": np.array(0.005, np.float32), **more}


def test_half_precision_is_refused():
    constants = {name: array.astype(np.float16) if array.dtype == np.float32 else array for name, array in stored(np.int8).items()}
    node = node_of({"x": X} | constants)
    assert "QAttention of half precision runs on CUDA only" in refused(node, {"x": X}, "float16[2,3,8] y", constants=constants)


def test_what_attention_refuses():
    constants = stored(np.int8)
    node = node_of({"x": X} | constants, "do_rotary = 1")
    assert "positions that only onnxruntime's kernel for CUDA knows" in refused(
        node, {"x": X}, "float[2,3,8] y", constants=constants
    )


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("zeros", [{}, {"z": np.array(120, np.uint8)}, {"z": np.array(120, np.uint8), "o": 3}])
@pytest.mark.parametrize("mask", [{}, {"m": np.array([2, 3], np.int32)}, {"m": np.array([[1, 1, 0], [1, 1, 1]], np.int32)}])
def test_one_scale_for_all_columns(kind, zeros, mask):
    zeros = {name: np.array(value, kind) if name == "o" else value for name, value in zeros.items()}
    constants, inputs = stored(kind, **zeros), {"x": X} | mask
    assert_standard(node_of(inputs | constants), inputs, "float[2,3,8] y", constants=constants, rtol=1e-4, atol=1e-5)


def test_a_scale_for_each_column():
    scales = np.random.default_rng(7).uniform(0.002, 0.005, 24).astype(np.float32)
    constants = stored(np.int8, o=np.zeros(24, np.int8)) | {"t": scales, "z": np.array(120, np.uint8)}
    node = node_of({"x": X} | constants, "unidirectional = 1")
    result = assert_standard(node, {"x": X}, "float[2,3,8] y", constants=constants, rtol=1e-4, atol=1e-5)
    assert operators(result)[:3] == ["DequantizeLinear", "DequantizeLinear", "MatMul"]


@pytest.mark.parametrize(("scales", "zeros"), [((24,), ()), ((24,), (1,)), ((), (24,)), ((1,), (24,))])
def test_scales_and_zero_points_of_unlike_lengths(scales, zeros):
    more = {"t": np.full(scales, 0.005, np.float32), "o": np.full(zeros, 3, np.int8), "z": np.array(120, np.uint8)}
    constants = stored(np.int8) | more
    assert_standard(node_of({"x": X} | constants), {"x": X}, "float[2,3,8] y", constants=constants, rtol=1e-4, atol=1e-5)


def test_scales_of_unknown_length():
    constants = {name: array for name, array in stored(np.int8).items() if name != "t"}
    inputs = {"x": X, "t": np.full(24, 0.005, np.float32)}
    proto = contrib_model(node_of(inputs | constants), inputs, "float[2,3,8] y", constants=constants)
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "C"
    with pytest.raises(UnconvertibleError, match="nothing tells how many numbers 't' has"):
        convert_version(proto, 13, options=STANDARD)


def test_past_and_present():
    constants, inputs = stored(np.int8, z=np.array(120, np.uint8)), {"x": X, "p": normal(2, 2, 2, 2, 4)}
    node = node_of(inputs | constants, "unidirectional = 1", "y, n")
    outputs = "float[2,3,8] y, float[2,2,2,5,4] n"
    assert_standard(node, inputs, outputs, constants=constants, rtol=1e-4, atol=1e-5)


def test_what_follows_is_known():
    """A node that stays tells the types and shapes of its outputs."""
    constants = stored(np.int8)
    node = f"{node_of({'x': X} | constants).replace('y =', 'a =')} y = Softmax <axis = 1> (a)"
    result = convert_version(contrib_model(node, {"x": X}, "float[2,3,8] y", constants=constants, opset=12), 13).model
    assert operators(result)[0] == "QAttention" and "Shape" not in operators(result)
