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
