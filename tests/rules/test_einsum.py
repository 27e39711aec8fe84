"""Einsum below opset 12: products of pairs, against numpy's own einsum."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

RNG = np.random.default_rng(11)


def test_refuses_a_diagonal_of_unknown_length():
    text = 'g (float[N,N] x) => (float[N] y) { y = Einsum <equation="ii->i"> (x) }'
    assert "the diagonal 'i' of 'x'" in refusal(model(text, 12), 11)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (2, 5, 3, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        ("i,i->", [(3,), (3,)]),
        ("ij->ji", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("ij", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("abc,cd->ad", [(2, 3, 4), (4, 5)]),
        ("ab,cd->", [(2, 3), (4, 5)]),
        ("i j , j k -> k i", [(2, 3), (3, 4)]),
    ],
)
@pytest.mark.parametrize("target", [11, 7])
def test_equations(equation, shapes, target):
    operands = [RNG.normal(size=shape).astype(np.float32) for shape in shapes]
    expected = np.einsum(equation.replace(" ", ""), *[x.astype(np.float64) for x in operands])
    given = dict(zip("xyz", operands, strict=False))
    signature = ", ".join(f"float[{','.join(map(str, x.shape))}] {name}" for name, x in given.items())
    rank = f"[{','.join('ABCD'[: expected.ndim])}]" if expected.ndim else ""
    text = f'g ({signature}) => (float{rank} o) {{ o = Einsum <equation="{equation}"> ({", ".join(given)}) }}'
    got = run(convert_version(model(text, 12), target).model, given)[0]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_symbolic_shapes():
    text = 'g (float[B,Q,H,D] x, float[B,K,H,D] y) => (float[B,H,Q,K] o) { o = Einsum <equation="bqhd,bkhd->bhqk"> (x, y) }'
    given = {"x": RNG.random((2, 4, 3, 5), np.float32), "y": RNG.random((2, 6, 3, 5), np.float32)}
    assert_same(model(text, 12), 9, given, rtol=1e-6)


@pytest.mark.parametrize("target", [11, 8])
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i,i->", [(0,), (0,)]),
        ("bi,bi->b", [(3, 0), (3, 0)]),
        ("bi,bi->b", [(0, 2), (0, 2)]),
        ("ij,ij->", [(2, 0), (2, 0)]),
        ("ij,ij->", [(0, 0), (0, 0)]),
        ("bij,bij->b", [(3, 0, 2), (3, 0, 2)]),
        ("bij,bij->bi", [(2, 3, 0), (2, 3, 0)]),
        ("bij,bij->b", [(0, 0, 2), (0, 0, 2)]),
        ("hbij,hbij->hb", [(2, 3, 0, 4), (2, 3, 0, 4)]),
        ("ij,kl->ijkl", [(2, 0), (3, 4)]),
        ("ij,k->ijk", [(2, 3), (0,)]),
    ],
)
def test_an_open_length_may_be_0(equation, shapes, target):
    letters = equation.partition("->")[0].split(",")
    signature = ", ".join(f"float[{','.join(axes.upper())}] {name}" for axes, name in zip(letters, "xy", strict=True))
    given = {name: RNG.random(shape, np.float32) for name, shape in zip("xy", shapes, strict=True)}
    expected = np.einsum(equation, *given.values())
    text = f'g ({signature}) => (float{[*"QRSTU"][: expected.ndim] or ""} o) {{ o = Einsum <equation="{equation}"> (x, y) }}'
    got = run(convert_version(model(text.replace("'", ""), 12), target).model, given)[0]
    assert got.shape == expected.shape and not got.any()


def test_an_axis_that_is_not_there_is_inserted_and_taken_away():
    assert_rewrites(
        'g (float[B,I] x, float[B,I] y) => (float[B] o) { o = Einsum <equation="bi,bi->b"> (x, y) }',
        """{
            row = Unsqueeze <axes = [1]> (x)
            column = Unsqueeze <axes = [2]> (y)
            product = MatMul (row, column)
            o = Squeeze <axes = [1, 2]> (product)
        }""",
        "einsum.pairwise_products",
        12,
        11,
    )


def cautions(text):
    report = convert_version(model(text, 12), 11, compare="off").report
    return [remark.message for remark in report.remarks if remark.kind == "warning"]


@pytest.mark.parametrize(
    "inputs, equation, axes",
    [
        ("float[A,B] x, float[C,D] y", "ij,jk->ik", "dimension 1 of 'x' and dimension 0 of 'y'"),
        ("float[?,?] x, float[?,?] y", "ij,kj->ik", "dimension 1 of 'x' and dimension 1 of 'y'"),
        ("float[A] x, float[B] y", "i,i->", "dimension 0 of 'x' and dimension 0 of 'y'"),
        ("float[A,B] x, float[C] y", "ij,i->j", "dimension 0 of 'x' and dimension 0 of 'y'"),
        ("float[A,N,3] x, float[B,N,4] y", "bij,bik->jk", "dimension 0 of 'x' and dimension 0 of 'y'"),
    ],
)
def test_a_caution_where_a_summed_axis_may_broadcast(inputs, equation, axes):
    """In opset 12, a length of 1 in one operand is broadcast to that of the other."""
    (found,) = cautions(
        f'g ({inputs}) => (float y_) {{ s = Einsum <equation="{equation}"> (x, y) y_ = ReduceSum <keepdims=0> (s) }}'
    )
    assert found.startswith(f"fails if {axes} differ: opset 12 broadcasts one that is 1")


def test_a_caution_for_a_third_operand():
    text = 'g (float[A,J] x, float[J,K] y, float[L,D] z) => (float[E,F] o) { o = Einsum <equation="ij,jk,kl->il"> (x, y, z) }'
    (found,) = cautions(text)
    assert "dimension 0 of 'z'" in found


@pytest.mark.parametrize(
    "inputs, equation",
    [
        ("float[A,J] x, float[J,D] y", "ij,jk->ik"),
        ("float[A,3] x, float[3,D] y", "ij,jk->ik"),
        ("float[A,1] x, float[C,D] y", "ij,jk->ik"),
        ("float[A,N,J] x, float[B,J,M] y", "bij,bjk->bik"),
        ("float[A] x, float[B] y", "i,j->ij"),
        ("float[A,B] x, float[C,D] y", "ij,ij->ij"),
    ],
)
def test_no_caution_where_nothing_but_matmul_broadcasts(inputs, equation):
    assert (
        cautions(f'g ({inputs}) => (float o) {{ s = Einsum <equation="{equation}"> (x, y) o = ReduceSum <keepdims=0> (s) }}') == []
    )


def test_no_caution_for_one_axis_of_one_value():
    assert cautions('g (float[A,?] x) => (float[B,C] y) { y = Einsum <equation="ij,kj->ik"> (x, x) }') == []


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("bij,bjk->bik", [(1, 2, 3), (4, 3, 2)]),
        ("ij,ij->ij", [(2, 1), (2, 3)]),
        ("bi,b->bi", [(1, 3), (2,)]),
        ("bhij,bj->bhi", [(1, 2, 3, 4), (5, 4)]),
    ],
)
def test_batches_broadcast_at_run_time(equation, shapes):
    """The lengths that one operand sums with the other are declared equal; those that are kept may be 1 in one of them."""
    given = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in zip("xy", shapes, strict=True)}
    terms = equation.split("->")[0].split(",")
    kept = equation.split("->")[1]
    signature = ", ".join(
        f"float[{','.join(letter + name if letter in kept else letter for letter in term)}] {name}"
        for name, term in zip("xy", terms, strict=True)
    )
    result = f"float[{','.join(letter + 'o' for letter in kept)}] o"
    text = f'g ({signature}) => ({result}) {{ o = Einsum <equation="{equation}"> (x, y) }}'
    assert cautions(text) == []
    assert_same(model(text, 12), 9, given, rtol=1e-5, atol=1e-6)  # of sums, which may cancel out


REWRITES = [
    (
        "einsum.pairwise_products",
        12,
        11,
        'g (float[2,3] a, float[3,4] b) => (float[2,4] y) { y = Einsum <equation = "ij,jk->ik"> (a, b) }',
        "{ y = MatMul (a, b) }",
    ),
    (
        "einsum.pairwise_products",
        12,
        11,
        'g (float[5,2,3] a, float[5,4,3] b) => (float[5,2,4] y) { y = Einsum <equation = "bij,bkj->bik"> (a, b) }',
        "{ ordered = Transpose <perm = [0, 2, 1]> (b) y = MatMul (a, ordered) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("target", [11, 8])
def test_a_length_of_1_is_repeated_to_the_known_one(length, target):
    text = 'g (float[2,3] x, float[N,4] y) => (float[2,4] o) { o = Einsum <equation="ij,jk->ik"> (x, y) }'
    x, y = (np.random.default_rng(length).standard_normal(shape).astype(np.float32) for shape in ((2, 3), (length, 4)))
    result = convert_version(model(text, 12), target)
    assert not [remark for remark in result.report.remarks if remark.kind == "warning"]
    (found,) = run(result.model, {"x": x, "y": y})
    np.testing.assert_allclose(found, x @ np.broadcast_to(y, (3, 4)), rtol=1e-6)
