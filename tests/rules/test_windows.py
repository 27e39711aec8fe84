"""Window functions, of any size."""

import numpy as np
import pytest
from helpers import assert_same, convert_version, model, run


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("size, target", [(10, 7), (9, 16), (2, 11)])
def test_constant_size(operator, periodic, size, target):
    text = f"g () => (float[{size}] y) <int64 n = {{{size}}}> {{ y = {operator} <periodic={periodic}> (n) }}"
    assert_same(model(text, 17), target, {}, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("target", [13, 9, 7])
def test_size_at_run_time(operator, target):
    text = f"g (int32 n) => (double[N] y) {{ y = {operator} <output_datatype=11> (n) }}"
    assert_same(model(text, 17), target, {"n": np.array(12, np.int32)}, rtol=1e-5, atol=1e-6)


def test_a_constant_size_makes_a_constant():
    result = convert_version(model("g () => (float[8] y) <int64 n = {8}> { y = HannWindow (n) }", 17), 13).model
    assert [node.op_type for node in result.graph.node] == ["Constant"]
    np.testing.assert_allclose(run(result, {})[0], np.hanning(9)[:8], rtol=1e-6, atol=1e-7)


def test_integers_are_cut_off_where_the_model_runs():
    """Where the window is 1, the last bit decides whether an integer is 1 or 0."""
    text = "g () => (int32[8] y) <int64 n = {8}> { y = HannWindow <output_datatype = 6> (n) }"
    assert_same(model(text, 17), 13, {})
