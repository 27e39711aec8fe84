"""Lengths that the author's nodes compute are not computed again."""

import numpy as np
import pytest
from helpers import convert_version, known, model, run

pytestmark = pytest.mark.skipif(not known(17), reason="Shape has no start and end before opset 15")

COUNTED = "v = Shape <start = 1, end = 2> (w)  l = Squeeze (v)  r = Range (zero, l, one)"
SHAPED = "s = Shape (w)  l = Gather <axis = 0> (s, one)  r = Range (zero, l, one)"
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def source(body: str, inputs: str = "float[A,B] w"):
    """The upper triangle of `w` or `x`, which counts its columns below opset 14, and what else the `body` counts."""
    return model(f"g ({inputs}) => (float[C,D] y, int64[E] r) <int64 zero = {{0}}, int64 one = {{1}}> {{ {body} }}", 17)


def ranges(proto):
    return sum(node.op_type == "Range" for node in convert_version(proto, 13).model.graph.node)


def test_not_by_a_node_that_comes_later():
    assert ranges(source(f"y = Trilu (w)  {COUNTED}")) == 3


def test_not_by_another_input_of_the_same_symbol():
    """Nothing makes the lengths equal: onnxruntime runs a model whose inputs contradict their declarations."""
    assert ranges(source(f"{COUNTED}  y = Trilu (x)", "float[A,B] w, float[F,B] x")) == 3


def test_not_by_a_vector_where_a_scalar_is_needed():
    proto = source("v = Shape <start = 1, end = 2> (w)  r = Expand (one, v)  y = Trilu (w)")
    assert ranges(proto) == 2
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"w": X})[0], np.triu(X))


ROWS = COUNTED.replace("start = 1, end = 2", "start = 0, end = 1")


@pytest.mark.parametrize("counted, count", [(COUNTED, 4), (SHAPED, 4), (ROWS, 3)])
def test_rows_or_columns_that_the_author_counted(counted, count):
    """One Range is left for the others."""
    proto = source(f"{counted}  y = Trilu (w)")
    assert ranges(proto) == 2
    triangle, numbers = run(convert_version(proto, 13).model, {"w": X})
    np.testing.assert_array_equal(triangle, np.triu(X))
    assert numbers.tolist() == list(range(count))


def test_a_shape_that_the_author_took():
    proto = model("g (float[A,B] x) => (float[C,D] y, int64[2] s) { s = Shape (x)  y = Trilu (x) }", 14)
    names = [node.op_type for node in convert_version(proto, 13).model.graph.node]
    assert names.count("Shape") == 1
