"""`split_rewrite.testing`, as authors of rules use it."""

from __future__ import annotations

import onnx
import pytest
from helpers import model
from onnx import parser

from split_rewrite.rewriter import ArgumentError, CompareError, ConversionResult, Options, UnconvertibleError
from split_rewrite.rewriter.engine.registry import decompose, replace, simplify
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.testing import assert_equal_at_every_opset, assert_rewrites  # pyright: ignore[reportMissingImports]

HEAD = '<ir_version: 8, opset_import: ["" : 13]>'
TWICE = f"{HEAD} g (float[2] x) => (float[2] y) {{ a = Neg(x) b = Neg(a) y = Relu(b) }}"
ONCE = f"{HEAD} other (float[2] x) => (float[2] y) {{ y = Relu(x) }}"
MISH = '<ir_version: 8, opset_import: ["" : 18]> g (float[3] x) => (float[3] y) { y = Mish(x) }'


@simplify("Neg", opset=13)
def undone(node: Node) -> None:
    """-(-x) is x."""
    maker = node.maker()
    if maker is not None and maker.op_type == "Neg":
        node.forward(0, maker.input(0))
        node.remove()


@simplify("Neg", opset=13)
def lost(node: Node) -> None:
    node.forward(0, node.input(0))
    node.remove()


@decompose("Mish", opset=13, exact=False)
def wrong_mish(node: Node) -> None:
    node.become.Tanh(node.input(0))


def test_another_result_is_shown_line_by_line() -> None:
    with pytest.raises(AssertionError, match=r"the model was rewritten otherwise:\n--- expected\n\+\+\+ found\n(.*\n)*\+.*Neg"):
        assert_rewrites(TWICE, ONCE)


def test_other_numbers_are_an_assertion() -> None:
    text = f"{HEAD} g (float[2] x) => (float[2] y) {{ b = Neg(x) y = Relu(b) }}"
    with pytest.raises(AssertionError, match=r"the rewritten model gives other numbers: outputs differ"):
        assert_rewrites(text, ONCE, lost)
    with pytest.raises(AssertionError, match=r"at opset 13: outputs differ .*\n.*at opset 14: "):
        assert_equal_at_every_opset(text, lost, opsets=[13, 14])


def test_names_do_not_count_and_values_do() -> None:
    first = f"{HEAD} g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ [n] a = Add(x, w) y = Relu(a) }}"
    same = f"{HEAD} h (float[2] x) => (float[2] y) <float[2] v = {{1, 2}}> {{ b = Add(x, v) [m] y = Relu(b) }}"
    assert_rewrites(model(first), model(same))
    for other in (same.replace("{1, 2}", "{1, 3}"), same.replace("Add(x, v)", "Add(v, x)"), same.replace("Relu", "Neg")):
        with pytest.raises(AssertionError, match="rewritten otherwise"):
            assert_rewrites(model(first), model(other))


def test_names_in_subgraphs_do_not_count() -> None:
    branches = "then_branch = t () => (float[2] %s) {{ %s = Neg(%s) }}, else_branch = e () => (float[2] q) {{ q = Abs(x) }}"
    texts = [
        f"{HEAD} g (float[2] x, bool c) => (float[2] y) {{ {a} = Relu(x) y = If(c) <{branches % (p, p, a)}> }}".replace(
            "{{", "{"
        ).replace("}}", "}")
        for a, p in (("a", "p"), ("z", "r"))
    ]
    assert_rewrites(*texts)


def test_a_rule_does_what_it_says() -> None:
    result = assert_rewrites(TWICE, ONCE, undone)
    assert result.report.applied == {"test_testing.undone": 1}


def test_every_opset_has_its_result_or_its_reason() -> None:
    found = assert_equal_at_every_opset(MISH, opsets=[5, 17, 20])
    assert isinstance(found[5], UnconvertibleError | ConversionResult)
    assert isinstance(found[17], ConversionResult) and isinstance(found[20], ConversionResult)
    with pytest.raises(AssertionError, match="at opset 17: outputs differ") as caught:
        assert_equal_at_every_opset(MISH, wrong_mish, opsets=[17, 20])
    assert "at opset 20" not in str(caught.value) and not isinstance(caught.value, CompareError)
    assert len(assert_equal_at_every_opset(TWICE)) == onnx.defs.onnx_opset_version()


def test_an_input_is_no_inner_value_whatever_its_name() -> None:
    for other in ("v3", "v2", "w2"):
        before = f"{HEAD} g (float[2] x, float[2] {other}) => (float[2] y) {{ a = Neg(x) y = Sub({other}, a) }}"
        with pytest.raises(AssertionError):
            assert_rewrites(before, before.replace(f"Sub({other}, a)", "Sub(a, a)"))


def test_names_in_functions_and_of_stored_tensors_do_not_count() -> None:
    head = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]> g (float[2] x) => (float[2] y) { y = own.f(x) }'
    function = '<domain: "own", opset_import: ["" : 17]> f (a) => (b) { c = Constant<value = float[2] %s {1, 2}>() %s = Neg(a) b = Add(%s, c) }'
    first = parser.parse_model(head + function % ("one", "d", "d"))
    assert_rewrites(first, parser.parse_model(head + function % ("two", "e", "e")))
    with pytest.raises(AssertionError, match="rewritten otherwise"):
        assert_rewrites(first, parser.parse_model(head + function.replace("Neg", "Abs") % ("one", "d", "d")))


def test_no_opset_that_can_be_reached_is_an_assertion() -> None:
    with pytest.raises(AssertionError, match=r"no opset can be reached:\nat opset 9: .*Mish"):
        assert_equal_at_every_opset(MISH.replace("18", "22"), opsets=[9], options=Options(only=["split"]))


def test_what_no_runtime_knows_is_not_taken_for_equal() -> None:
    @replace("my.npu", "HalfSwish", opset=13)
    def wrong(node: Node) -> None:
        node.become.Abs(node.input(0))

    own = '<ir_version: 8, opset_import: ["" : 13, "my.npu" : 1]> g (float[2] x) => (float[2] y) { y = my.npu.HalfSwish(x) }'
    with pytest.raises(AssertionError, match=r"^no result could be compared:\nat opset 13: .*HalfSwish"):
        assert_equal_at_every_opset(own, wrong, opsets=[13, 14])


def test_the_path_of_a_file_is_no_text() -> None:
    with pytest.raises(
        ArgumentError, match=r"^'tiny\.onnx' is not a model as text, as onnx\.parser reads it; onnx\.load reads a file$"
    ):
        assert_equal_at_every_opset("tiny.onnx")
