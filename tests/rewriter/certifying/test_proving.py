"""What is proved for all lengths, what is not, and for which lengths original and result differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import z3
from helpers import model

from split_rewrite.rewriter import CompareError, Options, convert_version
from split_rewrite.rewriter.certifying.certificate import Certificate
from split_rewrite.rewriter.certifying.proving import certify
from split_rewrite.rewriter.certifying.tensors import NotModelledError, limited, of_entries
from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.engine.registry import simplify
from split_rewrite.rewriter.graph.node import Node


def certificate(before: str, opset: int, after: str, target: int) -> Certificate:
    return certify(*(model(text, version).SerializeToString() for text, version in ((before, opset), (after, target))))


HALVES = "g (float[N,M] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = 1, num_outputs = 2>(x) }"
SIZES = "g (float[N,M] x) => (float[a,b] y, float[c,d] z) <int64[1] o = {1}, int64[1] e = {2}, int64[1] u = {%d}> { s = Shape(x) m = Slice(s, o, e) n = Add(m, u) h = Div(n, e) r = Sub(m, h) p = Concat<axis = 0>(h, r) y, z = Split<axis = %d>(x, p) }"
PARTS = "g (float[N,5] x) => (float[a,b] y, float[c,d] z) <int64[2] s = {2,3}> { y, z = Split<axis = 1>(x, s) }"
UNSTACKED = "g (float[3,N] x) => (float[a] y) <int64 p = {%d}> { q = SplitToSequence<keepdims = 0>(x) y = SequenceAt(q, p) }"
ROWS = "g (float[3,N] x) => (float[a] y) <int64[3] s = {1,1,1}, int64[1] a = {0}> { p, q, r = Split(x, s) y = Squeeze(q, a) }"
WRONG = {
    "the last part is one too short": (HALVES, 18, SIZES % (0, 1), 13),
    "the axis of another end": (HALVES, 18, SIZES % (1, -2), 13),
    "sizes swapped": (PARTS, 13, PARTS.replace("{2,3}", "{3,2}"), 13),
    "outputs swapped": (PARTS, 13, PARTS.replace("y, z =", "z, y ="), 13),
    "another part of a sequence": (UNSTACKED % 0, 13, ROWS, 13),
    "a slice that begins too late": (
        "g (float[N] x) => (float[a] y) <int64[1] s = {-2}, int64[1] e = {9}> { y = Slice(x, s, e) }",
        13,
        "g (float[N] x) => (float[a] y) <int64[1] s = {-1}, int64[1] e = {9}> { y = Slice(x, s, e) }",
        13,
    ),
    "an end that cuts long axes": (
        "g (float[N] x) => (float[a] y) <int64[1] s = {1}, int64[1] e = {9223372036854775807}> { y = Slice(x, s, e) }",
        13,
        "g (float[N] x) => (float[a] y) <int64[1] s = {1}, int64[1] e = {7}> { y = Slice(x, s, e) }",
        13,
    ),
    "a Reshape that takes 0 for a copy": (
        "g (float[N,0] x) => (float[a,b] y) <int64[2] s = {0,3}> { y = Reshape<allowzero = 1>(x, s) }",
        14,
        "g (float[N,0] x) => (float[a,b] y) <int64[2] s = {0,0}> { y = Reshape(x, s) }",
        13,
    ),
    "a Gather from the wrong end": (
        "g (float[N,M] x) => (float[a] y) <int64 i = {-1}> { y = Gather(x, i) }",
        13,
        "g (float[N,M] x) => (float[a] y) <int64 i = {0}> { y = Gather(x, i) }",
        13,
    ),
    "a Concat in another order": (
        "g (float[N] x, float[M] w) => (float[a] y) { y = Concat<axis = 0>(x, w) }",
        13,
        "g (float[N] x, float[M] w) => (float[a] y) { y = Concat<axis = 0>(w, x) }",
        13,
    ),
    "a Pad on the other side": (
        "g (float[N] x) => (float[a] y) <int64[2] p = {1,0}> { y = Pad(x, p) }",
        13,
        "g (float[N] x) => (float[a] y) <int64[2] p = {0,1}> { y = Pad(x, p) }",
        13,
    ),
    "an Expand instead of a Tile": (
        "g (float[N] x) => (float[a] y) <int64[1] r = {2}> { y = Tile(x, r) }",
        13,
        "g (float[N] x) => (float[a] y) <int64[1] r = {2}> { y = Expand(x, r) }",
        13,
    ),
    "two axes exchanged": (
        "g (float[N,M,K] x) => (float[a,b,c] y) { y = Transpose<perm = [1, 2, 0]>(x) }",
        13,
        "g (float[N,M,K] x) => (float[a,b,c] y) { y = Transpose<perm = [2, 0, 1]>(x) }",
        13,
    ),
    "an axis of 1 that may be longer": (
        "g (float[N,M] x) => (float[a,b] y) <int64[1] o = {1}> { y = Expand(x, o) }",
        13,
        "g (float[N,M] x) => (float[a,b] y) <int64[2] p = {1,1}> { y = Tile(x, p) z = Relu(y) }".replace(
            "Tile(x, p)", "Slice(x, q, p)"
        ).replace("<int64[2] p = {1,1}>", "<int64[2] p = {1,1}, int64[2] q = {0,0}>"),
        13,
    ),
}
"""An original and a wrong result, with their opsets."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results_are_not_proved(name: str) -> None:
    found = certificate(*WRONG[name])
    assert not found.reason
    assert not found.is_proved
    assert any(output.lengths for output in found.outputs) or name == "another part of a sequence", found


def test_a_difference_has_the_smallest_lengths() -> None:
    found = certificate(*WRONG["the last part is one too short"])
    assert [dict(output.lengths) for output in found.outputs] == [{"N": 1, "M": 1}] * 2
    found = certificate(*WRONG["an end that cuts long axes"])
    assert found.outputs[0].lengths["N"] == 8


def test_what_is_not_modelled_is_not_proved() -> None:
    text = "g (float[N] x) => (float[N] y) { y = Gelu(x) }"
    other = "g (float[N] x) => (float[N] y) { y = Relu(x) }"
    found = certificate(text, 20, other, 13)
    assert str(found).startswith("0 of 1 outputs proved for all shapes, 0 of 1 changed values (z3 ")
    assert str(found.outputs[0]) == "'y' is not proved: other operators compute it"


def test_what_depends_on_a_doubtful_value_is_in_doubt() -> None:
    before = "g (float[N] x) => (float[N] y, float[a] z) { h = Gelu(x) y = Relu(h) z = Neg(x) }"
    after = "g (float[N] x) => (float[N] y, float[a] z) { h = Tanh(x) y = Relu(h) z = Neg(x) }"
    found = certificate(before, 20, after, 13)
    assert [(output.name, output.is_proved, output.reason) for output in found.outputs] == [
        ("y", False, "'h': other operators compute it"),
        ("z", True, ""),
    ]


@pytest.mark.parametrize(
    "after",
    [
        "g (float[N] x) => (float[N] y) { y = Dropout(x) }",
        "g (float[N] x, float[N] w) => (float[N] y) { y = Relu(x) }",
        "g (double[N] x) => (double[N] y) { y = Relu(x) }",
        "g (float[N] x) => (float[N] z) { z = Relu(x) }",
    ],
)
def test_another_interface_or_operator_is_not_proved(after: str) -> None:
    found = certificate("g (float[N] x) => (float[N] y) { y = Relu(x) }", 13, after, 13)
    assert not found.is_proved


def test_another_default_is_not_proved() -> None:
    texts = [f"g (float[N] x, float w) => (float[N] y) <float w = {{{number}}}> {{ y = Add(x, w) }}" for number in (1, 2)]
    assert certificate(texts[0], 13, texts[0], 14).is_proved
    found = certificate(texts[0], 13, texts[1], 14)
    assert (found.is_proved, found.reason) == (False, "the result has other inputs or outputs")


@pytest.mark.parametrize("after", ["com.microsoft.Gelu(x)", 'Gelu<approximate = "tanh">(x)'])
def test_another_attribute_or_domain_is_another_operator(after: str) -> None:
    texts = [
        f'<ir_version: 8, opset_import: ["" : 20, "com.microsoft" : 1]> g (float[N] x) => (float[N] y) {{ y = {call} }}'
        for call in ("Gelu(x)", after)
    ]
    original, result = (onnx.parser.parse_model(text).SerializeToString() for text in texts)
    assert certify(original, original).is_proved
    assert not certify(original, result).is_proved


def test_two_draws_are_not_one() -> None:
    before = "g (float[N] x) => (float[N] y, float[N] z) { y = RandomNormalLike(x) z = RandomNormalLike(x) }"
    after = "g (float[N] x) => (float[N] y, float[N] z) { y = RandomNormalLike(x) z = Identity(y) }"
    found = certificate(before, 13, after, 13)
    assert [output.is_proved for output in found.outputs] == [True, False]


def test_integers_that_may_overflow_are_not_numbers() -> None:
    before = "g (int64[N] x) => (int64[N] y) <int64 t = {2}> { a = Mul(x, t) y = Div(a, t) }"
    assert not certificate(before, 13, "g (int64[N] x) => (int64[N] y) { y = Identity(x) }", 13).is_proved


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("int8", "a = Add(c, c)", "a = Constant<value = int64 {200}>()"),
        ("int32", "a = Mul(c, c)", "a = Constant<value = int64 {10000000000}>()"),
        ("int64", "a = Cast<to = 6>(l)", "a = Identity(l)"),
    ],
)
def test_small_integers_may_overflow(kind: str, before: str, after: str) -> None:
    number = 100 if kind == "int8" else 100000
    head = f"g (float[N] x) => (int64 y) <{kind} c = {{{number}}}, int64 l = {{10000000000}}>"
    assert not certificate(
        f"{head} {{ {before} y = Cast<to = 7>(a) }}", 14, f"{head} {{ {after} y = Cast<to = 7>(a) }}", 13
    ).is_proved


