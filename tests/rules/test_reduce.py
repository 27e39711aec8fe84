"""Reduce*: axes between attribute and input, computed, absent; reductions of nothing; types."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

X = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7) / 4
OPERATORS = ["L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]
ALL = [*OPERATORS, "LogSum"]


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        pytest.param(
            "g (int32[2, 3, 4] x, int64[N] a) => (int32[A, B, C] y) { y = ReduceMean (x, a) }",
            *(17, "the unknown axes 'a' are computed at run time; axis by axis, integers would be rounded more than once"),
            id="integer_mean_of_any_number_of_axes",
        ),
        pytest.param(
            "g (int32[2, 3, 4] x, int64[2] a) => (int32[A, B, C] y) { y = ReduceL2 (x, a) }",
            *(17, "integers would be rounded more than once"),
            id="square_root_of_integers",
        ),
        pytest.param(
            "g (int32[2, 3, 4] x, int64[2] a) => (int32[A, B, C] y) { y = ReduceMean (x, a) }",
            *(17, "integers would be rounded more than once"),
            id="integer_mean_of_two_computed_axes",
        ),
    ],
)
def test_refused(text: str, target: int, message: str) -> None:
    assert message in refusal(model(text, opset=18), target)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("target", [17, 13, 11, 9, 7])
def test_constant_axes_become_the_attribute(name: str, target: int) -> None:
    text = f"g (float[2, 3, 4] x) => (float[2, 4] y) <int64[1] a = {{-2}}> {{ y = Reduce{name} <keepdims = 0> (x, a) }}"
    result = assert_same(model(text, opset=18), target, {"x": np.abs(X)})
    assert [node.op_type for node in result.graph.node] == [f"Reduce{name}"]


@pytest.mark.parametrize("name", ALL)
def test_attribute_becomes_an_input(name: str) -> None:
    text = f"g (float[2, 3, 4] x) => (float[2, 1, 4] y) {{ y = Reduce{name} <axes = [1]> (x) }}"
    result = assert_same(model(text, opset=9), 18, {"x": np.abs(X)})
    assert len(result.graph.node[0].input) == 2


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("axes", ["", ", a"], ids=["absent", "empty"])
def test_reduces_all_axes(name: str, axes: str) -> None:
    text = f"g (float[2, 3, 4] x) => (float y) <int64[0] a = {{}}> {{ y = Reduce{name} <keepdims = 0> (x{axes}) }}"
    assert_same(model(text, opset=18), 12, {"x": np.abs(X)})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, X) for name in ("Max", "Min", "Mean", "Sum", "Prod", "LogSumExp")),
        *((name, np.abs(X)) for name in ("L1", "L2")),
        ("SumSquare", X * X),
    ],
)
@pytest.mark.parametrize("axes", ["", ", a"], ids=["absent", "empty"])
def test_reduces_nothing(name: str, expected: np.ndarray, axes: str) -> None:
    attributes = "noop_with_empty_axes = 1, keepdims = 0"
    text = f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) <int64[0] a = {{}}> {{ y = Reduce{name} <{attributes}> (x{axes}) }}"
    result = convert_version(model(text, opset=18), 11).model
    np.testing.assert_array_equal(run(result, {"x": X})[0], expected)


def test_a_logarithm_of_another_kernel_may_differ_in_the_last_bits() -> None:
    text = "g (float[5, 6] x) => (float[5, 6] y) <int64[0] a = {}> { y = ReduceLogSum <noop_with_empty_axes = 1> (x, a) }"
    x = np.random.default_rng(0).random((5, 6), np.float32) + 0.25
    result = convert_version(model(text, opset=18), 11, compare="required")
    assert result.report.inexact == {"reduce.axes_to_attribute"}
    np.testing.assert_allclose(run(result.model, {"x": x})[0], np.log(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axis", [0, -1, -2])
@pytest.mark.parametrize("target", [12, 9])
def test_one_computed_axis(name: str, keepdims: int, axis: int, target: int) -> None:
    shape = "A, B, C" if keepdims else "A, B"
    text = f"g (float[2, 3, N] x, int64[1] a) => (float[{shape}] y) {{ y = Reduce{name} <keepdims = {keepdims}> (x, a) }}"
    # The order of a sum is the runtime's: the folded tensor may be reduced in another one.
    assert_same(model(text, opset=18), target, {"x": np.abs(X), "a": np.array([axis])}, rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_two_computed_axes(name: str, keepdims: int) -> None:
    shape = "A, B, C" if keepdims else "A"
    text = f"g (float[2, 3, 4] x, int64[2] a) => (float[{shape}] y) {{ y = Reduce{name} <keepdims = {keepdims}> (x, a) }}"
    assert_same(model(text, opset=18), 11, {"x": np.abs(X), "a": np.array([-1, 0])}, rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("noop", [0, 1])
def test_any_number_of_computed_axes(name: str, keepdims: int, noop: int) -> None:
    attributes = f"keepdims = {keepdims}, noop_with_empty_axes = {noop}"
    flat = f"r = Reduce{name} <{attributes}> (x, a) y = Reshape (r, all) s = Shape (r)"
    text = f"g (float[A, B, C] x, int64[N] a) => (float[M] y, int64[R] s) <int64[1] all = {{-1}}> {{ {flat} }}"
    result = convert_version(model(text, opset=18), 11).model
    for axes in ([], [1], [-1, 0], [2, 0, 1], [1, -2]):  # the last is an axis given twice, which runtimes take once
        feeds = {"x": np.abs(X) + 0.5, "a": np.array(axes, np.int64)}
        reduced = tuple({axis % 3 for axis in axes}) if axes or noop else (0, 1, 2)
        expected = _reduced(name, feeds["x"], reduced, bool(keepdims))
        y, shape = run(result, feeds)
        assert shape.tolist() == list(expected.shape)
        np.testing.assert_allclose(y, expected.reshape(-1), rtol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_any_number_of_computed_axes_of_a_scalar(name: str) -> None:
    result = convert_version(model(f"g (float x, int64[N] a) => (float y) {{ y = Reduce{name} (x, a) }}", opset=18), 12).model
    expected = _reduced(name, np.array(3.5), (), keepdims=True)
    feeds = {"x": np.array(3.5, np.float32), "a": np.zeros(0, np.int64)}
    np.testing.assert_allclose(run(result, feeds)[0], expected, rtol=1e-6)


def _reduced(name: str, x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
    """The reduction by numpy, in double; over no axes, what it does to each element."""
    x = x.astype(np.float64)
    before = {"L1": np.abs, "L2": np.square, "LogSumExp": np.exp, "SumSquare": np.square}.get(name, np.asarray)
    after = {"L2": np.sqrt, "LogSum": np.log, "LogSumExp": np.log}.get(name, np.asarray)
    over = {"Max": np.max, "Min": np.min, "Mean": np.mean, "Prod": np.prod}.get(name, np.sum)
    return after(over(before(x), axis=axes, keepdims=keepdims))


@pytest.mark.parametrize("keepdims", [0, 1])
def test_any_number_of_computed_axes_of_an_empty_tensor(keepdims: int) -> None:
    nodes = f"r = ReduceSum <keepdims = {keepdims}> (x, a) y = Reshape (r, all) s = Shape (r)"
    text = f"g (float[A, B, C] x, int64[N] a) => (float[M] y, int64[R] s) <int64[1] all = {{-1}}> {{ {nodes} }}"
    result = convert_version(model(text, opset=13), 12).model
    y, shape = run(result, {"x": np.zeros((2, 0, 4), np.float32), "a": np.array([1])})
    assert (y.tolist(), shape.tolist()) == ([0.0] * 8, [2, 1, 4] if keepdims else [2, 4])


@pytest.mark.parametrize("name", ["Max", "Min"])
def test_booleans(name: str) -> None:
    text = f"g (bool[2, 3] x) => (bool[2] y) <int64[1] a = {{1}}> {{ y = Reduce{name} <keepdims = 0> (x, a) }}"
    result = convert_version(model(text, opset=20), 18).model
    x = np.array([[True, False, True], [False, False, False]])
    expected = x.max(1) if name == "Max" else x.min(1)
    np.testing.assert_array_equal(run(result, {"x": x})[0], expected)


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 28, reason="the installed onnx has no opset 28")
def test_integers_of_log_sum_are_gone() -> None:
    proto = model("g (int32[2, 3] x) => (int32[1, 1] y) { y = ReduceLogSum (x) }", opset=18)
    result = convert_version(proto, 28).model
    assert [node.op_type for node in result.graph.node] == ["Cast", "ReduceLogSum", "Cast"]


@pytest.mark.parametrize(("dtype", "lowest", "highest"), [("int8", -128, 127), ("uint8", 0, 255)])
@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("target", [11, 7])
def test_an_empty_axis_gives_the_end_of_a_narrow_type(name: str, dtype: str, lowest: int, highest: int, target: int) -> None:
    proto = model(f"g ({dtype}[2, N] x) => ({dtype}[2] y) {{ y = {name} <axes = [1], keepdims = 0> (x) }}", opset=13)
    result = assert_same(proto, target, {"x": np.array([[lowest, 3], [highest, 5]], dtype)})
    end = lowest if name == "ReduceMax" else highest
    assert run(result, {"x": np.zeros((2, 0), dtype)})[0].tolist() == [end, end]


def test_an_axis_that_is_known_to_have_elements_needs_no_bound() -> None:
    proto = model("g (int8[2, 3] x) => (int8[2] y) { y = ReduceMax <axes = [1], keepdims = 0> (x) }", opset=13)
    assert [node.op_type for node in convert_version(proto, 11).model.graph.node] == ["Cast", "ReduceMax", "Cast"]


def test_a_norm_of_single_elements_overflows_as_its_square_does() -> None:
    text = "g (float[N] x) => (float[N] y) <int64[0] a = {}> { y = ReduceL2 <noop_with_empty_axes = 1> (x, a) }"
    x = np.array([1e30, -1e-30, -3, np.nan, np.inf], np.float32)
    assert_same(model(text, opset=18), 13, {"x": x})


@pytest.mark.parametrize(("operator", "kind"), [("ReduceLogSum", "int64"), ("ReduceLogSumExp", "uint32")])
def test_a_logarithm_of_integers_over_no_axes_is_refused(operator: str, kind: str) -> None:
    """The logarithm of the exponential of 2 is 1 in onnxruntime, if it is cut to an integer."""
    text = f"g ({kind}[N] x) => ({kind}[N] y) <int64[0] a = {{}}> {{ y = {operator} <noop_with_empty_axes = 1> (x, a) }}"
    assert "no specification says how the logarithm is rounded" in refusal(model(text, opset=18), 17)


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 28, reason="the installed onnx has no opset 28")
@pytest.mark.parametrize("kind", ["int32", "uint64"])
def test_a_logarithm_of_exponentials_of_integers_is_refused(kind: str) -> None:
    """onnxruntime computes the exponentials as integers, and gives 4 for some whose result is 5.05."""
    text = f"g ({kind}[N] x) => ({kind}[1] y) {{ y = ReduceLogSumExp (x) }}"
    reason = f"ReduceLogSumExp of {kind}: no specification says how the exponentials are rounded"
    assert reason in refusal(model(text, opset=18), 28)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("target", [12, 13, 18])
def test_an_axis_of_a_scalar_is_taken_at_opset_11(operator, target):
    proto = model(f"g (float x) => (float y) {{ y = {operator} <axes = [0]> (x) }}", 11)
    assert_same(proto, target, {"x": np.array(3, np.float32)})


REWRITES = [
    (
        "reduce.drop_axes_of_a_scalar",
        10,
        11,
        "g (float x) => (float y) { y = ReduceL2 <axes = [0], keepdims = 0> (x) }",
        "{ y = ReduceL2 <keepdims = 0> (x) }",
    ),
    (
        "reduce.axes_to_attribute",
        18,
        17,
        "g (float[2,3] x) => (float[2] y) <int64[1] a = {1}> { y = ReduceMax <keepdims = 0> (x, a) }",
        "{ y = ReduceMax <axes = [1], keepdims = 0> (x) }",
    ),
    (
        "reduce.axes_to_input",
        17,
        18,
        "g (float[2,3] x) => (float[2] y) { y = ReduceMax <axes = [1], keepdims = 0> (x) }",
        "<int64[1] v1 = {1}> { y = ReduceMax <keepdims = 0> (x, v1) }",
    ),
    (
        "reduce.reduce_booleans_as_numbers",
        20,
        19,
        "g (bool[2,3] x) => (bool[1,1] y) { y = ReduceMax (x) }",
        "<float v3 = {0}> { v1 = Cast <to = 1> (x) v2 = ReduceMax (v1) y = Greater (v2, v3) }",
    ),
    (
        "reduce.reduce_integers_as_double",
        27,
        28,
        "g (int32[2,3] x) => (int32[1,1] y) { y = ReduceLogSum (x) }",
        "{ v1 = Cast <to = 11> (x) v2 = ReduceLogSum (v1) y = Cast <to = 6> (v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
