"""The rules that avoid forms of constants, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites, model, run
from onnx import helper, numpy_helper

from split_rewrite.rewriter import Options, convert_version

REWRITES = [
    (
        "constants.plain_tensor",
        "Constant without the attribute value",
        13,
        "g (float[2] x) => (float[2] y) { t = Constant<value_float = 2.0>() y = Mul(x, t) }",
        "{ t = Constant <value = float {2}> () y = Mul (x, t) }",
    ),
    (
        "constants.state_value",
        "ConstantOfShape without value",
        13,
        "g (float[3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { c = ConstantOfShape(s) y = Add(c, x) }",
        "<int64[2] s = {2, 3}> { c = ConstantOfShape <value = float[1] {0}> (s) y = Add (c, x) }",
    ),
    (
        "constants.fold_scalar",
        "ConstantOfShape of a scalar",
        13,
        "g (float[3] x) => (float[3] y) <int64[0] s = {}> { c = ConstantOfShape<value = float[1] {2}>(s) y = Add(c, x) }",
        "{ c = Constant <value = float {2}> () y = Add (c, x) }",
    ),
    (
        "constants.fold_constants",
        "Operator on constants",
        13,
        "g (float[3] x) => (float[3] y) <float a = {1}, float b = {2}> { c = Add(a, b) y = Add(c, x) }",
        "{ c = Constant <value = float {3}> () y = Add (c, x) }",
    ),
    (
        "constants.fold_constants",
        "Operator on constants",
        13,
        "g (float[1] x) => (float[1] y) <float[2] a = {3, 5}> { s = Exp(a) r = ReduceMax<keepdims = 0>(s) y = Add(x, r) }",
        "{ r = Constant <value = float {148.41316}> () y = Add (x, r) }",
    ),
    (
        "constants.store_for_each_reader",
        "Stored value that is read twice",
        13,
        "g (float[3] x) => (float[9] y) <float[3] w = {1, 2, 3}> { y = Concat<axis = 0>(w, w, x) }",
        "<float[3] w = {1, 2, 3}, float[3] own = {1, 2, 3}> { y = Concat<axis = 0>(own, w, x) }",
    ),
    (
        "constants.store_apart",
        "Stored value that another operator reads",
        17,
        "g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { m = Mul(x, w) y = LayerNormalization(m, w) }",
        "<float[3] w = {1, 2, 3}, float[3] own = {1, 2, 3}, float[3] other = {1, 2, 3}> "
        "{ m = Mul(x, other) y = LayerNormalization(m, own) }",
    ),
    (
        "constants.store_apart",
        "Stored value that another operator reads",
        13,
        "g (float[2,3] x, float[3,3] w) => (float[2,3] y) <float[3] b = {1, 2, 3}> { a = Add(x, b) m = MatMul(a, w) y = Add(m, b) }",
        "<float[3] b = {1, 2, 3}, float[3] own = {1, 2, 3}> { a = Add(x, b) m = MatMul(a, w) y = Add(m, own) }",
    ),
    (
        "constants.widen",
        "Constant of bool, or of 8 or 16 bits",
        13,
        "g (float[2] x) => (float[2] y) <int8[2] w = {-3, 4}> { c = Cast<to = 1>(w) y = Add(c, x) }",
        "<int32[2] v = {-3, 4}> { w = Cast <to = 3> (v) c = Cast <to = 1> (w) y = Add (c, x) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


def test_constants_of_half_precision_become_floats(tmp_path: Path) -> None:
    before = "g (float16[2] x) => (float16[2] y) <float16[2] w = {15360, 16896}> { y = Mul(w, x) }"
    after = "<float[2] v = {1, 3}> { w = Cast <to = 10> (v) y = Mul (w, x) }"
    assert_rewrites(before, after, "constants.widen", 13, 13, for_a_runtime("Constant of bool, or of 8 or 16 bits", tmp_path))


def test_an_operator_that_is_not_on_the_list_is_expressed_though_its_constants_are_widened() -> None:
    before = model("g (float[4] x) => (uint8[4] y) <float s = {0.5}, uint8 z = {3}> { y = QuantizeLinear(x, s, z) }", 13)
    result = convert_version(before, 13, options=Options(for_runtimes=["mnn-3.6"])).model
    assert "QuantizeLinear" not in {node.op_type for node in result.graph.node}
    x = np.array([-1.5, 0.25, 0.75, 200], np.float32)
    np.testing.assert_array_equal(run(result, {"x": x})[0], np.array([0, 3, 5, 255], np.uint8))


def test_what_is_computed_of_constants_is_not_widened() -> None:
    """Another rule writes such a condition as a comparison: the two would follow each other for ever."""
    before = model("g (float[2] x) => (float[2] y) <bool[2] c = {1, 0}> { y = Where(c, x, x) }", 13)
    before.graph.node[0].input[2] = "c_as_float"
    before.graph.node.insert(0, helper.make_node("Cast", ["c"], ["c_as_float"], to=1))
    result = convert_version(before, 13, options=Options(for_runtimes=["mnn-3.6"])).model
    x = np.array([3, 4], np.float32)
    np.testing.assert_array_equal(run(result, {"x": x})[0], [3, 0])


def test_parts_of_a_stored_value_and_large_values_are_stored(tmp_path: Path) -> None:
    numbers = np.arange(70_000, dtype=np.int64)
    proto = model(
        "g (int64[2] x) => (int64[2] y, int64[2] z, int64[70000] w) <int64[4] c = {5, 6, 7, 8}> "
        "{ a, b = Split(c) y = Add(x, a) z = Add(x, b) n = Abs(d) t = Slice(x, e, f) w = Add(n, t) }",
        11,
    )
    for name, value in (("d", -numbers), ("e", np.array([0])), ("f", np.array([1]))):
        proto.graph.initializer.append(numpy_helper.from_array(value, name))
    result = convert_version(proto, 11, options=for_a_runtime("Operator on constants", tmp_path)).model
    assert [node.op_type for node in result.graph.node if node.op_type != "Constant"] == ["Add", "Add", "Slice", "Add"]
    y, z, w = run(result, {"x": np.array([1, 2])})
    np.testing.assert_array_equal(y, [6, 8])
    np.testing.assert_array_equal(z, [8, 10])
    np.testing.assert_array_equal(w, numbers + 1)
