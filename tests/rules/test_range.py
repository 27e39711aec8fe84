"""Range: stash_type before opset 27."""

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 27, reason="the installed onnx has no opset 27")


def down(kind, attribute=""):
    text = f"g ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range {attribute} (a, b, c) }}"
    return convert_version(model(text, 27), 26).model


@pytest.mark.parametrize("attribute", ["", "<stash_type=1>", "<stash_type=11>"])
def test_it_means_nothing_for_other_types(attribute):
    (node,) = down("int64", attribute).graph.node
    assert node.op_type == "Range" and not node.attribute


@pytest.mark.parametrize("attribute, stash", [("", np.float32), ("<stash_type=11>", np.float64)])
def test_half_precision_is_computed_in_it(attribute, stash):
    result = down("float16", attribute)
    onnx.checker.check_model(result, full_check=True)
    start, limit, step = np.float16(2040), np.float16(2060), np.float16(0.7)
    expected = np.arange(stash(start), stash(limit), stash(step)).astype(np.float16)
    result.opset_import[0].version = 21
    np.testing.assert_array_equal(run(result, {"a": np.array(start), "b": np.array(limit), "c": np.array(step)})[0], expected)
