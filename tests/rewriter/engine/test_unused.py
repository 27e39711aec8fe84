"""Names and nodes that a conversion leaves behind."""

from __future__ import annotations

import helpers
import numpy as np


def test_a_new_value_never_takes_the_name_of_one_that_is_gone() -> None:
    text = """g (float[2, 3] x) => (float[2, 2] y, float[2, 1] z) <int64[2] s = {2, 1}> {
        seq = SplitToSequence<axis = 1>(x, s)
        i = Constant<value_int = 0>() j = Constant<value_int = 1>()
        y_split = SequenceAt(seq, i)
        y = Identity(y_split)
        z = SequenceAt(seq, j) }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for target in (11, 13, 18):
        helpers.assert_same(helpers.model(text, 13), target, {"x": x})
