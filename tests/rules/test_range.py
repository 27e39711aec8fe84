"""Range below opset 11, and stash_type before opset 27."""

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

needs_27 = pytest.mark.skipif(newest_opset() < 27, reason="the installed onnx has no opset 27")


@pytest.mark.parametrize("target", [10, 8])
@pytest.mark.parametrize("stored", [True, False])
def test_floats_are_counted_in_double(target, stored):
    """What float32 rounds: 8.8 - 0.8 is 8 there, and 8.0000002 in double, by which there is a ninth element."""
    for start, limit, step in [(0.8, 8.8, 1), (0.3, 10.3, 1), (0.6, 16.0, 0.7), (-1.2, 11.8, 1), (1.9, 55.9, 2), (0, 3.5, 1)]:
        ends = {name: np.array(value, np.float32) for name, value in zip("abc", (start, limit, step), strict=True)}
        values = ", ".join(f"float {name} = {{{value}}}" for name, value in ends.items())
        inputs, constants = ("", f"<{values}>") if stored else ("float a, float b, float c", "")
        source = model(f"g ({inputs}) => (float[N] y) {constants} {{ y = Range(a, b, c) }}", 13)
        result = convert_version(source, target)
        (got,) = run(result.model, {} if stored else ends)
        first, last, delta = (np.float64(value) for value in ends.values())
        assert got.size == np.ceil((last - first) / delta)
        np.testing.assert_allclose(got, first + np.arange(got.size) * delta, rtol=1e-6)
        assert stored or "its length is counted in double" in str(result.report.warnings)


def down(kind, attribute=""):
    text = f"g ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range {attribute} (a, b, c) }}"
    return convert_version(model(text, 27), 26).model


@needs_27
@pytest.mark.parametrize("attribute", ["", "<stash_type=1>", "<stash_type=11>"])
def test_it_means_nothing_for_other_types(attribute):
    (node,) = down("int64", attribute).graph.node
    assert node.op_type == "Range" and not node.attribute


@needs_27
@pytest.mark.parametrize("attribute, stash", [("", np.float32), ("<stash_type=11>", np.float64)])
def test_half_precision_is_computed_in_it(attribute, stash):
    result = down("float16", attribute)
    onnx.checker.check_model(result, full_check=True)
    start, limit, step = np.float16(2040), np.float16(2060), np.float16(0.7)
    expected = np.arange(stash(start), stash(limit), stash(step)).astype(np.float16)
    result.opset_import[0].version = 21
    np.testing.assert_array_equal(run(result, {"a": np.array(start), "b": np.array(limit), "c": np.array(step)})[0], expected)


@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
@pytest.mark.parametrize("start, limit, delta", [(0, 5, 1), (2, 11, 3), (10, 1, -4), (3, 3, 1), (5, 0, 1), (-7, 7, 7)])
def test_range_of_integers(kind, start, limit, delta):
    proto = model(f"g ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range (a, b, c) }}", 11)
    given = {name: np.array(value, kind) for name, value in zip("abc", (start, limit, delta), strict=True)}
    got = run(convert_version(proto, 9).model, given)[0]
    np.testing.assert_array_equal(got, np.arange(start, limit, delta, dtype=kind))


_LOW, _HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize(
    ("start", "limit", "delta"),
    [
        (_HIGH - 5, _HIGH, 2),
        (_LOW, _LOW + 3, 1),
        (_LOW, _HIGH, 2**62),
        (_HIGH, _LOW, -(2**62)),
        (_LOW, 5, -_HIGH),
        (2**53 + 1, 2**53 + 4, 1),
    ],
)
def test_range_at_the_limits_of_int64(start, limit, delta, target):
    """The difference of the limits is beyond int64."""
    proto = model("g (int64 a, int64 b, int64 c) => (int64[N] y) { y = Range (a, b, c) }", 11)
    given = {name: np.array(value, np.int64) for name, value in zip("abc", (start, limit, delta), strict=True)}
    got = run(convert_version(proto, target).model, given)[0]
    assert got.tolist() == list(range(start, limit, delta))


@pytest.mark.parametrize("start, limit, delta", [(0, 1, 0.1), (1, -1, -0.3), (0.5, 0.5, 1), (0, -1, 1)])
def test_range_of_floats_counts_alike(start, limit, delta):
    """start + i * delta, as the page says; runtimes may add delta again and again, hence the tolerance of some 10 additions."""
    proto = model("g (float a, float b, float c) => (float[N] y) { y = Range (a, b, c) }", 11)
    given = {name: np.array(value, np.float32) for name, value in zip("abc", (start, limit, delta), strict=True)}
    result = convert_version(proto, 9)
    assert result.report.inexact == {"range.count_then_scale"}
    np.testing.assert_allclose(run(result.model, given)[0], run(proto, given)[0], rtol=0, atol=2e-6)


REWRITES = [
    (
        "range.compute_in_stash_type",
        27,
        26,
        "g (float16 a, float16 b, float16 c) => (float16[N] y) { y = Range (a, b, c) }",
        "{ v1 = Cast <to = 1> (a) v2 = Cast <to = 1> (b) v3 = Cast <to = 1> (c) v4 = Range (v1, v2, v3) y = Cast <to = 10> (v4) }",
    ),
    (
        "range.count_then_scale",
        11,
        10,
        "g (int64 b, int64 c) => (int64[N] y) <int64 a = {0}> { y = Range (a, b, c) }",
        """
            <int64[1] form = {1}, int64[1] flat = {-1}>
            {
              double = Cast <to = 11> (b)
              double_2 = Cast <to = 11> (c)
              steps = Div (double, double_2)
              steps_2 = Ceil (steps)
              count = Relu (steps_2)
              count_2 = Cast <to = 7> (count)
              count_3 = Reshape (count_2, form)
              ones = ConstantOfShape <value = int64[1] {1}> (count_3)
              places = NonZero (ones)
              index = Reshape (places, flat)
              y = Mul (index, c)
            }
        """,
    ),
    (
        "range.count_then_scale",
        11,
        10,
        "g (float a, float b, float c) => (float[N] y) { y = Range (a, b, c) }",
        """
            <int64[1] form = {1}, int64[1] flat = {-1}>
            {
              first = Cast <to = 11> (a)
              last = Cast <to = 11> (b)
              span = Sub (last, first)
              double = Cast <to = 11> (c)
              steps = Div (span, double)
              steps_2 = Ceil (steps)
              count = Relu (steps_2)
              count_2 = Cast <to = 7> (count)
              count_3 = Reshape (count_2, form)
              ones = ConstantOfShape <value = int64[1] {1}> (count_3)
              places = NonZero (ones)
              index = Reshape (places, flat)
              index_2 = Cast <to = 1> (index)
              scaled = Mul (index_2, c)
              y = Add (scaled, a)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
