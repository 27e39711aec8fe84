"""TreeEnsembleRegressor and TreeEnsemble of ai.onnx.ml in each other's form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import assert_rewrites, run
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser
from tree_models import STUMP, ensemble, listed_trees, samples, tree_model

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

WEIGHTS = [-0.5, 0.0, 0.25, 1.0, 2.0]
Y = {"y": TensorProto.FLOAT}


def _regressor(seed: int = 0, version: int = 3, kind: int = TensorProto.FLOAT, targets: int = 2, **attributes: Any) -> ModelProto:
    listed = listed_trees(seed, "target", range(targets), WEIGHTS)
    if "nodes_values_as_tensor" in attributes:
        del listed["nodes_values"]
    return tree_model("TreeEnsembleRegressor", version, Y, kind, n_targets=targets, **listed | attributes)


def _ensemble(seed: int = 0, **attributes: Any) -> ModelProto:
    return tree_model("TreeEnsemble", 5, Y, **ensemble(seed, 2) | attributes)


def _double(values: list[float]) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.float64))


LISTED = """aggregate_function = "SUM", n_targets = 2, nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [1,0,0],
    nodes_modes = ["BRANCH_LT","LEAF","LEAF"], nodes_values = [0.5,0.0,0.0], nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0],
    nodes_missing_value_tracks_true = [1,0,0], target_treeids = [0,0], target_nodeids = [1,2], target_ids = [0,1],
    target_weights = [0.25,2.0]"""
BRANCHES = """aggregate_function = 1, n_targets = 2, tree_roots = [0], nodes_modes = uint8[1] {1}, nodes_splits = float[1] {0.5},
    nodes_featureids = [1], nodes_missing_value_tracks_true = [1], nodes_truenodeids = [0], nodes_trueleafs = [1],
    nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0,1], leaf_weights = float[2] {0.25,2.0}"""


def _stated(op_type: str, version: int, attributes: str) -> ModelProto:
    text = f"""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": {version}]> g (float[N,2] x) => (float[N,2] y)
    {{ y = ai.onnx.ml.{op_type} <{attributes}> (x) }}"""
    return parser.parse_model(text)


REWRITES = [
    (
        "ml.ensemble",
        _stated("TreeEnsemble", 5, BRANCHES),
        f"""{{ y = ai.onnx.ml.TreeEnsembleRegressor <{LISTED}, post_transform = "NONE"> (x) }}""",
        3,
    ),
    (
        "ml.regressor",
        _stated("TreeEnsembleRegressor", 1, LISTED),
        f"{{ y = ai.onnx.ml.TreeEnsemble <{BRANCHES}> (x) }}",
        5,
    ),
    (
        "ml.regressor",
        _stated("TreeEnsembleRegressor", 3, LISTED.replace("weights = [0.25,2.0]", "weights_as_tensor = float[2] {0.25,2.0}")),
        f"{{ y = ai.onnx.ml.TreeEnsembleRegressor <{LISTED}> (x) }}",
        2,
    ),
]


@pytest.mark.parametrize(("rule", "before", "after", "version"), REWRITES)
def test_rewrites(rule: str, before: ModelProto, after: str, version: int) -> None:
    assert_rewrites(before, after, rule, 17, 17, Options(ml_opset=version))


STATED = STUMP | {
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 1],
    "target_weights": [1.0, 2.0],
}


def _stump(op_type: str = "TreeEnsembleRegressor", kind: int = TensorProto.FLOAT, **attributes: Any) -> ModelProto:
    stated = {name: value for name, value in (STATED | {"n_targets": 2} | attributes).items() if value is not None}
    return tree_model(op_type, 3, Y, kind, **stated)


HALF = {"target_treeids": [0], "target_nodeids": [1], "target_ids": [1], "target_weights": [1.0]}
MEMBERS = _ensemble(membership_values=numpy_helper.from_array(np.float32([1, np.nan])))
REFUSED = {
    "a transform of one score": (_regressor(targets=1, post_transform="LOGISTIC"), 5, "disagree about post_transform LOGISTIC"),
    "a transform of zeros": (_regressor(post_transform="SOFTMAX_ZERO"), 5, "disagree about post_transform SOFTMAX_ZERO"),
    "an average of several targets": (_regressor(aggregate_function="AVERAGE"), 5, "TreeEnsemble has no average"),
    "a base without a weight": (_stump(base_values=[1.0, 1.0]), 5, "base_values without a weight"),
    "a base for all": (_stump(base_values=[1.0]), 5, "its base_values are not one for each target"),
    "a least of some leaves": (_stump(aggregate_function="MIN", **HALF), 5, "no weight for a target, or several"),
    "a node that is listed twice": (_stump(nodes_falsenodeids=[1, 0, 0]), 5, "do not form a tree that begins with the first"),
    "a leaf that is listed first": (_stump(nodes_nodeids=[1, 0, 2]), 5, "a weight of its trees is for no leaf"),
    "a shorter list": (_stump(nodes_values=[0.5]), 5, "its trees are incomplete"),
    "no weights": (_stump(target_weights=None), 5, "its trees are incomplete"),
    "no mode": (_stump(nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"]), 5, "its trees have no mode 'BRANCH_MEMBER'"),
    "a negative tree": (
        _stump(nodes_treeids=[-1] * 3, target_treeids=[-1] * 2),
        5,
        "disagree about trees of which nodes are mixed",
    ),
    "a target beyond": (_stump(target_ids=[0, 2]), 5, "it has 2 targets, and weights for others"),
    "no such aggregate": (_stump(aggregate_function="MEAN"), 5, "there is no aggregate_function 'MEAN'"),
    "doubles for floats": (_stump(nodes_values=None, nodes_values_as_tensor=_double([0.5, 0, 0])), 5, "its trees are double, and"),
    "doubles that are no floats": (_regressor(nodes_values_as_tensor=_double([0.1])), 1, "has doubles that are no floats"),
    "a double ensemble": (
        tree_model("TreeEnsemble", 5, {"y": TensorProto.DOUBLE}, TensorProto.DOUBLE, **ensemble(0, 2, np.float64)),
        3,
        "its sums are double",
    ),
    "a transform of two numbers": (_ensemble(post_transform=2), 3, "two meanings: by the specification post_transform is LOGISTIC"),
    "members": (MEMBERS, 3, "two meanings: by the specification a BRANCH_MEMBER compares numbers"),
    "a root that does not exist": (_ensemble(tree_roots=[-1]), 3, "its trees name nodes that do not exist"),
    "an aggregate that does not exist": (_ensemble(aggregate_function=-1), 3, "aggregate_function is -1, and goes from 0 to 3"),
}


@pytest.mark.parametrize(("given", "version", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(given: ModelProto, version: int, message: str) -> None:
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(given, options=Options(ml_opset=version))


def test_branches_that_share_nodes_are_not_copied_without_end() -> None:
    """Each of 30 branches goes on with the same next one on both sides: a tree of 2**30 leaves."""
    count = 30
    attributes = ensemble(0, 2) | {
        "tree_roots": [0],
        "nodes_modes": numpy_helper.from_array(np.zeros(count, np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.zeros(count, np.float32)),
        "nodes_featureids": [0] * count,
        "nodes_missing_value_tracks_true": [0] * count,
        "nodes_truenodeids": [*range(1, count), 0],
        "nodes_falsenodeids": [*range(1, count), 0],
        "nodes_trueleafs": [0] * (count - 1) + [1],
        "nodes_falseleafs": [0] * (count - 1) + [1],
    }
    attributes.pop("membership_values", None)
    with pytest.raises(UnconvertibleError, match="its branches share nodes, or lead back, and copies make too many"):
        convert_version(tree_model("TreeEnsemble", 5, Y, **attributes), options=Options(ml_opset=3))


def test_what_the_version_has_stays() -> None:
    for given, version in ((_regressor(), 1), (_regressor(version=1), 4), (_ensemble(), 5)):
        assert convert_version(given, options=Options(ml_opset=version)).model.graph.node == given.graph.node
    assert convert_version(_ensemble(), 18).model.graph.node == _ensemble().graph.node  # nobody asked


FORMS: dict[str, dict[str, Any]] = {
    "SUM": {"base_values": [0.5, -1.0]},
    "SOFTMAX": {"post_transform": "SOFTMAX", "base_values": [0.0, -1.0]},
    "LOGISTIC": {"post_transform": "LOGISTIC"},
    "MIN": {"aggregate_function": "MIN", "base_values": [0.5, 0.0]},
    "MAX": {"aggregate_function": "MAX"},
    "AVERAGE": {"aggregate_function": "AVERAGE", "targets": 1, "base_values": [0.25]},
}


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE])
@pytest.mark.parametrize("attributes", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_up(seed: int, attributes: dict[str, Any], kind: int) -> None:
    given = _regressor(seed, kind=kind, **attributes)
    result = convert_version(given, options=Options(ml_opset=5)).model
    assert "TreeEnsembleRegressor" not in {node.op_type for node in result.graph.node}
    inputs = {"x": samples(np.random.default_rng(seed), helper.tensor_dtype_to_np_dtype(kind).type)}
    np.testing.assert_allclose(run(result, inputs)[0], run(given, inputs)[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("aggregate", range(4))
@pytest.mark.parametrize("seed", range(6))
def test_down_and_up_again(seed: int, aggregate: int, version: int) -> None:
    given = _ensemble(seed, aggregate_function=aggregate, post_transform=[0, 3, 4][seed % 3])
    result = convert_version(given, options=Options(ml_opset=version)).model
    assert [node.op_type for node in result.graph.node] == ["TreeEnsembleRegressor"]
    inputs = {"x": samples(np.random.default_rng(seed), np.float32)}
    np.testing.assert_array_equal(run(result, inputs)[0], run(given, inputs)[0])


@pytest.mark.parametrize("seed", range(8))
def test_members_are_compared_one_after_the_other(seed: int) -> None:
    """On whole numbers, onnxruntime finds the same; else it may cut the feature."""
    given = _ensemble(seed, **ensemble(seed, 2, members=True))
    options = Options(ml_opset=3, semantics="specification")
    result = convert_version(given, options=options, compare="off").model
    inputs = {"x": samples(np.random.default_rng(seed), np.float32)}
    np.testing.assert_array_equal(run(result, inputs)[0], run(given, inputs)[0])


def test_a_shorter_list_of_what_nan_does() -> None:
    given = _stump(nodes_missing_value_tracks_true=[1])
    result = convert_version(given, options=Options(ml_opset=5)).model
    inputs = {"x": samples(np.random.default_rng(1), np.float32)}
    np.testing.assert_array_equal(run(result, inputs)[0], run(given, inputs)[0])


def test_a_function_of_that_domain_alone() -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3, "own": 1]> g (double[N,2] x) => (float[N,2] y) { y = own.F (x) }
    <domain: "own", opset_import: ["ai.onnx.ml": 3]> F (x) => (y) { y = ai.onnx.ml.TreeEnsembleRegressor <ATTRIBUTES> (x) }"""
    given = parser.parse_model(text.replace("ATTRIBUTES", LISTED))
    result = convert_version(given, options=Options(ml_opset=5)).model
    (function,) = result.functions
    assert "TreeEnsemble" in {node.op_type for node in function.node}
    inputs = {"x": samples(np.random.default_rng(1), np.float64)}
    np.testing.assert_array_equal(run(result, inputs)[0], run(given, inputs)[0])


