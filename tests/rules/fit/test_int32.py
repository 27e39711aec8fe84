"""Nodes on int32 instead of int64, for lists of operators without int64, and what is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import for_a_list
from helpers import convert_version, model, rewrite_text, run

from split_rewrite import rewriter

NO_INT64 = """[all]
type = { "*" = ["float", "int32", "bool"] }"""
INPUTS = ("int32-inputs",)
TABLE = "float[3,2] w = {1,2,3,4,5,6}"
EMBEDDED = f"g (int64[4] i) => (float[2,2,2] y) <{TABLE}, int64[2] s = {{2, 2}}> {{ r = Reshape(i, s) y = Gather(w, r) }}"
REWRITES = [
    (
        "int32.moved_or_compared",
        ["Gather", "Reshape"],
        EMBEDDED,
        """
            <int64[2] v1 = {2,2}, float[3,2] v3 = {1,2,3,4,5,6}>
            {
             v2 = Reshape (i, v1)
             y = Gather (v3, v2)
            }
        """,
    ),
    (
        "int32.moved_or_compared",
        ["Concat", "Equal"],
        "g (int64[2] i) => (bool[3] y) <int64[1] c = {7}, int64 d = {1}> { t = Concat<axis = 0>(i, c) y = Equal(t, d) }",
        """
            <int32[1] v1 = {7}, int32 v3 = {1}>
            {
             v2 = Concat <axis: int = 0> (i, v1)
             y = Equal (v2, v3)
            }
        """,
    ),
    (
        "int32.moved_or_compared",
        ["Cast", "Max"],
        "g (int64[2] i) => (float[2] y) <int64 c = {-3}> { t = Max(i, c) y = Cast<to = 1>(t) }",
        """
            <int32 v1 = {-3}>
            {
             v2 = Max (i, v1)
             y = Cast <to: int = 1> (v2)
            }
        """,
    ),
    (
        "int32.moved_or_compared",
        ["Cast", "Add", "Mul", "CumSum", "Equal"],
        """g (int64[3] i) => (float[3] y) <int64 c = {1}, int32 z = {0}> {
            b = Equal(i, c) n = Cast<to = 7>(b) t = CumSum(n, z) m = Mul(t, n) s = Add(m, c) y = Cast<to = 1>(s) }""",
        """
            <int32 one = {1}, int32 z = {0}> {
                b = Equal (i, one) n = Cast <to = 6> (b) t = CumSum (n, z) m = Mul (t, n) s = Add (m, one) y = Cast <to = 1> (s)
            }
        """,
    ),
]


def refused(folder: Path, allowed: list[str], text: str, allow: tuple[str, ...]) -> str:
    with pytest.raises(rewriter.UnconvertibleError) as caught:
        convert_version(model(text, 13), options=replace(for_a_list(folder, allowed, NO_INT64), allow=allow))
    return str(caught.value)


def test_the_inputs_of_a_model_keep_their_type_unless_asked(tmp_path: Path) -> None:
    message = refused(tmp_path, ["Gather", "Reshape"], EMBEDDED, ())
    assert "is int64, not float or int32 or bool" in message
    assert "Hint: --allow int32-inputs lets the inputs of the model that are int64 be int32" in message


@pytest.mark.parametrize(
    ("operators", "body"),
    [
        (["Add"], "t = Add(i, i) y = Cast<to = 1>(t)"),
        (["Abs"], "t = Abs(i) y = Cast<to = 1>(t)"),
        (["Max"], "t = Max(i, large) y = Cast<to = 1>(t)"),
    ],
)
def test_what_may_not_fit_is_refused(operators: list[str], body: str, tmp_path: Path) -> None:
    text = f"g (int64[2] i) => (float[2] y) <int64 large = {{2147483648}}> {{ {body} }}"
    assert f"{operators[0]} 't' (main graph): NPU 1 does not allow it: the type of" in refused(
        tmp_path, [*operators, "Cast"], text, INPUTS
    )


SMALL = "g (int32[2] i) => (int64[2] y) <int64[2] k = {0,1}, int64[2] u = {100000,8}> { j = Cast<to = 7>(i) "


def small(operator: str, body: str, folder: Path, opset: int = 18) -> rewriter.ConversionResult:
    """A node of int64 numbers that are known to be small, for a device on which the operator takes int32 as its first input."""
    first = onnx.defs.get_schema(operator, opset).inputs[0].name
    rule = f'[[rule]]\noperators = ["{operator}"]\ntype = {{ {first} = ["int32"] }}'
    return convert_version(model(SMALL + body + " }", opset), options=for_a_list(folder, [operator, "Cast"], rule))


@pytest.mark.parametrize(
    ("operator", "body"),
    [
        ("ScatterElements", 'y = ScatterElements<reduction = "mul">(j, k, u)'),
        ("ScatterElements", 'y = ScatterElements<reduction = "add">(j, k, u)'),
        ("ScatterND", 'q = Constant<value = int64[2,1] {0,1}>() y = ScatterND<reduction = "mul">(j, q, u)'),
    ],
)
def test_what_adds_up_may_leave_the_range(operator: str, body: str, tmp_path: Path) -> None:
    with pytest.raises(rewriter.UnconvertibleError, match=rf"{operator} 'y' \(main graph\): NPU 1 does not allow it: the type of"):
        small(operator, body, tmp_path)


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 26, reason="BitCast came with opset 26")
def test_bits_are_not_narrowed(tmp_path: Path) -> None:
    with pytest.raises(
        rewriter.UnconvertibleError, match=r"BitCast 't' \(main graph\): NPU 1 does not allow it: the type of 'j' is int64"
    ):
        small("BitCast", "t = BitCast<to = 11>(j) y = Cast<to = 7>(t)", tmp_path, 26)


@pytest.mark.parametrize(
    ("operator", "body"),
    [
        ("Sign", "y = Sign(j)"),
        ("CenterCropPad", "t = Constant<value_ints = [2]>() y = CenterCropPad<axes = [0]>(j, t)"),
        ("ScatterElements", 'y = ScatterElements<reduction = "max">(j, k, u)'),
    ],
)
def test_what_is_made_of_small_numbers_is_cast_back(operator: str, body: str, tmp_path: Path) -> None:
    result = small(operator, body, tmp_path).model
    assert [node.op_type for node in result.graph.node] == [operator, "Cast"]
    feeds = {"i": np.array([-7, 100001], np.int32)}
    before = run(model(SMALL + body + " }", 18), feeds)
    assert np.array_equal(before[0], run(result, feeds)[0]) and before[0].dtype == np.int64


@pytest.mark.parametrize(
    "body",
    ["t = Concat<axis = 0>(i, c)", "t = Max(i, c)", "t = Where(b, i, c)", "t = Clip(i, d, d)", "t = Trilu(i, d)"],
)
def test_a_stored_operand_beside_one_that_may_be_large_is_no_reason_to_go_on(body: str, tmp_path: Path) -> None:
    """Neither is written as int32, so that the node is refused and the search comes to an end."""
    text = f"g (int64[2,2] i, bool b) => (int64[n,m] t) <int64[1,2] c = {{1,2}}, int64 d = {{1}}> {{ {body} }}"
    operator = body.removeprefix("t = ").partition("(")[0].partition("<")[0]
    with pytest.raises(
        rewriter.UnconvertibleError, match=rf"{operator} 't' \(main graph\): NPU 1 does not allow it: the type of 'i'"
    ):
        convert_version(model(text, 14), options=for_a_list(tmp_path, [operator], NO_INT64))


def test_outputs_of_int64_are_refused(tmp_path: Path) -> None:
    text = "g (int64[2] i) => (int64[2] y) <int64 c = {1}> { y = Max(i, c) }"
    assert "the type of 'y' is int64" in refused(tmp_path, ["Max", "Cast"], text, INPUTS)


@pytest.mark.parametrize(("rule", "allowed", "before", "after"), REWRITES)
def test_rewrites(rule: str, allowed: list[str], before: str, after: str, tmp_path: Path) -> None:
    options = replace(for_a_list(tmp_path, allowed, NO_INT64), allow=INPUTS)
    original = model(before, 13)
    result = rewriter.convert_version(original, options=options, compare="required")
    assert rule in result.report.applied
    assert rewrite_text(result.model.graph, {"i", "y"}) == rewrite_text(model(f"g () => () {after}", 13).graph, {"i", "y"})
    assert result.report.comparison is not None and result.report.comparison.status == "equal"
    numbers = np.array([2, 0, 1, 1])[: original.graph.input[0].type.tensor_type.shape.dim[0].dim_value]
    for wanted, found in zip(run(original, {"i": numbers}), run(result.model, {"i": numbers.astype(np.int32)}), strict=True):
        assert np.array_equal(wanted, found)


def test_an_input_that_subgraphs_read_and_one_that_is_stored_or_comes_out() -> None:
    text = f"""g (int64[2] i, bool c, int64[1] stored, int64[1] out) => (float[2,2] y, int64[1] out) <{TABLE}, int64[1] stored = {{3}}> {{
        y = If(c) <then_branch = a () => (float[2,2] p) {{ p = Gather(w, i) }},
                   else_branch = b () => (float[2,2] q) {{ t = Gather(w, i) q = Neg(t) }}> }}"""
    original = model(text, 13)
    result = rewriter.convert_version(original, 13, options=rewriter.Options(allow=INPUTS), compare="required")
    types = [value.type.tensor_type.elem_type for value in result.model.graph.input]
    assert types == [onnx.TensorProto.INT32, onnx.TensorProto.BOOL, onnx.TensorProto.INT64, onnx.TensorProto.INT64]
    feeds = {"c": np.array(False), "out": np.array([4])}
    wanted = run(original, {**feeds, "i": np.array([2, 0])})
    found = run(result.model, {**feeds, "i": np.array([2, 0], np.int32)})
    assert all(map(np.array_equal, wanted, found))
