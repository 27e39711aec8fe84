"""What the proofs say that operators compute: the same as onnxruntime, for all small lengths, valid or not."""

from __future__ import annotations

import pytest
from certified import disagreements
from documentation import ROOT
from helpers import model

from split_rewrite.rewriter.certifying.calls import MODELS

CASES = {
    "split by input": (
        13,
        "g (float[N,M] x) => (float[a,b] y, float[c,d] z) <int64[2] s = {1,2}> { y, z = Split<axis = 1>(x, s) }",
    ),
    "split in equal parts": (13, "g (float[N,M] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = -2>(x) }"),
    "split by attribute": (11, "g (float[N,M] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = 1, split = [2, 1]>(x) }"),
    "split by number": (18, "g (float[N,M] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = 1, num_outputs = 2>(x) }"),
    "split of opset 2": (2, "g (float[N,M] x) => (float[a,b] y, float[c,d] z) { y, z = Split<axis = 1>(x) }"),
    "split to sequence": (
        13,
        "g (float[N,3] x) => (float[a,b] y) <int64[2] s = {1,2}, int64 p = {-1}> { q = SplitToSequence<axis = 1>(x, s) y = SequenceAt(q, p) }",
    ),
    "split to sequence by length": (
        13,
        "g (float[3,N] x) => (float[a,b] y) <int64 s = {2}, int64 p = {1}> { q = SplitToSequence(x, s) y = SequenceAt(q, p) }",
    ),
    "split to sequence by a length that is computed": (
        13,
        "g (float[N,2] x) => (float[a,b] y) <int64 z = {0}, int64 o = {1}, int64 t = {2}> { n = Shape(x) m = Gather(n, z) k = Add(m, o) s = Div(k, t) q = SplitToSequence(x, s) y = SequenceAt(q, o) }",
    ),
    "split to sequence without axis": (
        13,
        "g (float[3,N] x) => (float[a] y) <int64 p = {2}> { q = SplitToSequence<keepdims = 0>(x) y = SequenceAt(q, p) }",
    ),
    "sequence edits": (
        13,
        "g (float[N] x, float[N] w, float[M] v) => (float[a] y, int64 n) <int64 p = {0}, int64 e = {-2}> { q = SequenceConstruct(x, w) r = SequenceInsert(q, v, p) s = SequenceErase(r, e) t = SequenceInsert(s, x) y = ConcatFromSequence<axis = 0>(t) n = SequenceLength(t) }",
    ),
    "stacked sequence": (
        13,
        "g (float[N,2] x, float[N,2] w) => (float[a,b,c] y) { q = SequenceConstruct(x, w) y = ConcatFromSequence<axis = -1, new_axis = 1>(q) }",
    ),
    "erased at the end": (
        13,
        "g (float[N] x, float[M] w) => (float[a] y) { q = SequenceConstruct(x, w, x) r = SequenceErase(q) y = ConcatFromSequence<axis = 0>(r) }",
    ),
    "slice": (13, "g (float[N,M] x) => (float[a,b] y) <int64[2] s = {1,-2}, int64[2] e = {9,-1}> { y = Slice(x, s, e) }"),
    "slice in steps": (
        13,
        "g (float[N,M] x) => (float[a,b] y) <int64[1] s = {-9}, int64[1] e = {9}, int64[1] a = {-1}, int64[1] t = {2}> { y = Slice(x, s, e, a, t) }",
    ),
    "slice backward": (
        13,
        "g (float[N,M] x) => (float[a,b] y) <int64[2] s = {-1,1}, int64[2] e = {-9,-9223372036854775808}, int64[2] a = {1,0}, int64[2] t = {-1,-2}> { y = Slice(x, s, e, a, t) }",
    ),
    "slice by attributes": (9, "g (float[N,M] x) => (float[a,b] y) { y = Slice<axes = [1], starts = [1], ends = [-1]>(x) }"),
    "slice to a length": (
        15,
        "g (float[N,M] x) => (float[a,b] y) <int64[1] z = {0}> { n = Shape<start = 1>(x) y = Slice(x, z, n, z) }",
    ),
    "concat": (13, "g (float[N,2] x, float[M,2] w) => (float[a,b] y) { y = Concat<axis = -2>(x, w, x) }"),
    "gather": (13, "g (float[N,M] x) => (float[a,b,c] y) <int64[1,2] i = {0,-1}> { y = Gather<axis = 1>(x, i) }"),
    "gather one": (13, "g (float[N,M] x) => (float[a] y) <int64 i = {1}> { y = Gather(x, i) }"),
    "gather the last": (
        13,
        "g (float[N,M] x) => (float[a] y) <int64 p = {1}, int64 o = {1}> { n = Shape(x) m = Gather(n, p) i = Sub(m, o) y = Gather<axis = 1>(x, i) }",
    ),
    "reshape": (13, "g (float[N,4] x) => (float[a,b] y) <int64[3] s = {0,2,-1}> { y = Reshape(x, s) }"),
    "reshape to rows": (13, "g (float[N,M] x) => (float[a] y) <int64[1] s = {-1}> { y = Reshape(x, s) }"),
    "reshape across": (13, "g (float[N,4] x) => (float[a,b] y) <int64[2] s = {4,-1}> { y = Reshape(x, s) }"),
    "reshape in pairs": (13, "g (float[N,M] x) => (float[a,b] y) <int64[2] s = {-1,2}> { y = Reshape(x, s) }"),
    "reshape to zeros": (14, "g (float[N,2] x) => (float[a,b] y) <int64[2] s = {0,2}> { y = Reshape<allowzero = 1>(x, s) }"),
    "reshape by lengths": (
        13,
        "g (float[N,M,2] x) => (float[a,b] y) <int64[1] z = {0}, int64[1] o = {1}, int64[1] m = {-1}> { n = Shape(x) f = Slice(n, z, o) s = Concat<axis = 0>(f, m) y = Reshape(x, s) }",
    ),
    "reshape by attribute": (4, "g (float[N,2] x) => (float[a,b] y) { y = Reshape<shape = [2, -1]>(x) }"),
    "flatten": (13, "g (float[N,2,M] x) => (float[a,b] y) { y = Flatten<axis = 2>(x) }"),
    "flatten all": (13, "g (float[N,2,M] x) => (float[a,b] y) { y = Flatten<axis = 0>(x) }"),
    "flatten from the end": (13, "g (float[N,2,M] x) => (float[a,b] y) { y = Flatten<axis = -1>(x) }"),
    "squeeze": (13, "g (float[N,1,M] x) => (float[a,b] y) <int64[1] s = {1}> { y = Squeeze(x, s) }"),
    "squeeze what may be 1": (11, "g (float[N,1,M] x) => (float[a,b] y) { y = Squeeze<axes = [0]>(x) }"),
    "unsqueeze": (13, "g (float[N,M] x) => (float[a,b,c,d] y) <int64[2] s = {-1,1}> { y = Unsqueeze(x, s) }"),
    "unsqueeze by attribute": (11, "g (float[N,M] x) => (float[a,b,c] y) { y = Unsqueeze<axes = [0]>(x) }"),
    "transpose": (13, "g (float[N,2,M] x) => (float[a,b,c] y) { y = Transpose<perm = [2, 0, 1]>(x) }"),
    "transpose backward": (13, "g (float[N,2,M] x) => (float[a,b,c] y) { y = Transpose(x) }"),
    "expand": (13, "g (float[N,1] x) => (float[a,b,c] y) <int64[3] s = {2,1,3}> { y = Expand(x, s) }"),
    "expand to a shape": (13, "g (float[N,1] x, float[N,M] w) => (float[a,b] y) { s = Shape(w) y = Expand(x, s) }"),
    "tile": (13, "g (float[N,M] x) => (float[a,b] y) <int64[2] r = {2,1}> { y = Tile(x, r) }"),
    "pad": (13, "g (float[N,M] x) => (float[a,b] y) <int64[4] p = {1,0,2,0}, float v = {7}> { y = Pad(x, p, v) }"),
    "pad without a value": (13, "g (float[N,M] x) => (float[a,b] y) <int64[4] p = {0,1,0,1}> { y = Pad(x, p) }"),
    "pad along an axis": (18, "g (int64[N,M] x) => (int64[a,b] y) <int64[2] p = {1,1}, int64[1] s = {-1}> { y = Pad(x, p, , s) }"),
    "pad by attribute": (10, "g (float[N,M] x) => (float[a,b] y) { y = Pad<pads = [0, 1, 1, 0], value = 2.5>(x) }"),
    "pad that cuts": (13, "g (float[N,M] x) => (float[a,b] y) <int64[4] p = {-1,0,0,-1}> { y = Pad(x, p) }"),
    "constant of shape": (
        13,
        "g (float[N,M] x) => (float[a,b] y, int64[c,d] z) { s = Shape(x) y = ConstantOfShape(s) z = ConstantOfShape<value = int64[1] {5}>(s) }",
    ),
    "range": (
        13,
        "g (float[N] x) => (int64[a] y, int64[b] z) <int64 o = {1}, int64 t = {2}, int64 m = {-2}> { n = Size(x) y = Range(o, n, t) z = Range(n, o, m) }",
    ),
    "part of a shape": (
        15,
        "g (float[N,2,M] x) => (int64[a] y, int64[b] z) { y = Shape<start = -2, end = 9>(x) z = Shape<end = -1>(x) }",
    ),
    "arithmetic": (
        13,
        "g (float[N,M] x) => (int64[2] y) <int64 t = {2}, int64[2] o = {3,0}> { s = Shape(x) a = Add(s, o) b = Mul(a, t) c = Sub(b, s) d = Div(a, t) e = Mod(b, t) f = Max(c, d, e) g = Min(f, c) y = Add(g, d) }",
    ),
    "comparisons": (
        16,
        "g (float[N,M] x) => (int64[2] y, bool[2] z) <int64[2] t = {2,1}> { s = Shape(x) a = Less(s, t) b = Equal(s, t) c = GreaterOrEqual(s, t) d = LessOrEqual(s, t) e = Greater(s, t) f = Or(a, b) g = And(c, d) h = Not(e) z = Or(g, h) i = And(f, z) y = Where(i, s, t) }",
    ),
    "casts": (
        13,
        "g (float[N,M] x) => (int32[2] y, int64[2] z) { s = Shape(x) y = Cast<to = 6>(s) b = Cast<to = 9>(s) z = Cast<to = 7>(b) }",
    ),
    "reductions of a shape": (
        13,
        "g (float[N,M] x) => (int64 p, int64[1] q, int64 r, int64 t) <int64[1] a = {0}> { s = Shape(x) p = ReduceProd<keepdims = 0>(s) q = ReduceSum(s, a) r = ReduceMax<axes = [-1], keepdims = 0>(s) t = ReduceMin<keepdims = 0>(s) }",
    ),
    "where": (13, "g (float[N,1] x, float[M] w, bool[N,M] c) => (float[a,b] y) { y = Where(c, x, w) }"),
    "broadcast": (13, "g (float[N,M] x, float[K,1] w) => (float[a,b] y) <int64[1] o = {0}> { c = Less(o, o) y = Where(c, x, w) }"),
    "constants": (
        13,
        "g (float[N] x) => (int64[2] y, float z, int64 w, float[2,1] v) { y = Constant<value_ints = [3, 4]>() z = Constant<value_float = 1.5>() w = Constant<value_int = -1>() v = Constant<value = float[2,1] {1, 2}>() }",
    ),
}
"""The opset and the text of a model for each form of an operator."""


@pytest.mark.parametrize("name", CASES)
def test_operators_compute_what_onnxruntime_does(name: str) -> None:
    opset, text = CASES[name]
    assert list(disagreements(model(text, opset))) == []


def test_the_page_lists_what_is_understood() -> None:
    page = (ROOT / "docs" / "certify.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- operators -->")[2].partition("<!-- end -->")[0]
    assert listed.replace("\n", " ").strip().split(", ") == sorted(MODELS)
