"""The rules that avoid forms of Softmax, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import answer, assert_rewrites, convert_version, model, run

from split_rewrite.rewriter.execution.messages import Failure

REWRITES = [
    (
        "softmaxes.of_a_matrix",
        "Softmax before opset 13, axis not last",
        11,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }",
        """
            <int64[3] shape = {2, 3, 4}>
            {
              matrix = Flatten <axis = 1> (x)
              of_matrix = Softmax <axis = 1> (matrix)
              y = Reshape (of_matrix, shape)
            }
        """,
    ),
    (
        "softmaxes.in_float",
        "Softmax or LayerNormalization of float16 from opset 18 on",
        18,
        "g (float16[2,3] x) => (float16[2,3] y) { y = Softmax(x) }",
        "{ float_x = Cast <to = 1> (x) in_float = Softmax (float_x) y = Cast <to = 10> (in_float) }",
    ),
    (
        "softmaxes.in_float",
        "Softmax or LayerNormalization of float16 from opset 18 on",
        18,
        "g (float16[2,3] x, float16[3] w) => (float16[2,3] y) { y = LayerNormalization(x, w) }",
        """
            {
              float_x = Cast <to = 1> (x)
              float_w = Cast <to = 1> (w)
              in_float = LayerNormalization (float_x, float_w)
              y = Cast <to = 10> (in_float)
            }
        """,
    ),
]


def test_a_softmax_of_floats_stays(tmp_path: Path) -> None:
    before = model("g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }", 18)
    assert converted(before, "Softmax or LayerNormalization of float16 from opset 18 on", tmp_path).graph.node == before.graph.node


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


FORM = "Softmax before opset 13, axis not last"


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_shapes_that_are_not_known(axis: int, tmp_path: Path) -> None:
    before = model(f"g (float[A,B,C,3] x) => (float[A,B,C,3] y) {{ y = Softmax<axis = {axis}>(x) }}", 11)
    result = converted(before, FORM, tmp_path)
    for shape in ((2, 1, 4, 3), (1, 2, 2, 3), (1, 1, 1, 3)):
        feeds = {"x": np.random.default_rng(0).normal(size=shape).astype(np.float32)}
        np.testing.assert_array_equal(run(result, feeds)[0], run(before, feeds)[0])


@pytest.mark.parametrize(("shape", "axis"), [((0, 0, 3, 3), 0), ((0, 0, 3, 3), 2), ((0, 2, 1, 3), 1), ((2, 0, 3, 3), 1)])
def test_no_shape_is_wrong_where_the_data_is_empty(shape: tuple[int, ...], axis: int, tmp_path: Path) -> None:
    """The result may fail there, which the report says."""
    before = model(f"g (float[A,B,C,3] x) => (float[A,B,C,3] y) {{ y = Softmax<axis = {axis}>(x) }}", 11)
    feeds = {"x": np.zeros(shape, np.float32)}
    assert run(before, feeds)[0].shape == shape
    got = answer(converted(before, FORM, tmp_path), feeds)
    assert isinstance(got, Failure) or got[0].shape == shape


def test_the_report_says_that_empty_data_may_fail(tmp_path: Path) -> None:
    before = model("g (float[A,B,3] x) => (float[A,B,3] y) { y = Softmax<axis = 1>(x) }", 11)
    report = convert_version(before, 11, options=for_a_runtime(FORM, tmp_path)).report
    said = [remark.message for remark in report.remarks if remark.kind == "empty"]
    assert said == ["it may fail at run time if a dimension of its input is 0, which needs opset 13"]


def test_data_that_is_known_to_be_empty_stays_as_it_is(tmp_path: Path) -> None:
    before = model("g (float[0,2,0] x) => (float[0,2,0] y) { y = Softmax<axis = 1>(x) }", 11)
    assert [node.op_type for node in converted(before, FORM, tmp_path).graph.node] == ["Identity"]
