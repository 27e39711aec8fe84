"""Shapes that are computed: what is known of them, though not all of their entries are."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.storage.skeleton import Skeleton

SIZES = """
    s = Shape (x)
    i0 = Constant <value_int = 0> ()
    i1 = Constant <value_int = 1> ()
    b = Gather (s, i0)
    l = Gather (s, i1)
    axes = Constant <value_ints = [0]> ()
    b1 = Unsqueeze (b, axes)
    l1 = Unsqueeze (l, axes)
    one = Constant <value_ints = [1]> ()
    two = Constant <value_ints = [2]> ()
    four = Constant <value_ints = [4]> ()
    rest = Constant <value_ints = [-1]> ()
    zero = Constant <value_ints = [0]> ()
"""


def scope_of(nodes: str, inputs: str = "float[B,L,16] x, int64 n, int64[1] m, int64[V] v, bool c", opset: int = 13) -> Scope:
    proto = model(f"g ({inputs}) => (int64 w) {{ {SIZES} {nodes} w = Size (y) }}", opset=opset)
    return Model(Skeleton.of(proto), constants_as_initializers=True).main


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("shape = Concat <axis=0> (b1, l1, v) y = Reshape (x, shape)", None),
        ("y = Reshape (x, v)", None),
        ("y = Expand (x, v)", None),
        ("y = ConstantOfShape (v)", None),
        # An entry that is not known may be anything: 0 copies a size, and -1 is what is left.
        ("shape = Concat <axis=0> (m, l1, rest) y = Reshape (x, shape)", (None, "L", None)),
        # L may be 0, which copies the first dimension.
        ("shape = Concat <axis=0> (l1, b1, rest) y = Reshape (x, shape)", (None, None, None)),
        ("shape = Concat <axis=0> (b1, l1) y = Expand (x, shape)", ("B", None, 16)),
        ("k = Div (l, i0) k1 = Unsqueeze (k, axes) y = ConstantOfShape (k1)", (None,)),
    ],
)
def test_what_is_not_known(nodes: str, expected: object) -> None:
    assert scope_of(nodes).shape("y") == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("shape = Concat <axis=0> (b1, l1, four, rest) y = Reshape (x, shape)", ("B", "L", 4, 4)),
        ("shape = Concat <axis=0> (b1, rest, four) y = Reshape (x, shape)", ("B", None, 4)),
        ("shape = Concat <axis=0> (zero, zero, four, rest) y = Reshape (x, shape)", ("B", "L", 4, 4)),
        ("shape = Concat <axis=0> (b1, l1, four, rest) y = Reshape <allowzero = 1> (x, shape)", ("B", "L", 4, 4)),
        ("shape = Concat <axis=0> (l1, b1, rest) y = Reshape <allowzero = 1> (x, shape)", ("L", "B", 16)),
        ("d = Expand (n, one) rest2 = Concat <axis=0> (d, four) y = Reshape (x, rest2)", (None, 4)),
        ("d = Reshape (n, one) shape = Concat <axis=0> (d, four, m) y = ConstantOfShape (shape)", (None, 4, None)),
        ("k = Add (n, b) k1 = Unsqueeze (k, axes) shape = Concat <axis=0> (k1, l1) y = ConstantOfShape (shape)", (None, "L")),
        ("k = Mul (b, i1) k1 = Unsqueeze (k, axes) y = ConstantOfShape (k1)", ("B",)),
        ("k = Sub (b, b) k1 = Unsqueeze (k, axes) y = ConstantOfShape (k1)", (0,)),
        ("k = Div (l, i1) k1 = Unsqueeze (k, axes) y = ConstantOfShape (k1)", ("L",)),
        ("first = Slice (s, axes, two) y = ConstantOfShape (first)", ("B", "L")),
        ("y = Range (i0, l, i1)", ("L",)),
        (
            """h = Concat <axis=0> (b1, one, l1, four) three = Constant <value_ints = [4]> () ones = ConstantOfShape <value = int64[1] {1}> (three)
            wanted = Concat <axis=0> (b1, two, l1, rest) minus = Constant <value_ints = [-1]> () is_kept = Equal (wanted, minus)
            shape = Where (is_kept, ones, wanted) narrow = ConstantOfShape (h) y = Expand (narrow, shape)""",
            ("B", 2, "L", 4),
        ),
    ],
)
def test_what_is_known(nodes: str, expected: object) -> None:
    assert scope_of(nodes).shape("y") == expected


def test_it_does_not_depend_on_the_opset() -> None:
    """onnx's own inference carries sizes through Concat from opset 13 on."""
    proto = model(
        """g (float[B,L,16] x) => (int64 w) {
            s = Shape (x)
            zero = Constant <value = int64[1] {0}> ()
            two = Constant <value = int64[1] {2}> ()
            rest = Constant <value = int64[2] {4, -1}> ()
            first = Slice (s, zero, two)
            shape = Concat <axis = 0> (first, rest)
            y = Reshape (x, shape)
            w = Size (y)
        }""",
        opset=11,
    )
    assert Model(Skeleton.of(proto), constants_as_initializers=True).main.shape("y") == ("B", "L", 4, 4)


def test_a_long_computation_is_followed_without_recursion() -> None:
    """Each Reshape is by the shape of the one before."""
    steps = "\n".join(
        f"s{i} = Shape (t{i}) g{i} = Gather (s{i}, axes) h{i} = Concat <axis=0> (m, g{i}) t{i + 1} = Expand (x, h{i})"
        for i in range(400)
    )
    scope = scope_of(f"t0 = Identity (x) {steps} y = Relu (t400)")
    assert scope.types.rank("y") == 3


def test_a_size_that_is_only_declared_is_not_relied_on() -> None:
    proto = model("""g (float[B,L] x, int64[V] v) => (float y) <float[7,A] t> {
        t = Reshape (x, v)
        s = Shape (t)
        y = ConstantOfShape (s)
    }""")
    scope = Model(Skeleton.of(proto), constants_as_initializers=True).main
    assert scope.types.entries("s") is None or 7 not in (scope.types.entries("s") or ())
