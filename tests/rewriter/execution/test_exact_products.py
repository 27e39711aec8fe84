"""Models whose products onnxruntime computes exactly on every processor; expected numbers are integers of numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.execution import exact_products
from split_rewrite.rewriter.execution.exact_products import Product, with_exact_products
from split_rewrite.rewriter.execution.in_onnxruntime import OnnxRuntime, OptimizedOnnxRuntime
from split_rewrite.rewriter.execution.messages import Outputs, RejectedError

A = np.array([[255, 255, 254, 3], [0, 1, 255, 255]], np.uint8)
B = np.array([[127, -128], [127, -128], [1, 126], [-7, 127]], np.int8)
WIDE_A, WIDE_B = A.astype(np.int64), B.astype(np.int64)
IMAGE, KERNEL = A.reshape(1, 2, 2, 2), B.reshape(2, 2, 2, 1)


@pytest.fixture(autouse=True)
def _inexact(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a processor whose kernels saturate."""
    monkeypatch.setattr(exact_products, "are_exact", lambda: False)


def run_exactly(text: str, folder: Path, **inputs: Any) -> Outputs:
    onnx.save(model(text, 13), folder / "model.onnx")
    try:
        return OnnxRuntime(str(folder / "model.onnx"), ()).run(inputs)
    except RejectedError as rejected:
        if rejected.failure.kind != "unsupported":
            raise
        pytest.skip(f"this onnxruntime has no such kernel: {rejected.failure.message}")


STAYS = {
    "both unsigned": "g (uint8[2,4] a, uint8[4,2] b) => (int32[2,2] y) { y = MatMulInteger (a, b) }",
    "both signed": "g (int8[2,4] a, int8[4,2] b) => (int32[2,2] y) { y = MatMulInteger (a, b) }",
    "products of floats": "g (float[2,4] a, float[4,2] b) => (float[2,2] MatMulInteger) { MatMulInteger = MatMul (a, b) }",
    "no products": "g (uint8[2,4] a) => (uint8[2,4] y) { y = Identity (a) }",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS.keys())
def test_a_model_without_such_products_stays(text: str) -> None:
    assert with_exact_products(model(text, 13).SerializeToString()) is None


def test_a_model_stays_where_kernels_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_products, "are_exact", lambda: True)
    text = "g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) { y = MatMulInteger (a, b) }"
    assert with_exact_products(model(text, 13).SerializeToString()) is None