def test_halves_are_compared_as_floats() -> None:
    half = {"y": TensorProto.FLOAT16}
    given = tree_model("TreeEnsemble", 5, half, TensorProto.FLOAT16, **ensemble(1, 2, np.float16))
    inputs = {"x": samples(np.random.default_rng(1), np.float16)}
    result = convert_version(given, options=Options(ml_opset=3), compare="off").model
    assert [node.op_type for node in result.graph.node] == ["Cast", "TreeEnsembleRegressor", "Cast"]
    floats = run(_ensemble(1), {"x": inputs["x"].astype(np.float32)})[0]
    np.testing.assert_array_equal(run(result, inputs)[0], floats.astype(np.float16))


def test_tensors_become_lists() -> None:
    lists = listed_trees(2, "target", range(2), WEIGHTS)
    given = _regressor(2, kind=TensorProto.DOUBLE, nodes_values_as_tensor=_double(lists["nodes_values"]))
    result = convert_version(given, options=Options(ml_opset=1)).model
    found = {attribute.name: attribute for attribute in result.graph.node[0].attribute}
    assert "nodes_values_as_tensor" not in found
    assert list(found["nodes_values"].floats) == lists["nodes_values"]


@pytest.mark.parametrize(("semantics", "name"), [("specification", "LOGISTIC"), ("onnxruntime", "SOFTMAX")])
def test_a_chosen_meaning(semantics: Any, name: str) -> None:
    result = convert_version(_ensemble(post_transform=2), options=Options(ml_opset=3, semantics=semantics), compare="off").model
    assert {attribute.name: attribute.s for attribute in result.graph.node[0].attribute}["post_transform"] == name.encode()


def test_a_model_of_that_domain_alone_gets_onnx_for_what_is_written() -> None:
    given = _regressor(kind=TensorProto.DOUBLE, post_transform="LOGISTIC")
    del given.opset_import[0]
    result = convert_version(given, options=Options(ml_opset=5)).model
    assert [node.op_type for node in result.graph.node] == ["TreeEnsemble", "Sigmoid", "Cast"]
    assert {entry.domain: entry.version for entry in result.opset_import} == {"ai.onnx.ml": 5, "": 18}


def test_for_a_runtime_of_an_older_version() -> None:
    result = convert_version(_ensemble(), options=Options(for_runtimes=["onnxruntime-1.16"])).model
    assert [node.op_type for node in result.graph.node] == ["TreeEnsembleRegressor"]
    assert {entry.domain: entry.version for entry in result.opset_import}["ai.onnx.ml"] == 3
