"""Shapes of products of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from split_rewrite.rewriter.opsets.foreign.shapes.products import product

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("shapes", [((3, 4), (4, 6)), ((4,), (4, 6)), ((2, 3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 6))])
def test_a_product_has_the_shape_that_numpy_gives_it(shapes):
    assert product(*shapes) == (np.zeros(shapes[0]) @ np.zeros(shapes[1])).shape


def test_what_is_unknown():
    assert product(None, (2, 3)) is product((2, 3), None) is product((), (2, 3)) is None
    assert product(("N", "K"), (None, None)) == ("N", None)
