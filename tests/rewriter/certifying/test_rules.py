"""Which rules of Split, of sequences, and of what moves elements or computes shapes are proved for all shapes, on templates with open
dimensions. `PYTHONPATH=tests/support:tests python tests/rewriter/certifying/test_rules.py` writes docs/proved_rules.md.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

from documentation import ROOT
from helpers import convert_version, model

from split_rewrite.rewriter.certifying.proving import certify

PAGE = ROOT / "docs" / "proved_rules.md"
TWO = "float[N,M] x"
THREE = "float[N,M,K] x"
OUT2, OUT3, BOTH = "float[a,b] y", "float[a,b,c] y", "float[a,b] y, float[c,d] z"
TEMPLATES: tuple[tuple[int, int, str, str, str], ...] = (
    # Split
    (18, 17, TWO, BOTH, "y, z = Split<axis = 1, num_outputs = 2>(x)"),
    (18, 11, TWO, "float[a,b] y, float[c,d] z, float[e,f] w", "y, z, w = Split<axis = -1, num_outputs = 3>(x)"),
    (18, 13, "float[N,6] x", BOTH, "y, z = Split<axis = 1, num_outputs = 2>(x)"),
    (18, 13, "float[N,7] x", BOTH, "y, z = Split<axis = 1, num_outputs = 2>(x)"),
    (17, 18, TWO, BOTH, "y, z = Split<axis = 1>(x)"),
    (13, 12, TWO, BOTH, "s = Constant<value_ints = [2, 3]>() y, z = Split<axis = 1>(x, s)"),
    (
        13,
        11,
        TWO,
        BOTH,
        "n = Shape(x) s = Slice(n, zero, one) t = Slice(n, zero, one) q = Concat<axis = 0>(x, x) u = Concat<axis = 0>(s, t) y, z = Split(q, u)",
    ),
    (12, 13, TWO, BOTH, "y, z = Split<axis = 1, split = [2, 3]>(x)"),
    (11, 10, TWO, BOTH, "y, z = Split<axis = -1>(x)"),
    (2, 1, TWO, BOTH, "y, z = Split<split = [2, 3]>(x)"),
    # sequences
    (
        17,
        17,
        TWO,
        OUT2,
        "s = Constant<value_ints = [2, 3]>() p = Constant<value_int = -1>() q = SplitToSequence<axis = 1>(x, s) y = SequenceAt(q, p)",
    ),
    (
        17,
        17,
        "float[N,3,K] x",
        OUT2,
        "p = Constant<value_int = 1>() q = SplitToSequence<axis = 1, keepdims = 0>(x) y = SequenceAt(q, p)",
    ),
    (
        17,
        17,
        "float[N,5] x",
        OUT2,
        "s = Constant<value_int = 2>() p = Constant<value_int = 2>() q = SplitToSequence<axis = 1>(x, s) y = SequenceAt(q, p)",
    ),
    (17, 17, "float[N,3,K] x", OUT3, "q = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 1>(q)"),
    (
        17,
        17,
        "float[N,3,K] x",
        "float[a,b,c,d] y",
        "q = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 0, new_axis = 1>(q)",
    ),
    (
        17,
        17,
        "float[N,3,K] x",
        OUT3,
        "q = SplitToSequence<axis = 1, keepdims = 0>(x) y = ConcatFromSequence<axis = 1, new_axis = 1>(q)",
    ),
    (
        17,
        17,
        f"{TWO}, float[N,K] w",
        OUT2,
        "q = SequenceConstruct(x, w) p = Constant<value_int = 0>() r = SequenceInsert(q, x, p) y = ConcatFromSequence<axis = 1>(r)",
    ),
    (
        17,
        17,
        f"{TWO}, float[N,K] w",
        OUT2,
        "q = SequenceConstruct(x, w, x) p = Constant<value_int = 1>() r = SequenceErase(q, p) y = ConcatFromSequence<axis = -1>(r)",
    ),
    (
        17,
        17,
        f"{TWO}, float[N,K] w",
        OUT2,
        "e = SequenceEmpty() r = SequenceInsert(e, x) s = SequenceInsert(r, w) t = SequenceErase(s) y = ConcatFromSequence<axis = 0>(t)",
    ),
    (17, 17, f"{TWO}, float[N,K] w", "int64 y", "q = SequenceConstruct(x, w) y = SequenceLength(q)"),
    (17, 17, TWO, "int64 y", "s = Constant<value_int = 1>() q = SplitToSequence<axis = 1>(x, s) y = SequenceLength(q)"),
    (17, 17, TWO, OUT2, "q = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 1>(q)"),
    (17, 17, TWO, OUT2, "p = Constant<value_int = -1>() q = SplitToSequence<axis = 1>(x) y = SequenceAt(q, p)"),
    # axes and shapes
    (13, 12, "float[N,1,K] x", OUT2, "y = Squeeze(x, one)"),
    (12, 13, "float[N,1,K] x", OUT2, "y = Squeeze<axes = [1]>(x)"),
    (11, 10, "float[N,1,K] x", OUT2, "y = Squeeze<axes = [-2]>(x)"),
    (13, 12, TWO, OUT3, "y = Unsqueeze(x, one)"),
    (12, 13, TWO, OUT3, "y = Unsqueeze<axes = [1]>(x)"),
    (11, 10, TWO, OUT3, "y = Unsqueeze<axes = [-1]>(x)"),
    (15, 14, THREE, "int64[2] y", "y = Shape<start = 1>(x)"),
    (15, 13, THREE, "int64[1] y", "y = Shape<start = -2, end = -1>(x)"),
    (14, 13, "float[N,2] x", OUT2, "s = Constant<value_ints = [2, -1]>() y = Reshape<allowzero = 1>(x, s)"),
    (
        14,
        13,
        "float[N,4] x",
        OUT3,
        "n = Shape(x) f = Slice(n, zero, one) s = Constant<value_ints = [2, 2]>() u = Concat<axis = 0>(f, s) y = Reshape<allowzero = 1>(x, u)",
    ),
    (5, 4, "float[N,4] x", OUT3, "s = Constant<value = int64[3] {0, 2, 2}>() y = Reshape(x, s)"),
    (4, 5, "float[N,4] x", OUT3, "y = Reshape<shape = [0, 2, 2]>(x)"),
    (11, 10, THREE, OUT2, "y = Flatten<axis = -1>(x)"),
    (9, 8, TWO, OUT2, "s = Shape(x) y = ConstantOfShape(s)"),
    (8, 6, "float[N,1] x", OUT2, "y = Expand(x, pair)"),
    (9, 8, TWO, OUT2, "y = Where(c, x, x)"),
    # moving elements
    (10, 9, TWO, OUT2, "s = Constant<value = int64[1] {1}>() e = Constant<value = int64[1] {-1}>() y = Slice(x, s, e)"),
    (
        10,
        9,
        TWO,
        OUT2,
        "s = Constant<value = int64[1] {1}>() e = Constant<value = int64[1] {9}>() a = Constant<value = int64[1] {1}>() t = Constant<value = int64[1] {2}>() y = Slice(x, s, e, a, t)",
    ),
    (9, 10, TWO, OUT2, "y = Slice<axes = [1], starts = [1], ends = [-1]>(x)"),
    (
        11,
        10,
        TWO,
        OUT2,
        "a = Constant<value = int64[1] {-1}>() s = Constant<value = int64[1] {1}>() e = Constant<value = int64[1] {9}>() y = Slice(x, s, e, a)",
    ),
    (11, 10, TWO, "float[a] y", "i = Constant<value = int64 {-1}>() y = Gather<axis = 1>(x, i)"),
    (11, 10, f"{TWO}, float[N,K] w", OUT2, "y = Concat<axis = -1>(x, w)"),
    (3, 4, f"{TWO}, float[N,K] w", OUT2, "y = Concat(x, w)"),
    (18, 17, TWO, OUT2, "p = Constant<value_ints = [1, 2]>() y = Pad(x, p, , one)"),
    (11, 10, TWO, OUT2, "p = Constant<value_ints = [0, 1, 0, 2]>() y = Pad(x, p)"),
    (10, 11, TWO, OUT2, "y = Pad<pads = [0, 1, 0, 2], value = 1.5>(x)"),
    (2, 1, TWO, OUT2, "y = Pad<pads = [0, 1, 0, 2]>(x)"),
    (1, 2, TWO, OUT2, "y = Pad<paddings = [0, 1, 0, 2]>(x)"),
    (6, 5, TWO, OUT2, "y = Tile(x, pair)"),
)
"""Opset, target, inputs, outputs and nodes. `zero` and `one` are int64[1], `pair` is int64[2] {1, 3}, and `c` a condition."""


class _Found(NamedTuple):
    opset: int
    target: int
    nodes: str
    rules: tuple[str, ...]
    is_proved: bool
    is_refuted: bool


@cache
def _found() -> tuple[_Found, ...]:
    return tuple(_of_template(*template) for template in TEMPLATES)


def _of_template(opset: int, target: int, inputs: str, outputs: str, nodes: str) -> _Found:
    constants = "int64[1] zero = {0}, int64[1] one = {1}, int64[2] pair = {1, 3}"
    given = f"{inputs}, bool[N,M] c" if "(c," in nodes else inputs
    original = model(f"g ({given}) => ({outputs}) <{constants}> {{ {nodes} }}", opset)
    result = convert_version(original, target, compare="off")
    proof = certify(original.SerializeToString(), result.model.SerializeToString())
    return _Found(
        opset,
        target,
        f"{inputs}: {nodes}",
        tuple(sorted(result.report.applied)),
        proof.is_proved,
        any(change.lengths for change in proof.changes),
    )


def _page() -> str:
    by_rule: dict[str, list[_Found]] = defaultdict(list)
    for found in _found():
        for rule in found.rules:
            by_rule[rule].append(found)
    lines = [
        "# Rules that are proved for all shapes",
        "",
        "[The solver](certify.md) shows of each conversion below that it is right for all lengths of the dimensions with a name, with which the",
        "original is valid. A rule counts as proved for these templates, with these ranks, and not for every node that it may see.",
        "",
        "| rule | opsets | template | |",
        "|---|---|---|---|",
    ]
    for rule, founds in sorted(by_rule.items()):
        for found in founds:
            verdict = "proved" if found.is_proved else "not proved"
            lines.append(f"| {rule} | {found.opset} → {found.target} | `{found.nodes}` | {verdict} |")
    proved = sorted(rule for rule, founds in by_rule.items() if all(found.is_proved for found in founds))
    lines += ["", f"Proved for all of their templates: {len(proved)} of {len(by_rule)} rules."]
    return "\n".join(lines) + "\n"


def test_no_rule_is_refuted() -> None:
    for found in _found():
        assert not found.is_refuted, found


def test_each_template_is_rewritten() -> None:
    assert [found.nodes for found in _found() if not found.rules] == []


def test_the_page_says_what_is_proved() -> None:
    assert PAGE.read_text(encoding="utf-8") == _page()


if __name__ == "__main__":
    PAGE.write_text(_page(), encoding="utf-8")