@pytest.mark.parametrize(("last", "is_right"), [("{5,6}", True), ("{5,7}", False)])
def test_what_is_folded_is_proved(last: str, is_right: bool) -> None:
    before = "g (float[N] x) => (float[3] y, float[2] z) <float[5] w = {1,2,3,5,6}, int64[2] s = {3,2}> { y, z = Split(w, s) }"
    after = f"g (float[N] x) => (float[3] y, float[2] z) <float[3] y = {{1,2,3}}, float[2] z = {last}> {{ u = Relu(x) }}"
    found = certificate(before, 13, after, 13)
    assert [output.is_proved for output in found.outputs] == [True, is_right]
    assert found.is_proved is is_right


RIGHT = {
    "split by number": (HALVES, 13),
    "split in equal parts": ("g (float[N,M] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = 1>(x) }", 18),
    "split to sequence": (
        "g (float[N,6,K] x) => (float[a,b,c,d] y) <int64[2] s = {3,3}> { q = SplitToSequence<axis = 1>(x, s) y = ConcatFromSequence<axis = 0, new_axis = 1>(q) }",
        17,
    ),
    "unbind": (
        "g (float[N,3,K] x) => (float[a,b] y) <int64 p = {1}> { h = Relu(x) q = SplitToSequence<axis = 1, keepdims = 0>(h) y = SequenceAt(q, p) }",
        11,
    ),
    "behind what is kept": (
        "g (float[N,C,8,8] x, float[4,C,3,3] w) => (float[a,b,c,d] y, float[e,f,g,h] z) { v = Conv(x, w) y, z = Split<axis = 1, num_outputs = 2>(v) }",
        11,
    ),
    "squeeze by axes": ("g (float[N,1,M] x) => (float[a,b] y) <int64[1] s = {1}> { y = Squeeze(x, s) }", 11),
    "part of a shape": ("g (float[N,2,M] x) => (int64[2] y) { y = Shape<start = 1>(x) }", 13),
}
"""A model at opset 18, and the target."""


@pytest.mark.parametrize("name", RIGHT)
def test_conversions_are_proved(name: str) -> None:
    text, target = RIGHT[name]
    before = model(text, 18 if target != 18 else 13)
    after = convert_version(before, target, compare="off").model
    found = certify(before.SerializeToString(), after.SerializeToString())
    assert found.is_proved, found


def test_the_command_line_says_what_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(model(HALVES, 18), tmp_path / "in.onnx")
    assert command.run(["-t", "13", "--certify", "-v", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]) == 0
    printed = "".join(capsys.readouterr())
    assert "certified   2 of 2 outputs proved for all shapes, 2 of 2 changed values (z3 " in printed
    assert "certified: 'y' is proved for all shapes" in printed


def test_a_wrong_rule_is_found_at_the_lengths_where_it_differs() -> None:
    @simplify("Slice", opset=13)
    def cut_at_1000(node: Node) -> None:
        node.set_input(2, node.op.int64([1000]))

    text = "g (float[N] x) => (float[a] y) <int64[1] s = {1}, int64[1] e = {9223372036854775807}> { y = Slice(x, s, e) }"
    options = {"rules": [cut_at_1000]}
    assert convert_version(model(text, 13), 13, options=Options(**options)).report.comparison.status == "equal"
    with pytest.raises(CompareError, match="outputs differ"):
        convert_version(model(text, 13), 13, options=Options(**options, certify=True))


