"""The nodes of a function take the place of its calls: what they compute is what the call computes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model, run, without
from onnx import helper

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.structure import inlining

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))
import functions  # type: ignore[import-not-found]

X = np.array([-2, -1, 0, 1, 2, 3], np.float32)
HEAD = '<ir_version: 9, opset_import: ["" : 18, "f" : 1]>'
BODY = '<opset_import: ["" : 18, "f" : 1], domain: "f">'


def calling(nodes: str, *bodies: str, head: str = HEAD, inputs: str = "float[6] x") -> onnx.ModelProto:
    return model(f"{head} g ({inputs}) => (float[6] y) {{ {nodes} }} " + " ".join(f"{BODY} {body}" for body in bodies))


LEAK = "leak <slope: float = 0.5> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }"
BARE = "bare <slope> (v) => (w) { w = LeakyRelu <alpha: float = @slope> (v) }"


def inlined(proto: onnx.ModelProto, *names: str) -> onnx.ModelProto:
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    inlining.inline(copy, {inlining.key_of(f) for f in copy.functions if not names or f.name in names})
    onnx.checker.check_model(copy, full_check=True)
    return copy


def leaked(slope: float) -> np.ndarray:
    return np.where(X < 0, np.float32(slope) * X, X)


def left(proto: onnx.ModelProto) -> list[str]:
    return [function.name for function in proto.functions]


# -- what is refused, and what stays


def test_a_value_that_the_function_does_not_define_is_not_one_around_the_call() -> None:
    proto = calling("a = Neg(x) y = f.g(x)", "g (v) => (w) { w = Add(v, a) }")
    with pytest.raises(InvalidModelError, match="function 'g' reads 'a', which is not in it"):
        inlined(proto)
    inner = "g (v, c) => (w) { w = If(c) <then_branch = t () => (r) { r = Add(v, a) }, else_branch = e () => (s) { s = Neg(v) }> }"
    with pytest.raises(InvalidModelError, match="function 'g' reads 'a', which is not in it"):
        inlined(calling("a = Neg(x) y = f.g(x, c)", inner, inputs="float[6] x, bool c"))


@pytest.mark.parametrize("call", ["y = f.g(x, x)", "y, z = f.g(x)"])
def test_a_call_with_too_much_is_invalid(call: str) -> None:
    with pytest.raises(InvalidModelError, match="'y' has more inputs or outputs than the function 'g' that it calls"):
        inlined(calling(call, "g (v) => (w) { w = Neg(v) }"))


def test_functions_of_another_opset_stay_with_what_they_need() -> None:
    other = BODY.replace("18", "17")
    proto = model(f"""{HEAD} g (float[6] x) => (float[6] y) {{ a = f.old(x) b = f.mine(a) y = f.near(b) }}
        {other} old (v) => (w) {{ a = f.leak(v) w = Neg(a) }} {BODY} {LEAK} {BODY} mine (v) => (w) {{ a = f.old(v) w = Neg(a) }}
        {BODY} near (v) => (w) {{ w = Neg(v) }}""")
    result = inlined(proto)
    assert left(result) == ["old", "leak"]
    first = -leaked(0.5)
    np.testing.assert_array_equal(run(result, {"x": X})[0], -np.where(first < 0, first / 2, first))


def test_functions_of_another_version_of_another_domain_stay() -> None:
    ml = ', "ai.onnx.ml" : {}]>'
    proto = calling("a = f.scale(x) y = Neg(a)", head=HEAD.replace("]>", ml.format(3)))
    scale = (
        f"{BODY.replace(']', ml.format(2)[:-1])} scale (v) => (w) {{ w = ai.onnx.ml.Scaler <offset = [0.0], scale = [2.0]> (v) }}"
    )
    proto.functions.extend(model(f"{HEAD} g (float[6] x) => (float[6] y) {{ y = f.scale(x) }} {scale}").functions)
    assert left(inlined(proto)) == ["scale"]
    proto.opset_import[2].version = 2
    assert left(inlined(proto)) == []
    del proto.opset_import[2]
    result = inlined(proto)
    assert {entry.domain: entry.version for entry in result.opset_import}["ai.onnx.ml"] == 2
    np.testing.assert_array_equal(run(result, {"x": X})[0], -2 * X)


def test_a_parameter_without_a_value_does_not_hide_a_default_in_a_function_that_stays() -> None:
    """`outer` passes on a parameter that its own callers may leave out: then the default of `leak` counts, which it could not
    state in its own body.
    """
    outer = "outer <dim> (v) => (w) { w = f.leak <slope: float = @dim> (v) }"
    proto = calling("a = f.outer(x) y = f.outer <dim = 0.25> (a)", outer, LEAK)
    result = inlined(proto, "leak")
    assert left(result) == ["outer", "leak"]
    assert left(inlined(calling("y = f.outer(x)", outer.replace("<dim>", "<dim: float = 0.25>"), LEAK), "leak")) == ["outer"]
    assert left(inlined(calling("y = f.outer(x)", outer.replace("leak", "bare"), BARE), "bare")) == ["outer"]


# -- attributes


@pytest.mark.parametrize(
    ("nodes", "bodies", "slope"),
    [
        ("y = f.leak(x)", [LEAK], 0.5),
        ("y = f.leak <slope = 0.25> (x)", [LEAK], 0.25),
        ("y = f.bare(x)", [BARE], 0.01),
        ("y = f.bare <slope = 0.25> (x)", [BARE], 0.25),
        ("y = f.outer(x)", ["outer <d> (v) => (w) { w = f.leak <slope: float = @d> (v) }", LEAK], 0.5),
        ("y = f.outer(x)", ["outer <d: float = 2.0> (v) => (w) { w = f.leak <slope: float = @d> (v) }", LEAK], 2),
        ("y = f.outer <d = 3.0> (x)", ["outer <d: float = 2.0> (v) => (w) { w = f.leak <slope: float = @d> (v) }", LEAK], 3),
        ("y = f.outer(x)", ["outer <slope: float = 2.0> (v) => (w) { w = f.leak(v) }", LEAK], 0.5),
        ("y = f.outer <slope = 2.0> (x)", ["outer <slope> (v) => (w) { w = f.bare(v) }", BARE], 0.01),
    ],
)
def test_attributes(nodes: str, bodies: list[str], slope: float) -> None:
    result = inlined(calling(nodes, *bodies))
    np.testing.assert_array_equal(run(result, {"x": X})[0], leaked(slope))
    assert left(result) == []


def test_parameters_in_subgraphs() -> None:
    body = """g <p: float = 0.5, q> (v, c) => (w) {
        w = If(c) <then_branch = t () => (r) { r = LeakyRelu <alpha: float = @p> (v) },
                   else_branch = e () => (s) { d = Neg(v) s = LeakyRelu <alpha: float = @q> (d) }> }"""
    proto = calling("a = f.g <q = 2.0> (x, c) y = f.g <p = 4.0> (a, c)", body, inputs="float[6] x, bool c")
    result = inlined(proto)
    first = leaked(0.5)
    np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(True)})[0], np.where(first < 0, 4 * first, first))
    first = np.where(X > 0, -2 * X, -X)
    wanted = np.where(first > 0, np.float32(0.01) * -first, -first)
    np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(False)})[0], wanted)


def test_a_graph_as_an_argument_reads_the_values_of_the_caller() -> None:
    proto = calling("v = Neg(x) y = f.g(x, c)", "g <branch> (v, c) => (w) { w = Neg(v) }", inputs="float[6] x, bool c")
    function = proto.functions[0]
    del function.node[:]
    node = helper.make_node("If", ["c"], ["w"])
    for name in ("then_branch", "else_branch"):
        node.attribute.append(onnx.AttributeProto(name=name, type=onnx.AttributeProto.GRAPH, ref_attr_name="branch"))
    function.node.append(node)
    output = helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [6])
    nodes = [helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("Neg", ["w"], ["r"])]
    proto.graph.node[1].attribute.append(helper.make_attribute("branch", helper.make_graph(nodes, "b", [], [output])))
    result = inlined(proto)
    np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(True)})[0], 2 * X)


# -- values


def test_names_that_clash() -> None:
    """Inside, x is what a is around the call, and a is something else."""
    body = """g (x, c) => (y, a) { a = Neg(x) b = Add(a, x)
        y = If(c) <then_branch = t () => (z) { b1 = Mul(a, x) z = Add(b1, b) }, else_branch = e () => (z1) { z1 = Identity(x) }> }"""
    proto = calling(
        "a = Abs(x) z, b = f.g(a, c) b1, z1 = f.g(z, c) t = Add(b1, z1) y = Add(t, b)", body, inputs="float[6] x, bool c"
    )
    result = inlined(proto)
    a = np.abs(X)
    z, b = -a * a, -a
    b1, z1 = -z * z, -z
    np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(True)})[0], b1 + z1 + b)
    names = [name for node in inlining.nodes_within(result.graph) for name in node.output]
    assert len(names) == len(set(names))


def test_absent_inputs_and_outputs() -> None:
    body = "g (v, low, high) => (sum, w) { sum = ReduceSum <keepdims = 0> (v) w = Clip(v, low, high) }"
    for call, wanted in [
        ("y_sum, y = f.g(x, low)", np.maximum(X, -1)),
        ("ABSENT, y = f.g(x, ABSENT, low)", np.minimum(X, -1)),
        ("ABSENT, y = f.g(x)", X),
    ]:
        result = inlined(without(calling(call, body, inputs="float[6] x, float low"), "ABSENT"))
        np.testing.assert_array_equal(run(result, {"x": X, "low": np.array(-1, np.float32)})[0], wanted)


def test_an_input_that_is_an_output_too() -> None:
    result = inlined(calling("a, b, c = f.g(x) d = Sub(a, b) y = Add(d, c)", "g (v) => (v, w, w) { w = Neg(v) }"))
    np.testing.assert_array_equal(run(result, {"x": X})[0], X)


def test_calls_in_subgraphs() -> None:
    proto = calling(
        """a = Neg(x) y = If(c) <then_branch = t () => (float[6] p) { p = f.leak(a) },
            else_branch = e () => (float[6] q) { r = f.leak <slope = 2.0> (x) q = f.leak(r) }>""",
        LEAK,
        inputs="float[6] x, bool c",
    )
    result = inlined(proto)
    np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(True)})[0], -np.where(X > 0, X * np.float32(0.5), X))
    np.testing.assert_array_equal(run(result, {"x": X, "c": np.array(False)})[0], leaked(1))


def test_functions_200_deep_with_a_subgraph_each_are_no_matter_of_the_stack() -> None:
    bodies = [f"f{n} (v) => (w) {{ a = f.f{n + 1}(v) w = Neg(a) }}" for n in range(199)] + ["f199 (v) => (w) { w = Neg(v) }"]
    result = inlined(calling("y = f.f0(x)", *bodies))
    assert len(result.graph.node) == 200
    np.testing.assert_array_equal(run(result, {"x": X})[0], X)


def test_nodes_say_where_they_come_from() -> None:
    proto = calling("[call] y = f.g(x)", "g (v) => (w) { [n] a = Neg(v) [n2] w = Neg(a) }")
    proto.graph.node[0].metadata_props.add(key="layer", value="1")
    proto.functions[0].node[0].metadata_props.add(key="layer", value="inside")
    assert [node.metadata_props[0].value for node in inlined(proto).graph.node] == ["inside", "1"]
    assert [node.name for node in inlined(proto).graph.node] == ["n", "n2"]


# -- random functions


@pytest.mark.parametrize("seed", range(60))
def test_random_functions(seed: int) -> None:
    assert functions.findings(seed) == []


def test_a_forgotten_default_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(function: onnx.FunctionProto, call: onnx.NodeProto) -> dict[str, onnx.AttributeProto]:
        return {attribute.name: attribute for attribute in call.attribute}

    monkeypatch.setattr(inlining, "arguments_of", forgetful)
    assert any(functions.findings(seed) for seed in range(20))
