"""Inputs that depend on each other, or on the declared shapes of the outputs: each of these models has to be judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from split_rewrite.rewriter import Options, convert_version
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.inputs.samples import Samples
from split_rewrite.rewriter.comparison.verdicts import Comparison
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.model_client import Worker

Save = Callable[..., Path]

RATE = """
g (float[b,t] x, float[2,b,8] state, int64 rate) => (float[b,m] y, float[2,b,8] next) {
  high = Constant<value = int64 {16000}>()
  low = Constant<value = int64 {8000}>()
  is_high = Equal(rate, high)
  shape = If (is_high) <
    then_branch = a () => (int64[2] s) { s = Constant<value = int64[2] {0, 512}>() },
    else_branch = b () => (int64[2] s) {
      is_low = Equal(rate, low)
      s = If (is_low) <
        then_branch = c () => (int64[2] u) { u = Constant<value = int64[2] {0, 256}>() },
        else_branch = d () => (int64[2] u) { u = Constant<value = int64[2] {OTHER}>() }
      >
    }
  >
  y = Reshape(x, shape)
  one = Constant<value = float {1.0}>()
  next = Add(state, one)
}"""
"""The length of x depends on the rate, which is one of two numbers."""

MODELS = {
    "one of two rates": (RATE.replace("OTHER", "7, 7"), 17),
    "one of two rates, or anything": (RATE.replace("OTHER", "-1, 1"), 17),
    "stft all": (
        "g (float[1,n,1] x, int64 step, int64 size) => (float[1,f,b,2] y) { y = STFT(x, step, , size) }",
        17,
    ),
    "stft window": (
        """g (float[1,n,1] x, int64 step, float[w] window, int64 size) => (float[1,f,b,2] y) {
y = STFT(x, step, window, size) }""",
        17,
    ),
    "stft declared": (
        "g (float[1,128,1] x, int64 step, float[16] window) => (float[1,15,9,2] y) { y = STFT(x, step, window) }",
        17,
    ),
    "stft declared frames": (
        "g (float[1,128,1] x, int64 step, int64 size) => (float[1,15,9,2] y) { y = STFT(x, step, , size) }",
        17,
    ),
    "kv cache": (
        """g (float[b,h,s,8] q, float[b,h,p,8] past, float[b,1,s,total] mask) => (float[b,h,s,total] y) {
k = Concat<axis = 2>(past, q) kt = Transpose<perm = [0,1,3,2]>(k) a = MatMul(q, kt) z = Add(a, mask) y = Softmax(z) }""",
        17,
    ),
    "topk": (
        "g (float[2,5] x, int64[1] k) => (float[2,4] v, int64[2,4] i) { v, i = TopK(x, k) }",
        17,
    ),
    "reshape behind": (
        "g (float[3,4] x, int64[2] s) => (float[6,2] y) { z = Reshape(x, s) y = Relu(z) }",
        17,
    ),
    "split": (
        "g (float[7,2] x, int64[3] s) => (float[?,2] a, float[?,2] b, float[?,2] c) { a, b, c = Split(x, s) }",
        17,
    ),
    "split declared": (
        """g (float[7,2] x, int64[3] s) => (float[1,2] a, float[4,2] b, float[2,2] c) {
p, q, c = Split(x, s) a = Relu(p) b = Neg(q) }""",
        17,
    ),
    "pad": (
        "g (float[2,3] x, int64[4] p) => (float[4,8] y) { y = Pad(x, p) }",
        17,
    ),
    "pad reflect": (
        'g (float[2,5] x, int64[4] p) => (float[3,9] y) { z = Pad<mode = "reflect">(x, p) y = Neg(z) }',
        17,
    ),
    "pad axes": (
        "g (float[2,3,4] x, int64[4] p, int64[2] a) => (float[2,5,7] y) { y = Pad(x, p, , a) }",
        18,
    ),
    "resize sizes": (
        'g (float[1,1,4,6] x, int64[4] s) => (float[1,1,7,9] y) { y = Resize<mode = "linear">(x, , , s) }',
        18,
    ),
    "resize scales": (
        'g (float[1,1,4,6] x, float[4] s) => (float[1,1,6,9] y) { z = Resize<mode = "nearest">(x, , s) y = Relu(z) }',
        18,
    ),
    "upsample": (
        'g (float[1,1,4,6] x, float[4] s) => (float[1,1,8,18] y) { y = Upsample<mode = "nearest">(x, s) }',
        9,
    ),
    "slice": (
        "g (float[10,6] x, int64[2] s, int64[2] e) => (float[4,3] y) { z = Slice(x, s, e) y = Relu(z) }",
        17,
    ),
    "slice steps": (
        "g (float[10,6] x, int64[2] s, int64[2] e, int64[2] a, int64[2] t) => (float[4,3] y) { y = Slice(x, s, e, a, t) }",
        17,
    ),
    "tile": (
        "g (float[2,3] x, int64[2] r) => (float[6,12] y) { z = Tile(x, r) y = Relu(z) }",
        17,
    ),
    "expand": (
        "g (float[3,1] x, int64[3] r) => (float[2,3,5] y) { z = Expand(x, r) y = Relu(z) }",
        17,
    ),
    "range": (
        "g (float a, float b, float c) => (float[5] y) { y = Range(a, b, c) }",
        17,
    ),
    "range ints": (
        "g (int64 a, int64 b, int64 c) => (int64[5] y) { y = Range(a, b, c) }",
        17,
    ),
    "constant of shape": (
        "g (int64[2] s, float[4,5] x) => (float[4,5] y) { z = ConstantOfShape<value = float[1] {2.0}>(s) y = Add(x, z) }",
        17,
    ),
    "loop": (
        """g (int64 n, float[3] x) => (float[4,3] y) {
c = Constant<value = bool {1}>() e, y = Loop(n, c, x) <body = b (int64 i, bool k, float[3] v) => (bool k2, float[3] w, float[3] o) { k2 = Identity(k) w = Add(v, v) o = Identity(w) }> }""",
        17,
    ),
    "frames of 2 x 80": (
        """g (float[n] x, float[k,80] w) => (float[f,2,80] y) {
s = Constant<value = int64[3] {-1, 2, 80}>() z = Reshape(x, s) y = Mul(z, w) }""",
        17,
    ),
    "col2im": (
        "g (float[1,6,15] x, int64[2] s, int64[2] k) => (float[1,1,6,5] y) { y = Col2Im(x, s, k) }",
        18,
    ),
    "max unpool": (
        """g (float[1,1,2,2] x, int64[1,1,2,2] i, int64[4] s) => (float[1,1,5,5] y) {
y = MaxUnpool<kernel_shape = [2,2], strides = [2,2]>(x, i, s) }""",
        17,
    ),
    "one hot": (
        "g (int64[3] i, float depth, float[2] v) => (float[3,7] y) { y = OneHot(i, depth, v) }",
        17,
    ),
    "dft": (
        "g (float[1,8,1] x, int64 n) => (float[1,5,2] y) { y = DFT<onesided = 1>(x, n) }",
        17,
    ),
    "affine grid": (
        "g (float[2,2,3] t, int64[4] s) => (float[2,5,6,2] y) { y = AffineGrid(t, s) }",
        20,
    ),
    "crop": (
        "g (float[9,9] x, int64[2] s) => (float[4,6] y) { z = CenterCropPad(x, s) y = Neg(z) }",
        18,
    ),
    "kHz": (
        """g (float[t] x, int64 rate) => (float[?,?] y) {
k = Constant<value = int64 {1000}>() q = Div(rate, k) s = Constant<value = int64[1] {0}>() r = Unsqueeze(q, s) m = Constant<value = int64[1] {-1}>() f = Concat<axis = 0>(m, r) y = Reshape(x, f) }""",
        17,
    ),
}
NEVER = "g (float[n] x) => (float[?] y) { s = Shape(x) o = Constant<value = int64[1] {1}>() t = Add(s, o) y = Reshape(x, t) }"
"""A model that takes no inputs at all."""


def save_negated(path: Path) -> Path:
    """Write a copy of the model at `path` whose first output has the other sign."""
    model = onnx.load(path)
    name = model.graph.output[0].name
    for node in model.graph.node:
        node.output[:] = ["before" if output == name else output for output in node.output]
    model.graph.node.append(onnx.helper.make_node("Neg", ["before"], [name]))
    negated = path.with_name("negated.onnx")
    onnx.save(model, negated)
    return negated


def assert_not_compared(found: Comparison, shapes: str) -> None:
    assert found.status == "not compared"
    assert f"output 'y' of the original has shape {shapes}, on all inputs tried" in found.reason


# --- what must not be judged ------------------------------------------------------------------------------------------


def test_another_shape_proves_nothing_where_the_declared_shapes_never_hold(save: Save, worker: Worker) -> None:
    """A result that makes the declared shape is what a rule writes that goes by it."""
    original = save("g (float[2,3] x) => (float[2,1] y) { y = Relu(x) }")
    result = save("g (float[2,3] x) => (float[2,1] y) { a = Constant<value = int64[1] {1}>() y = ReduceMax(x, a) }")
    assert_not_compared(compare(original, result, worker=worker, thorough=True), "[2, 3], which is declared as [2, 1]")


def test_a_result_that_fails_proves_nothing_where_the_declared_shapes_never_hold(save: Save, worker: Worker) -> None:
    original = save("g (float[2,3] x) => (float[4,3] y) { y = Relu(x) }")
    result = save("g (float[2,3] x) => (float[4,3] y) { s = Constant<value = int64[2] {4, 3}>() z = Relu(x) y = Reshape(z, s) }")
    assert_not_compared(compare(original, result, worker=worker, thorough=True), "[2, 3], which is declared as [4, 3]")


def test_other_numbers_are_a_difference_whatever_is_declared(save: Save, worker: Worker) -> None:
    original = save("g (float[2,3] x) => (float[4,3] y) { y = Relu(x) }")
    result = save("g (float[2,3] x) => (float[4,3] y) { y = Neg(x) }")
    assert compare(original, result, worker=worker, thorough=True).status == "different"


def test_what_agrees_where_the_declared_shapes_never_hold_is_equal(save: Save, worker: Worker) -> None:
    path = save("g (float[2,3] x) => (float[4,3] y) { y = Relu(x) }")
    assert compare(path, path, worker=worker, thorough=True).status == "equal"


def test_inputs_of_the_user_are_judged_whatever_is_declared(save: Save, worker: Worker) -> None:
    original = save("g (float[n,3] x) => (float[4,3] y) { y = Relu(x) }")
    result = save("g (float[n,3] x) => (float[4,3] y) { y = Neg(x) }")
    samples = Samples(data=[{"x": np.ones((2, 3), np.float32)}])
    assert compare(original, result, worker=worker, samples=samples).status == "different"


def test_a_model_that_takes_nothing_is_given_up(save: Save, worker: Worker) -> None:
    path = save(NEVER)
    found = compare(path, path, worker=worker, thorough=True)
    assert found.status == "not compared"
    assert "onnxruntime cannot run the original on any inputs tried" in found.reason
    assert "Hint: give other inputs by --test-input-shape or --input-data; they are x float32[n]" in found.reason


def test_infinity_is_no_number_to_try(save: Save, worker: Worker) -> None:
    """An integer input is compared with an infinity, and no usual input fits, so that others are searched."""
    text = "g (int64[2] s, float[7] x) => (float[?] y) { z = Constant<value_float = 0.0>() i = Log(z) f = Cast<to = 1>(s) b = Less(f, i) n = Cast<to = 7>(b) t = Add(s, n) r = Reshape(x, t) y = Neg(r) }"
    path = save(text)
    model = onnx.load(path)
    del model.graph.node[:2]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(-np.inf, np.float32), "i"))
    onnx.save(model, path)
    assert compare(path, path, worker=worker, thorough=True).status in ("equal", "not compared")


# --- what must be judged ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, opset", MODELS.values(), ids=MODELS.keys())
def test_models_are_judged(save: Save, worker: Worker, text: str, opset: int) -> None:
    path = save(text, opset, ir_version=8)
    declared = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in onnx.load(path).graph.output]
    found = compare(path, path, worker=worker, thorough=True, budget=Budget(60))
    assert found.status == "equal", found.reason
    for output, dims in zip(found.outputs, declared, strict=True):
        assert all(size in (0, got) for size, got in zip(dims, output.shape, strict=True))
    assert compare(path, save_negated(path), worker=worker, thorough=True, budget=Budget(60)).status == "different"


@pytest.mark.parametrize("rate, other", [("{0, 512}", "{-1, 256}"), ("{0, 256}", "{-1, 128}")])
def test_each_rate_is_judged(save: Save, worker: Worker, rate: str, other: str) -> None:
    original = RATE.replace("OTHER", "-1, 1")
    found = compare(save(original, 17), save(original.replace(rate, other), 17), worker=worker, thorough=True)
    assert found.status == "different"


def test_a_symbol_that_stands_for_several_sizes_is_a_word(save: Save, worker: Worker) -> None:
    text = "g (float[dynamic,dynamic] x) => (float[dynamic,dynamic] y) { z = Neg(x) y = Concat<axis = 0>(x, z) }"
    assert compare(save(text), save(text), worker=worker, thorough=True).status == "equal"
    wrong = text.replace("(x, z)", "(z, x)")
    assert compare(save(text), save(wrong), worker=worker, thorough=True).status == "different"


def test_inputs_found_are_the_same_each_time(save: Save, worker: Worker) -> None:
    path = save(*MODELS["pad"])
    one, other = (compare(path, path, worker=worker, thorough=True) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    "name", ["pad", "pad reflect", "resize sizes", "slice", "expand", "tile", "affine grid", "crop", "stft declared"]
)
def test_rules_that_go_by_the_declared_shapes_raise_no_alarm(name: str) -> None:
    text, opset = MODELS[name]
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    comparison = convert_version(model, 9, options=Options(compare_budget=60)).report.comparison
    assert comparison is not None
    assert comparison.status == "equal", comparison.reason