LOOP = "g (float[N] X) => (float[K] q, float[K] y) <bool[1] cc = {1}, int64 n = {2}, float[1] %s = {1}, float[1] %s = {10}> { q, y = Loop(n, , %s) <body = bd (int64 i, bool cond, float[1] s, float[1] t) => (bool co, float[1] so, float[1] to) { co = Identity(cond) so = Add(s, a) to = Add(t, a) }> }"
BRANCHES = '<ir_version: 9, opset_import: ["" : 17, "c" : 1]> g (float[N] X, bool b) => (float[K] y) { y = If (b) <then_branch = t () => (float[K] r) { r = c.f(X) }, else_branch = e () => (float[K] s) { s = Exp(X) }> } <domain: "c", opset_import: ["" : 17]> f (x) => (r) { r = %s(x) }'
DEFAULT = '<ir_version: 9, opset_import: ["" : 17, "c" : 1]> g (float[N] X) => (float[K] y) { y = c.f(X) } <domain: "c", opset_import: ["" : 17]> f <alpha: float = %s> (x) => (r) { r = LeakyRelu<alpha: float = @alpha>(x) }'
HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
MICROSOFT = HEAD.replace("17", '17, "com.microsoft" : 1')
SAME = HEAD + "g (float[N,3] X) => (float[K,L] y) { y = Identity(X) }"
BODY = (
    HEAD
    + "g (float[N] X) => (float[K] y) <int64 n = {2}> { y = Loop(n, , X) <body = bd (int64 i, bool cond, float[%s] s) => (bool co, float[%s] so) { co = Identity(cond) h = Shape(s) hf = Cast<to = 1>(h) so = Add(s, hf) }> }"
)
FOREIGN = '<ir_version: 9, opset_import: ["" : 17, "c" : %d]> g (float[N,2] X) => (%s[N,2] y) { y = c.Gelu(X) }'
LARGE = "<int64 a = {2147483647}, int64 c = {1073741824}, int64 z = {0}>"
OVERLOADS = '<ir_version: 10, opset_import: ["" : 17, "c" : 1]> g (float[N] X) => (float[K] y, float[K] z) { y = c.f:r(X) z = %s } <domain: "c", overload: "r", opset_import: ["" : 17]> f (x) => (r) { r = RandomNormalLike(x) } <domain: "c", overload: "d", opset_import: ["" : 17]> f (x) => (r) { r = Relu(x) }'
BEHIND = '<ir_version: 9, opset_import: ["" : 17, "c" : 1]> m (float[N] X) => (float[K] y) { y = c.g(X) } <domain: "c", opset_import: ["" : 17]> f (x) => (r) { r = %s(x) } <domain: "c", opset_import: ["" : 18, "c" : 1]> g (x) => (r) { r = c.f(x) }'
PASSED_ON = '<ir_version: 9, opset_import: ["" : 17, "c" : 1]> m (float[N,M] X) => (float[K,L] y) { y = c.f(X) } <domain: "c", opset_import: ["" : 17, "c" : 1]> f <axis> (x) => (r) { r = c.g<axis: int = @axis>(x) } <domain: "c", opset_import: ["" : 17]> g <axis: int = 0> (x) => (r) { r = Softmax<axis: int = @axis>(x) }'
CALLED_BODY = '<ir_version: 9, opset_import: ["" : 17, "c" : 1]> m (float[N] X) => (float[K] y) { y = c.f(X) } <domain: "c", opset_import: ["" : 17]> f (X) => (y) { n = Constant<value_int = 2>() y = Loop(n, , X) <body = bd (int64 i, bool cond, float[%s] s) => (bool co, float[%s] so) { co = Identity(cond) h = Shape(s) hf = Cast<to = 1>(h) so = Add(s, hf) }> }'
RANGE = "<int64 z = {0}, int64 o = {1}, int64 l = {3000000}>"
NUMBERS = "g (float[N] X) => (bool y) <int64 z = {0}, int64 o = {1}, int64 d = {3000000}> { s = Size(X) e = Mul(s, d) r = Range(z, e, o) %s i = Cast<to = 6>(h) m = ReduceMin<keepdims = 0>(i) y = Cast<to = 9>(m) }"
TWO_INPUTS = "g (float[N] X, float[%s] W, bool[L] k) => (float[K] y) %s { a = Exp(X) w = Compress(W, k) d = Abs(w) y = Concat<axis = 0>(a, d) }"
DRAWS = "g (float[N] X) => (float[K] y) <int64 n = {3}, float r = {0.5}, bool t = {1}> { %s q, v = Loop(n, t) <body = bd (int64 i, bool cond) => (bool co, float[K] zz, float[K] ww) { co = Identity(cond) %s w = RandomNormalLike(X) ww = Identity(w) zz = Identity(z) }> m = ReduceMax<axes = [0], keepdims = 0>(q) k = ReduceMin<axes = [0], keepdims = 0>(q) y = Sub(m, k) }"
SHADOWING = '<ir_version: 9, opset_import: ["" : 17, "%s" : 1]> g (float[N] X) => (float[K] y) { y = %s.%s(X) } <domain: "%s", opset_import: ["" : 17]> %s (x) => (r) { r = Neg(x) }'
GIVEN = "g (float[N] X, float[1] w) => (float[a] y) <float[1] w = {2}> { y = Mul(X, w) }"
ADDED = "g (float[N,M] X) => (int64[2] y) <int64[1] b = {3}> { h = Shape(X) y = Add(h, b) }"
COLLECTS = "g (float[N] X, int64 n) => (int64[K] y) <int64[1] c = {3}, int64 p = {0}, bool go = {1}> { q = Loop(n, go) <body = bd (int64 i, bool cond) => (bool co, float[R] z) { co = Identity(cond) %s }> y = Shape(q) }"
COLLECTS_OF = (
    "g (float[N] X, int64 n, bool b) => (int64[K] y) <int64[1] c = {3}, int64 p = {0}, bool go = {1}> { %s q = %s y = Shape(q) }"
)
A_LOOP = "Loop(n, go) <body = bd (int64 i, bool cond) => (bool co, float[R] z) { co = Identity(cond) z = ConstantOfShape(d) }>"
IN_A_BRANCH = (
    "If(b) <then_branch = t () => (float[K,L] u) { u = "
    + A_LOOP
    + " }, else_branch = e () => (float[K,M] v) { w = "
    + A_LOOP
    + " v = Neg(w) }>"
)
RESHAPES = "g (float[3] X, int64[1] s, int64 n) => (float[K,L] y) <bool go = {1}> { y = Loop(n, go) <body = bd (int64 i, bool cond) => (bool co, float[%s] z) { co = Identity(cond) z = Reshape(X, s) }> }"
TWO_BRANCHES = "g (float[1,1,4] X, float[1,1,5] Z, bool b) => (int64[K] y) { y = If(b) <then_branch = t () => (int64[L] r) { w = Neg(Z) r = Shape(w) }, else_branch = e () => (int64[M] s) { %s }> }"
PARAMETER = "g (int64[2,1] k, float[1,1] v, bool b) => (int64[a] y, int64[c,d] z) { y = If(b) <then_branch = t () => (int64[L] r) { j = Constant<value = int64[1] {0}>() r = Neg(j) }, else_branch = e () => (int64[M] s) { s = Shape(v) }> z = Scan<num_scan_inputs = 1, body = bd (int64[1] j) => (int64[M] s) { %s }>(k) }"
EINSUM = "g (float[1,3,4] X, float[N,4,5] Z) => (int64[a] y) <int64[1] o = {0}, int64[1] e = {1}> { %s y = Neg(u) }"
TWO_VERSIONS = '<ir_version: 9, opset_import: ["" : 17, "c" : 1, "o" : 1, "e" : %d]> g (float[N] X) => (float[a] y, float[b] z, float[c] w) { y = e.Gelu(X) z = c.f(X) w = o.f(X) } <domain: "c", opset_import: ["e" : 1]> f (x) => (r) { r = e.Gelu(x) } <domain: "o", opset_import: ["e" : 2]> f (x) => (r) { r = e.Gelu(x) }'
NAMELESS = HEAD + "g (float[N] X, float[N] Z) => (int64[1] y) { s = Shape(%s) y = Neg(s) }"
COUNTED = "g (int64 n) => (int64[K] y) <int64[1] z = {0}> { y = Loop(n, , z) <body = bd (%s i, bool c, int64[a] s) => (bool co, int64[b] so) { co = Identity(c) so = Shape(i) }> }"
GUARDED = "g (int64[N] X, int64 d) => (int64[a] y) <int64 z = {0}> { b = Equal(d, z) %s y = If(b) <then_branch = t () => (int64[L] r) { r = Neg(X) }, else_branch = e () => (int64[M] s) { %s s = Neg(q) }> }"
IN_TURNS = "g (int64[N] X, int64 d, int64 n) => (int64[a] y) { %s y = Loop(n, , X) <body = bd (int64 i, bool c, int64[N] s) => (bool co, int64[N] so) { co = Identity(c) %s so = Add(s, q) }> }"
CHOSEN = "g (int64[N] X, int64[N] D, int64[N] o, bool[N] b) => (int64[a] y) { %s p = Div(X, o) y = Where(b, %s, p) }"
OF_SIZES = "g (float[257] X, float[8] W, bool b) => (int64[a] y) <int64[1] t = {16974584}, int64[1] u = {4362470392}, int64[1] nine = {9}> { %s y = Neg(v) }"
NINE = HEAD + OF_SIZES % "v = Identity(nine)"
FLOATS = HEAD + OF_SIZES % "s = Shape(X) c = Cast<to = 1>(s) p = Mul(c, c) q = Mul(p, c) i = Cast<to = 7>(q) r = Sub(i, t) %s"
INT32 = (
    HEAD
    + OF_SIZES % "s = Shape(X) c = Cast<to = 6>(s) p = Mul(c, c) q = Mul(p, c) m = Mul(q, c) i = Cast<to = 7>(m) r = Sub(i, u) %s"
)
ROW = "g (float[4,1,5] Q) => (int64[a] y) <int64[1] four = {4}, int64 i = {0}, int64[1] z = {0}> { %s y = Neg(v) }"
OF_OTHERS = "g (float[3,4] X, int64[2] k, bool b) => (int64[a] y) <int64 z = {0}> { y = If(b) <then_branch = t () => (int64[L] r) { d = Shape(X) r = Neg(d) }, else_branch = e () => (int64[M] s) { %s }> }"
BY_LESS = "g (int64[N] X) => (int64[a] y) <int64 m = {-1}> { %s y = Identity(X) }"
THIRDS = "g (float[N] X) => (float[a] p, float[b] q, float[c] r) { p, q, r = Split%s(X) }"
IN_NO_TURN = "g (float[N] X, int64 n, int64[1] k) => (int64[w] y) <bool go = {1}%s> { j = Identity(k) v = ConstantOfShape(j) %s = Loop(n, go) <body = bd (int64 i, bool c) => (bool co, float[R] d) %s { co = Identity(c) %s d = Neg(h) }> y = Shape(%s) }"
IN_A_FUNCTION = '<ir_version: 10, opset_import: ["" : 17, "c" : 1]> g (int64 n, int64[1] k) => (int64[w] y) { y = c.f(n, k) } <domain: "c", opset_import: ["" : 17]> f (n, k) => (y) { go = Constant<value = bool {1}>() z = Loop(n, go) <body = bd (int64 i, bool c) => (bool co, float[R] d) %s { co = Identity(c) h = ConstantOfShape(k) d = Neg(h) }> y = Shape(z) }'
MADE_INSIDE = "h = ConstantOfShape(k)"
DEFAULT_LENGTHS = "g (float[N,3] X, int64 n, bool c, int64[2] k) => (float[K,P,Q] y) <int64[2] k = {2,3}> { y = Loop(n, c) <body = bd (int64 i, bool d) => (bool e, float[P,Q] t) { e = Identity(d) t = ConstantOfShape(k) }> }"
CAST_LENGTHS = "g (float[N,3] X, int64 n, bool c) => (int64[K] y) <float[3,3] w = {1,2,3,4,5,6,7,8,9}> { q = Loop(n, c) <body = bd (int64 i, bool d) => (bool e, float[A,B] t) { e = Identity(d) s = Shape(w) u = Cast<to = 7>(s) t = Reshape(X, u) }> y = Shape(q) }"
A_FUNCTION = '<domain: "c", opset_import: ["" : 17]> %s (n, k) => (y) { go = Constant<value = bool {1}>() z = Loop(n, go) <body = bd (int64 i, bool c) => (bool co, float[%%s] d) { co = Identity(c) h = ConstantOfShape(k) d = Neg(h) }> y = Shape(z) }'
TWO_FUNCTIONS = (
    '<ir_version: 10, opset_import: ["" : 17, "c" : 1]> m (int64 n, int64[1] k) => (int64[w] y, int64[v] z) { %s } '
    + A_FUNCTION % "f"
    + " "
    + A_FUNCTION % "g"
)
FALSE = {
    "a length that is not declared any more in a Loop of no turn": (
        HEAD + IN_NO_TURN % ("", "z", "<float[3] h>", MADE_INSIDE, "z"),
        HEAD + IN_NO_TURN % ("", "z", "", MADE_INSIDE, "z"),
    ),
    "a length that is not declared any more in a Loop of another name": (
        HEAD + IN_NO_TURN % ("", "z", "<float[3] h>", MADE_INSIDE, "z"),
        HEAD + IN_NO_TURN % ("", "u", "", MADE_INSIDE, "u"),
    ),
    "a length that is not declared any more around a Loop of no turn": (
        HEAD + IN_NO_TURN % (", float[3] v", "z", "", "h = Identity(v)", "z"),
        HEAD + IN_NO_TURN % ("", "z", "", "h = Identity(v)", "z"),
    ),
    "a length that is not declared any more before what a Loop of no turn reads": (
        HEAD + IN_NO_TURN % (", float[3] v", "o = Neg(v) z", "", "h = Identity(o)", "z"),
        HEAD + IN_NO_TURN % ("", "o = Neg(v) z", "", "h = Identity(o)", "z"),
    ),
    "a length that is not declared any more in a Loop in a function": (IN_A_FUNCTION % "<float[3] h>", IN_A_FUNCTION % ""),
    "a product of sizes in float": (FLOATS % "h = Reshape(W, r) v = Shape(h)", NINE),
    "a product of sizes in float, behind another operator": (FLOATS % "h = Reshape(W, r) f = Softmax(h) v = Shape(f)", NINE),
    "a product of sizes in float, in a branch": (
        FLOATS
        % "h = If(b) <then_branch = f () => (float[c] m) { n = Reshape(W, r) m = Neg(n) }, else_branch = e () => (float[d] g) { d = Reshape(W, r) g = Abs(d) }> v = Shape(h)",
        NINE,
    ),
    "a product of sizes in int32": (INT32 % "h = Reshape(W, r) v = Shape(h)", NINE),
    "a product of sizes in float, behind a known operator": (FLOATS % "h = Expand(W, r) f = Softmax(h) v = Shape(f)", NINE),
    "a product of sizes in int32, behind a known operator": (INT32 % "h = Expand(W, r) f = Softmax(h) v = Shape(f)", NINE),
    "a row of entries": (
        HEAD + ROW % "s = Shape(Q) u = Unsqueeze(s, z) w = Gather(u, i) h = ConstantOfShape(w) f = CumSum(h, i) v = Shape(f)",
        HEAD + ROW % "v = Identity(four)",
    ),
    "entries of another branch": (
        HEAD + OF_OTHERS % "d = Abs(k) h = ConstantOfShape(d) f = CumSum(h, z) s = Shape(f)",
        HEAD + OF_OTHERS % "s = Constant<value = int64[2] {3,4}>()",
    ),
    "a division by -1": (HEAD + BY_LESS % "", HEAD + BY_LESS % "u = Div(X, m)"),
    "parts of which nothing states the number": (
        HEAD.replace("17", "18") + THIRDS % "<num_outputs = 3>",
        HEAD.replace("17", "18") + THIRDS % "",
    ),
    "a division out of a branch": (HEAD + GUARDED % ("", "q = Div(X, d)"), HEAD + GUARDED % ("q = Div(X, d)", "")),
    "a division out of a Loop": (HEAD + IN_TURNS % ("", "q = Div(X, d)"), HEAD + IN_TURNS % ("q = Div(X, d)", "")),
    "a rest out of a branch": (HEAD + GUARDED % ("", "q = Mod(X, d)"), HEAD + GUARDED % ("q = Mod(X, d)", "")),
    "a division by what is chosen": (
        HEAD + CHOSEN % ("c = Where(b, D, o) q = Div(X, c)", "q"),
        HEAD + CHOSEN % ("r = Div(X, D)", "r"),
    ),
    "an unread division": (
        HEAD + "g (int64[N] X, int64 z) => (int64[a] y) { y = Identity(X) }",
        HEAD + "g (int64[N] X, int64 z) => (int64[a] y) { u = Div(X, z) y = Identity(X) }",
    ),
    "an unread division by 0": (
        HEAD + "g (int64[N] X) => (int64[a] y) <int64 z = {0}> { y = Identity(X) }",
        HEAD + "g (int64[N] X) => (int64[a] y) <int64 z = {0}> { u = Div(X, z) y = Identity(X) }",
    ),
    "an unread rest of floats": (
        HEAD + "g (float[N] X) => (float[a] y) { y = Identity(X) }",
        HEAD + "g (float[N] X) => (float[a] y) { u = Mod(X, X) y = Identity(X) }",
    ),
    "another version of a domain beside two functions": (TWO_VERSIONS % 1, TWO_VERSIONS % 2),
    "a counter that is a vector": (HEAD + COUNTED % "int64[1]", HEAD + COUNTED % "int64"),
    "the first length of a label": (
        HEAD + EINSUM % 'h = Einsum<equation = "bij,bjk->bik">(X, Z) s = Shape(h) u = Slice(s, o, e)',
        HEAD + EINSUM % "t = Shape(X) u = Slice(t, o, e)",
    ),
    "a captured name that is an input too": (HEAD + LOOP % ("a", "b", "a, b"), HEAD + LOOP % ("p", "a", "p, a")),
    "a function of the same name in a branch": (BRANCHES % "Relu", BRANCHES % "Neg"),
    "another default of a function": (DEFAULT % "0.1", DEFAULT % "0.5"),
    "a length that a default says": (
        HEAD + "g (float[6] X, int64[1] k) => (int64[1] y) <int64[1] k = {2}, int64[1] c = {2}> { y = Identity(c) }",
        HEAD + "g (float[6] X, int64[1] k) => (int64[1] y) <int64[1] k = {2}, int64[1] c = {2}> { u, w = TopK(X, k) y = Shape(u) }",
    ),
    "a length that a branch declares": (
        HEAD + "g (float[N] X, bool b) => (int64[1] y) <int64[1] c = {3}> { y = Identity(c) }",
        HEAD
        + "g (float[N] X, bool b) => (int64[1] y) { u = If(b) <then_branch = t () => (float[3] r) { r = Neg(X) }, else_branch = e () => (float[3] s) { s = Abs(X) }> y = Shape(u) }",
    ),
    "a product beyond int64": (
        HEAD
        + "g (float[N] X) => (bool y) <int64 a = {4611686018427387904}, int64 b = {4}, int64 z = {0}> { p = Mul(a, b) y = Greater(p, z) }",
        HEAD + "g (float[N] X) => (bool y) <bool c = {1}> { y = Identity(c) }",
    ),
    "a cast that cuts numbers": (
        HEAD
        + "g (float[N] X) => (int64[a,b] y) <int64[2] c = {4294967297, 7}, int64[1] o = {2}> { h = Shape(X) g = Concat<axis = 0>(h, o) e = Expand(c, g) d = Cast<to = 6>(e) y = Cast<to = 7>(d) }",
        HEAD
        + "g (float[N] X) => (int64[a,b] y) <int64[2] c = {4294967297, 7}, int64[1] o = {2}> { h = Shape(X) g = Concat<axis = 0>(h, o) y = Expand(c, g) }",
    ),
    "axes that are none": (
        HEAD + "g (float[1,N] X) => (float[a] y) <int64[0] a = {}> { y = Squeeze(X, a) }",
        HEAD + "g (float[1,N] X) => (float[a,b] y) { y = Identity(X) }",
    ),
    "a node before what it reads": (
        HEAD + "g (float[N] X) => (float[N] y) { e = ReduceMax<keepdims = 0>(X) y = Clip(X) }",
        HEAD + "g (float[N] X) => (float[N] y) { y = Clip(X, e) e = ReduceMax<keepdims = 0>(X) }",
    ),
    "two imports": (
        SAME.replace("Identity", "Softmax"),
        SAME.replace("Identity", "Softmax").replace('"" : 17]', '"" : 17, "ai.onnx" : 12]'),
    ),
    "a node that was unread before, and fails": (
        SAME.replace("{ y", "{ u = MatMul(X, X) y"),
        SAME.replace("{ y = Identity(X)", "{ u = MatMul(X, X) s = Shape(u) e = ConstantOfShape(s) z = Sub(e, e) y = Add(X, z)"),
    ),
    "positions outside, read only by the result": (
        HEAD + "g (float[N] X) => (float[a] y) <int64[1] i = {5}, int64[1] z = {0}> { u = Gather(X, i) y = Identity(X) }",
        HEAD
        + "g (float[N] X) => (float[a] y) <int64[1] i = {5}, int64[1] z = {0}> { u = Gather(X, i) v = Slice(u, z, z) y = Concat<axis = 0>(X, v) }",
    ),
    "an unread node that fails": (SAME, SAME.replace("{ y", "{ u = MatMul(X, X) y")),
    "an input that is narrowed to nothing": (
        HEAD + "g (float[3] X) => (float[K] y) { y = Relu(X) }",
        HEAD + "g (float[4] X) => (float[K] y) { y = Neg(X) }",
    ),
    "an input of another rank": (
        HEAD + "g (float[N] X) => (float[a] y) { y = Relu(X) }",
        HEAD + "g (float[N,M] X) => (float[a,b] y) { y = Relu(X) }",
    ),
    "bounds that are no scalars": (
        HEAD + "g (float[N] X, float m) => (float[N] y) { y = Clip(X, m) }",
        HEAD + "g (float[N] X, float m) => (float[N] y) { s = Shape(X) e = Expand(m, s) y = Clip(X, e) }",
    ),
    "an operator that the opset does not have": (
        HEAD + "g (float[N,1,M] X) => (float[a,b] y) <int64[1] a = {1}> { y = Squeeze(X, a) }",
        HEAD.replace("17", "12") + "g (float[N,1,M] X) => (float[a,b] y) <int64[1] a = {1}> { y = Squeeze(X, a) }",
    ),
    "a shape that only the result declares": (
        HEAD + "g (float[N] X, int64[1] s) => (int64[K] y) { h = Reshape(X, s) y = Shape(h) }",
        HEAD + "g (float[N] X, int64[1] s) => (int64[K] y) <float[7] h> { h = Reshape(X, s) y = Shape(h) }",
    ),
    "another length of an output": (
        HEAD + "g (float[N] X, int64[1] s) => (float[K] h) { h = Reshape(X, s) }",
        HEAD + "g (float[N] X, int64[1] s) => (float[7] h) { h = Reshape(X, s) }",
    ),
    "another length in a body": (BODY % ("N", "N"), BODY % (7, 7)),
    "another type behind an operator of another domain": (FOREIGN % (1, "float"), FOREIGN % (1, "double")),
    "another version of a domain": (FOREIGN % (1, "float"), FOREIGN % (2, "float")),
    "a shape cast to int8": (
        HEAD
        + "g (float[N] X, float[301] Z) => (float[a] y) { s = Shape(Z) r = Cast<to = 3>(s) q = Cast<to = 7>(r) y = Reshape(X, q) }",
        HEAD + "g (float[N] X, float[301] Z) => (float[a] y) <int64[1] q = {301}> { y = Reshape(X, q) }",
    ),
    "a start that is computed": (
        HEAD
        + "g (float[2,3,4] X, int64[1] k, float[1,1,1] v) => (int64[a] y) <int64[1] e = {3}> { s = Shape(X) t = Slice(s, k, e) u = Expand(v, t) y = Shape(u) }",
        HEAD + "g (float[2,3,4] X, int64[1] k, float[1,1,1] v) => (int64[a] y) <int64[3] c = {2,3,4}> { y = Identity(c) }",
    ),
    "a window that begins behind the input": (
        HEAD
        + "g (float[1,1,4,4] X) => (int64[4] y) { u = MaxPool<kernel_shape = [1, 1], strides = [2, 2], ceil_mode = 1>(X) y = Shape(u) }",
        HEAD + "g (float[1,1,4,4] X) => (int64[4] y) <int64[4] c = {1,1,3,3}> { y = Identity(c) }",
    ),
    "a product of chosen constants that overflows": (
        HEAD + f"g (bool[N] b) => (bool[K] y) {LARGE} {{ w = Where(b, a, c) m = Mul(w, w) k = Mul(m, w) y = Greater(k, z) }}",
        HEAD + f"g (bool[N] b) => (bool[K] y) {LARGE} {{ w = Where(b, a, c) y = Greater(w, z) }}",
    ),
    "a product of a length and constants that overflows": (
        HEAD
        + f"g (float[N] X) => (bool[1] y) {LARGE} {{ h = Shape(X) p = Mul(h, a) q = Mul(p, a) r = Mul(q, a) y = GreaterOrEqual(r, z) }}",
        HEAD + "g (float[N] X) => (bool[1] y) <bool[1] c = {1}> { y = Identity(c) }",
    ),
    "a draw in one of two overloads": (OVERLOADS % "c.f:r(X)", OVERLOADS % "Identity(y)"),
    "an erased element of another type": (
        HEAD + "g (int64[3] X) => (int64 y) { s = SequenceConstruct(X) h = SequenceErase(s) y = SequenceLength(h) }",
        HEAD + "g (int64[3] X) => (int64 y) { h = SequenceEmpty<dtype = 1>() y = SequenceLength(h) }",
    ),
    "a default that IR version 3 does not override": (HEAD + GIVEN, HEAD.replace("8", "3", 1) + GIVEN),
    "a function that one of another opset calls": (BEHIND % "Relu", BEHIND % "Neg"),
    "a default that a caller passes on": (
        PASSED_ON,
        HEAD + "g (float[N,M] X) => (float[K,L] y) { y = Softmax<axis = -1>(X) }",
    ),
    "another length in a body in a function": (CALLED_BODY % ("N", "N"), CALLED_BODY % (7, 7)),
    "numbers of a long Range that overflow": (
        HEAD
        + f"g (float[N] X) => (bool[K] y) {RANGE} {{ r = Range(z, l, o) p = Mul(r, r) q = Mul(p, r) y = GreaterOrEqual(q, z) }}",
        HEAD + f"g (float[N] X) => (bool[K] y) {RANGE} {{ r = Range(z, l, o) y = GreaterOrEqual(r, z) }}",
    ),
    "operands that repeat below opset 7": (HEAD + ADDED, HEAD.replace("17", "6") + ADDED),
    "numbers of a Range of a large length that overflow": (
        HEAD + NUMBERS % "p = Mul(r, r) q = Mul(p, r) h = GreaterOrEqual(q, z)",
        HEAD + NUMBERS % "h = GreaterOrEqual(r, z)",
    ),
    "numbers of a Range that int32 does not hold": (
        HEAD + NUMBERS % "p = Mul(r, r) c = Cast<to = 6>(p) q = Cast<to = 7>(c) h = GreaterOrEqual(q, z)",
        HEAD + NUMBERS % "h = GreaterOrEqual(r, z)",
    ),
    "a power of a length that nobody knows": (
        HEAD
        + "g (float[N,N,N,N] X) => (bool y) <int64 z = {0}, int64 o = {1}> { n = NonZero(X) h = Shape(n) s = Gather(h, o) p = Mul(s, s) q = Mul(p, p) r = Mul(q, p) y = GreaterOrEqual(r, z) }",
        HEAD + "g (float[N,N,N,N] X) => (bool y) <bool c = {1}> { y = Identity(c) }",
    ),
    "a symbol of another input": (HEAD + TWO_INPUTS % ("M", ""), HEAD + TWO_INPUTS % ("N", "")),
    "a symbol that only the result declares": (
        HEAD + TWO_INPUTS % ("M", ""),
        HEAD + TWO_INPUTS % ("M", "<float[N] w, float[N] d>"),
    ),
    "a symbol that inference may make up": (
        HEAD + TWO_INPUTS % ("M", "<float[unk__0] a>"),
        HEAD + TWO_INPUTS % ("M", "<float[unk__0] a, float[unk__0] w>"),
    ),
    "a draw that is moved into a Loop": (
        HEAD + DRAWS % ("z = RandomNormalLike(X)", ""),
        HEAD + DRAWS % ("", "z = RandomNormalLike(X)"),
    ),
    "a random Dropout that is moved into a Loop": (
        HEAD + DRAWS % ("z = Dropout(X, r, t)", ""),
        HEAD + DRAWS % ("", "z = Dropout(X, r, t)"),
    ),
    "a length that is declared of a value that no node makes": (
        HEAD + "g (float[N] X) => (int64[1] y) <float[7] h> { y = Shape(X) }",
        HEAD + "g (float[N] X) => (int64[1] y) <float[7] h> { h = Exp(X) y = Shape(h) }",
    ),
    "a function with the name of onnxruntime's operator": (
        SHADOWING % ("com.microsoft", "com.microsoft", "Gelu", "com.microsoft", "Gelu"),
        HEAD + "g (float[N] X) => (float[K] y) { y = Neg(X) }",
    ),
    "a function with the name of ONNX's operator": (
        SHADOWING % ("c", "ai.onnx", "Relu", "ai.onnx", "Relu"),
        HEAD + "g (float[N] X) => (float[K] y) { y = Neg(X) }",
    ),
    "the rank behind axes that are none": (
        HEAD + "g (float[1,N] X) => (int64[K] y) <int64[0] a = {}> { h = Squeeze(X, a) s = Shape(h) y = Shape(s) }",
        HEAD + "g (float[1,N] X) => (int64[K] y) <int64[1] c = {2}> { y = Identity(c) }",
    ),
    "a keepdims of data that is neither 0 nor 1": (
        HEAD + "g (float[2,3] X) => (int64[K] y) { p = ReduceMax<keepdims = 2>(X) y = Shape(p) }",
        HEAD + "g (float[2,3] X) => (int64[2] y) <int64[2] c = {1, 1}> { y = Identity(c) }",
    ),
    "a ceil_mode that is neither 0 nor 1": (
        HEAD
        + "g (float[1,1,5] X) => (int64[K] y) { p = MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 2>(X) y = Shape(p) }",
        HEAD + "g (float[1,1,5] X) => (int64[3] y) <int64[3] c = {1, 1, 2}> { y = Identity(c) }",
    ),
    "a ceil_mode that is neither 0 nor 1, in a function of another opset": (
        '<ir_version: 8, opset_import: ["" : 13, "my" : 1]> g (float[1,1,5] X) => (int64[K] y) { p = my.leaky(X) y = Shape(p) } <domain: "my", opset_import: ["" : 12]> leaky (x) => (z) { z = MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 2>(x) }',
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,1,5] X) => (int64[3] y) <int64[3] c = {1, 1, 2}> { y = Identity(c) }',
    ),
    "a transA that is neither 0 nor 1": (
        '<ir_version: 8, opset_import: ["" : 13, "com.microsoft" : 1]> g (float[2,3] X, float[2,4] W) => (int64[K] y) { p = com.microsoft.FusedMatMul<transA = 2>(X, W) y = Shape(p) }',
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] X, float[2,4] W) => (int64[2] y) <int64[2] c = {3, 4}> { y = Identity(c) }',
    ),
    "a keepdims that is neither 0 nor 1, in a branch": (
        HEAD
        + "g (float[4] X, bool b) => (int64[K] y) { h = Shape(X) u = If(b) <then_branch = t () => (int64[L] r) { r = ReduceSum<keepdims = 2>(h) }, else_branch = e () => (int64[M] s) { s = ReduceSum<keepdims = 2>(h) }> y = Shape(u) }",
        HEAD + "g (float[4] X, bool b) => (int64[K] y) { y = Shape(b) }",
    ),
    "a keepdims that is neither 0 nor 1": (
        HEAD + "g (float[N,3] X) => (int64[K] y) { h = Shape(X) p = ReduceProd<keepdims = 2>(h) y = Shape(p) }",
        HEAD + "g (float[N,3] X) => (int64[K] y) <int64[1] c = {1}> { y = Identity(c) }",
    ),
    "what a Loop collects in no turn, of a value that inference does not follow": (
        HEAD + COLLECTS % "z = ConstantOfShape(c)",
        HEAD + COLLECTS % "s = SequenceConstruct(c) d = SequenceAt(s, p) z = ConstantOfShape(d)",
    ),
    "what a Loop collects in no turn, of a list that is new": (
        HEAD + COLLECTS_OF % ("d = Identity(c)", A_LOOP),
        HEAD + COLLECTS_OF % ("s = SequenceConstruct(c) d = SequenceAt(s, p)", A_LOOP),
    ),
    "what a Loop in a branch collects in no turn": (
        HEAD + COLLECTS_OF % ("d = Identity(c)", IN_A_BRANCH),
        HEAD + COLLECTS_OF % ("s = Shape(X) e = Sub(s, s) d = Add(c, e)", IN_A_BRANCH),
    ),
    "the length of what a Loop collects in no turn": (
        HEAD
        + "g (float[N] X, int64 n) => (int64 y) <int64 o = {1}, bool go = {1}> { q = Loop(n, go) <body = bd (int64 i, bool cond) => (bool co, float[R] z) { co = Identity(cond) c = Constant<value = int64[1] {3}>() d = Add(c, c) e = Sub(d, c) z = ConstantOfShape(e) }> s = Shape(q) y = Gather(s, o) }",
        HEAD + "g (float[N] X, int64 n) => (int64 y) <int64 c = {3}> { y = Identity(c) }",
    ),
    "a length that a Loop does not declare any more": (
        HEAD + RESHAPES % "3",
        HEAD + RESHAPES % "R",
    ),
    "the place of a scalar that is not 0": (
        HEAD + "g (float X) => (int64 y) <int64 z = {0}> { u = NonZero(X) s = Shape(u) y = Gather(s, z) }",
        HEAD + "g (float X) => (int64 y) <int64 z = {0}> { y = Identity(z) }",
    ),
    "an element of a list that a Loop carries": (
        HEAD
        + "g (float[3] X, float[4] Z, int64 n) => (int64[K] y) <int64 p = {-1}> { q = SequenceConstruct(X) s = Loop(n, , q) <body = bd (int64 i, bool c, seq(float[P]) t) => (bool co, seq(float[P]) u) { co = Identity(c) u = SequenceInsert(t, Z) }> e = SequenceAt(s, p) y = Shape(e) }",
        HEAD + "g (float[3] X, float[4] Z, int64 n) => (int64[K] y) <int64[1] c = {3}> { y = Identity(c) }",
    ),
    "a name of two values in two branches": (
        HEAD + TWO_BRANCHES % "w = Neg(X) q = MaxPool<kernel_shape = [1], strides = [2], ceil_mode = 1>(w) s = Shape(q)",
        HEAD + TWO_BRANCHES % "c = Constant<value = int64[3] {1, 1, 3}>() s = Identity(c)",
    ),
    "a parameter of a body with the name of a constant elsewhere": (
        HEAD
        + PARAMETER
        % "c = Constant<value = float[2,3] {1,2,3,4,5,6}>() h = Shape(c) e = Constant<value = int64[1] {2}>() t = Slice(h, j, e) u = Expand(v, t) s = Shape(u)",
        HEAD + PARAMETER % "s = Constant<value = int64[2] {2, 3}>()",
    ),
    "a window behind the data, of onnxruntime's own": (
        MICROSOFT
        + "g (uint8[1,2,2] X) => (int64[K] y) { p = com.microsoft.NhwcMaxPool<ceil_mode = 1, kernel_shape = [1], strides = [2]>(X) y = Shape(p) }",
        HEAD + "g (uint8[1,2,2] X) => (int64[K] y) <int64[3] c = {1, 2, 2}> { y = Identity(c) }",
    ),
    "lengths beside an empty operand": (
        HEAD
        + "g (float[N,M] X) => (float[a,b] y, float[c,d] z) <int64[2] e = {0,0}> { o = ConstantOfShape(e) z = Concat<axis = 0>(X, o) y = Neg(X) }",
        HEAD
        + "g (float[N,M] X) => (float[a,b] y, float[c,d] z) <int64[2] e = {0,0}> { o = ConstantOfShape(e) z = Concat<axis = 0>(X, o) y = Abs(X) }",
    ),
    "heads of two sizes": (
        MICROSOFT
        + "g (float[1,1,3] X, float[3,20] W, float[20] B) => (int64[K] y) { o, p = com.microsoft.Attention<num_heads = 2, qkv_hidden_sizes = [8, 8, 4]>(X, W, B) y = Shape(p) }",
        HEAD + "g (float[1,1,3] X, float[3,20] W, float[20] B) => (int64[K] y) <int64[5] c = {2, 1, 2, 1, 4}> { y = Identity(c) }",
    ),
    "a default that only IR version 8 lets callers override": (
        HEAD.replace("8", "3", 1).replace("17", "13") + DEFAULT_LENGTHS,
        HEAD.replace("17", "13") + DEFAULT_LENGTHS,
    ),
    "lengths that runtimes infer at one opset alone": (
        HEAD.replace("17", "12") + CAST_LENGTHS,
        HEAD.replace("17", "13") + CAST_LENGTHS,
    ),
    "exchanged calls of functions that declare other lengths": (
        TWO_FUNCTIONS % ("y = c.f(n, k) z = c.g(n, k)", 3, "R"),
        TWO_FUNCTIONS % ("y = c.g(n, k) z = c.f(n, k)", 3, "R"),
    ),
    "parts that are left out since they are empty, of onnxruntime's own": (
        MICROSOFT
        + "g (uint8[0,3] X, uint8[N,M] Z) => (int64 y, uint8[d,e] q) <float s = {1}, uint8 p = {0}, int64 o = {1}> { q = com.microsoft.QLinearConcat<axis = 0>(s, p, X, s, p, Z, s, p) h = Shape(q) y = Gather(h, o) }",
        MICROSOFT
        + "g (uint8[0,3] X, uint8[N,M] Z) => (int64 y, uint8[d,e] q) <float s = {1}, uint8 p = {0}, int64 o = {3}> { q = com.microsoft.QLinearConcat<axis = 0>(s, p, X, s, p, Z, s, p) y = Identity(o) }",
    ),
    "dilated windows with padding of their own, of onnxruntime's own": (
        MICROSOFT
        + 'g (uint8[N,7,3,1] X) => (int64[K] y) { p = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2], dilations = [1, 2], auto_pad = "SAME_UPPER">(X) y = Shape<start = 1>(p) }',
        MICROSOFT + "g (uint8[N,7,3,1] X) => (int64[K] y) <int64[3] c = {7, 3, 1}> { y = Identity(c) }",
    ),
    "a word that Cast does not know": (
        HEAD.replace("17", "25") + "g (float[N] X) => (int64[N] y) { y = Cast<to = 7>(X) }",
        HEAD.replace("17", "25") + 'g (float[N] X) => (int64[N] y) { y = Cast<to = 7, round_mode = "foo">(X) }',
    ),
    "sizes and a number of parts": (
        HEAD.replace("17", "18") + "g (float[N] X) => (float[a] y, float[b] z) <int64[2] s = {2,3}> { y, z = Split(X, s) }",
        HEAD.replace("17", "18")
        + "g (float[N] X) => (float[a] y, float[b] z) <int64[2] s = {2,3}> { y, z = Split<num_outputs = 2>(X, s) }",
    ),
    "a word of Cast for 8-bit floats, where there are none": (
        HEAD.replace("17", "21") + "g (float[N] X) => (int64[N] y) { y = Cast<to = 7>(X) }",
        HEAD.replace("17", "21") + "g (float[N] X) => (int64[N] y) { y = Cast<to = 7, saturate = 0>(X) }",
    ),
    "a word that no operator knows": (
        HEAD.replace("17", "20") + "g (float[N] X) => (float[N] y) { y = Identity(X) }",
        HEAD.replace("17", "20") + 'g (float[N] X) => (float[N] y) { u = Gelu<approximate = "foo">(X) y = Identity(X) }',
    ),
}
"""Pairs of models that differ, each in a way of its own."""


