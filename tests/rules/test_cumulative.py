"""CumSum and CumProd, written out or as a Scan: in the order of the axis, so that overflow happens where it did."""

import numpy as np
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, known, model, refusal, run

BEYOND = np.array([3e38, 3e38, -3e38, -3e38, 1], np.float32)


@pytest.mark.parametrize(
    "operands, target, reason",
    [
        pytest.param("z, a", 10, "the rank of 'z' is unknown", id="axis at run time, of how many is unknown"),
        pytest.param("x, c", 7, "its rewrite needs Scan", id="unknown length before Scan took one"),
    ],
)
def test_refused(operands, target, reason):
    text = (
        "g (float[N,4] x, int64 a, int64[K] s) => (float[A,B] y) <int64 c = {0}> "
        f"{{ z = Reshape (x, s)  t = CumSum ({operands})  y = Reshape (t, s) }}"
    )
    assert reason in refusal(model(text, 11), target)


def test_refuses_an_axis_that_the_data_does_not_have():
    text = "g (float[A,B] x) => (float[A,B] y) <int64 a = {2}> { y = CumSum (x, a) }"
    assert "axis=2 is out of range for rank 2" in refusal(model(text, 11), 10)


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dims, target", [("5,3", 10), ("5,3", 7), ("N,M", 10), ("N,3", 9)])
@pytest.mark.parametrize("axis", [0, -1])
def test_sums(exclusive, reverse, dims, target, axis):
    text = (
        f"g (float[{dims}] x) => (float[{dims}] y) <int64 a = {{{axis}}}> "
        f"{{ y = CumSum <exclusive={exclusive}, reverse={reverse}> (x, a) }}"
    )
    x = np.stack([BEYOND, BEYOND[::-1], np.array([1, np.nan, 2, np.inf, -1], np.float32)], 1)
    with np.errstate(all="ignore"):
        assert_same(model(text, 11), target, {"x": x})


@pytest.mark.parametrize("attributes", ["", "<exclusive=1>", "<reverse=1>"])
@pytest.mark.parametrize("kind, dims, target", [("int64", "2,3,4", 10), ("int32[1]", "2,3,4", 7), ("int64", "N,M,K", 9)])
def test_an_axis_at_run_time(attributes, kind, dims, target):
    axis = kind.removesuffix("[1]")
    proto = model(f"g (float[{dims}] x, {kind} a) => (float[{dims}] y) {{ y = CumSum {attributes} (x, a) }}", 11)
    x = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float32)
    for value in (0, 1, 2, -1, -3):
        assert_same(proto, target, {"x": x, "a": np.full((1,) if "[" in kind else (), value, axis)})


def test_the_only_axis_at_run_time():
    result = assert_same(
        model("g (float[5] x, int64 a) => (float[5] y) { y = CumSum (x, a) }", 11), 10, {"x": BEYOND, "a": np.array(-1)}
    )
    assert "Gather" not in {node.op_type for node in result.graph.node}


@pytest.mark.parametrize("kind", ["int32", "int64", "double"])
def test_sums_of_other_types(kind):
    text = f"g ({kind}[N] x) => ({kind}[N] y) <int32 a = {{0}}> {{ y = CumSum (x, a) }}"
    assert_same(model(text, 14), 10, {"x": np.arange(-5, 40).astype(kind)})


