"""Operators of ai.onnx.ml: their schemas and attributes say types where onnx infers none."""

from __future__ import annotations

import pytest
from helpers import convert_version, model, refusal

from split_rewrite.rewriter.opsets import inference, type_protos

ML_HEADER = '<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 3]>'
SVM = "SVMRegressor <coefficients = [1.0], support_vectors = [1.0], n_supports = 1, rho = [0.0], kernel_params = [0.0, 0.0, 0.0]>"
CLASSIFIER = "SVMClassifier <coefficients = [1.0], support_vectors = [1.0], vectors_per_class = [1], rho = [0.0], kernel_params = [0.0, 0.0, 0.0], {labels}>"
IMPUTER = "Imputer <imputed_value_int64s = [1], replaced_value_int64 = 0>"


def inferred_types(nodes: str, outputs: str = "float[n,m] y", x: str = "float[n,m] x") -> dict[str, str | None]:
    proto = inference.infer_model(model(f"{ML_HEADER} agraph ({x}) => ({outputs}) {{ {nodes} }}"))
    assert proto is not None
    return {value.name: type_protos.type_string(value.type) for value in proto.graph.value_info}


def test_labels_of_a_map_are_no_tensor():
    nodes = "y = ai.onnx.ml.Normalizer(x) z = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2]> (x)"
    assert inferred_types(nodes)["z"] == "seq(map(int64,tensor(float)))"


@pytest.mark.parametrize(
    ("node", "x", "expected"),
    [
        (SVM, "float[n,m] x", "tensor(float)"),
        ("Scaler <offset = [0.0], scale = [1.0]>", "int64[n,m] x", "tensor(float)"),
        (IMPUTER, "int64[n,m] x", "tensor(int64)"),
    ],
)
def test_outputs_have_types(node, x, expected):
    assert inferred_types(f"a = ai.onnx.ml.{node} (x) b = Mul(a, a) y = Cast <to = 1> (b)", x=x)["b"] == expected


def test_regressors_give_a_row_for_each_sample():
    trees = 'nodes_treeids = [0], nodes_nodeids = [0], nodes_modes = ["LEAF"], target_ids = [0], target_nodeids = [0], target_treeids = [0], target_weights = [1.0]'
    nodes = f"a = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 2, {trees}> (x) b = ai.onnx.ml.{SVM} (x) c = Neg(a) d = Neg(b) y = Add(c, d)"
    proto = inference.infer_model(model(f"{ML_HEADER} agraph (float[n,m] x) => (float[n,k] y) {{ {nodes} }}"))
    assert proto is not None
    shapes = {value.name: type_protos.shape_of(value.type) for value in proto.graph.value_info}
    assert [len(shapes[name] or ()) for name in "cd"] == [2, 2]
    assert (shapes["c"] or ())[1] == 2


@pytest.mark.parametrize(("kind", "number"), [("float", 1), ("double", 11)])
def test_trees_give_the_type_of_their_input(kind, number):
    tree = f"""tree_roots = [0], nodes_modes = uint8[1] {{0}}, nodes_splits = {kind}[1] {{0.5}}, nodes_featureids = [0],
        nodes_truenodeids = [0], nodes_trueleafs = [1], nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0,1],
        leaf_weights = {kind}[2] {{0.25,1.0}}"""
    nodes = f"a = ai.onnx.ml.TreeEnsemble <n_targets = 2, {tree}> (x) c = Neg (a) y = Neg (c)"
    header = ML_HEADER.replace(": 3", ": 5")
    proto = inference.infer_model(model(f"{header} agraph ({kind}[n,m] x) => ({kind}[n,k] y) {{ {nodes} }}"))
    assert proto is not None
    (stated,) = (value.type for value in proto.graph.value_info if value.name == "c")
    assert stated.tensor_type.elem_type == number and (type_protos.shape_of(stated) or ())[1] == 2


@pytest.mark.parametrize(
    ("labels", "expected"), [("classlabels_ints = [1, 2]", "tensor(int64)"), ('classlabels_strings = ["a", "b"]', "tensor(string)")]
)
def test_labels_say_what_classes_are(labels, expected):
    nodes = f"l, s = ai.onnx.ml.{CLASSIFIER.format(labels=labels)} (x) k = Identity(l) y = Neg(s)"
    assert inferred_types(nodes)["k"] == expected


def test_one_says_the_type_of_the_next():
    nodes = f"a = Identity(x) b = ai.onnx.ml.{IMPUTER} (a) c = Identity(b) d = ai.onnx.ml.{IMPUTER} (c) e = Neg(d) y = Cast <to = 1> (e)"
    assert inferred_types(nodes, x="int64[n,m] x")["e"] == "tensor(int64)"


def test_casts_behind_an_svm_are_converted():
    proto = model(f"""<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
        agraph (float[n,m] x) => (int64[n,k] y) {{ a = ai.onnx.ml.{SVM} (x) y = Cast <to = 7> (a) }}""")
    assert convert_version(proto, 9).model.opset_import[0].version == 9


def test_what_a_custom_operator_gives_stays_in_the_way():
    proto = model("""<ir_version: 10, opset_import: ["" : 21, "mine" : 3]>
        agraph (float[n,m] x) => (int64[n,k] y) { a = mine.What(x) y = Cast <to = 7> (a) }""")
    assert "the type of 'a' is unknown" in refusal(proto, 9)