DECLARES = "the result declares of '%s' what the original does not"
REFUSED = {
    "a counter that is a vector": "a Loop declares another type of its counter or condition than Loop has",
    "a length that a branch declares": DECLARES % "r",
    "a node before what it reads": "onnx refuses the result: Nodes in a graph must be topologically sorted",
    "two imports": "a model does not import ONNX's own domain once",
    "an input that is narrowed to nothing": "the result takes no inputs that the original takes",
    "an input of another rank": "the result has other inputs or outputs",
    "an operator that the opset does not have": "onnx refuses the result: Node with schema(::Squeeze:11) has input size 2",
    "a shape that only the result declares": DECLARES % "h",
    "another length of an output": DECLARES % "h",
    "another length in a body": DECLARES % "s",
    "another type behind an operator of another domain": DECLARES % "y",
    "a default that IR version 3 does not override": "the result has other inputs or outputs",
    "another length in a body in a function": DECLARES % "s",
    "a symbol of another input": DECLARES % "W",
    "a symbol that only the result declares": DECLARES % "w",
    "a symbol that inference may make up": DECLARES % "w",
    "a length that is declared of a value that no node makes": DECLARES % "h",
    "another version of a domain": "the result imports a version of 'c' that the original does not",
    "another version of a domain beside two functions": "the result imports a version of 'e' that the original does not",
    "a function that one of another opset calls": "the function '",
    "a ceil_mode that is neither 0 nor 1, in a function of another opset": "the function 'leaky' is of another opset than the model",
    "a function with the name of onnxruntime's operator": "runtimes may have an operator of their own in place of the function",
    "a function with the name of ONNX's operator": "runtimes may have an operator of their own in place of the function",
}
"""Why nothing at all is proved of some of these pairs."""
SIZES_IN_BODIES = "g (float[N,5] X, bool b) => (float[p,q] y) <int64[2] s = {2,3}, int64[2] t = {3,2}> { y = If(b) <%s = f () => (float[c,d] u) { k, l = Split<axis = 1>(X, s) u = Concat<axis = 1>(l, k) }, %s = e () => (float[h,i] w) { m, n = Split<axis = 1>(X, %s) o = Neg(m) w = Concat<axis = 1>(o, n) }> }"
PARTS_IN_BODIES = (
    SIZES_IN_BODIES.replace("Split<axis = 1>(X, s)", "Split<axis = 1, split = [2, 3]>(X)")
    .replace("Split<axis = 1>(X, %s)", "Split<axis = 1, split = %s>(X)")
    .replace("<int64[2] s = {2,3}, int64[2] t = {3,2}>", "")
)
BRANCHES_OF_IF = "then_branch", "else_branch"
SIZES_OF_13 = HEAD.replace("17", "13") + SIZES_IN_BODIES
PARTS_OF_11 = HEAD.replace("17", "11") + PARTS_IN_BODIES
IN_A_SCAN = "g (float[N,4,5] X) => (float[p,q,r] y) %s { y = Scan<num_scan_inputs = 1, body = bd (float[4,5] x) => (float[c,d] u) { k, l = Split<axis = 1%s>(x%s) u = Concat<axis = 1>(%s) }>(X) }"
SCAN_OF_13 = HEAD.replace("17", "13") + IN_A_SCAN % ("<int64[2] s = {2,3}>", "", ", s", "l, k")
SCAN_OF_11 = HEAD.replace("17", "11") + IN_A_SCAN % ("", ", split = [2, 3]", "", "%s")
LEAK = "g (float[N] X, bool b) => (float[p] y, float[q] z) <int64[2] s = {2,3}, int64[1] o = {0}, int64[1] f = {5}> { y = If(b) <then_branch = t () => (float[c] u) { k, l = Split(X, s) u = Concat<axis = 0>(l, k) }, else_branch = e () => (float[h] w) { w = Neg(X) }> z = %s }"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SIZES_OF_13 % (*BRANCHES_OF_IF, "s"), PARTS_OF_11 % (*BRANCHES_OF_IF, "[2, 3]")),
        (PARTS_OF_11 % (*BRANCHES_OF_IF, "[3, 2]"), SIZES_OF_13 % (*BRANCHES_OF_IF, "t")),
        (SCAN_OF_13, SCAN_OF_11 % "l, k"),
        (HEAD + LEAK % "Identity(X)", HEAD.replace("17", "16") + LEAK % "Identity(X)"),
    ],
)
def test_bodies_that_make_the_same_are_proved(before: str, after: str) -> None:
    found = certify(*(onnx.parser.parse_model(text).SerializeToString() for text in (before, after)))
    assert found.is_proved, [str(change) for change in found.changes]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SIZES_OF_13 % (*BRANCHES_OF_IF, "s"), PARTS_OF_11 % (*BRANCHES_OF_IF, "[3, 2]")),
        (SIZES_OF_13 % (*BRANCHES_OF_IF, "s"), PARTS_OF_11 % (*reversed(BRANCHES_OF_IF), "[2, 3]")),
        (SCAN_OF_13, SCAN_OF_11 % "k, l"),
        (HEAD + LEAK % "Identity(X)", HEAD.replace("17", "16") + LEAK % "Slice(X, o, f)"),
        (HEAD + LEAK % "Identity(X)", HEAD.replace("17", "16") + (LEAK % "Identity(X)").replace("Neg", "Abs")),
        (
            HEAD + LEAK % "Identity(X)",
            HEAD.replace("17", "16") + (LEAK % "Identity(X)").replace("w = Neg(X)", "w = Slice(X, o, f)"),
        ),
    ],
)
def test_bodies_that_differ_are_not_proved(before: str, after: str) -> None:
    found = certify(*(onnx.parser.parse_model(text).SerializeToString() for text in (before, after)))
    assert not found.reason
    assert not found.outputs[0].is_proved or not found.outputs[-1].is_proved