def test_a_long_axis_is_a_scan_and_a_short_one_is_not():
    proto = "g (float[{n}] x) => (float[{n}] y) <int64 a = {{0}}> {{ y = CumSum (x, a) }}"
    operators = [{node.op_type for node in convert_version(model(proto.format(n=n), 11), 10).model.graph.node} for n in (16, 17)]
    assert [("Scan" in found) for found in operators] == [False, True]


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("dims", ["4,3", "N,M"])
def test_products(exclusive, dims):
    text = f"g (float[{dims}] x) => (float[{dims}] y) <int64 a = {{0}}> {{ y = CumProd <exclusive={exclusive}> (x, a) }}"
    x = np.array([[1, 2, 3], [1e30, -1, 0], [1e30, 5, np.inf], [1e-30, np.nan, 2]], np.float32)
    with np.errstate(all="ignore"):
        expected = np.cumprod(x, 0)
    if exclusive:
        expected = np.concatenate([np.ones((1, 3), np.float32), expected[:-1]])
    np.testing.assert_array_equal(run(convert_version(model(text, 26), 18).model, {"x": x})[0], expected)


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
@pytest.mark.parametrize("target", [18, 25])
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("attributes", ["", "<exclusive=1>", "<reverse=1>"])
@pytest.mark.parametrize("length", [6, 40])
def test_products_of_halves(length, attributes, kind, target):
    """Powers of two, which no rounding changes."""
    text = f"g (float[2,{length}] x) => (float[2,{length}] y) <int64 a = {{1}}> {{ h = Cast<to={16 if kind == 'bfloat16' else 10}>(x) p = CumProd {attributes} (h, a) y = Cast<to=1>(p) }}"
    x = np.where(np.arange(2 * length).reshape(2, length) % 3, -0.5, 4).astype(np.float32)
    ordered = x[:, ::-1] if "reverse" in attributes else x
    expected = np.cumprod(ordered, 1)
    if "exclusive" in attributes:
        expected = np.concatenate([np.ones((2, 1), np.float32), expected[:, :-1]], 1)
    expected = expected[:, ::-1] if "reverse" in attributes else expected
    result = convert_version(model(text, 26), target, compare="auto")
    assert result.report.inexact == {"cumulative.accumulate_step_by_step"}
    if kind == "float16":
        np.testing.assert_array_equal(run(result.model, {"x": x})[0], expected)


@pytest.mark.parametrize("operator, opset", [("CumSum", 14), ("CumProd", 26)])
@pytest.mark.parametrize("attributes", ["", "<exclusive=1>", "<reverse=1>"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_at_run_time(operator, opset, attributes, shape):
    if not known(opset):
        pytest.skip(f"onnx has no opset {opset}")
    text = f"g (float[N,M] x) => (float[N,M] y) <int32 a = {{0}}> {{ y = {operator} {attributes} (x, a) }}"
    result = convert_version(model(text, opset), 10).model
    (y,) = run(result, {"x": np.zeros(shape, np.float32)})
    assert y.shape == shape


def test_sums_of_nothing() -> None:
    text = "g (float[0,0] x) => (float[0,0] y) <int64 a = {-1}> {y = CumSum(x, a)}"
    assert_compares_equal(model(text, 14), 9)


REWRITES = [
    (
        "cumulative.accumulate_step_by_step",
        11,
        10,
        "g (float[3] x) => (float[3] y) <int32 a = {0}> { y = CumSum (x, a) }",
        """
            {
              part, part_2, part_3 = Split <axis = 0> (x)
              total = Add (part, part_2)
              total_2 = Add (total, part_3)
              y = Concat <axis = 0> (part, total, total_2)
            }
        """,
    ),
    (
        "cumulative.accumulate_step_by_step",
        11,
        10,
        "g (float[2,N] x) => (float[2,N] y) <int32 a = {-1}> { y = CumSum (x, a) }",
        """
            <int64[1] others = {0}, float neutral = {0}, int64[1] bound = {-1}, int64[1] axis = {1}>
            {
              shape = Shape (x)
              inner = Gather <axis = 0> (shape, others)
              start = Expand (neutral, inner)
              extra = Unsqueeze <axes = [1]> (start)
              data = Concat <axis = 1> (x, extra)
              scan, scan_2 = Scan (start, data) <body = body (float[?] before, float[?] element) => (float[?] total, float[?] given) {
                total = Add (before, element)
                given = Identity (total)
              }, num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [0], scan_output_axes = [1], scan_output_directions = [0]>
              y = Slice (scan_2, others, bound, axis)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
