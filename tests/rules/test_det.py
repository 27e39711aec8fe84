"""Det of small matrices, expanded."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run


@pytest.mark.parametrize(
    "dims, reason",
    [
        pytest.param("5,5", "the determinant of 5 rows without pivots", id="large"),
        pytest.param("0,0", "the determinant of 0 rows", id="empty"),
        pytest.param("N,N", "axis dimension 'N' of 'x' is unknown", id="unknown"),
    ],
)
def test_refused(dims, reason):
    assert reason in refusal(model(f"g (float[{dims}] x) => (float y) {{ y = Det (x) }}", 11), 10)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("target", [10, 7])
def test_determinants(target, size, batch):
    dims = ",".join(map(str, (*batch, size, size)))
    out = f"[{','.join(map(str, batch))}]" if batch else ""
    x = np.random.default_rng(size).standard_normal((*batch, size, size)).astype(np.float32)
    result = convert_version(model(f"g (float[{dims}] x) => (float{out} y) {{ y = Det (x) }}", 11), target).model
    got = run(result, {"x": x})[0]
    assert got.shape == batch
    np.testing.assert_allclose(got, np.linalg.det(x.astype(np.float64)), rtol=1e-5, atol=1e-6)


def test_whole_numbers_are_exact():
    """Swapped rows change the sign; a row twice gives zero."""
    x = np.float32([[[0, 1, 0], [1, 0, 0], [0, 0, 7]], [[1, 2, 3], [4, 5, 6], [1, 2, 3]]])
    result = convert_version(model("g (float[N,3,3] x) => (float[N] y) { y = Det (x) }", 11), 9).model
    np.testing.assert_array_equal(run(result, {"x": x})[0], [-7, 0])


REWRITES = [
    (
        "det.expand_along_the_rows",
        11,
        10,
        "g (float[2,2] x) => (float y) { y = Det (x) }",
        """
            <int64 row = {0}, int64 row_3 = {1}>
            {
              row_2 = Gather <axis = 0> (x, row)
              row_4 = Gather <axis = 0> (x, row_3)
              cell = Gather <axis = 0> (row_2, row)
              cell_2 = Gather <axis = 0> (row_2, row_3)
              cell_3 = Gather <axis = 0> (row_4, row)
              cell_4 = Gather <axis = 0> (row_4, row_3)
              term = Mul (cell, cell_4)
              term_2 = Mul (cell_2, cell_3)
              y = Sub (term, term_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
