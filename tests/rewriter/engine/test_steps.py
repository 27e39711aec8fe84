"""Single steps from version to version: rules that are needed, and operators that go."""

from __future__ import annotations

import helpers
import numpy as np
import pytest
from helpers import convert_version

from split_rewrite.rewriter import Options, SplitRewriteError, UnconvertibleError


def test_a_rule_that_is_skipped_blocks_where_it_is_needed() -> None:
    source = helpers.model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split(x)}", 13)
    with pytest.raises(UnconvertibleError, match=r"rule split\.count_equal_parts is needed here, and --only or --skip excludes it"):
        convert_version(source, 18, options=Options(skip=frozenset({"split"})))
    with pytest.raises(SplitRewriteError, match="no rule 'nonsense'"):
        convert_version(source, 18, options=Options(only=frozenset({"nonsense"})))


def test_deprecated_operators_are_converted_away() -> None:
    """onnx.checker refuses them at their own opset; a conversion away from it is the cure."""
    text = "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> {y = Upsample(x, s)}"
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    for target, operator in ((13, "Resize"), (9, "Upsample")):
        result = convert_version(helpers.model(text, 10), target).model
        (got,) = helpers.run(result, {"x": x})
        np.testing.assert_array_equal(got, x.repeat(2, axis=2).repeat(2, axis=3))
        assert [node.op_type for node in result.graph.node] == [operator]