def test_a_long_chain_loses_its_own_proof_alone() -> None:
    chain = " ".join(f"x{number + 1} = Relu(x{number})" for number in range(260))
    text = f"g (float[N,M] x0) => (float[a,b] y, float[c,d] z, float[e,f] w) {{ {chain} y, z = Split<axis = 1%s>(x260%s) w = Identity(x0) }}"
    before = model(text % (", num_outputs = 2", ""), 18)
    found = certify(before.SerializeToString(), convert_version(before, 13, compare="off").model.SerializeToString())
    assert not found.reason
    assert {proof.name: proof.is_proved for proof in found.outputs}["w"]


def test_a_name_of_another_type_loses_its_own_proof_alone() -> None:
    before = "g (float[N] x) => (bool[1] y, float[M] z) <int64[1] k = {2}> { s = Shape(x) t = Add(s, k) y = Less(t, k) z = Neg(x) }"
    after = "g (float[N] x) => (bool[1] y, float[M] z) <int64[1] k = {0}> { s = Shape(x) t = Less(s, k) y = Not(t) z = Neg(x) }"
    found = certificate(before, 13, after, 13)
    assert not found.reason
    assert {proof.name: proof.is_proved for proof in found.outputs} == {"y": False, "z": True}


def nested(depth: int, split: str) -> str:
    """An If in an If and so on, with Split in the innermost one."""
    nodes = split
    for level in range(depth):
        read = f"o{level - 1}" if level else "p"
        then = f"t{level} () => (float[p{level}] u{level}) {{ {nodes} u{level} = Neg({read}) }}"
        nodes = f"o{level} = If(b) <then_branch = {then}, else_branch = e{level} () => (float[q{level}] w{level}) {{ w{level} = Abs(X) }}>"
    stored = "<int64[2] s = {2,3}>" if "s)" in split else ""
    return f"g (float[5] X, bool b) => (float[a] y) {stored} {{ {nodes} y = Neg(o{depth - 1}) }}"


