"""Splits that need not be: which ones stay and why, then what the others become, against numpy."""

from __future__ import annotations

from pathlib import Path

import helpers
import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, assert_rewrites, convert_version, model, simplify
from onnx import numpy_helper

from split_rewrite.rewriter import Options, convert_file
from split_rewrite.rewriter.structure.survey import all_graphs

pytestmark = pytest.mark.quick


def operators(proto: onnx.ModelProto) -> list[str]:
    return sorted(node.op_type for graph in all_graphs(proto) for node in graph.node)


X = np.arange(12, dtype=np.float32).reshape(2, 6)

STAYS = {
    "parts-in-another-order": (
        18, "float[2, 6] x", "a, b = Split<num_outputs = 2, axis = 1>(x) y = Concat<axis = 1>(b, a)", "",
    ),
    "not-all-parts": (
        18, "float[2, 6] x", "a, b, c = Split<num_outputs = 3, axis = 1>(x) y = Concat<axis = 1>(a, b)", "",
    ),
    "a-part-twice": (18, "float[2, 6] x", "a, b = Split<num_outputs = 2, axis = 1>(x) y = Concat<axis = 1>(a, b, b)", ""),
    "put-together-along-another-axis": (
        18, "float[2, 6] x", "a, b = Split<num_outputs = 2, axis = 1>(x) y = Concat<axis = 0>(a, b)", "",
    ),
    "unnamed-last-part": (18, "float[2, 6] x", "a, b = Split<num_outputs = 3, axis = 1>(x) y = Concat<axis = 1>(a, b)", ""),
    "parts-of-two-splits": (
        13, "float[2, 6] x, float[2, 6] z",
        "a, b = Split<axis = 1>(x) c, d = Split<axis = 1>(z) y = Concat<axis = 1>(a, d)", "",
    ),
    "axes-that-may-differ": (
        13, "float[2, 6] x, int64[k] s", "r = Reshape(x, s) a, b = Split<axis = 1>(r) y = Concat<axis = -1>(a, b)", "",
    ),
    "unused-last-part-has-its-size": (13, "float[2, 6] x", "y, b = Split<axis = 1>(x, sizes)", "int64[2] sizes = {4, 2}"),
    "constant-that-the-caller-may-override": (
        13, "float[4] k = {1, 2, 3, 4}", "y, b = Split<axis = 0>(k)", "",
    ),
    "constant-of-strings": (
        13, "float[1] x", 'k = Constant<value_strings = ["1", "2"]>() a, b = Split<axis = 0>(k) y = Cast<to = 1>(a)', "",
    ),
    "sizes-at-run-time": (13, "int64[2] sizes", "y, b = Split<axis = 0>(k, sizes)", "float[4] k = {1, 2, 3, 4}"),
    "part-that-something-else-reads": (
        13, "float[2, 6] x", "a, b = Split<axis = 1>(x, four) c, d = Split<axis = 1>(a, two) y = Concat<axis = 1>(a, c, d)",
        "int64[2] four = {4, 2}, int64[2] two = {2, 2}",
    ),
    "part-split-on-another-axis": (
        13, "float[2, 6] x", "a, b = Split<axis = 1>(x, four) y, d = Split<axis = 0>(a)", "int64[2] four = {4, 2}",
    ),
    "part-of-unknown-size": (
        13, "float[2, N] x", "a, b = Split<axis = 1>(x) y, d = Split<axis = 1>(a)", "",
    ),
    "part-split-at-run-time": (
        13, "float[2, 6] x, int64[2] s", "a, b = Split<axis = 1>(x, four) y, d = Split<axis = 1>(a, s)", "int64[2] four = {4, 2}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("opset", "inputs", "body", "stored"), STAYS.values(), ids=STAYS)
def test_stays(opset: int, inputs: str, body: str, stored: str) -> None:
    kind = "float[a]" if "k" in stored or "k = " in inputs + body else "float[a, b]"
    source = helpers.model(f"g ({inputs}) => ({kind} y) <{stored}> {{{body}}}".replace("<>", ""), opset)
    assert operators(simplify(source).model) == operators(source)


def test_a_part_that_is_an_output_of_the_graph_stays() -> None:
    text = """g (float[2, 6] x) => (float[a, b] a, float[a, b] y) <int64[2] four = {4, 2}>
    {a, b = Split<axis = 1>(x, four) y, d = Split<axis = 1>(a)}"""
    assert operators(simplify(helpers.model(text, 13)).model) == ["Split", "Split"]


def test_a_part_that_a_subgraph_reads_stays() -> None:
    text = """g (float[2, 6] x, bool c) => (float[a, b] y, float[a, b] z) <int64[2] four = {4, 2}> {
        a, b = Split<axis = 1>(x, four) y, d = Split<axis = 1>(a)
        z = If(c)<then_branch = t () => (float[e, f] p) {p = Neg(a)}, else_branch = e () => (float[e, f] q) {q = Abs(b)}>
    }"""
    assert operators(simplify(helpers.model(text, 13)).model).count("Split") == 2


FOLDED = {
    "one-part-stated": (13, "y = Split<axis = 1>(x, six)", "int64[1] six = {6}", ["Identity"]),
    "one-part-counted": (18, "y = Split<axis = 1, num_outputs = 1>(x)", "", ["Identity"]),
    "one-part-by-attribute": (11, "y = Split<axis = 1, split = [6]>(x)", "", ["Identity"]),
    "one-part-between": (11, "n = Neg(x) a = Split<axis = 1>(n) y = Neg(a)", "", ["Neg", "Neg"]),
    "put-together-again": (13, "a, b, c = Split<axis = 1>(x) y = Concat<axis = 1>(a, b, c)", "", ["Identity"]),
    "put-together-from-the-end": (18, "a, b = Split<axis = -1, num_outputs = 2>(x) y = Concat<axis = 1>(a, b)", "", ["Identity"]),
    "uneven-put-together": (
        13, "a, b = Split<axis = 1>(x, s) y = Concat<axis = -1>(a, b)", "int64[2] s = {0, 6}", ["Identity"],
    ),
    "put-together-while-a-part-is-read": (
        13, "a, b = Split<axis = 1>(x) c = Concat<axis = 1>(a, b) d = Concat<axis = 1>(a, c, b) e, y, f = Split<axis = 1>(d, s)",
        "int64[3] s = {3, 6, 3}", ["Concat", "Split", "Split"],
    ),
    "split-of-a-part": (
        13, "a, b = Split<axis = 1>(x, s) c, d = Split<axis = 1>(a, t) y = Concat<axis = 1>(c, d, b)",
        "int64[2] s = {4, 2}, int64[2] t = {1, 3}", ["Identity"],
    ),
    "split-of-the-last-part": (
        13, "a, b = Split<axis = -1>(x, s) c, d = Split<axis = 1>(b) e = Neg(d) f = Neg(e) y = Concat<axis = 1>(a, c, f)",
        "int64[2] s = {4, 2}", ["Concat", "Neg", "Neg", "Split"],
    ),
    "split-of-a-part-by-attribute": (
        11, "a, b = Split<axis = 1, split = [4, 2]>(x) c, d = Split<axis = 1>(a) y = Concat<axis = 1>(c, d, b)", "", ["Identity"],
    ),
    "split-of-a-counted-part": (
        18, "a, b = Split<axis = 1, num_outputs = 2>(x) c, d = Split<axis = 1, num_outputs = 2>(b) e = Neg(c) f = Neg(e) y = Concat<axis = 1>(a, f, d)",
        "", ["Concat", "Neg", "Neg", "Split"],
    ),
    "three-deep": (
        13, "a, b = Split<axis = 1>(x, s) c, d = Split<axis = 1>(b, t) e, f = Split<axis = 1>(d) y = Concat<axis = 1>(a, c, e, f)",
        "int64[2] s = {1, 5}, int64[2] t = {1, 4}", ["Identity"],
    ),
    "sizes-computed-from-constants": (
        13, "t = Concat<axis = 0>(two, two) u = Add(t, one) a, b = Split<axis = 1>(x, u) c = Neg(a) d = Neg(c) y = Concat<axis = 1>(d, b)",
        "int64[1] two = {2}, int64[1] one = {1}", ["Concat", "Neg", "Neg", "Split"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", helpers.known(9, 12, 13, 18, 25))
@pytest.mark.parametrize(("opset", "body", "stored", "expected"), FOLDED.values(), ids=FOLDED)
def test_folded(opset: int, body: str, stored: str, expected: list[str], target: int) -> None:
    """Every row computes x again."""
    source = helpers.model(f"g (float[2, 6] x) => (float[a, b] y) <{stored}> {{{body}}}".replace("<>", ""), opset)
    result = convert_version(source, target).model
    assert operators(result) == expected
    np.testing.assert_array_equal(helpers.run(result, {"x": X})[0], X, strict=True)


def test_sizes_computed_from_constants_are_stored() -> None:
    opset, body, stored, _ = FOLDED["sizes-computed-from-constants"]
    result = simplify(helpers.model(f"g (float[2, 6] x) => (float[a, b] y) <{stored}> {{{body}}}", opset)).model
    (split,) = (node for node in result.graph.node if node.op_type == "Split")
    (sizes,) = result.graph.initializer
    assert list(split.input) == ["x", sizes.name] and numpy_helper.to_array(sizes).tolist() == [3, 3]


def test_types_of_merged_parts_go() -> None:
    text = """g (float[2, 6] x) => (float[a, b] y, float[a, b] z, float[a, b] w) <int64[2] s = {4, 2}, float[2, 4] a>
    {a, z = Split<axis = 1>(x, s) y, w = Split<axis = 1>(a)}"""
    result = simplify(helpers.model(text, 13)).model
    assert operators(result) == ["Split"] and not result.graph.value_info
    assert list(result.graph.node[0].output) == ["y", "w", "z"]


K = np.arange(12, dtype=np.float32).reshape(4, 3)
STORED = "float[4, 3] k = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}"
OF_CONSTANT = {
    "rows": (13, "y, z = Split<axis = 0>(k)", K[:2], K[2:]),
    "rows-by-attribute": (11, "y, z = Split<axis = 0, split = [1, 3]>(k)", K[:1], K[1:]),
    "counted": (18, "y, z = Split<axis = -2, num_outputs = 2>(k)", K[:2], K[2:]),
    "columns": (13, "y, z = Split<axis = 1>(k, s)", K[:, :1], K[:, 1:]),
    "nothing-and-all": (13, "y, z = Split<axis = -1>(k, e)", K[:, :0], K),
    "an-output-without-a-name": (18, 'y, absent, z = Split<axis = 1, num_outputs = 3>(k)', K[:, :1], K[:, 2:]),
    "constant-node": (13, "c = Constant<value = float[3] {1, 2, 3}>() y, z = Split<axis = 0>(c, s)", np.float32([1]), np.float32([2, 3])),
}  # fmt: skip


@pytest.mark.parametrize("target", [9, 11, 13, 18])
@pytest.mark.parametrize(("opset", "body", "y", "z"), OF_CONSTANT.values(), ids=OF_CONSTANT)
def test_split_of_a_constant(opset: int, body: str, y: np.ndarray, z: np.ndarray, target: int) -> None:
    dims = "a, b" if y.ndim == 2 else "a"
    text = f"g () => (float[{dims}] y, float[{dims}] z) <{STORED}, int64[2] s = {{1, 2}}, int64[2] e = {{0, 3}}> {{{body}}}"
    result = convert_version(helpers.without(helpers.model(text, opset), "absent"), target).model
    assert "Split" not in operators(result)
    got = helpers.run(result, {})
    np.testing.assert_array_equal(got[0], y, strict=True)
    np.testing.assert_array_equal(got[1], z, strict=True)


def test_parts_that_nothing_reads_are_not_stored() -> None:
    text = f"g (float[1, 3] x) => (float[a, b] y) <{STORED}> {{a, b, c, d = Split<axis = 0>(k) y = Add(x, c)}}"
    result = simplify(helpers.model(text, 13)).model
    (part,) = result.graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(part), K[2:3])


def test_in_a_function_the_parts_are_constant_nodes() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[2] x) => (float[a] y) {y = local.f(x)}
    <domain: "local", opset_import: ["" : 18]> f (x) => (y) {
        k = Constant<value = float[4] {1, 2, 3, 4}>() a, b = Split<axis = 0, num_outputs = 2>(k) c = Add(x, a) y = Mul(c, b)
    }"""
    result = convert_version(helpers.model(text), 13).model
    assert operators(result) == ["Add", "Constant", "Constant", "Mul", "f"]
    np.testing.assert_array_equal(helpers.run(result, {"x": np.float32([1, 1])})[0], [6, 12])


def test_before_ir_4_the_parts_are_constant_nodes() -> None:
    text = f"g (float[1, 3] x, {STORED}) => (float[a, b] y) {{a, b, c, d = Split<axis = 0>(k) y = Add(x, c)}}"
    result = simplify(helpers.model(text, 8, ir_version=3)).model
    assert operators(result) == ["Add", "Constant"]
    assert [value.name for value in result.graph.input] == ["x", "k"]
    np.testing.assert_array_equal(helpers.run(result, {"x": np.zeros((1, 3), np.float32)})[0], K[2:3])


def test_in_a_subgraph() -> None:
    text = f"""g (bool c) => (float[a, b] y) <{STORED}> {{
        y = If(c)<then_branch = t () => (float[e, f] p) {{p, q = Split<axis = 0>(k)}},
                  else_branch = e () => (float[e, f] r) {{s, r = Split<axis = 0>(k)}}>
    }}"""
    result = simplify(helpers.model(text, 13)).model
    assert "Split" not in operators(result)
    np.testing.assert_array_equal(helpers.run(result, {"c": np.array(True)})[0], K[:2])
    np.testing.assert_array_equal(helpers.run(result, {"c": np.array(False)})[0], K[2:])


WEIGHT = np.random.default_rng(0).standard_normal((512, 64)).astype(np.float32)  # 128 KiB


def weight_model(folder: Path, body: str, opset: int = 13) -> Path:
    text = f"g (float[64] x) => (float[a, b] y, float[c, d] z) <float[1] k = {{0}}> {{{body}}}"
    proto = helpers.model(text, opset)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(WEIGHT, "k"))
    path = folder / "source.onnx"
    onnx.save(proto, path)
    return path


def test_parts_of_a_big_constant_are_pieces_of_its_payload(tmp_path: Path) -> None:
    source, result = weight_model(tmp_path, "a, b = Split<axis = 0>(k) y = Mul(a, x) z = Mul(b, x)"), tmp_path / "result.onnx"
    convert_file(source, result, None)
    assert operators(onnx.load(result)) == ["Mul", "Mul"]
    assert result.stat().st_size < source.stat().st_size + 200
    y, z = helpers.run(onnx.load(result), {"x": np.ones(64, np.float32)})
    np.testing.assert_array_equal(y, WEIGHT[:256])
    np.testing.assert_array_equal(z, WEIGHT[256:])


def test_parts_of_external_data_are_pieces_of_its_file(tmp_path: Path) -> None:
    source, result = weight_model(tmp_path, "a, b = Split<axis = 0>(k) y = Mul(a, x) z = Mul(b, x)"), tmp_path / "result.onnx"
    onnx.save(onnx.load(source), source, save_as_external_data=True, location="weights", size_threshold=0)
    convert_file(source, result, None)
    proto = onnx.load(result)
    assert operators(proto) == ["Mul", "Mul"]
    np.testing.assert_array_equal([numpy_helper.to_array(part) for part in proto.graph.initializer], np.split(WEIGHT, 2))
    others = [path.stat().st_size for path in tmp_path.iterdir() if path.name not in ("source.onnx", "weights")]
    assert sum(others) < WEIGHT.nbytes + 1000


BIG_STAYS = {
    "read-elsewhere": "a, b = Split<axis = 0>(k) y = Mul(a, x) z = Mul(k, x)",
    "not-in-one-piece": "a, b = Split<axis = 1>(k) y = Neg(a) z = Neg(b)",
}


@pytest.mark.parametrize("body", BIG_STAYS.values(), ids=BIG_STAYS)
def test_a_big_constant_is_not_copied(body: str, tmp_path: Path) -> None:
    assert "Split" in operators(simplify(weight_model(tmp_path, body)).model)


def test_rules_can_be_left_out_by_name() -> None:
    text = "g (float[2, 6] x) => (float[a, b] y) {a, b = Split<axis = 1>(x) y = Concat<axis = 1>(a, b)}"
    source = helpers.model(text, 13)
    assert simplify(source, options=Options(skip=frozenset({"fold_split.concat_of_parts"}))).model == source
    assert simplify(source, options=Options(only=frozenset({"sequences"}))).model == source


@pytest.mark.parametrize(("axis", "expected"), [(0, [["a", "b", "c"]]), (1, [["a"], ["d"]])])
def test_text(axis: int, expected: list[list[str]]) -> None:
    text = f"""g (float[1] x) => (string[A, B] p) <string[2, 3] k = {{"a", "b", "c", "d", "e", "f"}}, int64[2] z = {{1, {axis + 1}}}>
    {{p, q = Split<axis = {axis}>(k, z)}}"""
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert [node.op_type for node in result.graph.node] == ["Identity"]
    (part,) = helpers.run(result, {"x": np.zeros(1, np.float32)})
    assert part.tolist() == expected


def test_a_constant_that_is_empty_in_front() -> None:
    text = "g () => (float[0,2] a, float[0,3] b) <float[0,5] c = {}> {a, b = Split<axis = 1, split = [2, 3]>(c)}"
    assert_compares_equal(model(text, 11), 13)


REWRITES = [
    (
        "fold_split.single_part",
        13,
        13,
        "g (float[4] x) => (float[4] y) { a = Split (x) y = Relu (a) }",
        "{ y = Relu (x) }",
    ),
    (
        "fold_split.parts_of_constant",
        13,
        13,
        "g (float[2] x) => (float[2] y, float[2] z) <float[4] c = {1, 2, 3, 4}> { a, b = Split (c) y = Add (x, a) z = Add (x, b) }",
        "<float[2] v1 = {1, 2}, float[2] v2 = {3, 4}> { y = Add (x, v1) z = Add (x, v2) }",
    ),
    (
        "fold_split.split_of_part",
        13,
        13,
        "g (float[8] x) => (float[4] a, float[2] b, float[2] c) { a, r = Split (x) b, c = Split (r) }",
        "<int64[3] v1 = {4, 2, 2}> { a, b, c = Split (x, v1) }",
    ),
    (
        "fold_split.concat_of_parts",
        13,
        13,
        "g (float[4] x) => (float[4] y) { a, b = Split (x) c = Concat <axis = 0> (a, b) y = Relu (c) }",
        "{ y = Relu (x) }",
    ),
    (
        "fold_split.literal_sizes",
        13,
        13,
        "g (float[4] x) => (float[1] a, float[3] b) <int64[1] one = {1}, int64[1] three = {3}> { s = Concat <axis = 0> (one, three) a, b = Split (x, s) }",
        "<int64[2] v1 = {1, 3}> { a, b = Split (x, v1) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
