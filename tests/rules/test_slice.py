"""Slice: bounds between attribute and input; steps; computed bounds; negative axes."""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.errors import Unconvertible
from split_rewrite.rules.slice import positions

X = np.arange(20, dtype=np.float32).reshape(4, 5)
INT_MAX, INT_MIN = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "g (float[4, 5] x, int64[R] r, int64[1] s, int64[1] e, int64[1] a) => (int64[K] n)"
            " { d = Reshape (x, r)  y = Slice (d, s, e, a)  n = Shape (y) }",
            "the rank of 'd' is unknown",
            id="computed_axes_of_what",
        ),
        pytest.param(
            "g (float[4, 5] x, int64[N] s, int64[N] e) => (float[A, B] y) { y = Slice (x, s, e) }",
            "the number of the starts 's' is known at run time only",
            id="unknown_number_of_bounds",
        ),
        pytest.param(
            "g (float[4, 5] x) => (float[A, 5] y) <int64[1] s = {3}, int64[1] e = {9223372036854775807}, int64[1] a = {0},"
            " int64[1] p = {-1}> { y = Slice (x, s, e, a, p) }",
            "INT_MAX as the end of a backward slice",
            id="runtimes_disagree",
        ),
        pytest.param(
            "g (float[N, 5] x) => (float[A, 5] y) <int64[1] s = {3}, int64[1] e = {9223372036854775807}, int64[1] a = {0},"
            " int64[1] p = {-1}> { y = Slice (x, s, e, a, p) }",
            "INT_MAX as the end of a backward slice",
            id="runtimes_disagree_about_any_length",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert message in refusal(model(text, opset=13), 9)


COMPUTED = [
    pytest.param([0, 0], [3, 10], [0, 1], [1, 1], id="forward"),
    pytest.param([1, -2], [100, -1], [1, 0], [1, 1], id="another_order"),
    pytest.param([20, 10], [0, -100], [0, 1], [-1, -3], id="backward"),
    pytest.param([INT_MAX, INT_MIN], [INT_MIN, INT_MAX], [1, 0], [-2, 3], id="as_far_as_it_goes"),
    pytest.param([2, 2], [2, 1], [0, 2], [1, 1], id="nothing"),
    pytest.param([-1, 1], [0, -1], [-1, -3], [-1, 2], id="axes_from_the_back"),
]


@pytest.mark.parametrize("starts, ends, axes, steps", COMPUTED)
@pytest.mark.parametrize("target", [9, 8, 7])
@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("known", ["", "a", "p"])
def test_axes_and_steps_at_run_time(starts, ends, axes, steps, target, kind, known) -> None:
    info = np.iinfo(kind)
    feeds = {"x": np.arange(60, dtype=np.float32).reshape(3, 4, 5)}
    feeds |= {
        name: np.clip(value, info.min, info.max).astype(kind)
        for name, value in zip("seap", (starts, ends, axes, steps), strict=True)
    }
    names = [name for name in "seap" if name != known]
    constant = f" <{kind}[2] {known} = {{{', '.join(map(str, feeds.pop(known).tolist()))}}}>" if known else ""
    inputs = ", ".join(f"{kind}[2] {name}" for name in names)
    text = f"g (float[N, M, 5] x, {inputs}) => (float[A, B, C] y){constant} {{ y = Slice (x, s, e, a, p) }}"
    assert_same(model(text, 13), target, feeds)


def test_axes_at_run_time_and_no_steps() -> None:
    text = "g (float[N, 5] x, int64[1] s, int64[1] e, int64[1] a) => (float[A, B] y) { y = Slice (x, s, e, a) }"
    assert_same(model(text, 13), 9, {"x": X, "s": np.array([1]), "e": np.array([-1]), "a": np.array([-1])})


BOUNDS = [-100, -5, -4, -1, 0, 1, 3, 4, 100]


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2])
def test_positions_are_those_of_onnxruntime(step: int) -> None:
    pairs = list(itertools.product(BOUNDS, [*BOUNDS, INT_MIN]))
    text = "g (int64[4] x, int64[1] s, int64[1] e) => (int64[N] y)"
    text += f" <int64[1] a = {{0}}, int64[1] p = {{{step}}}> {{ y = Slice (x, s, e, a, p) }}"
    from onnxruntime import InferenceSession

    session = InferenceSession(model(text, opset=13).SerializeToString())
    for start, end in pairs:
        feeds = {"x": np.arange(4), "s": np.array([start]), "e": np.array([end])}
        assert positions(start, end, step, 4) == session.run(None, feeds)[0].tolist(), (start, end)


def test_backward_to_int_max_is_refused() -> None:
    with pytest.raises(Unconvertible, match="INT_MAX"):
        positions(3, INT_MAX, -1, 4)


def _constant(start: str, end: str, axes: str, steps: str, shape: str = "4, 5") -> onnx.ModelProto:
    count = start.count(",") + 1
    values = ", ".join(f"int64[{count}] {n} = {{{v}}}" for n, v in zip("seap", (start, end, axes, steps), strict=True))
    return model(f"g (float[{shape}] x) => (float[A, B] y) <{values}> {{ y = Slice (x, s, e, a, p) }}", opset=13)


