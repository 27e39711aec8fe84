"""Clip: bounds between attribute and input; types; min above max."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

X = np.array([[-np.inf, -5.0, -0.5], [2.0, np.nan, np.inf]], np.float32)


def test_refused_where_a_bound_is_no_number() -> None:
    proto = model("g (float[3] x) => (float[3] y) <float low = {0}> { y = Clip (x, low) }", opset=12)
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array(np.nan, np.float32), "low"))
    assert "a bound is NaN" in refusal(proto, 10)


def _ops(proto: onnx.ModelProto, target: int) -> list[str]:
    return [node.op_type for node in convert_version(proto, target).model.graph.node]


@pytest.mark.parametrize("bounds", ["x, low, high", 'x, "", high', "x, low", "x"])
@pytest.mark.parametrize("target", [12, 11, 10, 7])
def test_constant_bounds(bounds: str, target: int) -> None:
    text = f"g (float[2, 3] x) => (float[2, 3] y) <float low = {{-1}}, float high = {{3}}> {{ y = Clip ({bounds}) }}"
    proto = model(text.replace('""', ""), opset=13)
    assert [node.op_type for node in assert_same(proto, target, {"x": X}).graph.node] == ["Clip"]


@pytest.mark.parametrize("target", [10, 8])
def test_computed_bounds_become_max_and_min(target: int) -> None:
    proto = model("g (float[2, 3] x, float low, float high) => (float[2, 3] y) { y = Clip (x, low, high) }", opset=13)
    for low, high in ((-1, 3), (3, -1)):
        result = assert_same(proto, target, {"x": X, "low": np.array(low, np.float32), "high": np.array(high, np.float32)})
    assert [node.op_type for node in result.graph.node] == ["Max", "Min"]


@pytest.mark.parametrize("opset", [11, 12])
def test_min_above_max_below_opset_13_is_written_with_max_and_min(opset: int) -> None:
    """onnxruntime does not load attributes of which min is above max."""
    text = "g (float[2, 3] x) => (float[2, 3] y) <float low = {3}, float high = {0}> { y = Clip (x, low, high) }"
    result = assert_same(model(text, opset), 10, {"x": X})
    assert [node.op_type for node in result.graph.node] == ["Max", "Min"]


@pytest.mark.parametrize("target", [12, 10])
def test_min_above_max_gives_max(target: int) -> None:
    proto = model("g (float[2, 3] x) => (float[2, 3] y) <float low = {5}, float high = {3}> { y = Clip (x, low, high) }", opset=13)
    np.testing.assert_array_equal(run(convert_version(proto, target).model, {"x": X})[0], np.minimum(3, np.maximum(X, 5)))


@pytest.mark.parametrize("kind", ["double", "int8", "uint8", "int32", "uint32", "int64"])
@pytest.mark.parametrize("target", [11, 10, 9])  # onnxruntime has no Clip-11 of double
def test_other_types(kind: str, target: int) -> None:
    low, high = ("1", "100") if kind[0] == "u" else ("-100", "100")
    text = f"g ({kind}[4] x) => ({kind}[4] y) <{kind} low = {{{low}}}, {kind} high = {{{high}}}> {{ y = Clip (x, low, high) }}"
    info = np.finfo(kind) if kind == "double" else np.iinfo(kind)
    x = np.array([info.min, info.max, 7, 100], kind)
    np.testing.assert_array_equal(
        run(convert_version(model(text, opset=13), target).model, {"x": x})[0], np.clip(x, int(low), int(high))
    )


def test_64_bit_integers_are_compared() -> None:
    proto = model("g (int64[2] x, int64 low) => (int64[2] y) { y = Clip (x, low) }", opset=12)
    x = np.array([2**53 + 1, 2**53 - 1])
    assert_same(proto, 11, {"x": x, "low": np.array(2**53)})


@pytest.mark.parametrize("bound", ["min", "max"])
def test_a_bound_that_is_not_a_number_is_refused_upward(bound: str) -> None:
    proto = model(f"g (float[3] x) => (float[3] y) {{ y = Clip <{bound} = nan> (x) }}", opset=6)
    proto.graph.node[0].attribute[0].f = np.nan
    assert "a bound is NaN" in refusal(proto, 11)


@pytest.mark.parametrize("bounds", ["x", "x, low", "x, , high"])
@pytest.mark.parametrize("target", [11, 10, 6])
def test_infinities_stop_at_the_largest_number_where_a_bound_is_left_out(bounds: str, target: int) -> None:
    proto = model(f"g (float[4] x) => (float[4] y) <float low = {{-1}}, float high = {{2}}> {{ y = Clip ({bounds}) }}", opset=13)
    assert_same(proto, target, {"x": np.array([np.inf, -np.inf, np.nan, 1], np.float32)})


def test_float16_without_bounds_keeps_its_own_largest_number() -> None:
    proto = model("g (float16[3] x) => (float16[3] y) { y = Clip (x) }", opset=13)
    x = np.array([-np.inf, np.inf, 1], np.float16)
    np.testing.assert_array_equal(run(convert_version(proto, 7).model, {"x": x})[0], np.array([-65504, 65504, 1], np.float16))


def test_defaults_of_old_clip_are_those_of_float() -> None:
    proto = model("g (double[3] x) => (double[3] y) { y = Clip <min = 0.0> (x) }", opset=10)
    x = np.array([-1.0, 1e300, 5.0])
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"x": x})[0], [0, float(np.finfo(np.float32).max), 5])


@pytest.mark.parametrize("attributes", ["", "min = -1.0", "max = 3.0", "min = -1.0, max = 3.0"])
@pytest.mark.parametrize("target", [11, 13, 18])
def test_upward(attributes: str, target: int) -> None:
    clip = f"Clip <{attributes}>" if attributes else "Clip"
    proto = model(f"g (float[2, 3] x) => (float[2, 3] y) {{ y = {clip} (x) }}", opset=7)
    assert _ops(proto, target) == ["Clip"]
    assert_same(proto, target, {"x": X})


def test_refuses_bounds_that_are_vectors() -> None:
    text = "g (float[8] x) => (float[8] y) <float[2] a = {1, 2}, float[3] b = {1, 2, 3}> {y = Clip(x, a, b)}"
    assert "a constant of shape [2] is given where a single number is needed" in refusal(model(text, 16), 12)


REWRITES = [
    (
        "clip.bounds_to_attributes",
        11,
        10,
        "g (float[2] x) => (float[2] y) <float low = {0}, float high = {6}> { y = Clip (x, low, high) }",
        "{ y = Clip <max = 6.0, min = 0.0> (x) }",
    ),
    (
        "clip.bounds_to_inputs",
        6,
        11,
        "g (float[2] x) => (float[2] y) { y = Clip <max = 6.0, min = 0.0> (x) }",
        "<float v1 = {0}, float v2 = {6}> { y = Clip (x, v1, v2) }",
    ),
    (
        "clip.order_bounds",
        13,
        12,
        "g (float[2] x) => (float[2] y) <float low = {6}, float high = {0}> { y = Clip (x, low, high) }",
        "<float high = {0}> { y = Clip (x, high, high) }",
    ),
    (
        "clip.clip_by_comparisons",
        12,
        11,
        "g (int64[2] x) => (int64[2] y) <int64 low = {0}, int64 high = {6}> { y = Clip (x, low, high) }",
        """
            <int64 low = {0}, int64 high = {6}>
            {
              below = Less (x, low)
              raised = Where (below, low, x)
              above = Greater (raised, high)
              y = Where (above, high, raised)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
