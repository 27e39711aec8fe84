"""Shape inference of single nodes by onnx: what it must not be asked, and what it never answers."""

from __future__ import annotations

import onnx
import pytest
from helpers import convert_version, model, refusal, run_isolated
from onnx import TensorProto, helper

from split_rewrite.rewriter.errors import InvalidModelError
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.opsets import inference
from split_rewrite.rewriter.opsets.inference import infer_node
from split_rewrite.rewriter.process import child_call
from split_rewrite.rewriter.storage.skeleton import Skeleton

LOOP = "l = Loop(n, , x) <body = b (int64 i, bool k, float[N] v) => (bool c, float[N] w) {c = Identity(k)\n w = Add(v, x)}>"


def test_a_loop_that_captures_is_not_inferred_alone() -> None:
    """onnx died of it."""
    loop = model(f"g (int64 n, float[N] x) => (float[N] l) {{{LOOP}}}", 11).graph.node[0]
    float_n = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    types = {"n": helper.make_tensor_type_proto(TensorProto.INT64, []), "x": float_n}
    assert run_isolated(infer_node, loop, 11, types, {}, 8) == {}


def test_an_equation_that_onnx_never_finishes_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx 1.23 looks for the rest of the arrow for ever; 1.17 does not look."""
    monkeypatch.setattr(child_call, "_CPU_SECONDS", 2)
    source = model('g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ij-">(x)}', 13)
    try:
        assert convert_version(source, 12).model.graph.node[0] == source.graph.node[0]
    except InvalidModelError as refusal:
        assert "time limit of 2 s" in str(refusal) or "insum" in str(refusal)


TWO_NORMALIZATIONS = """g (float[1,8,4,4] x, float[{parts}] s, float[{parts}] t, float[8,8,3,3] w) => (float[1,8,4,4] y) {{
    a = GroupNormalization <num_groups = 4> (x, s, t)
    b = Conv <pads = [1, 1, 1, 1]> (a, w)
    c = GroupNormalization <num_groups = 4> (b, s, t)
    y = Relu (c)
}}"""


def inferred_shapes(source: onnx.ModelProto) -> dict[str, inference.Shape | None]:
    inferred = inference.infer_model(source)
    assert inferred is not None
    assert [node.op_type for node in inferred.graph.node] == [node.op_type for node in source.graph.node]
    return {value.name: inference.shape_of(value.type) for value in inferred.graph.value_info}


def test_a_node_of_another_domain_is_not_taken_for_the_operator_of_its_name() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 21, "local" : 1]> g (float[1,4] x, float[4] s) => (float[1,4] y, bool[4] z) {
            a = local.GroupNormalization (x, s, s)
            y = Relu (a)
            b = local.Less (x, s)
            z = Identity (b)
        }"""
    )
    scope = Model(Skeleton.of(source), constants_as_initializers=True).main
    assert (scope.type("a"), scope.shape("b")) == (None, None)
    assert scope.types.elem_type("a") == onnx.TensorProto.FLOAT, "Relu gives what it takes"
    assert scope.types.elem_type("b") == onnx.TensorProto.BOOL, "Identity gives what it takes"


@pytest.mark.parametrize(("opset", "parts"), [(18, 4), (21, 8)])
def test_group_normalization_keeps_type_and_shape(opset: int, parts: int) -> None:
    source = model(TWO_NORMALIZATIONS.format(parts=parts), opset)
    assert inferred_shapes(source) == dict.fromkeys("abc", (1, 8, 4, 4))


@pytest.mark.parametrize(("opset", "parts"), [(18, 4), (21, 8)])
def test_two_group_normalizations_with_a_convolution_between_are_written_in_older_operators(opset: int, parts: int) -> None:
    report = convert_version(model(TWO_NORMALIZATIONS.format(parts=parts), opset), 17, compare="auto").report
    assert report.comparison is not None and report.comparison.status == "equal"


def test_group_normalization_in_a_subgraph_and_in_a_function_keeps_type_and_shape() -> None:
    source = model("""<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[1,4,2] x, float[4] s, bool c) => (float[1,4,2] y, float[1,4,2] z) {
        p = If (c) <
            then_branch = t () => (float[1,4,2] q) { n = GroupNormalization <num_groups = 2> (x, s, s)
                q = Relu (n) },
            else_branch = e () => (float[1,4,2] r) { r = Relu (x) }
        >
        y = Neg (p)
        h = local.f (x, s)
        i = Neg (h)
        z = Relu (i)
    }
    <domain: "local", opset_import: ["" : 21]> f (v, s) => (w) { w = GroupNormalization <num_groups = 2> (v, s, s) }""")
    inferred = inference.infer_model(source)
    assert inferred is not None
    branch = inferred.graph.node[0].attribute[0].g
    assert [inference.shape_of(value.type) for value in branch.value_info] == [(1, 4, 2)]
    assert branch.node[0] == source.graph.node[0].attribute[0].g.node[0]
    assert inferred.functions == source.functions
    assert inferred_shapes(source) == dict.fromkeys("phi", (1, 4, 2))


