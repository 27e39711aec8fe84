"""Pad: pads between attribute and input; axes; wrap; types; computed pads."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

X = np.arange(12, dtype=np.float32).reshape(3, 4) + 1


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        pytest.param(
            'g (float[3] x) => (float[1] y) <int64[2] p = {2, -4}> { y = Pad <mode = "edge"> (x, p) }',
            *(1, "pads cut 4 elements off axis 0, which has 3, and add others"),
            id="more_is_cut_off_than_there_is_while_others_are_added",
        ),
        pytest.param(
            'g (int64[3] x) => (int64[1] y) <int64[2] p = {-4, 2}> { y = Pad <mode = "reflect"> (x, p) }',
            *(10, "pads cut 4 elements off axis 0, which has 3, and add others"),
            id="the_same_of_integers",
        ),
        pytest.param(
            "g (float[8] x, int64[N] s, int64[4] p, int64[2] a) => (float[M] y) <int64[1] f = {-1}>"
            " { r = Reshape (x, s) t = Pad (r, p, , a) y = Reshape (t, f) }",
            *(17, "the rank of 'r' is unknown"),
            id="computed_axes_of_an_unknown_rank",
        ),
    ],
)
def test_refused(text: str, target: int, message: str) -> None:
    assert message in refusal(model(text, opset=21), target)


def _ops(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", ["1, 0, 0, 2", "2, 2, 2, 2", "0, 0, 0, 0"])
@pytest.mark.parametrize("target", [18, 13, 11, 10, 7])
def test_constant_pads_of_floats(mode: str, pads: str, target: int) -> None:
    text = f'g (float[3, 4] x) => (float[A, B] y) <int64[4] p = {{{pads}}}> {{ y = Pad <mode = "{mode}"> (x, p) }}'
    assert _ops(assert_same(model(text, opset=21), target, {"x": X})) == ["Pad"]


@pytest.mark.parametrize("target", [11, 10, 9])
def test_negative_pads(target: int) -> None:
    text = "g (float[3, 4] x) => (float[A, B] y) <int64[4] p = {-1, 1, 2, -2}, float v = {9}> { y = Pad (x, p, v) }"
    assert_same(model(text, opset=21), target, {"x": X})


@pytest.mark.parametrize("pads", [[-4, 2], [2, -4], [-3, 3]])
@pytest.mark.parametrize("known", ["pads and sizes", "pads", "nothing"])
@pytest.mark.parametrize("kind", ["float", "int64"])
def test_what_is_added_may_be_cut_off_again(pads: list[int], known: str, kind: str) -> None:
    """A Pad may cut more off than there is, while it adds to the other side."""
    for size in (2, 3, 6):
        proto, feeds = _cutting_pad(pads, known, kind, size)
        (added, behind), (above, below) = np.maximum(pads, 0), np.maximum(np.negative(pads), 0)
        expected = np.pad(feeds["x"], (added, behind))[above : size + added + behind - below]
        np.testing.assert_array_equal(run(proto, feeds)[0], expected)
        assert_same(proto, 10, feeds)


@pytest.mark.parametrize("pads", [[-4, 2], [2, -4], [-5, 5]])
@pytest.mark.parametrize("known", ["pads and sizes", "pads"])
def test_what_is_added_may_be_cut_off_again_at_opset_1(pads: list[int], known: str) -> None:
    proto, feeds = _cutting_pad(pads, known, "float", 3)
    older = convert_version(proto, 1).model
    assert _ops(older) == ["Pad", "Slice"]
    np.testing.assert_array_equal(run(convert_version(older, 13).model, feeds)[0], run(proto, feeds)[0])


def _cutting_pad(pads: list[int], known: str, kind: str, size: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model with a Pad of a vector, and inputs for it."""
    shape = size if known == "pads and sizes" else "N"
    text = f"g ({kind}[{shape}] x, int64[2] p) => ({kind}[A] y) {{ y = Pad (x, p) }}"
    if known != "nothing":
        text = text.replace(", int64[2] p)", ")").replace("{ y", f"<int64[2] p = {{{str(pads)[1:-1]}}}> {{ y")
    x = np.arange(1, size + 1).astype("float32" if kind == "float" else kind)
    return model(text, opset=21), {"x": x} | ({"p": np.array(pads)} if known == "nothing" else {})


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [[-1, 0, 1, 0], [1, -2, 0, 1], [0, 1, -1, -2]])
@pytest.mark.parametrize("known", ["pads and sizes", "pads", "nothing"])
@pytest.mark.parametrize("target", [18, 10, 7])
def test_what_negative_pads_take_away_is_not_repeated(mode: str, pads: list[int], known: str, target: int) -> None:
    shape = "3, 4" if known == "pads and sizes" else "N, M"
    text = f'g (float[{shape}] x, int64[4] p) => (float[A, B] y) {{ y = Pad <mode = "{mode}"> (x, p) }}'
    if known != "nothing":
        text = text.replace(", int64[4] p)", ")").replace("{ y", f"<int64[4] p = {{{str(pads)[1:-1]}}}> {{ y")
    feeds = {"x": X} | ({"p": np.array(pads)} if known == "nothing" else {})
    proto = model(text, opset=21)
    (top, left), (bottom, right) = np.maximum(pads, 0).reshape(2, 2)
    (above, before), (below, behind) = np.maximum(np.negative(pads), 0).reshape(2, 2)
    rest = X[above : 3 - below, before : 4 - behind]
    np.testing.assert_array_equal(run(proto, feeds)[0], np.pad(rest, ((top, bottom), (left, right)), mode=mode))
    assert_same(proto, target, feeds)


