"""Models of which nothing is proved, and why."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest

from split_rewrite.rewriter.certifying.preconditions import obstacle

HEAD = '<ir_version: 8, opset_import: ["" : 13, "c" : 1]> '
PLAIN = HEAD + "g (float[N] X) => (float[N] y) { h = Neg(X) y = Abs(h) }"
FUNCTION = ' <domain: "c", opset_import: ["" : 13]> f (x) => (r) { r = Neg(x) }'
CALLS = HEAD + "g (float[N] X) => (float[N] y) { y = c.f(X) }"
BODY = "g (float[N] X, bool b) => (float[K] y) { y = If(b) <then_branch = t () => (float[L] u) { p = Neg(X) u = Abs(p) }, else_branch = e () => (float[M] w) { w = Abs(X) }> }"
OBSTACLES = {
    "an opset that nobody knows": (PLAIN.replace("13", "99"), "a model imports version 99 of '', which nobody knows"),
    "onnxruntime's operators of a version that nobody knows": (
        PLAIN.replace('"c" : 1', '"com.microsoft" : 2'),
        "a model imports version 2 of 'com.microsoft', which nobody knows",
    ),
    "an opset that nobody knows in a function that is not called": (
        PLAIN + FUNCTION.replace("13", "99"),
        "a model imports version 99 of '', which nobody knows",
    ),
    "a value with a name as onnxruntime gives them": (
        PLAIN.replace("h", "_inlfunc_f_h"),
        "onnxruntime may give the name '_inlfunc_f_h' to another value",
    ),
    "functions of one name": (
        CALLS
        + FUNCTION.replace("Neg", "d.f").replace('"c"', '"c", opset_import: ["" : 13, "d" : 1]')
        + FUNCTION.replace('"c"', '"d"', 1),
        "onnxruntime may give values of two functions one name",
    ),
    "functions whose names begin alike": (
        CALLS + FUNCTION.replace("(r) { r =", "(w_r) { w_r =") + FUNCTION.replace("f (", "f_w ("),
        "onnxruntime may give values of two functions one name",
    ),
    "a function of another opset": (CALLS + FUNCTION.replace("13", "11"), "the function 'f' is of another opset than the model"),
}


@pytest.mark.parametrize(("text", "reason"), OBSTACLES.values(), ids=list(OBSTACLES))
def test_nothing_is_proved(text: str, reason: str) -> None:
    plain, odd = map(onnx.parser.parse_model, (PLAIN, text))
    assert obstacle(plain, odd) == obstacle(odd, plain) == reason


def test_a_scan_of_opset_8() -> None:
    scan = "h = Neg(X) y = Scan<num_scan_inputs = 1, body = b (float i) => (float u) { u = Abs(i) }>(lengths, h)"
    model = onnx.parser.parse_model(PLAIN.replace("13", "8").replace("h = Neg(X) y = Abs(h)", scan))
    model.graph.node[1].input[0] = ""
    assert obstacle(model, model) == "a Scan of opset 8 gives other shapes in no turn"
    model.opset_import[0].version = 9
    assert obstacle(model, model) == ""


@pytest.mark.parametrize("text", [PLAIN, HEAD + BODY])
def test_nodes_of_one_name(text: str) -> None:
    named, alike = (onnx.parser.parse_model(text) for _ in range(2))
    for model, second in ((named, "b"), (alike, "a")):
        attributes = model.graph.node[0].attribute
        graph = attributes[0].g if attributes else model.graph
        graph.node[0].name, graph.node[1].name = "a", second
    assert obstacle(named, named) == ""
    assert obstacle(named, alike) == "two nodes of a graph have one name"


def test_nodes_of_one_name_in_a_function() -> None:
    model = onnx.parser.parse_model(CALLS + FUNCTION.replace("r = Neg(x)", "h = Neg(x) r = Neg(h)"))
    assert obstacle(model, model) == ""
    for node in model.functions[0].node:
        node.name = "a"
    assert obstacle(model, model) == "two nodes of a graph have one name"


def test_initializers_of_one_name_in_a_body() -> None:
    model = onnx.parser.parse_model(HEAD + BODY)
    for number in (1.0, 2.0):
        model.graph.node[0].attribute[1].g.initializer.append(onnx.helper.make_tensor("v", 1, [], [number]))
    assert obstacle(model, model) == "two initializers have one name"


def test_an_initializer_of_a_body_in_the_place_of_an_input() -> None:
    model = onnx.parser.parse_model(HEAD + BODY.replace("t ()", "t (float v)"))
    assert obstacle(model, model) == ""
    model.graph.node[0].attribute[0].g.initializer.append(onnx.helper.make_tensor("v", 1, [], [1.0]))
    assert obstacle(model, model) == "a body has an initializer in the place of an input"


@pytest.mark.parametrize("data", [{"int32_data": [256]}, {"raw_data": b"\2"}])
def test_a_bool_that_is_neither_0_nor_1(data: dict[str, object]) -> None:
    model = onnx.parser.parse_model(PLAIN)
    model.graph.initializer.append(onnx.TensorProto(name="v", data_type=onnx.TensorProto.BOOL, dims=[1], **data))
    assert obstacle(model, model) == "a stored bool is neither 0 nor 1"
    stored = model.graph.initializer.pop()
    constant = onnx.helper.make_node("Constant", [], ["v"], value=stored)
    model.graph.node.append(constant)
    assert obstacle(model, model) == "a stored bool is neither 0 nor 1"
    sparse = onnx.helper.make_sparse_tensor(stored, onnx.helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0]), [3])
    model.graph.node[-1].CopyFrom(onnx.helper.make_node("Constant", [], ["v"], sparse_value=sparse))
    assert obstacle(model, model) == "a stored bool is neither 0 nor 1"
    del model.graph.node[-1]
    model.graph.sparse_initializer.append(sparse)
    assert obstacle(model, model) == "a stored bool is neither 0 nor 1"


def test_an_import_of_the_result_alone() -> None:
    before, after = onnx.parser.parse_model(PLAIN), onnx.parser.parse_model(PLAIN.replace('"c" : 1', '"c" : 1, "d" : 1'))
    assert obstacle(after, before) == obstacle(after, after) == ""
    assert obstacle(before, after) == "the result imports a version of 'd' that the original does not"


@pytest.mark.parametrize("text", [PLAIN, CALLS + FUNCTION, HEAD + BODY])
def test_nothing_is_in_the_way(text: str) -> None:
    model = onnx.parser.parse_model(text)
    assert obstacle(model, model) == ""


@pytest.mark.parametrize("outer", ["X", "h"])
def test_an_initializer_of_a_body_with_the_name_of_another_value(outer: str) -> None:
    """Where a node has two bodies, onnxruntime may read the other value in both."""
    model = onnx.parser.parse_model((HEAD + BODY).replace("{ y =", "{ h = Neg(X) y ="))
    body = model.graph.node[1].attribute[0].g
    body.initializer.append(onnx.helper.make_tensor("own", 1, [1], [2.0]))
    assert obstacle(model, model) == ""
    body.initializer[0].name = outer
    assert "a body has an initializer with the name of another value" in obstacle(model, model)


GAPS = {
    "an operand of many": ("y = Max(X)", lambda node: node.input.append("")),
    "an output": ("y, z = Split(X)", lambda node: node.output.__setitem__(1, "")),
    "an operand of a function": ("y = c.g(X, X)", lambda node: node.input.pop()),
}


@pytest.mark.parametrize(("body", "leave_out"), GAPS.values(), ids=list(GAPS))
def test_a_result_that_leaves_out_what_the_original_has(body: str, leave_out: Callable[[onnx.NodeProto], None]) -> None:
    text = (
        PLAIN.replace("h = Neg(X) y = Abs(h)", body) + ' <domain: "c", opset_import: ["" : 13]> g (a, b) => (r) { r = Add(a, b) }'
    )
    whole, lacking = map(onnx.parser.parse_model, (text, text))
    leave_out(lacking.graph.node[0])
    assert obstacle(lacking, lacking) == obstacle(lacking, whole) == obstacle(whole, whole) == ""
    assert "that leaves out an operand or output" in obstacle(whole, lacking)
