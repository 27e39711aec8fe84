"""Parts of a model as models of their own."""

from __future__ import annotations

import onnx
from helpers import model
from onnx import TypeProto, helper

from split_rewrite.rewriter.reproducing.cutting import Whole

TEXT = """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
    a = Add (x, w)
    b = Neg (a)
    n = If (c) <then_branch = t () => (float[2] p) { p = Relu (b) }, else_branch = e () => (float[2] q) { q = Mul (a, w) }>
    y = Abs (n) }"""


def whole(text: str = TEXT) -> Whole:
    proto = onnx.shape_inference.infer_shapes(model(text, 17))
    types: dict[str, TypeProto] = {value.name: value.type for value in (*proto.graph.value_info, *proto.graph.output)}
    return Whole(model(text, 17), types)


def names(values: object) -> list[str]:
    return [value.name for value in values]  # type: ignore[attr-defined]


def test_a_value_of_unknown_type_cannot_become_an_input() -> None:
    assert Whole(model(TEXT, 17), {}).cut([1]) is None


def test_what_others_make_becomes_an_input_and_what_others_read_an_output() -> None:
    part = whole().cut([1])
    assert part is not None
    assert (names(part.graph.input), names(part.graph.output), names(part.graph.initializer)) == (["a"], ["b"], [])
    onnx.checker.check_model(part, full_check=True)


def test_what_subgraphs_read_goes_along() -> None:
    part = whole().cut([2])
    assert part is not None
    assert sorted(names(part.graph.input)) == ["a", "b", "c"] and names(part.graph.initializer) == ["w"]
    onnx.checker.check_model(part, full_check=True)


def test_nodes_are_found_by_their_names_values_and_bodies() -> None:
    assert whole().named(["a"]) == [0]
    assert whole().named(["q"]) == [2]
    assert whole().named(["", "nobody"]) == []
    assert whole().with_makers([3]) == [2, 3]
    assert whole().with_makers([2]) == [0, 1, 2]


def test_only_functions_that_are_called_go_along() -> None:
    called = helper.make_function(
        "f", "F", ["a"], ["b"], [helper.make_node("G", ["a"], ["b"], domain="f")], [helper.make_opsetid("f", 1)]
    )
    inner = helper.make_function("f", "G", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    other = helper.make_function("f", "H", ["a"], ["b"], [helper.make_node("Abs", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    text = '<ir_version: 8, opset_import: ["" : 17, "f" : 1]> g (float[2] x) => (float[2] y) { a = f.F (x) y = f.H (a) }'
    proto = model(text, 17)
    proto.functions.extend([called, inner, other])
    part = Whole(proto, {}).cut([0])
    assert part is not None and names(part.functions) == ["F", "G"]
