"""What keeps the shapes of a model from being fixed, and the message."""

from __future__ import annotations

import pytest
from documentation import unseen
from helpers import model

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

STATIC = Options(static=True)


def _refusal(text: str, options: Options = STATIC) -> str:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(text, 18), 18, options=options)
    return str(caught.value)


def test_each_open_input_is_named_with_its_remedy() -> None:
    message = _refusal("g (float[N,3] x, float[2] k, float[M] z) => (float[A,B] y) { a = Neg (x) y = Add (a, z) }")
    assert "input 'x' (main graph): --static needs fixed shapes, and that of 'x' is (N, 3)" in message
    assert "fix it with --overwrite-input-shape x:N,3" in message
    assert "input 'z'" in message
    assert "'k'" not in message
    assert "Neg" not in message


def test_the_page_has_the_message() -> None:
    message = _refusal("g (float[N,3] x) => (float[N,3] y) { y = Neg (x) }")
    assert unseen("A shape is not fixed (status 1)", [message.partition(". Hint")[0]]) == set()


def test_of_nodes_only_the_first_is_named() -> None:
    message = _refusal("g (float[4,3] x) => (int64[2,N] y) { a = NonZero (x) y = Neg (a) }")
    assert (
        "NonZero 'a' (main graph): --static needs fixed shapes, and that of 'a' is (2, ?). Hint: its length depends on numbers"
        in message
    )
    assert "Neg" not in message


def test_an_overwritten_shape_is_enough() -> None:
    options = Options(static=True, overwrite_input_shapes={"x": [2, 3]})
    text = "g (float[N,3] x) => (float[A,B] y) { s = Shape (x) y = Expand (x, s) }"
    result = convert_version(model(text, 18), 18, options=options).model
    assert "Shape" not in {node.op_type for node in result.graph.node}


def test_defaults_of_inputs_are_no_open_inputs() -> None:
    text = "g (float[2,3] x, float[3] w) => (float[2,3] y) <float[3] w = {1, 2, 3}> { y = Add (x, w) }"
    assert convert_version(model(text, 18), 18, options=STATIC).report.comparison is not None


def test_a_function_is_written_in_place() -> None:
    given = model(
        """<ir_version: 8, opset_import: ["": 18, "own": 1]> g (float[2,3] x) => (float[6] y) { y = own.flat (x) }
        <opset_import: ["": 18], domain: "own"> flat (v) => (w) { s = Size (v) m = Constant <value_ints = [1]> () r = Reshape (s, m) w = Reshape (v, r) }"""
    )
    result = convert_version(given, 18, options=STATIC).model
    assert not result.functions
    assert [node.op_type for node in result.graph.node if node.op_type != "Constant"] == ["Reshape"]


def test_an_input_with_a_default_is_fixed_too() -> None:
    message = _refusal("g (float[N] x) => (float[N] y) <float[4] x = {1, 2, 3, 4}> { y = Neg (x) }")
    assert "input 'x' (main graph): --static needs fixed shapes, and that of 'x' is (N)" in message


def test_what_is_open_in_a_branch() -> None:
    message = _refusal("""g (float[3] x, bool c) => (float[1] y) <int64[1] o = {1}>
        { y = If (c) <then_branch = t () => (float[1] a) { n = NonZero (x) f = Cast <to = 1> (n) s = ReduceSum <keepdims = 0> (f) a = Reshape (s, o) },
            else_branch = e () => (float[1] b) { b = Constant <value = float[1] {2}> () }> }""")
    assert "NonZero 'n' (If 'y' then_branch): --static needs fixed shapes" in message