def test_absent_outputs_stay_absent() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (uint8[1,2,4] x, int8[4,12] w, float[12] c, float s, float t) => (float[1,2,4] y) {
            y = com.microsoft.QAttention <num_heads = 2> (x, w, c, s, t)
        }"""
    proto = model(text)
    proto.graph.node[0].output.append("")
    exact = with_exact_products(proto.SerializeToString())
    assert exact is not None
    assert [list(node.output)[1] for node in onnx.load_model_from_string(exact.model).graph.node if len(node.output) == 2] == [
        "",
        "",
    ]


PRODUCTS = {
    "the left one is signed": ("g (uint8[2,4] a, int8[4,2] b) => (int32[4,4] y) { y = MatMulInteger (b, a) }", WIDE_B @ WIDE_A),
    "inputs": ("g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) { y = MatMulInteger (a, b) }", WIDE_A @ WIDE_B),
    "a node with a name": (
        "g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) { [product] y = MatMulInteger (a, b) }",
        WIDE_A @ WIDE_B,
    ),
    "zero points": (
        "g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) <uint8 p = {9}, int8[2] q = {-128, 127}> { y = MatMulInteger (a, b, p, q) }",
        (WIDE_A - 9) @ (WIDE_B - [-128, 127]),
    ),
    "a type that is computed": (
        "g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) { t = Transpose (b) c = Transpose (t) y = MatMulInteger (a, c) }",
        WIDE_A @ WIDE_B,
    ),
    "in a branch": (
        "g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) <bool yes = {1}> { y = If (yes) <"
        "then_branch = t () => (int32[2,2] p) { p = MatMulInteger (a, b) }, else_branch = e () => (int32[2,2] q) { q = MatMulInteger (a, b) }> }",
        WIDE_A @ WIDE_B,
    ),
    "in a function": (
        '<ir_version: 8, opset_import: ["" : 13, "f" : 1]> g (uint8[2,4] a, int8[4,2] b) => (int32[2,2] y) { y = f.product (a, b) } '
        '<domain: "f", opset_import: ["" : 13]> product (a, b) => (y) { y = MatMulInteger (a, b) }',
        WIDE_A @ WIDE_B,
    ),
    "a large sum": (
        "g (uint8[2,4] a, int8[4,2] b) => (uint8[2,2] y) <float s = {1}, float u = {200}, uint8 p = {0}, int8 q = {0}, uint8 r = {100}> "
        "{ y = QLinearMatMul (a, s, p, b, s, q, u, r) }",
        np.clip(np.rint(WIDE_A @ WIDE_B / 200) + 100, 0, 255),
    ),
}


@pytest.mark.parametrize(("text", "expected"), PRODUCTS.values(), ids=PRODUCTS.keys())
def test_products_are_exact(text: str, expected: np.ndarray, tmp_path: Path) -> None:
    outputs = run_exactly(text, tmp_path, a=A, b=B)
    assert outputs.names == ("y",)
    np.testing.assert_array_equal(outputs.values[0], expected)


@pytest.mark.parametrize(("kinds", "x", "w"), [("uint8 int8", IMAGE, KERNEL), ("int8 uint8", KERNEL.reshape(1, 2, 2, 2), IMAGE)])
def test_padding_stays_the_zero_point(kinds: str, x: np.ndarray, w: np.ndarray, tmp_path: Path) -> None:
    of_x, of_w = kinds.split()
    text = (
        f"g ({of_x}[1,2,2,2] x, {of_w}[{','.join(map(str, w.shape))}] w) => (int32[1,N,H,W] y) <{of_x} p = {{5}}> "
        "{ y = ConvInteger<pads = [1, 0, 0, 1]> (x, w, p) }"
    )
    padded = np.pad(x.astype(np.int64) - 5, ((0, 0), (0, 0), (1, 0), (0, 1)))
    height, width = w.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), (2, 3))
    expected = np.einsum("nchwij,mcij->nmhw", windows, w.astype(np.int64))
    np.testing.assert_array_equal(run_exactly(text, tmp_path, x=x, w=w).values[0], expected)


IMPORTS = '<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]>'
OF_ONNXRUNTIME = {
    "DynamicQuantizeMatMul": "g (float[2,4] f, int8[4,2] b) => (float[2,2] y) <float s = {0.1}> { y = com.microsoft.DynamicQuantizeMatMul (f, b, s) }",
    "MatMulIntegerToFloat": "g (uint8[2,4] a, int8[4,2] b) => (float[2,2] y) <float s = {0.1}, uint8 p = {7}> { y = com.microsoft.MatMulIntegerToFloat (a, b, s, s, p) }",
    "QGemm": "g (uint8[2,4] a, int8[4,2] b) => (float[2,2] y) <float s = {0.1}, uint8 p = {7}, int8 q = {1}> { y = com.microsoft.QGemm (a, s, p, b, s, q) }",
    "QLinearConv": "g (uint8[1,2,2,2] x, int8[2,2,2,1] w) => (uint8[1,1,2,2] y) <float s = {0.1}, float u = {5}, uint8 p = {7}, int8 q = {0}> { y = com.microsoft.QLinearConv<channels_last = 1> (x, s, p, w, s, q, u, p) }",
}


@pytest.mark.parametrize("text", OF_ONNXRUNTIME.values(), ids=OF_ONNXRUNTIME.keys())
def test_operators_of_onnxruntime_give_what_they_give_for_weights_that_cannot_saturate(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = B // 2
    inputs = {"a": A, "b": narrow, "f": A.astype(np.float32) - 60, "x": IMAGE, "w": narrow.reshape(2, 2, 2, 1)}
    given = {name: value for name, value in inputs.items() if f"] {name}" in text}
    got = run_exactly(f"{IMPORTS} {text}", tmp_path, **given)
    assert got.saturated == ()
    monkeypatch.setattr(exact_products, "are_exact", lambda: True)
    expected = run_exactly(f"{IMPORTS} {text}", tmp_path, **given)
    np.testing.assert_array_equal(got.values[0], expected.values[0])


def test_what_saturates_is_told_from_what_is_rounded() -> None:
    product = Product("MatMulInteger 'y'", "exact", "own")
    exact = np.array([[1000, -3]], np.int32)
    assert not product.differs({"exact": exact, "own": exact})
    assert product.differs({"exact": exact, "own": np.array([[999, -3]], np.int32)})
    floats = np.array([1000.0, np.nan], np.float32)
    assert not product.differs({"exact": floats, "own": np.nextafter(floats, np.float32(0))})
    assert product.differs({"exact": floats, "own": floats[::-1]})


def test_the_optimizer_does_not_bring_inexact_products_in(tmp_path: Path) -> None:
    """It joins DequantizeLinear, MatMul and QuantizeLinear to one product of integers."""
    text = """g (uint8[2,4] a) => (uint8[2,2] y) <float s = {1}, uint8 z = {0}, int8 q = {0}, float t = {512}, uint8 r = {128},
        int8[4,2] w = {127,-128,127,-128,1,126,-7,127}>
        { b = DequantizeLinear (a, s, z) c = DequantizeLinear (w, s, q) d = MatMul (b, c) y = QuantizeLinear (d, t, r) }"""
    onnx.save(model(text, 13), tmp_path / "model.onnx")
    (found,) = OptimizedOnnxRuntime(str(tmp_path / "model.onnx"), ()).run({"a": A}).values
    np.testing.assert_array_equal(found, np.clip(np.rint(WIDE_A @ WIDE_B / 512) + 128, 0, 255))