@pytest.mark.parametrize("axes", ["1", "-1", "1, 0"])
@pytest.mark.parametrize("target", [17, 10])
def test_axes(axes: str, target: int) -> None:
    count = axes.count(",") + 1
    pads = "1, 2" if count == 1 else "1, 2, 3, 0"
    text = f"g (float[3, 4] x) => (float[A, B] y) <int64[{2 * count}] p = {{{pads}}}, int64[{count}] a = {{{axes}}}>"
    assert _ops(assert_same(model(text + " { y = Pad (x, p, , a) }", opset=21), target, {"x": X})) == ["Pad"]


@pytest.mark.parametrize("axes", [[0], [-1], [1, -2]])
@pytest.mark.parametrize("known", ["axes", "neither"])
@pytest.mark.parametrize("target", [17, 10, 9])
def test_computed_pads_of_axes(axes: list[int], known: str, target: int) -> None:
    count = len(axes)
    pads = np.array([1, 2] if count == 1 else [1, 0, -1, 2])
    given = f"int64[{count}] a = {{{str(axes)[1:-1]}}}"
    text = f"g (float[3, 4] x, int64[{2 * count}] p{'' if known == 'axes' else f', int64[{count}] a'}) => (float[A, B] y)"
    text += (f" <{given}>" if known == "axes" else "") + " { y = Pad (x, p, , a) }"
    feeds = {"x": X, "p": pads} | ({} if known == "axes" else {"a": np.array(axes)})
    assert_same(model(text, opset=21), target, feeds)


@pytest.mark.parametrize(
    ("axes", "pads"),
    [
        pytest.param([1, 1], [2, 0, 2, 1], id="the last counts of an axis given twice"),
        pytest.param([0, -2], [2, 1, 2, 0], id="given twice from either end"),
        pytest.param([], [], id="no axis at all"),
    ],
)
@pytest.mark.parametrize("index", ["int64", "int32"])
@pytest.mark.parametrize("target", [17, 9])
def test_computed_axes(axes: list[int], pads: list[int], index: str, target: int) -> None:
    text = f"g (float[3, 4] x, int64[{len(pads)}] p, {index}[{len(axes)}] a) => (float[A, B] y) {{ y = Pad (x, p, , a) }}"
    assert_same(model(text, opset=21), target, {"x": X, "p": np.array(pads, np.int64), "a": np.array(axes, index)})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [[1, 0, 0, 2], [2, 2, 2, 2], [0, 0, 0, 0]])
@pytest.mark.parametrize("target", [10, 9])
def test_computed_pads(mode: str, pads: list[int], target: int) -> None:
    text = f'g (float[N, 4] x, int64[4] p, float v) => (float[A, B] y) {{ y = Pad <mode = "{mode}"> (x, p, v) }}'
    assert_same(model(text, opset=21), target, {"x": X, "p": np.array(pads), "v": np.array(7, np.float32)})


@pytest.mark.parametrize("target", [18, 13, 10, 7])
def test_wrap_more_than_once_around(target: int) -> None:
    text = 'g (float[3, 4] x) => (float[A, B] y) <int64[4] p = {4, 1, 7, 9}> { y = Pad <mode = "wrap"> (x, p) }'
    result = convert_version(model(text, opset=21), target).model
    np.testing.assert_array_equal(run(result, {"x": X})[0], np.pad(X, ((4, 7), (1, 9)), mode="wrap"))


@pytest.mark.parametrize("kind", ["int64", "int32", "bool", "uint8", "double"])
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_other_types(kind: str, mode: str) -> None:
    text = f'g ({kind}[3, 4] x) => ({kind}[A, B] y) <int64[4] p = {{1, 0, 2, 2}}> {{ y = Pad <mode = "{mode}"> (x, p) }}'
    x = (np.arange(12).reshape(3, 4) % 5).astype(np.dtype(kind))
    result = convert_version(model(text, opset=21), 10).model
    np.testing.assert_array_equal(run(result, {"x": x})[0], np.pad(x, ((1, 2), (0, 2)), mode=mode))


