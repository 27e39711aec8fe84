"""What onnxruntime's optimizer lays out for one processor is refused, with the way out."""

from __future__ import annotations

import pytest
from contrib import STANDARD
from helpers import model

from split_rewrite.rewriter import UnconvertibleError, convert_version


def test_it_is_refused():
    proto = model("""<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
        g (float[1,8,4,4] x) => (float[1,8,4,4] y) { y = com.microsoft.nchwc.ReorderInput (x) }""")
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(proto, 13, compare="off", options=STANDARD)
    assert "ReorderInput is laid out for one kind of processor" in str(caught.value)
    assert "optimize the model at the level extended" in str(caught.value)
