"""Bounds of whole numbers: what is said of a value holds in every run."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import model, run
from hypothesis import given, settings
from hypothesis import strategies as st

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.storage.skeleton import Skeleton
from split_rewrite.rules.shared.whole_numbers import Bounds, bounds

pytestmark = pytest.mark.quick

HEAD = "g (int32[4] i, float[4] x, bool[4] b) => (float[N] y)"


def bounds_in(body: str, name: str = "v") -> Bounds | None:
    whole = Model(Skeleton(model(f"{HEAD} {{ {body} y = Identity(x) }}", 14)), constants_as_initializers=True)
    proto = whole.main.graph.node[-1]
    return bounds(Node(proto, whole.main, 14, len(whole.main.graph.node) - 1), name)


@pytest.mark.parametrize(
    "body",
    [
        "v = Identity(x)",
        "c = Cast<to = 7>(x) s = Sqrt(x) v = Mul(s, s)",
        "c = Cast<to = 11>(x) v = Cast<to = 1>(c)",
        "k = Constant<value = float[1] {0.5}>() c = Cast<to = 1>(i) v = Mul(c, k)",
        "k = Constant<value = float[1] {inf}>() v = Identity(k)",
        "k = Constant<value = float[1] {nan}>() c = Cast<to = 1>(i) v = Concat<axis = 0>(c, k)",
        "c = Cast<to = 10>(i) v = Mul(c, c)",
        "c = Cast<to = 1>(b) v = Neg(c)",
        "k = Constant<value = float {-1}>() c = Cast<to = 1>(b) v = Mul(c, k)",
        "k = Constant<value = float[1] {-0.0}>() c = Cast<to = 1>(b) v = Concat<axis = 0>(c, k)",
        "k = Constant<value = double {1e200}>() c = Cast<to = 11>(i) d = Mul(c, k) v = Mul(d, k)",
        "p = Constant<value = int64[2] {0, 1}>() c = Cast<to = 1>(i) v = Pad(c, p)",
        "c = Cast<to = 1>(i) v = Div(c, c)",
        "c = Cast<to = 1>(i) s = Mul(c, c) t = Mul(s, s) v = Mul(t, t)",
    ],
)
def test_what_may_be_no_whole_number_has_no_bounds(body: str) -> None:
    assert bounds_in(body) is None


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("v = Cast<to = 1>(b)", Bounds(0, 1)),
        ("v = Cast<to = 7>(x)", Bounds(-(2**63), 2**63 - 1)),
        ("c = Cast<to = 6>(b) v = Neg(c)", Bounds(-1, 0)),
        ("c = Cast<to = 6>(b) d = Sub(c, i) v = Add(d, c)", Bounds(-(2**31), 2**31 - 1)),
        ("c = Cast<to = 1>(b) m = Sub(c, c) v = Mul(m, m)", Bounds(0, 1)),
        ("c = Cast<to = 1>(b) v = Max(c)", Bounds(0, 1)),
        ("c = Cast<to = 1>(b) k = Constant<value = int64 {0}>() v = CumSum(c, k)", Bounds(0, 4)),
        ("c = Cast<to = 1>(b) k = Constant<value = int64 {536870912}>() d = Cast<to = 1>(k) v = Mul(c, d)", Bounds(0, 2**29 + 64)),
        ("k = Constant<value = float[1] {-3}>() c = Cast<to = 1>(b) v = Where(b, c, k)", Bounds(-3, 1)),
    ],
)
def test_bounds(body: str, wanted: Bounds) -> None:
    assert bounds_in(body) == wanted


FLOATS = [
    "Add({0}, {1})",
    "Sub({0}, {1})",
    "Mul({0}, {1})",
    "Mul({0}, {0})",
    "Neg({0})",
    "Relu({0})",
    "Max({0}, {1})",
    "Min({0}, {1})",
]
BOTH = ["Where(b, {0}, {1})", "CumSum({0}, z)", "Gather({0}, p)", "Add({0}, {0})"]
INTEGERS = ["Add({0}, {1})", "Sub({0}, {1})", "Mul({0}, {1})", "Mul({0}, {0})"]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_number_lies_beyond_its_bounds(data: st.DataObject) -> None:
    """The values of random arithmetic on integers and floats, of random inputs, lie within what is said of them."""
    lines = ["f0 = Cast<to = 1>(i)", "f1 = Cast<to = 1>(b)", "n0 = Neg(i)", "n1 = Cast<to = 6>(b)"]
    names = {"f": ["f0", "f1"], "n": ["i", "n0", "n1"]}
    for number in range(2, data.draw(st.integers(3, 9))):
        kind = data.draw(st.sampled_from("fn"))
        step = data.draw(st.sampled_from([*BOTH, *(FLOATS if kind == "f" else INTEGERS)]))
        lines.append(f"{kind}{number} = {step.format(*(data.draw(st.sampled_from(names[kind])) for _ in range(2)))}")
        names[kind].append(f"{kind}{number}")
    outputs = [name for name in (*names["f"], *names["n"]) if name != "i"]
    declared = ", ".join(f"{'float' if name[0] == 'f' else 'int32'}[N] {name}" for name in outputs)
    text = f"g (int32[4] i, bool[4] b) => ({declared}) <int64 z = {{0}}, int64[4] p = {{3,0,0,-1}}> {{ {' '.join(lines)} }}"
    whole = Model(Skeleton(model(text, 14)), constants_as_initializers=True)
    reader = Node(whole.main.graph.node[-1], whole.main, 14, len(lines) - 1)
    numbers = st.sampled_from([0, 1, -1, 3, 46341, 2**24 + 1, 2**31 - 1, -(2**31)])
    feeds = {
        "i": np.array([data.draw(numbers) for _ in range(4)], np.int32),
        "b": np.array([data.draw(st.booleans()) for _ in range(4)]),
    }
    for name, value in zip(outputs, run(model(text, 14), feeds), strict=True):
        found = bounds(reader, name)
        if found is not None:
            assert np.isfinite(value).all() and (value == np.trunc(value)).all()
            assert found.low <= min(map(int, value)) and max(map(int, value)) <= found.high
