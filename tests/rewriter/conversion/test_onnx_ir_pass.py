"""The conversion as a pass of onnx_ir."""

from __future__ import annotations

import onnx_ir as ir
import onnx_ir.passes.common
import pytest
from helpers import model

from split_rewrite.rewriter import ConvertOpset, UnconvertibleError

GELU = "agraph (float[2,4] x) => (float[2,4] y) { h = Relu(x) y = Gelu(h) }"
REFUSED = "agraph (string[2] x) => (string[2] y) { y = StringConcat(x, x) }"


def test_blockers_come_through_the_error_of_a_sequence():
    given = ir.from_proto(model(REFUSED, opset=20))
    with pytest.raises(ir.passes.PassError, match=r"ConvertOpset\(18\)") as caught:
        ir.passes.Sequential(ConvertOpset(18))(given)
    cause = caught.value.__cause__
    assert isinstance(cause, UnconvertibleError)
    assert [blocker.op_type for blocker in cause.blockers] == ["StringConcat"]
    assert given.opset_imports[""] == 20


def test_other_models_are_refused():
    with pytest.raises(
        TypeError, match=r"ConvertOpset converts an onnx_ir\.Model, not ModelProto: convert_version takes other models"
    ):
        ConvertOpset(13).call(model("g (float[2] x) => (float[2] y) {y = Relu(x)}", 18))  # type: ignore[arg-type]


def test_the_same_object_comes_back_converted():
    given = ir.from_proto(model(GELU, opset=20))
    convert = ConvertOpset(18)
    result = convert(given)
    assert result.model is given
    assert result.modified
    assert given.opset_imports[""] == 18
    assert "Gelu" not in {node.op_type for node in given.graph}
    assert convert.report is not None and convert.report.target_opset == 18


def test_nothing_to_do_is_no_modification():
    given = ir.from_proto(model(GELU, opset=20))
    graph = given.graph
    result = ConvertOpset(20)(given)
    assert not result.modified
    assert result.model is given and given.graph is graph


def test_it_stands_beside_other_passes():
    given = ir.from_proto(model("agraph (float[2,4] x) => (float[2,4] y) { unused = Neg(x) y = Gelu(x) }", opset=20))
    result = ir.passes.Sequential(ir.passes.common.RemoveUnusedNodesPass(), ConvertOpset(18))(given)
    assert result.model is given and result.modified
    assert "Neg" not in {node.op_type for node in given.graph}


def test_functions_are_replaced_in_place():
    given = ir.from_proto(
        model("""<ir_version: 8, opset_import: ["" : 20, "f" : 1]>
        agraph (float[2,4] x) => (float[2,4] y) { y = f.act(x) }
        <opset_import: ["" : 20], domain: "f"> act (v) => (w) { w = Gelu(v) }""")
    )
    ConvertOpset(18)(given)
    assert "Gelu" not in {node.op_type for node in given.functions["f", "act", ""]}
    assert given.functions["f", "act", ""].opset_imports[""] == 18
