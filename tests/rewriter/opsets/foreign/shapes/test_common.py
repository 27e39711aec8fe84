"""Shapes by the rules that many operators share."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.opsets.foreign.shapes.common import broadcast_shape

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([None, (2,)], None),
        ([(2, None), (2, None)], (2, None)),
        ([("N", 4), (4,)], ("N", 4)),
        ([("N", 1), ("M", 3)], (None, 3)),
        ([("N",), (3,)], (3,)),
        ([(None,), (1,)], (None,)),
        ([(), (1, 1)], (1, 1)),
        ([(2, 1, 3), (5, 1), (1,)], (2, 5, 3)),
    ],
)
def test_broadcast(shapes, expected):
    assert broadcast_shape(shapes) == expected
