"""Domains that a model uses and does not import."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, invalidity, model, run

from split_rewrite.rewriter import InvalidModelError, Options

GELU = "g (float[2,4] x) => (float[2,4] y) { t = com.microsoft.Gelu (x) y = Softmax <axis = 1> (t) }"


def imports(proto: onnx.ModelProto) -> dict[str, int]:
    return {entry.domain: entry.version for entry in proto.opset_import}


@pytest.mark.parametrize("domain", ["foo", "com.example", "org.pytorch.aten", "com.microsoftware"])
def test_a_domain_that_no_runtime_knows_is_refused(domain: str) -> None:
    assert f"No opset import for domain '{domain}'" in invalidity(model(GELU.replace("com.microsoft", domain), 11), 13)


def test_no_opset_at_all_is_refused() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 11)
    del proto.opset_import[:]
    assert "the model does not state its opset" in invalidity(proto, 13)


def test_the_verdict_of_onnx_checker_can_be_required() -> None:
    with pytest.raises(InvalidModelError, match=r"No opset import for domain 'com\.microsoft'"):
        convert_version(model(GELU, 11), 13, options=Options(require_valid=True))


@pytest.mark.parametrize("target", [9, 13, 18])
def test_the_operators_of_onnxruntime(target: int) -> None:
    result, report = convert_version(model(GELU, 11), target, compare="required")
    assert imports(result) == {"": target, "com.microsoft": 1}
    assert report.warnings[0] == "Domain 'com.microsoft' (model): it is not imported, though a node uses it: its version 1 is now"


def test_traditional_operators() -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { t = ai.onnx.ml.Normalizer (x) y = Softmax <axis = 1> (t) }"
    result = convert_version(model(text, 11), 13, compare="required").model
    assert set(imports(result)) == {"", "ai.onnx.ml"}


def test_a_version_in_which_none_of_them_is_deprecated() -> None:
    tree = "nodes_modes = ['LEAF'], nodes_featureids = [0], nodes_falsenodeids = [0], nodes_truenodeids = [0]".replace("'", '"')
    leaf = "nodes_nodeids = [0], nodes_treeids = [0], nodes_values = [0.0], target_ids = [0], target_nodeids = [0]"
    text = f"g (float[2,3] x) => (float[2,1] y) {{ y = ai.onnx.ml.TreeEnsembleRegressor <{tree}, {leaf}, target_treeids = [0], target_weights = [1.0], n_targets = 1> (x) }}"
    assert imports(convert_version(model(text, 11), 13, compare="off").model)["ai.onnx.ml"] < 5


def test_in_subgraphs() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) { y = If (c)
        <then_branch = a () => (float[2] p) { p = com.microsoft.Gelu (x) }, else_branch = b () => (float[2] q) { q = com.microsoft.QuickGelu (x) }> }"""
    report = convert_version(model(text, 11), 13, compare="required").report
    assert report.warnings == ["Domain 'com.microsoft' (model): it is not imported, though 2 nodes use it: its version 1 is now"]


def test_nodes_that_name_the_domain_of_onnx_in_full() -> None:
    proto = model("g (float[2,3] x) => (float[2,3] y) { t = Relu (x) y = Softmax (t) }", 11)
    proto.graph.node[0].domain = "ai.onnx"
    result, report = convert_version(proto, 13, compare="required")
    assert {node.domain for node in result.graph.node} == {""}
    assert report.warnings == ["Domain 'ai.onnx' (model): a node uses it by its long name: the short one stands there now"]


def test_before_ir_version_3_the_opset_is_1() -> None:
    proto = model("g (float[2,3] x) => (float[2,3] y) { y = Softmax (x) }", 1)
    del proto.opset_import[:]
    proto.ir_version = 2
    result, report = convert_version(proto, 13, compare="required")
    assert imports(result) == {"": 13}
    assert "the model is taken as one of opset 1, which IR version 2 means" in report.warnings[0]


def test_without_an_opset_of_its_own_it_is_that_of_onnxruntime() -> None:
    proto = model("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }", 13)
    proto.opset_import[0].domain = "com.microsoft"
    proto.opset_import[0].version = 1
    report = convert_version(proto, 9, compare="required").report
    assert "the newest of the installed onnxruntime, which takes that" in report.warnings[0]


def calling(opset: int, own: int, node: str) -> onnx.ModelProto:
    """A model of `opset` that calls a function of opset `own`, of one node."""
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}, "my" : 1]> g (float[2,3,4] x) => (float[2,3,4] y) {{ y = my.f(x) }} '
        f'<domain: "my", opset_import: ["" : {own}]> f (a) => (b) {{ b = {node} }}'
    )


def test_a_function_of_another_opset_with_another_meaning_is_refused() -> None:
    message = invalidity(calling(13, 11, "Softmax<axis = 1>(a)"), 18)
    assert (
        "the function 'f' is of opset 11, and the model of opset 13, which onnx.checker refuses. Hint: inline it: onnx." in message
    )


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 22, reason="this onnx ends before")
def test_a_function_whose_meaning_depends_on_an_attribute_is_refused() -> None:
    """The last window of ceil_mode is another one from 22 on."""
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 22, "my" : 1]> g (float[1,1,5] x) => (float[1,1,M] y) { y = my.f(x) } '
        '<domain: "my", opset_import: ["" : 21]> f (a) => (b) { b = AveragePool<kernel_shape = [2], ceil_mode = 1, pads = [1, 1]>(a) }'
    )
    assert "the function 'f' is of opset 21, and the model of opset 22" in invalidity(proto, 20)


@pytest.mark.parametrize(("opset", "own"), [(14, 13), (13, 14), (17, 13)])
@pytest.mark.parametrize("target", [11, 20])
def test_a_function_of_another_opset_with_the_same_meaning_is_taken(opset: int, own: int, target: int) -> None:
    proto = calling(opset, own, "Relu(a)")
    result, report = convert_version(proto, target)
    message = f"it is of opset {own}, and the model of {opset}, where its nodes mean the same: it is taken as one of {opset}"
    assert f"Domain 'ai.onnx' (function 'f'): {message}" in report.warnings
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(run(result, {"x": x})[0], np.maximum(x, 0))
