"""Functions whose attributes are parameters, and whose callers pass other types: definite where the conversion needs them to be."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_same, model, refusal, run

from split_rewrite.rewriter import check_convertible, convert_version
from split_rewrite.rewriter.opsets.transitions import newest_opset
from split_rewrite.rewriter.structure import specialization

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7
SOFT = """<opset_import: ["" : 13], domain: "f"> soft <axis> (v) => (w) { s = Softmax <axis: int = @axis> (v) w = Neg(s) }"""


def calling(calls: str, *functions: str, result: str = "y") -> onnx.ModelProto:
    return model(f"""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3,4] x) => (float[2,3,4] {result}) {{ {calls} }} {" ".join(functions)}""")


def names(proto: onnx.ModelProto) -> list[str]:
    return [function.name for function in proto.functions]


def operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


# -- what stays


def test_a_function_that_needs_no_change_keeps_its_parameters():
    proto = calling(
        "a = f.leak <slope = 0.1> (x) y = f.leak <slope = 0.2> (a)",
        """<opset_import: ["" : 13], domain: "f"> leak <slope> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }""",
    )
    result = convert_version(proto, 12).model
    assert [f.node[0].SerializeToString() for f in result.functions] == [f.node[0].SerializeToString() for f in proto.functions]


def test_a_function_that_nobody_calls_is_still_in_the_way():
    assert "attribute axis is a parameter of the function" in refusal(calling("y = Neg(x)", SOFT), 12)


def test_what_no_choice_makes_possible_is_refused_as_before():
    proto = model("""<ir_version: 8, opset_import: ["" : 20, "f" : 1]>
        agraph (string[2] x) => (string[2] y) { y = f.join <n = 1> (x) }
        <opset_import: ["" : 20], domain: "f"> join <n> (v) => (w) { w = StringConcat(v, v) }""")
    assert "StringConcat is new in opset 20" in refusal(proto, 19)


# -- attributes


def test_one_choice_of_all_callers_is_a_constant():
    proto = calling("a = f.soft <axis = 1> (x) y = f.soft <axis = 1> (a)", SOFT)
    result = assert_same(proto, 12, {"x": X}, rtol=1e-6)
    assert names(result) == ["soft"]
    assert operators(result) == ["soft", "soft"]


def test_the_default_of_a_parameter_is_a_choice():
    soft = SOFT.replace("<axis>", "<axis: int = -1>")
    result = assert_same(calling("a = f.soft (x) y = f.soft <axis = -1> (a)", soft), 12, {"x": X}, rtol=1e-6)
    assert names(result) == ["soft"]


def test_choices_of_several_calls_are_functions_of_their_own():
    calls = " ".join(f"v{n + 1} = f.soft <axis = {n % 2}> (v{n})" for n in range(4)).replace("(v0)", "(x)")
    result = assert_same(calling(calls, SOFT, result="v4"), 12, {"x": X}, rtol=1e-6)
    assert sorted(names(result)) == ["soft_1", "soft_2"]
    assert sorted(operators(result)) == ["soft_1", "soft_1", "soft_2", "soft_2"]


def test_the_choice_of_a_single_call_takes_its_place():
    proto = calling("a = f.soft <axis = 0> (x) y = f.soft <axis = 1> (a)", SOFT)
    onnx.helper.set_model_props(proto.graph.node[0], {"layer": "first"})  # type: ignore[arg-type]
    result = assert_same(proto, 12, {"x": X}, rtol=1e-6)
    assert names(result) == []
    assert {node.domain for node in result.graph.node} == {""}
    metadata = [{entry.key: entry.value for entry in node.metadata_props} for node in result.graph.node]
    half = metadata.index({})
    assert half > 1 and metadata == [{"layer": "first"}] * half + [{}] * (len(metadata) - half)


def test_parameters_go_through_functions_that_call_functions():
    outer = """<opset_import: ["" : 13, "f" : 1], domain: "f"> outer <dim> (v) => (w) { a = f.soft <axis: int = @dim> (v) w = Abs(a) }"""
    proto = calling("a = f.outer <dim = 1> (x) b = f.outer <dim = 2> (a) y = f.soft <axis = 0> (b)", outer, SOFT)
    assert_same(proto, 12, {"x": X}, rtol=1e-6)


def test_calls_in_subgraphs_count():
    proto = model(
        """<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3,4] x, bool c) => (float[2,3,4] y) {
            y = If(c) <then_branch = t () => (float[2,3,4] p) { p = f.soft <axis = 0> (x) },
                       else_branch = e () => (float[2,3,4] q) { q = f.soft <axis = 1> (x) }>
        } """
        + SOFT
    )
    for condition in (True, False):
        assert_same(proto, 12, {"x": X, "c": np.array(condition)}, rtol=1e-6)


def test_a_dry_run_says_the_same():
    assert not check_convertible(calling("y = f.soft <axis = 1> (x)", SOFT), 12).blockers


# -- what reads attributes in another way than by their names


def test_a_body_that_depends_on_an_attribute():
    loss = """<opset_import: ["" : 13], domain: "f"> loss <how: string = "mean"> (v, t) => (w)
        { w = NegativeLogLikelihoodLoss <reduction: string = @how> (v, t) }"""
    proto = model(
        """<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3] x, int64[2] t) => (float a, float b, float[2] c) {
            a = f.loss (x, t) b = f.loss <how = "sum"> (x, t) c = f.loss <how = "none"> (x, t)
        } """
        + loss
    )
    labels = np.array([2, 0])
    assert_same(proto, 11, {"x": X[0, :2, :3], "t": labels}, rtol=1e-6)


def test_a_constant_that_is_a_parameter():
    widen = """<opset_import: ["" : 13], domain: "f"> widen <at: ints = [1]> (v) => (w)
        { a = Constant <value_ints: ints = @at> () w = Unsqueeze(v, a) }"""
    proto = model(
        """<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3,4] x) => (float[2,1,3,4] y, float[1,2,3,1,4] z) { y = f.widen (x) z = f.widen <at = [0, 3]> (x) } """
        + widen
    )
    assert_same(proto, 12, {"x": X})


def test_the_shape_behind_a_parameter_is_not_that_of_its_default():
    both = """<opset_import: ["" : 13], domain: "f"> both <dim: int = 1> (v) => (w)
        { c = Concat <axis: int = @dim> (v, v) f = Flatten(c) w = Softmax(c) }"""
    proto = model(
        """<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3,4] x) => (float[2,6,4] y, float[2,3,8] z) { y = f.both (x) z = f.both <dim = 2> (x) } """
        + both
    )
    assert_same(proto, 12, {"x": X}, rtol=1e-6)


def test_a_graph_that_is_a_parameter():
    """ONNX has no text for such an attribute. The default, which no call uses, must not stay in the form of opset 13."""
    proto = model("""<ir_version: 8, opset_import: ["" : 13]> agraph (float[2,3,4] x, bool c) => (float[2,3,4] y) {
        y = If(c) <then_branch = t () => (float[2,3,4] p) { a = Constant <value_ints = [0]> () q = Unsqueeze(x, a) p = Squeeze(q, a) },
                   else_branch = e () => (float[2,3,4] r) { r = Neg(x) }> }""")
    chosen = proto.graph.node[0]
    given = onnx.AttributeProto.FromString(chosen.attribute[0].SerializeToString())
    given.name = "body"
    chosen.attribute[0].Clear()
    chosen.attribute[0].MergeFrom(onnx.AttributeProto(name="then_branch", type=given.type, ref_attr_name="body"))
    function = onnx.helper.make_function("f", "choose", ["x", "c"], ["y"], [chosen], proto.opset_import, [], [given])
    proto.functions.append(function)
    proto.opset_import.add(domain="f", version=1)
    proto.graph.node[0].CopyFrom(onnx.helper.make_node("choose", ["x", "c"], ["y"], domain="f"))
    result = convert_version(proto, 11, compare="off").model
    onnx.checker.check_model(result, full_check=True)
    for condition in (True, False):
        np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(condition)})[0], X if condition else -X)


# -- inputs that calls leave out

CLIP = """<opset_import: ["" : 18], domain: "f"> clip (v, lo, hi) => (w) { w = Clip(v, lo, hi) }"""
HALF = "h = Constant <value_float = 0.5> ()"


def leaving_out(calls: str, *functions: str) -> onnx.ModelProto:
    return model(f"""<ir_version: 8, opset_import: ["" : 18, "f" : 1]>
        agraph (float[2,3,4] x) => (float[2,3,4] y) {{ {HALF} {calls} }} {" ".join(functions)}""")


def test_what_calls_of_a_function_that_nobody_calls_leave_out_is_unknown():
    found = refusal(leaving_out("y = Neg(x)", CLIP), 10)
    assert "calls of the function may leave out its input 'lo', which is optional in the node" in found


def test_what_no_rule_looks_at_may_be_left_out():
    proto = leaving_out("y = f.clip(x, , h)", CLIP)
    assert convert_version(proto, 17).model.functions[0].node == proto.functions[0].node


def test_a_function_whose_calls_give_all_inputs_keeps_them():
    result = assert_same(leaving_out("a = f.clip(x, h, h) y = f.clip(a, h, h)", CLIP), 12, {"x": X})
    assert [list(function.input) for function in result.functions] == [["v", "lo", "hi"]]


def test_what_would_be_wrong_beside_an_input_that_calls_leave_out_is_accepted():
    halves = (
        """<opset_import: ["" : 18], domain: "f"> halves (v, s) => (p, q) { p, q = Split <axis = 2, num_outputs = 2> (v, s) }"""
    )
    assert_same(leaving_out("a, b = f.halves(x) y = Concat <axis = 2> (b, a)", halves), 13, {"x": X})


def test_too_many_choices_of_inputs_are_refused(monkeypatch):
    monkeypatch.setattr(specialization, "MOST_CHOICES", 1)
    monkeypatch.setattr(specialization, "MOST_INLINED", 1)
    outer = """<opset_import: ["" : 18, "f" : 1], domain: "f"> outer (v, b) => (w) { w = f.clip(v, b, b) }"""
    proto = leaving_out("a = f.outer(x, h) y = f.outer(a)", outer, CLIP)
    assert "calls of the function may leave out its input 'lo'" in refusal(proto, 10)


@pytest.mark.parametrize("target", [7, 10, 11, 12, min(23, newest_opset())])
@pytest.mark.parametrize(
    "calls",
    [
        "y = f.clip(x)",
        "y = f.clip(x, h)",
        "y = f.clip(x, , h)",
        "a = f.clip(x, , h) b = f.clip(x, h) c = f.clip(x) d = f.clip(x, h) e = Add(a, b) g = Add(c, d) y = Add(e, g)",
        "y = f.outer(x)",
        "y = f.outer(x, h)",
        "y = f.inside(x)",
        "a = f.inside(x, h) b = f.inside(x) y = Add(a, b)",
    ],
)
def test_an_input_that_a_call_leaves_out_is_absent(calls: str, target: int) -> None:
    outer = """<opset_import: ["" : 18, "f" : 1], domain: "f"> outer (v, b) => (w) { a = f.clip(v, b) c = f.clip(v, , b) w = Add(a, c) }"""
    inside = """<opset_import: ["" : 18], domain: "f"> inside (v, b) => (w) {
        s = ReduceSum <keepdims = 0> (v) c = Cast <to = 9> (s)
        w = If(c) <then_branch = t () => (p) { p = Clip(v, b) }, else_branch = e () => (q) { q = Clip(v, , b) }> }"""
    functions = [inside] if "f.inside" in calls else [outer, CLIP] if "f.outer" in calls else [CLIP]
    assert_same(leaving_out(calls, *functions), target, {"x": X})


@pytest.mark.parametrize(
    ("call", "function", "target"),
    [
        *(
            ("p = Constant <value_ints = [0, 0, 0, 0, 0, 0]> () y = f.g(x, p)", "(v, p, c, a) => (w) { w = Pad(v, p, c, a) }", 10)
            for _ in range(newest_opset() > 22)  # onnx 1.17 refuses the model
        ),
        (
            "s = Constant <value_ints = [0]> () e = Constant <value_ints = [9]> () t = Constant <value_ints = [1]> () y = f.g(x, s, e, , t)",
            "(v, s, e, a, t) => (w) { w = Slice(v, s, e, a, t) }",
            9,
        ),
        (
            "s = Constant <value_floats = [1.0, 1.0, 1.0]> () y = f.g(x, , s)",
            '(v, r, s) => (w) { w = Resize <mode = "nearest"> (v, r, s) }',
            13,
        ),
        (
            "s = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () y = f.g(x, s)",
            "(v, s, b) => (w) { w = LayerNormalization(v, s, b) }",
            16,
        ),
    ],
)
def test_operators_with_optional_inputs(call: str, function: str, target: int) -> None:
    proto = leaving_out(call, f'<opset_import: ["" : 18], domain: "f"> g {function}')
    assert_same(proto, target, {"x": X}, rtol=1e-5)


# -- numbers that decide nothing

SLOPE = """<opset_import: ["" : 13], domain: "f"> slope <axis, s: float = 0.3> (v) => (w)
    { p = Softmax <axis: int = @axis> (v) n = Neg(p) w = LeakyRelu <alpha: float = @s> (n) }"""


def test_a_slope_stays_a_parameter():
    slope = SLOPE.replace("axis, ", "").replace("<axis: int = @axis>", "<axis = 1>")
    result = assert_same(calling("a = f.slope <s = 0.5> (x) y = f.slope (a)", slope), 12, {"x": X}, rtol=1e-6)
    assert (names(result), operators(result)) == (["slope"], ["slope", "slope"])
    assert [attribute.ref_attr_name for node in result.functions[0].node for attribute in node.attribute].count("s") == 1


def test_a_default_that_stays_is_not_lost_where_the_function_is_inlined():
    result = assert_same(calling("a = f.slope <axis = 0> (x) y = f.slope <axis = 1> (a)", SLOPE), 12, {"x": X}, rtol=1e-6)
    assert names(result) == []


# -- functions whose callers know more


def test_a_function_that_knows_too_little_is_inlined():
    """The depth of the OneHot follows from the declared output."""
    hot = """<opset_import: ["" : 11], domain: "f"> hot <axis> (i, d, v) => (y) { y = OneHot <axis: int = @axis> (i, d, v) }"""
    proto = model(
        """<ir_version: 6, opset_import: ["" : 11, "f" : 1]>
        agraph (int64[3] i, int64 d, float[2] v) => (float[3,5] y) { y = f.hot <axis = 1> (i, d, v) } """
        + hot
    )
    feeds = {"i": np.array([0, 4, 2]), "d": np.array(5), "v": np.array([0, 1], np.float32)}
    result = convert_version(proto, 8, compare="off").model
    assert names(result) == []
    np.testing.assert_array_equal(run(result, feeds)[0], np.eye(5, dtype=np.float32)[[0, 4, 2]])


def test_more_choices_than_there_may_be_are_refused(monkeypatch):
    monkeypatch.setattr(specialization, "MOST_CHOICES", 1)
    monkeypatch.setattr(specialization, "MOST_INLINED", 1)
    proto = calling("a = f.soft <axis = 0> (x) y = f.soft <axis = 1> (a)", SOFT)
    assert "attribute axis is a parameter of the function ('axis')" in refusal(proto, 12)


# -- types


@pytest.mark.parametrize("target", [12, 10])
def test_callers_that_pass_other_shapes(target):
    last = """<opset_import: ["" : 13], domain: "f"> last (v) => (w) { w = Softmax <axis = 1> (v) }"""
    proto = model(
        """<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3,4] x, float[5,6] z) => (float[2,3,4] y, float[5,6] u) { y = f.last(x) u = f.last(z) } """
        + last
    )
    assert_same(proto, target, {"x": X, "z": np.ones((5, 6), np.float32)}, rtol=1e-6)


def test_callers_that_pass_other_lengths_share_a_function():
    proto = model("""<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
        agraph (float[2,3,4] x, float[5,6,7] z) => (float[2,3,4] y, float[5,6,7] u) { y = f.g(x) u = f.g(z) }
        <opset_import: ["" : 21], domain: "f"> g (v) => (w) { s = Softmax <axis = 1> (v) i = Cast <to = 7> (s) c = Cast <to = 1> (i) w = Add(s, c) }""")
    result = assert_same(proto, 12, {"x": X, "z": np.ones((5, 6, 7), np.float32)}, rtol=1e-6)
    assert names(result) == ["g"]


# -- functions that take or give lists

THIRDS = """<opset_import: ["" : 13], domain: "f"> thirds (v) => (s)
    { sizes = Constant <value_ints = [1, 1, 1]> () s = SplitToSequence <axis = 1> (v, sizes) }"""
PICK = """<opset_import: ["" : 13], domain: "f"> pick <at> (s) => (w)
    { at = Constant <value_int: int = @at> () w = SequenceAt(s, at) }"""
TWICE = (
    '<opset_import: ["" : 13, "f" : 1], domain: "f"> twice (v) => (w) { s = f.thirds(v) a = f.pick <at = -1> (s) w = Mul(a, a) }'
)


def of_lists(calls: str, *functions: str) -> onnx.ModelProto:
    return model(f"""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (float[2,3,4] x) => (float[2,1,4] y) {{ {calls} }} {" ".join(functions)}""")


@pytest.mark.parametrize("target", [13, 9])
@pytest.mark.parametrize(
    ("calls", "functions", "left"),
    [
        ("s = f.thirds(x) at = Constant <value_int = 1> () y = SequenceAt(s, at)", [THIRDS], []),
        ("s = f.thirds(x) a = f.pick <at = 0> (s) b = f.pick <at = 2> (s) y = Sub(a, b)", [THIRDS, PICK], []),
        ("y = f.twice(x)", [TWICE, THIRDS, PICK], ["twice"]),
    ],
)
def test_functions_that_pass_lists_are_inlined(calls: str, functions: list[str], left: list[str], target: int) -> None:
    result = assert_same(of_lists(calls, *functions), target, {"x": X})
    assert names(result) == left
    assert not any("Sequence" in node.op_type for graph in (result.graph, *result.functions) for node in graph.node)


def test_where_that_dissolves_nothing_they_stay():
    proto = model(f"""<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
        agraph (seq(float[2,1,4]) s) => (float[2,1,4] y) {{ y = f.pick <at = 0> (s) }} {PICK}""")
    assert names(convert_version(proto, 13).model) == ["pick"]


def test_functions_of_another_opset_stay():
    proto = of_lists("s = f.thirds(x) at = Constant <value_int = 1> () y = SequenceAt(s, at)", THIRDS.replace("13", "14"))
    assert names(convert_version(proto, 13).model) == ["thirds"]
    assert "the elements of 's' are not known: it comes from thirds 's'" in refusal(proto, 9)


def test_too_many_nodes_are_not_inlined(monkeypatch):
    monkeypatch.setattr(specialization, "MOST_INLINED", 3)
    proto = of_lists("s = f.thirds(x) at = Constant <value_int = 1> () y = SequenceAt(s, at)", THIRDS)
    assert names(convert_version(proto, 13).model) == ["thirds"]
