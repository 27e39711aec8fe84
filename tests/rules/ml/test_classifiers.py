"""TreeEnsembleClassifier of ai.onnx.ml as TreeEnsemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import assert_rewrites, run
from onnx import ModelProto, TensorProto, helper, parser
from tree_models import STUMP, listed_trees, samples, tree_model

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

POSITIVE, MIXED = [0.0, 0.25, 0.5, 1.0], [-1.0, -0.25, 0.5, 1.0]
WORDS = {"classlabels_strings": ["ape", "bee", "cat"]}
NUMBERS = {"classlabels_int64s": [7, -3]}


def _classifier(seed: int, classes: int, weights: list[float], kind: int = TensorProto.FLOAT, **attributes: Any) -> ModelProto:
    labels = WORDS if classes == 3 else NUMBERS
    outputs = {"label": TensorProto.STRING if classes == 3 else TensorProto.INT64, "scores": TensorProto.FLOAT}
    listed = listed_trees(seed, "class", range(classes if classes == 3 else 1), weights)
    return tree_model("TreeEnsembleClassifier", 3, outputs, kind, **listed | labels | attributes)


LISTED = """nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [1,0,0], nodes_modes = ["BRANCH_LT","LEAF","LEAF"],
    nodes_values = [0.5,0.0,0.0], nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], class_treeids = [0,0],
    class_nodeids = [1,2], class_ids = [0,0], class_weights = [0.25,1.0], classlabels_int64s = [7,-3]"""
REWRITES = [
    (
        "ml.classifier",
        parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]> g (float[N,2] x) => (int64[N] l, float[N,2] z)
            {{ l, z = ai.onnx.ml.TreeEnsembleClassifier <{LISTED}> (x) }}"""
        ),
        """<float one = {1.0}, float half = {0.5}, int64[1] columns = {1}, int64[2] labels = {7,-3}>
        { p = ai.onnx.ml.TreeEnsemble <n_targets = 1, tree_roots = [0], nodes_modes = uint8[1] {1}, nodes_splits = float[1] {0.5},
            nodes_featureids = [1], nodes_missing_value_tracks_true = [0], nodes_truenodeids = [0], nodes_trueleafs = [1],
            nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0,0], leaf_weights = float[2] {0.25,1.0}> (x)
          q = Sub (one, p) g = Greater (p, half) c = Cast <to = 7> (g) i = Squeeze (c, columns) z = Concat <axis = 1> (q, p)
          l = Gather <axis = 0> (labels, i) }""",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES)
def test_rewrites(rule: str, before: ModelProto, after: str) -> None:
    assert_rewrites(before, after, rule, 17, 17, Options(ml_opset=5))


def _stump(**attributes: Any) -> ModelProto:
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    return tree_model("TreeEnsembleClassifier", 3, outputs, **STATED | attributes)


STATED = STUMP | {
    "class_treeids": [0, 0],
    "class_nodeids": [1, 2],
    "class_ids": [0, 0],
    "class_weights": [0.25, 1.0],
    "classlabels_int64s": [7, -3],
}
REFUSED = {
    "the second class alone": (_stump(class_ids=[1, 1]), "runtimes agree only if all weights are for the first"),
    "both classes": (_stump(class_ids=[0, 1]), "runtimes agree only if all weights are for the first"),
    "one class": (_stump(classlabels_int64s=[7]), "it has labels for 1 classes, and two are the least"),
    "a class beyond": (_stump(class_ids=[0, 2]), "it has 2 class labels, and weights for others"),
    "a class that is in no tree": (_stump(classlabels_int64s=[7, 8, 9]), "disagree about classes without a weight"),
    "a weight of a branch": (_stump(class_nodeids=[0, 2]), "a weight of its trees is for no leaf"),
    "odds as they are": (_stump(class_weights=[-0.25, 1.0]), "disagree about post_transform NONE of one score for two classes"),
    "logistic of probabilities": (_stump(post_transform="LOGISTIC"), "disagree about post_transform LOGISTIC"),
    "a probit": (_classifier(0, 3, POSITIVE, post_transform="PROBIT"), "disagree about post_transform PROBIT"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(given: ModelProto, message: str) -> None:
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(given, options=Options(ml_opset=5))


def test_what_the_version_has_stays() -> None:
    given = _classifier(0, 3, POSITIVE)
    assert convert_version(given, options=Options(ml_opset=1)).model.graph.node == given.graph.node


FORMS: dict[str, tuple[int, list[float], dict[str, Any]]] = {
    "probabilities": (2, POSITIVE, {}),
    "odds": (2, MIXED, {"post_transform": "LOGISTIC", "base_values": [0.25]}),
    "the greatest score": (3, MIXED, {"base_values": [0.5, 0.0, -1.0]}),
    "softmax": (3, MIXED, {"post_transform": "SOFTMAX"}),
    "logistic": (3, POSITIVE, {"post_transform": "LOGISTIC"}),
}


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
@pytest.mark.parametrize(("classes", "weights", "attributes"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_up(seed: int, classes: int, weights: list[float], attributes: dict[str, Any], kind: int) -> None:
    given = _classifier(seed, classes, weights, kind, **attributes)
    if classes == 2 and weights is MIXED:  # at least one is negative
        next(each for each in given.graph.node[0].attribute if each.name == "class_weights").floats[0] = -0.5
    result = convert_version(given, options=Options(ml_opset=5)).model
    assert "TreeEnsembleClassifier" not in {node.op_type for node in result.graph.node}
    inputs = {"x": samples(np.random.default_rng(seed), helper.tensor_dtype_to_np_dtype(kind).type)}
    want, got = run(given, inputs), run(result, inputs)
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1], rtol=1e-6, atol=1e-6)
