"""If, Loop and Scan of which it is known what runs."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, model, run
from onnx import ModelProto, numpy_helper

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

STATIC = Options(static=True)
IF = """g (float[2] x) => (float[2] y) <bool c = {1}>
    { y = If (c) <then_branch = a () => (float[2] t) { t = Neg (x) }, else_branch = b () => (float[2] e) { e = Abs (x) }> }"""
LOOP = """g (float[2] x) => (float[2] y, float[2,2] z) <int64 n = {2}, bool c = {1}>
    { y, z = Loop (n, c, x) <body = b (int64 i, bool g, float[2] v) => (bool h, float[2] w, float[2] r)
        { h = Identity (g) w = Neg (v) r = Abs (v) }> }"""
SCAN = """g (float[2] x, float[3,2] s) => (float[2] y, float[2,3] z)
    { y, z = Scan <num_scan_inputs = 1, scan_output_axes = [1], scan_input_directions = [1],
        body = b (float[2] v, float[2] e) => (float[2] w, float[2] r) { w = Add (v, e) r = Mul (w, e) }> (x, s) }"""
REWRITES = [
    ("bodies.branch", IF, "{ y = Neg (x) }"),
    (
        "bodies.turns",
        LOOP,
        """<int64[1] k = {0}>
        { a = Neg (x) b = Abs (x) y = Neg (a) d = Abs (a) e = Unsqueeze (b, k) f = Unsqueeze (d, k) z = Concat <axis = 0> (e, f) }""",
    ),
    (
        "bodies.steps",
        SCAN.replace("float[3,2] s", "float[1,2] s").replace("float[2,3] z", "float[2,1] z"),
        "<int64 i = {0}, int64[1] a = {1}> { e = Gather <axis = 0> (s, i) y = Add (x, e) r = Mul (y, e) z = Unsqueeze (r, a) }",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=["If", "Loop", "Scan"])
def test_rewrites(rule: str, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, 18, 18, STATIC)


@pytest.mark.parametrize("target", [11, 13, 18, 21])
@pytest.mark.parametrize("text", [IF, LOOP, SCAN], ids=["If", "Loop", "Scan"])
def test_no_body_is_left(text: str, target: int) -> None:
    given = model(text, 18)
    result = convert_version(given, target, options=STATIC).model
    assert {"If", "Loop", "Scan"}.isdisjoint(node.op_type for node in result.graph.node)
    inputs = {"x": np.float32([1.5, -2]), "s": np.float32([[1, 2], [-3, 4], [5, 6.5]])}
    inputs = {value.name: inputs[value.name] for value in given.graph.input}
    for left, right in zip(run(given, inputs), run(result, inputs), strict=True):
        np.testing.assert_array_equal(left, right)


STAYS = {
    "a condition at run time": model(IF.replace("(float[2] x)", "(float[2] x, bool c)").replace("<bool c = {1}>", ""), 18),
    "a trip count at run time": model(
        LOOP.replace("(float[2] x)", "(float[2] x, int64 n)")
        .replace("int64 n = {2}, ", "")
        .replace("float[2,2] z", "float[N,2] z"),
        18,
    ),
    "too many turns": model(LOOP.replace("{2}", "{3000}").replace("float[2,2] z", "float[3000,2] z"), 18),
    "a Loop that may end": model(
        LOOP.replace("h = Identity (g)", "o = Less (v, v) k = ReduceMax <keepdims = 0> (v) h = Less (k, k)"), 18
    ),
}


@pytest.mark.parametrize("given", STAYS.values(), ids=STAYS)
def test_what_stays(given: ModelProto) -> None:
    options = Options(static=True)
    try:
        result = convert_version(given, 18, options=options).model
    except UnconvertibleError as refusal:
        assert "--static needs fixed shapes, and that of 'z' is" in str(refusal)
        return
    assert {"If", "Loop"} & {node.op_type for node in result.graph.node}


def test_what_is_in_a_body_counts_with_all_its_turns() -> None:
    """A Scan in a Scan, a Loop as often as the outer one has turned, and three Loops in each other: none is written out as a whole."""
    scans = """g (float[70] x, float i) => (float f) { f = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float s)
        { s = Scan <num_scan_inputs = 1, body = c (float d, float h) => (float t) { k = Add (d, h) t = Sin (k) }> (a, x) }> (i, x) }"""
    growing = """g (float x) => (float y) <int64 m = {100}> { y = Loop (m, ABSENT, x) <body = b (int64 i, bool c, float a) => (bool d, float o)
        { d = Identity (c) o = Loop (i, ABSENT, a) <body = e (int64 j, bool f, float h) => (bool k, float p) { k = Identity (f) p = Sin (h) }> }> }"""
    for text, most in ((scans, 200), (growing, 10)):
        once = convert_version(model(text, 17), 17, options=STATIC).model
        assert len(once.graph.node) <= most
        assert convert_version(once, 17, options=STATIC).model == once


def test_a_body_with_weights_of_its_own() -> None:
    given = model(SCAN, 18)
    body = next(attribute.g for attribute in given.graph.node[0].attribute if attribute.HasField("g"))
    body.initializer.append(numpy_helper.from_array(np.float32([3, 4]), "k"))
    body.node[0].input[1] = "k"
    result = convert_version(given, 18, options=STATIC).model
    assert "Scan" not in {node.op_type for node in result.graph.node}
    inputs = {"x": np.float32([1.5, -2]), "s": np.float32([[1, 2], [-3, 4], [5, 6.5]])}
    for left, right in zip(run(given, inputs), run(result, inputs), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "given",
    [
        LOOP.replace("Abs (v)", "RandomUniformLike <seed = 1.0> (v)"),
        SCAN.replace("Mul (w, e)", "RandomUniformLike <seed = 1.0> (v)"),
    ],
)
def test_draws_from_a_seed_are_not_repeated(given: str) -> None:
    result = convert_version(model(given, 18), 18, options=STATIC).model
    assert {"Loop", "Scan"} & {node.op_type for node in result.graph.node}


def test_a_value_that_grows_with_the_turns() -> None:
    text = """g (float[2] x) => (float[16] y) <int64 n = {3}, bool c = {1}> { y = Loop (n, c, x)
        <body = b (int64 i, bool d, float[M] a) => (bool e, float[K] f) { e = Identity (d) f = Concat <axis = 0> (a, a) }> }"""
    result = convert_version(model(text, 18), 18, options=STATIC).model
    assert [node.op_type for node in result.graph.node] == ["Concat"] * 3


def test_what_is_written_out_is_spelled_as_the_options_ask() -> None:
    text = """g (uint8[2,3] x) => (uint8[2,3] y) <float s = {0.1}, uint8 z = {3}, int64 n = {3}, bool c = {1}> { y = Loop (n, c, x)
        <body = b (int64 i, bool d, uint8[2,3] v) => (bool e, uint8[2,3] r)
        { e = Identity (d) a = DequantizeLinear (v, s, z) f = Add (a, a) r = QuantizeLinear (f, s, z) }> }"""
    result = convert_version(model(text, 18), 18, options=Options(static=True, quantization="qoperator")).model
    assert [node.op_type for node in result.graph.node] == ["QLinearAdd"] * 3


def test_a_step_in_a_body_that_is_written_out_is_a_step() -> None:
    text = """g (uint8[2,3] x) => (uint8[2,3] y) <float s = {0.1}, uint8 z = {3}, int64 n = {2}, bool c = {1}> { y = Loop (n, c, x)
        <body = b (int64 i, bool d, uint8[2,3] v) => (bool e, uint8[2,3] r) <uint8[3,3] w = {1,2,3,4,5,6,7,8,9}>
        { e = Identity (d) r = QLinearMatMul (v, s, z, w, s, z, s, z) }> }"""
    report = convert_version(model(text, 18), 18, options=Options(static=True, quantization="qdq")).report
    assert report.comparison is not None
    assert report.comparison.status == "equal"


def test_a_scan_of_opset_8_with_an_open_length_is_refused() -> None:
    text = "g (float[T,1] x) => (float[T,1] y) { y = Scan <num_scan_inputs = 1, body = b (float[1] e) => (float[1] r) { r = Neg (e) }> (x) }"
    with pytest.raises(UnconvertibleError, match=r"input 'x' .*: --static needs fixed shapes, and that of 'x' is \(T, 1\)"):
        convert_version(model(text, 9), 8, options=STATIC)