@pytest.mark.parametrize("target", [10, 9, 7])
@pytest.mark.parametrize(
    ("start", "end", "axes", "steps"),
    [
        pytest.param("1", "3", "-1", "1", id="negative_axis"),
        pytest.param("1, -3", f"3, {INT_MAX}", "0, 1", "1, 1", id="to_the_end"),
        pytest.param("-1", f"{INT_MIN}", "0", "-1", id="reversed"),
        pytest.param("0, -1", "4, -100", "0, -1", "2, -2", id="steps_both_ways"),
        pytest.param("3", "1", "0", "1", id="nothing"),
        pytest.param("2", "-100", "1", "-1", id="past_the_first"),
    ],
)
def test_constant_bounds(start: str, end: str, axes: str, steps: str, target: int) -> None:
    assert_same(_constant(start, end, axes, steps), target, {"x": X})


def test_constant_bounds_of_steps_1_are_attributes() -> None:
    result = convert_version(_constant("1, 0", f"3, {INT_MAX}", "0, -1", "1, 1"), 9).model
    (node,) = result.graph.node
    assert {a.name: list(a.ints) for a in node.attribute} == {"starts": [1, 0], "ends": [3, INT_MAX], "axes": [0, 1]}


@pytest.mark.parametrize("step", [2, -1, -3])
def test_steps_over_an_unknown_length(step: int) -> None:
    proto = _constant("-2" if step < 0 else "1", f"{INT_MIN}" if step < 0 else f"{INT_MAX}", "0", str(step), "N, M")
    assert_same(proto, 9, {"x": X})


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize(("start", "end"), [(0, 4), (-3, -1), (3, 0), (100, -100), (-100, 100), (2, 2)])
def test_computed_bounds(kind: str, step: int, start: int, end: int) -> None:
    text = f"g (float[N, 5] x, {kind}[1] s, {kind}[1] e) => (float[A, 5] y) <{kind}[1] a = {{0}}, {kind}[1] p = {{{step}}}>"
    proto = model(text + " { y = Slice (x, s, e, a, p) }", opset=13)
    assert_same(proto, 9, {"x": X, "s": np.array([start], kind), "e": np.array([end], kind)})


def test_computed_bounds_without_axes() -> None:
    proto = model("g (float[4, 5] x, int64[2] s, int64[2] e) => (float[A, B] y) { y = Slice (x, s, e) }", opset=13)
    assert_same(proto, 9, {"x": X, "s": np.array([1, -2]), "e": np.array([INT_MAX, 5])})


@pytest.mark.parametrize("axis", [-1, 0, -2])
def test_computed_axes_get_the_rank(axis: int) -> None:
    text = "g (float[4, 5] x, int64[1] a) => (float[A, B] y) <int64[1] s = {1}, int64[1] e = {3}> { y = Slice (x, s, e, a) }"
    assert_same(model(text, opset=13), 10, {"x": X, "a": np.array([axis])})


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_computed_axes_of_opset_10_may_be_negative(axis: int) -> None:
    """As onnxruntime takes them, though only opset 11 says so."""
    text = "g (float[4, 5] x, int64[1] a) => (float[A, B] y) <int64[1] s = {1}, int64[1] e = {3}> { y = Slice (x, s, e, a) }"
    assert_same(model(text, opset=10), 8, {"x": X, "a": np.array([axis])})


@pytest.mark.parametrize("attributes", ["starts = [1], ends = [-1]", "starts = [1, 0], ends = [3, 100], axes = [1, 0]"])
def test_upward(attributes: str) -> None:
    proto = model(f"g (float[4, 5] x) => (float[A, B] y) {{ y = Slice <{attributes}> (x) }}", opset=9)
    assert [node.op_type for node in assert_same(proto, 13, {"x": X}).graph.node] == ["Slice"]


_PARTS_OF_DIFFERENT_LENGTH = """g (float[N, 4] x) => (float[M, 4] y) <float two = {2}> {
    a = Slice <starts = [1], ends = [100], axes = [0]> (x)
    b = Mul (a, two)
    sum = ReduceSum <keepdims = 0> (b)
    c = Slice <starts = [2], ends = [100], axes = [0]> (x)
    d = Mul (c, two)
    y = Add (d, sum)
}"""
"""onnxruntime puts c where b was if it takes them to have the same size, and fails."""


@pytest.mark.parametrize("declared", ["", "<float[K, 4] a, float[L, 4] c>", "<float[K, 4] a, float[?, 4] c>"])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_a_dimension_that_opset_10_cuts_has_a_name_of_its_own(opset: int, declared: str) -> None:
    text = _PARTS_OF_DIFFERENT_LENGTH.replace("<float two", f"{declared[:-1]}, float two" if declared else "<float two")
    source = model(text, 9)
    if opset > 9:
        source = convert_version(source, opset).model
    result = assert_same(source, 10, {"x": X[:, :4]})
    declared_names = {value.name: value.type.tensor_type.shape.dim[0].dim_param for value in result.graph.value_info}
    assert declared_names["c"] == ("L" if "L" in declared else "c_dim_0")
    assert declared_names["a"] == ("K" if declared else "a_dim_0")