def test_operators_of_opset_1_that_keep_the_shape_of_their_input_are_known_to() -> None:
    source = model(
        """g (float[2,3] x, float[3] b) => (float[2,3] y) {
            p = Add <axis = 1, broadcast = 1> (x, b)
            q = Max (p, x)
            r = Dropout <is_test = 1> (q)
            y = Relu (r)
        }""",
        1,
        3,
    )
    assert inferred_shapes(source) == dict.fromkeys("pqr", (2, 3))


# Operators of ai.onnx.ml: their schemas and attributes say types where onnx infers none.

ML_HEADER = '<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 3]>'
SVM = "SVMRegressor <coefficients = [1.0], support_vectors = [1.0], n_supports = 1, rho = [0.0], kernel_params = [0.0, 0.0, 0.0]>"
CLASSIFIER = "SVMClassifier <coefficients = [1.0], support_vectors = [1.0], vectors_per_class = [1], rho = [0.0], kernel_params = [0.0, 0.0, 0.0], {labels}>"
IMPUTER = "Imputer <imputed_value_int64s = [1], replaced_value_int64 = 0>"


def inferred_types(nodes: str, outputs: str = "float[n,m] y", x: str = "float[n,m] x") -> dict[str, str | None]:
    proto = inference.infer_model(model(f"{ML_HEADER} agraph ({x}) => ({outputs}) {{ {nodes} }}"))
    assert proto is not None
    return {value.name: inference.type_string(value.type) for value in proto.graph.value_info}


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
    shapes = {value.name: inference.shape_of(value.type) for value in proto.graph.value_info}
    assert [len(shapes[name] or ()) for name in "cd"] == [2, 2]
    assert (shapes["c"] or ())[1] == 2


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


CUT = "g (float[N,4] x) => (float[N,4] y) <int64[1] s = {0}, int64[1] e = {1}, int64[1] a = {0}> { h = Slice(x, s, e, a) y = Add(h, x) }"


def test_a_named_dimension_that_slice_of_opset_10_cuts_has_another_length() -> None:
    original = model(CUT, 10)
    found = inference.infer_model(original)
    assert found is not None
    assert {value.name: inference.shape_of(value.type) for value in found.graph.value_info} == {"h": (None, 4)}
    del found.graph.value_info[:]
    assert found == original


def test_what_it_cuts_elsewhere_is_known() -> None:
    found = inference.infer_model(model(CUT.replace("a = {0}", "a = {1}"), 10))
    assert found is not None
    assert {value.name: inference.shape_of(value.type) for value in found.graph.value_info} == {"h": ("N", 1)}


def test_it_is_not_known_whether_the_parts_broadcast() -> None:
    assert "an unknown dimension may or may not equal 'N'" in refusal(model(CUT, 10), 6)


def test_the_shape_that_a_parameter_decides_is_unknown() -> None:
    """onnx takes the parameter for 0, and infers [4,3,4]."""
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        g (float[2,3,4] x) => (float[2,3,8] y) { y = f.both <dim = 2> (x) }
        <opset_import: ["" : 13], domain: "f"> both <dim> (v) => (w)
        { c = Concat <axis: int = @dim> (v, v) w = Neg(c) l = LeakyRelu <alpha: float = @slope> (v) }""")
    body = inference.infer_body(source, source.functions[0], [source.graph.input[0].type])
    found = {value.name: inference.shape_of(value.type) for value in body.value_info}
    assert (found.get("c"), found["l"]) == (None, (2, 3, 4))
    assert [node.domain for node in body.node] == ["", "", ""]


def test_a_node_with_a_parameter_is_not_inferred() -> None:
    node = onnx.helper.make_node("Concat", ["v", "v"], ["c"])
    node.attribute.add(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="dim")
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2, 3])
    assert inference.infer_node(node, 13, {"v": kind}, {}, 8) == {}


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 23, reason="the installed onnx has no opset 23")
@pytest.mark.parametrize(("past", "scores"), [("L", None), ("12", (2, 3, 4, 18))])
def test_the_scores_of_attention_behind_a_past_of_unknown_length(past: str, scores: tuple[int, ...] | None) -> None:
    """onnx infers a length of 6 where it does not know that of the past."""
    found = inference.infer_model(
        model(
            f"""g (float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,8] v, float[2,3,{past},8] pk, float[2,3,{past},8] pv)
                => (float[] y, float[] s) {{ y, nk, nv, s = Attention (q, k, v, , pk, pv) }}""",
            23,
        )
    )
    assert found is not None
    assert inference.shape_of(found.graph.output[1].type) == scores