def test_a_value_that_no_float_holds_is_concatenated() -> None:
    text = "g (int64[2] x) => (int64[4] y) <int64[2] p = {1, 1}, int64 v = {9007199254740993}> { y = Pad (x, p, v) }"
    assert_same(model(text, opset=13), 10, {"x": np.array([1, 2])})


def test_strings() -> None:
    text = "g (string[2] x) => (string[4] y) <int64[2] p = {1, 1}> { y = Pad (x, p) }"
    assert set(_ops(convert_version(model(text, opset=13), 11).model)) == {"Concat"}


@pytest.mark.parametrize(
    "attributes", ["pads = [1, 0, 0, 2]", 'pads = [1, 1, 1, 1], mode = "reflect"', "pads = [0, 1, 0, 1], value = 2.5"]
)
def test_upward(attributes: str) -> None:
    proto = model(f"g (float[3, 4] x) => (float[A, B] y) {{ y = Pad <{attributes}> (x) }}", opset=9)
    assert _ops(assert_same(proto, 21, {"x": X})) == ["Pad"]


def test_the_sign_of_a_zero_stays() -> None:
    proto = model("g (float[3, 4] x) => (float[A, B] y) { y = Pad <pads = [0, 1, 0, 1], value = -0.0> (x) }", opset=9)
    (padded,) = run(convert_version(proto, 13).model, {"x": X})
    assert np.signbit(padded[:, [0, -1]]).all()


def test_paddings_of_opset_1() -> None:
    proto = model("g (float[3, 4] x) => (float[4, 6] y) { y = Pad <paddings = [1, 0, 0, 2], value = 5.0> (x) }", opset=1)
    result = convert_version(proto, 13).model
    np.testing.assert_array_equal(run(result, {"x": X})[0], np.pad(X, ((1, 0), (0, 2)), constant_values=5))
    back = convert_version(result, 1).model
    (node,) = back.graph.node
    assert {a.name for a in node.attribute} >= {"paddings", "value"}


REWRITES = [
    (
        "pad.paddings_to_pads",
        1,
        2,
        "g (float[2] x) => (float[5] y) { y = Pad <paddings = [1, 2]> (x) }",
        "{ y = Pad <pads = [1, 2]> (x) }",
    ),
    (
        "pad.pads_to_paddings",
        2,
        1,
        "g (float[2] x) => (float[5] y) { y = Pad <pads = [1, 2]> (x) }",
        "{ y = Pad <paddings = [1, 2]> (x) }",
    ),
    (
        "pad.pads_to_paddings",
        2,
        1,
        'g (float[4] x) => (float[3] y) { y = Pad <pads = [-2, 1], mode = "reflect"> (x) }',
        '{ c = Slice <axes = [0], ends = [9223372036854775807], starts = [2]> (x)\n y = Pad <mode = "reflect", paddings = [0, 1]> (c) }',
    ),
    (
        "pad.pads_to_input",
        10,
        11,
        "g (float[2] x) => (float[5] y) { y = Pad <pads = [1, 2], value = 3.0> (x) }",
        "<int64[2] v1 = {1, 2}, float v2 = {3}> { y = Pad (x, v1, v2) }",
    ),
    (
        "pad.pads_to_attribute",
        11,
        10,
        "g (float[2] x) => (float[5] y) <int64[2] p = {1, 2}, float v = {3}> { y = Pad (x, p, v) }",
        "{ y = Pad <pads = [1, 2], value = 3.0> (x) }",
    ),
    (
        "pad.pads_of_all_axes",
        18,
        17,
        "g (float[2,3] x) => (float[2,6] y) <int64[2] p = {1, 2}, int64[1] a = {-1}> { y = Pad (x, p, , a) }",
        "<int64[4] v1 = {0, 1, 0, 2}> { y = Pad (x, v1) }",
    ),
    (
        "pad.pad_strings_axis_by_axis",
        13,
        11,
        "g (string[2] x) => (string[4] y) <int64[2] p = {1, 1}> { y = Pad (x, p) }",
        '<string[1] padding = {""}> { y = Concat <axis = 0> (padding, x, padding) }',
    ),
    (
        "pad.wrap_by_gather",
        19,
        18,
        'g (float[3] x) => (float[6] y) <int64[2] p = {1, 2}> { y = Pad <mode = "wrap"> (x, p) }',
        "<int64[6] chosen = {2, 0, 1, 2, 0, 1}> { y = Gather <axis = 0> (x, chosen) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
