"""Which values depend on what inputs and weights hold, and which on constants and lengths alone."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import model
from onnx import numpy_helper

from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.regions.changed_nodes import NodeChanges
from split_rewrite.rewriter.storage.skeleton import Skeleton


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v = Add (k, n)", True),
        ("v = ArgMax (x)", True),
        ("v = Gather (many, k)", True),
        ("p = Tanh (x)\n v = NonZero (p)", True),
        ("s = Shape (x)\n v = Add (s, n)", True),
        ("v = other.Unknown (n)", True),
        (
            "v = If (c) <then_branch = t () => (int64[1] a) { a = Identity (k) }, else_branch = e () => (int64[1] b) { b = Neg (k) }>",
            True,
        ),
        ("v = Add (k, k)", False),
        ("s = Shape (x)\n v = Gather (s, k)", False),
        ("r = Tanh (x)\n s = Size (r)\n v = Add (s, k)", False),
        ("q = Constant <value = int64[1] {3}> ()\n v = Mul (q, k)", False),
        (
            "o = Constant <value = bool {1}> ()\n v = If (o) <then_branch = t () => (int64[1] a) { a = Identity (k) }, "
            "else_branch = e () => (int64[1] b) { b = Neg (k) }>",
            False,
        ),
    ],
)
def test_what_a_value_depends_on(body: str, expected: bool) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 13, "other" : 1]>
    g (float[N,4] x, int64[1] n, bool c) => (int64[A] y) <int64[1] k = {{1}}> {{ {body}\n y = Identity (v) }}"""
    proto = model(text)
    proto.graph.initializer.append(numpy_helper.from_array(np.arange(9000), "many"))
    (pair, *_) = NodeChanges(Original(Skeleton.of(proto)), proto, {}).pairs
    assert pair.depends_on_data("v") is expected