def test_the_name_of_an_inputs_dimension_is_not_kept() -> None:
    """The model says falsely that the Slices cut nothing, and onnxruntime fails on it."""
    stale = "<float[N, 4] a, float[N, 4] c, float two"
    result = convert_version(model(_PARTS_OF_DIFFERENT_LENGTH.replace("<float two", stale), 9), 10).model
    names = {value.name: value.type.tensor_type.shape.dim[0].dim_param for value in result.graph.value_info}
    assert names == {"a": "a_dim_0", "c": "c_dim_0"}
    x = X[:, :4]
    np.testing.assert_array_equal(run(result, {"x": x})[0], 2 * x[2:] + 2 * x[1:].sum(), strict=True)


def test_no_other_opset_gets_such_a_name() -> None:
    for opset, target in ((9, 11), (9, 13), (13, 11), (13, 9)):
        source = model(_PARTS_OF_DIFFERENT_LENGTH, 9)
        between = convert_version(source, opset).model
        assert not convert_version(between, target).model.graph.value_info


def test_refuses_an_axis_that_there_is_not() -> None:
    text = "g (float[N] x, int64[1] s, int64[1] e) => (float[M] y) <int64[1] a = {7}> {y = Slice(x, s, e, a)}"
    assert "axis=7 is out of range for rank 1" in refusal(model(text, 16), 9)


REWRITES = [
    (
        "slice.axes_from_the_front",
        11,
        10,
        "g (float[3,4] x) => (float[3,2] y) <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {-1}> { y = Slice (x, s, e, a) }",
        "<int64[1] v1 = {1}, int64[1] v2 = {3}, int64[1] v3 = {1}> { y = Slice (x, v1, v2, v3) }",
    ),
    (
        "slice.bounds_to_attributes",
        10,
        9,
        "g (float[3,4] x) => (float[3,2] y) <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {1}> { y = Slice (x, s, e, a) }",
        "{ y = Slice <axes = [1], ends = [3], starts = [1]> (x) }",
    ),
    (
        "slice.bounds_to_inputs",
        9,
        10,
        "g (float[3,4] x) => (float[3,2] y) { y = Slice <axes = [1], ends = [3], starts = [1]> (x) }",
        "<int64[1] v1 = {1}, int64[1] v2 = {3}> { y = Slice (x, v1, v2, v1) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("step", ["-1", "-2", "p"])
@pytest.mark.parametrize("target", [9, 7])
@pytest.mark.parametrize("semantics", [None, "specification"])
def test_int_max_as_a_computed_end_of_a_backward_slice(step: str, target: int, semantics: Literal["specification"] | None) -> None:
    """onnxruntime reads it as the beginning of the axis; the specification limits it to the last element."""
    inputs, stored = ("int64[1] e, int64[1] p", "") if step == "p" else ("int64[1] e", f", int64[1] p = {{{step}}}")
    text = f"g (float[N] x, int64[1] s, {inputs}) => (float[M] y) <int64[1] a = {{0}}{stored}> {{ y = Slice (x, s, e, a, p) }}"
    proto = model(text, opset=13)
    result = convert_version(proto, target, options=Options(semantics=semantics))
    assert any(
        "INT_MAX (or more than 2^62) as the end of a backward slice counts as" in text for text in result.report.warnings
    ) is (semantics is None)
    for end, start in itertools.product([INT_MAX, 2**31 - 1, 7, 0, -5], [-1, 1, 9]):
        feeds = {"x": np.arange(3, dtype=np.float32), "s": np.array([start]), "e": np.array([end])}
        feeds |= {"p": np.array([-1])} if step == "p" else {}
        is_limited = semantics == "specification" and end > 2**30
        expected = np.zeros(0) if is_limited else run(proto, feeds)[0]
        np.testing.assert_array_equal(run(result.model, feeds)[0], expected)


@pytest.mark.parametrize(("dims", "axis"), [("4", 0), ("4,1", 0), ("1,4", 1), ("2,4", -1)])
def test_single_strings_are_sliced_backwards(dims: str, axis: int) -> None:
    source = model(
        f"""g (string[{dims}] x) => (string[{dims}] y) <int64[1] st = {{-1}}, int64[1] en = {{-9}}, int64[1] ax = {{{axis}}}> {{
        y = Slice(x, st, en, ax, st) }}""",
        13,
    )
    x = np.array(list("abcdefgh"), object)[: 8 if dims == "2,4" else 4].reshape([int(size) for size in dims.split(",")])
    (y,) = run(convert_version(source, 9).model, {"x": x})
    assert y.tolist() == np.flip(x, axis).tolist()
