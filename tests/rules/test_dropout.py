"""Dropout: training and testing, the ratio, and the mask."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_compares_equal, assert_rewrites, convert_version, model, refusal, run

X = np.array([1, np.nan, 0, -2], np.float32)


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            "g (float[4] x) => (float[4] y, bool[4] m) { y, m = Dropout (x) }",
            *(10, 12, "the mask 'm' is true throughout from opset 12 on"),
            id="an_old_mask_is_undefined",
        ),
        pytest.param(
            "g (float[4] x) => (float[4] y, float[4] m) { y, m = Dropout (x) }",
            *(7, 6, "the mask 'm' is not filled before opset 7"),
            id="no_mask_in_test_mode",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


@pytest.mark.parametrize("operands", ["x", "x, r", "x, r, f", "x, zero, t", "x, , f"])
@pytest.mark.parametrize("target", [11, 9, 7])
def test_without_training(operands: str, target: int) -> None:
    values = "<float r = {0.25}, float zero = {0}, bool f = {0}, bool t = {1}>"
    text = f"g (float[4] x) => (float[4] y) {values} {{ y = Dropout <seed = 3> ({operands}) }}"
    result = convert_version(model(text, opset=13), target).model
    assert [node.op_type for node in result.graph.node] == ["Dropout"]
    np.testing.assert_array_equal(run(result, {"x": X})[0], X)


@pytest.mark.parametrize("target", [11, 9, 7])
@pytest.mark.parametrize(("operands", "ratio"), [("x, r, yes", 0.75), ("x, r, t", 0.75), ("x, , t", 0.5)])
@pytest.mark.parametrize("trains", [False, True])
def test_training(operands: str, ratio: float, trains: bool, target: int) -> None:
    text = f"g (float[4000] x, float r, bool t) => (float[4000] y, bool[4000] m) <bool yes = {{1}}> {{ y, m = Dropout <seed = 3> ({operands}) }}"
    result = convert_version(model(text, opset=13), target).model
    x = np.arange(1, 4001, dtype=np.float32)
    y, mask = run(result, {"x": x, "r": np.array(ratio, np.float32), "t": np.array(trains)})
    if not trains and "yes" not in operands:
        np.testing.assert_array_equal(y, x, strict=True)
        assert mask.all()
        return
    assert abs(1 - mask.mean() - ratio) < 0.05  # seven standard deviations
    np.testing.assert_allclose(y, np.where(mask, x / np.float32(1 - ratio), 0), rtol=1e-6)


@pytest.mark.parametrize("target", [11, 9, 7])
def test_a_mask_is_true_throughout(target: int) -> None:
    proto = model("g (float[4] x) => (float[4] y, bool[4] m) { y, m = Dropout (x) }", opset=13)
    np.testing.assert_array_equal(run(convert_version(proto, target).model, {"x": X})[1], np.ones(4, bool), strict=True)


@pytest.mark.parametrize("target", [12, 13, 22])
def test_upward(target: int) -> None:
    proto = model("g (float[4] x) => (float[4] y) { y, unread = Dropout <ratio = 0.25> (x) }", opset=7)
    result = convert_version(proto, target).model
    assert onnx_constant(result, result.graph.node[0].input[1]) == 0.25
    np.testing.assert_array_equal(run(result, {"x": X})[0], X)


def onnx_constant(proto: object, name: str) -> float:
    from onnx import numpy_helper

    return float(next(numpy_helper.to_array(t) for t in proto.graph.initializer if t.name == name))  # type: ignore[attr-defined]


def test_is_test() -> None:
    proto = model("g (float[4] x) => (float[4] y) { y = Dropout <is_test = 1, ratio = 0.25> (x) }", opset=6)
    new = convert_version(proto, 13).model
    np.testing.assert_array_equal(run(new, {"x": X})[0], X)
    (node,) = convert_version(new, 6).model.graph.node
    assert {a.name: a.i or a.f for a in node.attribute} == {"ratio": 0.25, "is_test": 1}


def test_training_of_opset_6_is_training_mode_from_12_on() -> None:
    result = convert_version(model("g (float[4] x) => (float[4] y) { y = Dropout (x) }", opset=6), 13).model
    (node,) = result.graph.node
    values = [onnx_constant(result, name) for name in node.input[1:]]
    assert values == [0.5, 1.0]


@pytest.mark.parametrize(("opset", "target", "kind"), [(7, 10, "float"), (10, 9, "bool")])
def test_the_mask_keeps_its_type(opset: int, target: int, kind: str) -> None:
    proto = model(f"g (float[4] x) => (float[4] y, {kind}[4] m) {{ y, m = Dropout (x) }}", opset=opset)
    before, after = run(proto, {"x": X})[1], run(convert_version(proto, target).model, {"x": X})[1]
    np.testing.assert_array_equal(after, before, strict=True)


@pytest.mark.parametrize("opset", [7, 10])
@pytest.mark.parametrize("ratio", [1.0, -0.5, -np.inf])
def test_a_ratio_that_opset_12_does_not_take_is_left_out_where_nothing_is_dropped(opset, ratio):
    proto = model(f"g (float[4] x) => (float[4] y) {{ y = Dropout <ratio = {ratio}> (x) }}", opset)
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"x": X})[0], X)


@pytest.mark.parametrize("ratio", [1.0, -0.5, np.inf, np.nan])
def test_a_ratio_that_opset_12_does_not_take_is_refused_where_it_counts(ratio):
    proto = model(f"g (float[4] x) => (float[4] y) {{ y = Dropout <ratio = {ratio}> (x) }}", 6)
    assert f"ratio={ratio:g}: opset 12 takes ratios from 0 on and below 1 only" in refusal(proto, 12)


def test_a_mask_that_nobody_reads_goes() -> None:
    text = (
        "g (bool c, float[3] x) => (float[3] y) {y = If(c) <then_branch = t () => (float[3] p) {p, m = Dropout(x)}, "
        "else_branch = e () => (float[3] q) {q = Identity(x)}>}"
    )
    proto = model(text, 14)
    graph = assert_compares_equal(proto, 11).graph
    branches = [attribute.g for node in graph.node for attribute in node.attribute]
    assert [list(node.output) for branch in branches for node in branch.node if node.op_type == "Dropout"] == [["p"]]


REWRITES = [
    (
        "dropout.ratio_to_attribute",
        13,
        11,
        "g (float[4] x, bool t) => (float[4] y) <float r = {0.75}> { y = Dropout (x, r, t) }",
        """<float four = {4}, float r = {0.75}> {
            draw = RandomUniformLike <dtype = 1, high = 1.0, low = 0.0> (x) below = Less (draw, r) kept = Not (below)
            scaled = Mul (x, four) factor = Cast <to = 1> (kept) dropped = Mul (scaled, factor) y = Where (t, dropped, x)
        }""",
    ),
    (
        "dropout.drop_is_test",
        6,
        9,
        "g (float[4] x) => (float[4] y) { y = Dropout (x) }",
        """<float two = {2}, float r = {0.5}> {
            draw = RandomUniformLike <dtype = 1, high = 1.0, low = 0.0> (x) below = Less (draw, r) kept = Not (below)
            scaled = Mul (x, two) factor = Cast <to = 1> (kept) y = Mul (scaled, factor)
        }""",
    ),
    (
        "dropout.mask_to_boolean",
        9,
        10,
        "g (float[2] x) => (float[2] y, float[2] m) { y, m = Dropout (x) }",
        "{ y, v1 = Dropout (x) m = Cast <to = 1> (v1) }",
    ),
    (
        "dropout.mask_to_numbers",
        10,
        9,
        "g (float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout (x) }",
        "{ y, v1 = Dropout (x) m = Cast <to = 9> (v1) }",
    ),
    (
        "dropout.ratio_to_attribute",
        12,
        11,
        "g (float[2] x) => (float[2] y) <float r = {0.25}> { y = Dropout (x, r) }",
        "{ y = Dropout <ratio = 0.25> (x) }",
    ),
    (
        "dropout.ratio_to_input",
        11,
        12,
        "g (float[2] x) => (float[2] y) { y = Dropout <ratio = 0.25> (x) }",
        "<float v1 = {0.25}> { y = Dropout (x, v1) }",
    ),
    (
        "dropout.add_is_test",
        7,
        6,
        "g (float[2] x) => (float[2] y) { y = Dropout <ratio = 0.25> (x) }",
        "{ y = Dropout <is_test = 1, ratio = 0.25> (x) }",
    ),
    (
        "dropout.drop_is_test",
        6,
        7,
        "g (float[2] x) => (float[2] y) { y = Dropout <is_test = 1, ratio = 0.25> (x) }",
        "{ y = Dropout <ratio = 0.25> (x) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