def test_bodies_at_any_depth_are_read_a_few_times_each() -> None:
    """Of many nodes that are alike, those with the outputs of the same name are compared."""
    pair = nested(12, "o, p = Split<axis = 0>(X, s)"), 13, nested(12, "o, p = Split<axis = 0, split = [2, 3]>(X)"), 11
    assert certificate(*pair).is_proved
    other = nested(12, "o, p = Split<axis = 0, split = [3, 2]>(X)")
    assert str(certificate(*pair[:2], other, 11)).startswith("0 of 1 outputs proved for all shapes, 0 of 1 changed values")


@pytest.mark.parametrize("node", ["Div(%s, c)", "Mod(%s, c)", "Mod<fmod = 1>(%s, c)"])
def test_a_division_that_does_not_fail_is_a_function_of_elements(node: str) -> None:
    kind, stored = ("float", "") if "fmod" in node else ("int64", "<int64 c = {3}>")
    head = HEAD + f"g ({kind}[N,M] X{'' if stored else ', float c'}) => ({kind}[a,b] y) {stored} "
    before = f"{head} {{ t = Transpose(X) y = {node % 't'} }}"
    after = f"{head} {{ u = {node % 'X'} y = Transpose(u) }}"
    assert certify(*(onnx.parser.parse_model(text).SerializeToString() for text in (before, after))).is_proved


