"""Entries of shapes that onnx follows to wrong numbers are not believed, and right ones are."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, run

from split_rewrite.rewriter.opsets import inference, type_protos


def shapes_of(source: onnx.ModelProto) -> dict[str, inference.Shape | None]:
    inferred = inference.infer_model(source)
    assert inferred is not None
    assert [node.op_type for node in inferred.graph.node] == [node.op_type for node in source.graph.node]
    return {value.name: type_protos.shape_of(value.type) for value in inferred.graph.value_info}


MADE = "y = ConstantOfShape(r) z = Neg(y) }"
BY_SHAPE = "g (float[3,4] x, int64[2] k) => (float[?] z) <int64 i = {0}, int64[1] o = {0}, int64[2] c = {5,6}> { s = Shape(x)"


@pytest.mark.parametrize(
    "computed",
    [
        "f = Cast<to = 1>(s) p = Mul(f, f) r = Cast<to = 7>(p)",
        "f = Cast<to = 11>(s) p = Add(f, f) q = Gather(p, o) r = Cast<to = 7>(q)",
        "f = Cast<to = 6>(s) p = Mul(f, f) r = Cast<to = 7>(p)",
        "f = Cast<to = 10>(s) h = Cast<to = 1>(f) r = Cast<to = 7>(h)",
    ],
    ids=["float", "double, through others", "int32", "float16"],
)
def test_numbers_that_another_type_may_change_are_unknown(computed: str) -> None:
    shape = shapes_of(model(f"{BY_SHAPE} {computed} {MADE}", 17))["y"]
    assert shape is not None
    assert not any(isinstance(dim, int) for dim in shape)


@pytest.mark.parametrize(
    "computed",
    [
        "u = Unsqueeze(s, o) r = Gather(u, i)",
        "u = Unsqueeze(c, o) r = Gather(u, i)",
        "u = Unsqueeze(s, o) v = Unsqueeze(c, o) t = Concat<axis = 0>(u, v) r = Gather(t, i)",
        "n = Gather(s, i) u = Unsqueeze(n, o) v = Unsqueeze(u, o) r = Gather(v, i)",
        "n = Gather(s, o) u = Unsqueeze(n, o) w = Slice(u, o, o) r = Squeeze(w, o)",
    ],
    ids=["a shape", "a constant", "stacked shapes", "a number with two axes", "a part"],
)
def test_a_row_of_entries_is_no_entry(computed: str) -> None:
    shape = shapes_of(model(f"{BY_SHAPE} {computed} {MADE}", 17)).get("y")
    assert shape is None or not any(isinstance(dim, int) for dim in shape)


def test_below_opset_13_as_well() -> None:
    text = "g (float[3,4] x) => (float[?] z) <int64 i = {0}> { s = Shape(x) u = Unsqueeze<axes = [0]>(s) r = Gather(u, i) " + MADE
    shape = shapes_of(model(text, 11))["y"]
    assert shape is not None
    assert not any(isinstance(dim, int) for dim in shape)
    assert shapes_of(model(text, 11))["u"] == (1, 2)


BRANCH = "then_branch = t () => (int64[L] a) { d = Shape(x) a = Neg(d) }"
OTHER = "else_branch = e () => (int64[M] b) { %s = Abs(k) h = ConstantOfShape(%s) f = CumSum(h, i) b = Shape(f) }"


@pytest.mark.parametrize(("name", "known"), [("d", False), ("q", True)])
def test_what_one_branch_computes_is_nothing_in_another(name: str, known: bool) -> None:
    text = (
        "g (float[3,4] x, int64[2] k, bool c) => (int64[?] z, float[?] v) <int64 i = {0}> "
        f"{{ n = If(c) <{BRANCH}, {OTHER % (name, name)}> z = Neg(n) u = Shape(x) w = ConstantOfShape(u) v = Neg(w) }}"
    )
    inferred = inference.infer_model(model(text, 17))
    assert inferred is not None
    branch = inferred.graph.node[0].attribute[1].g
    shapes = {value.name: type_protos.shape_of(value.type) for value in branch.value_info}
    assert not any(isinstance(dim, int) for dim in shapes["f"] or ())
    assert (shapes_of(model(text, 17))["w"] == (3, 4)) is known


@pytest.mark.parametrize(
    ("computed", "shape"),
    [
        ("n = Gather(s, i) u = Unsqueeze(n, o) r = Concat<axis = 0>(u, c)", (3, 5, 6)),
        ("f = Cast<to = 6>(s) q = Gather(f, o) r = Cast<to = 7>(q)", (3,)),
        ("f = Cast<to = 1>(s) r = Cast<to = 7>(f)", (3, 4)),
        ("r = Mul(s, s)", (9, 16)),
    ],
    ids=["a number with one axis", "int32", "float and back", "int64"],
)
def test_what_onnx_follows_rightly_is_known(computed: str, shape: tuple[int, ...]) -> None:
    assert shapes_of(model(f"{BY_SHAPE} {computed} {MADE}", 17))["y"] == shape


SPLIT = "y, z = Split<axis = %d, num_outputs = 2>(f) }"
X = np.ones((4, 1, 5), np.float32)


@pytest.mark.parametrize(
    ("text", "feeds"),
    [
        (
            "g (float[4097] x) => (float[a] y, float[b] z) <int64[1] t = {16785400}, float[1] w = {1}> { s = Shape(x) c = Cast<to = 1>(s) "
            "p = Mul(c, c) i = Cast<to = 7>(p) r = Sub(i, t) h = Expand(w, r) f = Softmax(h) " + SPLIT % 0,
            {"x": np.ones(4097, np.float32)},
        ),
        (
            "g (float[3,4] x, int64[2] k, bool b) => (int64[n] w, float[c,e] y, float[m,o] z) <int64 i = {0}> { w = If(b) <"
            "then_branch = t () => (int64[L] r) { d = Shape(x) r = Neg(d) }, else_branch = e () => (int64[M] v) { v = Abs(k) }> "
            "d = Abs(k) h = ConstantOfShape(d) f = CumSum(h, i) " + SPLIT % 0,
            {"x": np.ones((3, 4), np.float32), "k": np.array([4, 2]), "b": np.array(False)},
        ),
    ],
    ids=["a length in float", "a name of two branches"],
)
def test_a_split_has_the_sizes_of_what_runs(text: str, feeds: dict[str, np.ndarray]) -> None:
    original = model(text, 18)
    for wanted, found in zip(run(original, feeds), run(convert_version(original, 13).model, feeds), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_length_of_a_row_is_that_of_the_data() -> None:
    text = (
        "g (float[4,1,5] x) => (float[a,b,c] y, float[d,e,f] z) <int64[1] o = {0}, int64 i = {0}> { s = Shape(x) u = Unsqueeze(s, o) "
        "k = Gather(u, o) w = Squeeze(k, o) h = ConstantOfShape(w) f = CumSum(h, i) " + SPLIT % -1
    )
    result = convert_version(model(text, 18), 13).model  # which onnxruntime does not load: it follows the entries, too
    sizes = {tensor.name: onnx.numpy_helper.to_array(tensor).tolist() for tensor in result.graph.initializer}
    assert sizes[result.graph.node[-1].input[1]] == [3, 2]
