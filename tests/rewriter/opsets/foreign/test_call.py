"""What the functions of shapes see of a node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import one_node
from onnx import numpy_helper

from split_rewrite.rewriter.opsets.foreign.call import Call

pytestmark = pytest.mark.quick

NODE = one_node('y = com.microsoft.Pad <mode = "wrap", axis = 3> (x, "", p)')
CALL = Call(NODE, {"x": onnx.helper.make_tensor_type_proto(1, ["N", None, 4])}, {"p": numpy_helper.from_array(np.arange(2), "p")})


def test_what_is_not_there():
    assert not CALL.has(1) and not CALL.has(7)
    assert CALL.shape(1) is CALL.shape(2) is CALL.constant(0) is CALL.dimension(2, 0) is None
    assert CALL.attr("value") is None and CALL.attr("value", 2) == 2
    with pytest.raises(IndexError):
        CALL.dimension(0, 5)


def test_what_is_there():
    assert CALL.has(0) and CALL.shape(0) == ("N", None, 4) and CALL.dimension(0, -1) == 4
    assert CALL.constant(2).tolist() == [0, 1]
    assert CALL.attr("mode") == "wrap" and CALL.attr("axis") == 3
    assert not CALL.depends_on_caller