def test_counters_of_loops_are_known() -> None:
    text = "g (float[N,M] x, int64 n) => (float[a,b] y) { e = SequenceEmpty() s = Loop(n, , e) <body = bd (int64 i, bool c, seq(float[P,Q]) q) => (bool co, seq(float[P,Q]) qo) { co = Identity(c) qo = SequenceInsert(q, x) }> y = ConcatFromSequence<axis = 0>(s) }"
    before = model(text, 17)
    after = convert_version(before, 13, compare="off").model
    assert certify(before.SerializeToString(), after.SerializeToString()).reason == ""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "g (float[0] X) => (float[a] y) { y = Identity(X) }",
            "g (float[0] X) => (float[a] y) { y = Concat<axis = 0>(X, X) }",
            "'y' is proved for all shapes",
        ),
        (
            "g (float[N] X) => (float[a] y) { h = Shape(X) y = ConstantOfShape<value = float[2] {1, 2}>(h) }",
            "g (float[N] X) => (float[a] y) { h = Shape(X) y = ConstantOfShape(h) }",
            "'y' is not proved: other operators compute the length of axis 0",
        ),
        (
            "g (float[N] X, bool[M] k) => (float[a] y) { y = Compress(X, k) }",
            "g (float[N] X, bool[M] k) => (float[a] y) { h = Neg(X) y = Compress(h, k) }",
            "'y' is not proved: other operators compute it",
        ),
        (
            "g (float[N] X, bool[M] k) => (float[a] y) { y = Compress(X, k) }",
            "g (float[N] X, bool[M] k) => (float[a] y) { h = Compress(X, k) y = Concat<axis = 0>(h, h) }",
            "'y' is not proved: nothing shows that axis 0 has the same length",
        ),
        (
            "g (float[N] X, bool[M] k) => (float[a] y) { y = Compress(X, k) }",
            "g (float[N] X, bool[M] k) => (float[a] y) { y = Identity(X) }",
            "'y' is not proved: other operators compute the length of axis 0",
        ),
    ],
)
def test_reasons_are_plain(before: str, after: str, said: str) -> None:
    found = certify(*(onnx.parser.parse_model(HEAD + text).SerializeToString() for text in (before, after)))
    assert str(found.outputs[0]) == said


@pytest.mark.parametrize(
    ("opset", "text"),
    [
        (1, "g (float[N,2] X) => (float[a] y) { h = Reshape(X) y = Neg(h) }"),
        (9, "g (float[N,2] X) => (float[a,b] y) { h = Slice<starts = [0]>(X) y = Neg(h) }"),
        (
            17,
            "g (float[N,2] X) => (float[a,b] y) <int64[1] s = {0}, int64[2] t = {1, 1}> { h = Slice(X, s, s, s, t) y = Neg(h) }",
        ),
        (
            17,
            "g (float[N,2] X) => (float[a,b] y) <int64[1] s = {0}, int64[0] t = {}> { h = Slice(X, s, s, s, t) y = Neg(h) }",
        ),
    ],
)
def test_nodes_that_are_not_valid_end_no_proof(opset: int, text: str) -> None:
    """The checker does not see all that is wrong with the original."""
    before = model(text, opset).SerializeToString()
    after = model(text[: text.index("{ h =")] + "{ h = Relu(X) y = Neg(h) }", opset).SerializeToString()
    found = certify(before, after)
    assert not found.is_proved
    assert not found.reason.startswith("the solver ended")


def test_a_value_of_too_many_terms_is_given_up() -> None:
    rolls = "".join(
        f"a{n} = Slice(r{n}, o, e) b{n} = Slice(r{n}, m, e) r{n + 1} = Concat<axis = 0>(a{n}, b{n}) " for n in range(20)
    )
    text = f"g (float[N,M] x, float[N,M] w) => (float[a,b] y, float[c,d] z, float[e,f] v, float[g,h] u) <int64[1] o = {{1}}, int64[1] e = {{9223372036854775807}}, int64[1] m = {{-1}}> {{ r0 = Relu(x) {rolls} y, z = Split<axis = 1, num_outputs = 2>(r20) v, u = Split<axis = 1, num_outputs = 2>(w) }}"
    before = model(text, 18)
    after = convert_version(before, 13, compare="off").model
    found = certify(before.SerializeToString(), after.SerializeToString())
    assert [output.is_proved for output in found.outputs] == [False, False, True, True]
    assert str(found.outputs[0]) == "'y' is not proved: its elements need too many terms"


@pytest.mark.parametrize("name", FALSE)
def test_models_that_differ_are_not_proved(name: str) -> None:
    before, after = (onnx.parser.parse_model(text) for text in FALSE[name])
    found = certify(before.SerializeToString(), after.SerializeToString())
    assert not found.is_proved
    assert bool(found.reason) == (name in REFUSED) and found.reason.startswith(REFUSED.get(name, ""))


@pytest.mark.parametrize("name", ["?", "None", "-1"])
def test_lengths_whose_name_is_none_are_not_one(name: str) -> None:
    pair = [onnx.parser.parse_model(NAMELESS % value) for value in "XZ"]
    for value in (value for proto in pair for value in proto.graph.input):
        value.type.tensor_type.shape.dim[0].dim_param = name
    assert not certify(*(proto.SerializeToString() for proto in pair)).is_proved


@pytest.mark.parametrize("is_external", [True, False])
def test_large_weights_are_told_apart(tmp_path: Path, is_external: bool) -> None:
    """They are not read: what lies at another place is another value."""

    @simplify("MatMul", opset=13)
    def mixed_up(node: Node) -> None:
        if node.input(1) == "v":
            node.set_input(1, "w")

    proto = model("g (float[N,1000] x) => (float[a,b] y, float[c,d] z) { y = MatMul(x, w) z = MatMul(x, v) }", 13)
    weights = np.random.default_rng(0).standard_normal((2, 1000, 1200), np.float32)
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(weight, name) for weight, name in zip(weights, "wv", strict=True))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=is_external, location="w.bin")
    options = {"rules": [mixed_up], "certify": True}
    found = convert_version(tmp_path / "m.onnx", 14, compare="off", options=Options(**options)).report.certificate
    assert [output.is_proved for output in found.outputs] == [True, False]
    found = convert_version(tmp_path / "m.onnx", 14, compare="off", options=Options(certify=True)).report.certificate
    assert found.is_proved


def test_a_symbol_is_no_dimension_without_a_name() -> None:
    text = "g (float[N] A, float[M] B) => (int64[1] y) { y = Shape(%s) }"
    pair = [onnx.parser.parse_model(HEAD + text % name) for name in "AB"]
    for each in pair:
        each.graph.input[0].type.tensor_type.shape.dim[0].Clear()
        each.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "A[0]"
    assert not certify(*(each.SerializeToString() for each in pair)).is_proved


def test_names_differ_behind_a_character_0() -> None:
    text = "g (float[N] A, float[M] B) => (int64[1] y) { s = Shape(%s) y = Neg(s) }"
    pair = [onnx.parser.parse_model(HEAD + text % name) for name in "AB"]
    for each in pair:
        for value, end in zip(each.graph.input, "AB", strict=True):
            value.type.tensor_type.shape.dim[0].dim_param = f"N\0{end}"
    assert not certify(*(each.SerializeToString() for each in pair)).is_proved


CALLED = '<ir_version: 9, opset_import: ["" : %d, "c" : 1]> g (float[N,6] X) => (float[K,L] y) { h = c.f(X) y = c.f<axis = 0>(h) } <domain: "c", opset_import: ["" : %d]> f <axis: int = 1> (x) => (r) { p, q = Split<axis: int = @axis%s>(x) r = Concat<axis: int = @axis>(%s) }'


def test_functions_are_read_with_their_defaults() -> None:
    before = onnx.parser.parse_model(CALLED % (17, 17, "", "q, p")).SerializeToString()
    right, wrong = (
        onnx.parser.parse_model(CALLED % (18, 18, ", num_outputs = 2", order)).SerializeToString() for order in ("q, p", "p, q")
    )
    assert certify(before, right).is_proved
    assert not certify(before, wrong).is_proved
    other = (CALLED % (18, 18, ", num_outputs = 2", "q, p")).replace("f <axis: int = 1>", "f <axis: int = 0>")
    assert not certify(before, onnx.parser.parse_model(other).SerializeToString()).is_proved


def test_sizes_in_float_are_not_modelled() -> None:
    text = "g (float[4] x, float[2] p) => (float[a] y, float[b] z) { s = Neg(p) y, z = Split<axis = 0>(x, s) }"
    found = certificate(text, 1, text.replace("(x, s)", "(x)"), 2)
    assert not found.reason and not any(output.is_proved for output in found.outputs)


def test_each_value_of_equal_new_nodes_is_named() -> None:
    before = "g (float[N] x) => (float[N] y, float[N] z) { y = Gelu(x) z = Gelu(x) }"
    after = "g (float[N] x) => (float[N] y, float[N] z) { y = Tanh(x) z = Tanh(x) }"
    found = certificate(before, 20, after, 13)
    assert [(change.name, change.is_proved) for change in found.changes] == [("y", False), ("z", False)]
    assert not any(output.is_proved for output in found.outputs)


def test_another_rank_has_lengths() -> None:
    before = "g (float[N,1] x) => (float y) <int64[1] a = {1}> { h = Squeeze(x, a) y = ReduceSum<keepdims = 0>(h) }"
    found = certificate(before, 13, before.replace("Squeeze(x, a)", "Identity(x)"), 13)
    assert (found.changes[0].reason, found.changes[0].lengths) == ("it has another type or rank", {"N": 1})


def test_an_invalid_result_is_named() -> None:
    text = "g (float[N] x) => (float[N] y) { y = Relu(x) }"
    found = certificate(text, 13, text.replace("Relu(x)", "Relu(w)"), 13)
    assert str(found).startswith("nothing: onnx refuses the result: ")


PAIR = "g (float[N,M] x) => (float[a,b] y, float[c,d] z, float[N,M] w) { y, z = Split<axis = 1, num_outputs = 2>(x) w = Gelu(x) }"


@pytest.mark.parametrize("compare", ["model", "nodes"])
def test_the_comparison_names_proofs(compare: str) -> None:
    found = convert_version(model(PAIR, 20), 13, compare=compare, options=Options(certify=True)).report.comparison
    kinds = {piece.change.split(" ")[0]: piece.evidence for piece in found.pieces}
    assert kinds == ({"Split": "proved for all shapes", "Gelu": "sampled"} if compare == "nodes" else {})
    assert found.evidence == ("" if compare == "nodes" else "sampled")
    moved = model(PAIR.replace("w = Gelu(x)", "w = Identity(x)"), 20)
    whole = convert_version(moved, 13, compare="model", options=Options(certify=True)).report.comparison
    assert whole.evidence == "proved for all shapes"


def test_long_and_branching_chains_are_read() -> None:
    nodes = "".join(f"b{n} = Sigmoid(a{n}) a{n + 1} = Mul(a{n}, b{n}) " for n in range(30))
    text = f"g (float[N,M] a0) => (float[a,b] y, float[c,d] z) {{ {nodes} y, z = Split<axis = 1, num_outputs = 2>(a30) }}"
    after = convert_version(model(text, 18), 13, compare="off").model
    assert certify(model(text, 18).SerializeToString(), after.SerializeToString()).is_proved
    assert certify(
        *[
            model(
                f"g (float[N] x0) => (float[N] x900) {{ {''.join(f'x{n + 1} = Relu(x{n}) ' for n in range(900))} }}", 13
            ).SerializeToString()
        ]
        * 2
    ).is_proved


def test_choices_in_a_large_table_count_as_terms() -> None:
    table = of_entries(onnx.TensorProto.INT64, np.arange(1000).astype(object), is_sized=False)
    asked = iter(range(1000))
    with limited(), pytest.raises(NotModelledError, match="too many terms"):
        for number in asked:
            table.at((z3.Int(f"position_{number}"),))
    assert 900 < len(list(asked)) < 990
