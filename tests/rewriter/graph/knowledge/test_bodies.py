"""Types that bodies decide: what an If gives, and what a Loop carries."""

from __future__ import annotations

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.storage.skeleton import Skeleton


def scope_of(nodes: str) -> Scope:
    proto = model(f"""g (float[N,8] x, float[N,8] y, bool c, int64[1] n, int64 trips, bool go) => (int64 w) {{
        four = Constant <value_ints = [4]> ()
        shape = Concat <axis = 0> (n, four)
        start = Reshape (x, shape)
        {nodes}
        w = Size (z)
    }}""")
    return Model(Skeleton.of(proto), constants_as_initializers=True).main


def branches(then: str, otherwise: str) -> str:
    return f"z = If (c) <then_branch = t () => (float[] a) {{ {then} }}, else_branch = e () => (float[] b) {{ {otherwise} }}>"


@pytest.mark.parametrize(
    ("then", "otherwise", "expected"),
    [
        ("a = Reshape (x, shape)", "b0 = Relu (x) b = Reshape (b0, shape)", (None, 4)),
        ("a = Reshape (x, shape)", "b = Relu (x)", (None, None)),
        ("a = Relu (x)", "b = Relu (y)", ("N", 8)),
        ("a = Reshape (x, shape)", "m = Concat <axis = 0> (n, n, four) b = Reshape (x, m)", None),
        (
            "a = Reshape (x, shape)",
            "s = NonZero (x) l = Cast <to = 7> (s) k = ReduceSum <keepdims = 0> (l) b = Expand (k, n)",
            None,
        ),
    ],
)
def test_an_if_gives_what_its_branches_have_in_common(then: str, otherwise: str, expected: object) -> None:
    assert scope_of(branches(then, otherwise)).shape("z") == expected


def loop(body: str, start: str = "start") -> str:
    return f"""z, rows = Loop (trips, go, {start}) <body = b (int64 i, bool on, float[] old) => (bool still, float[] new, float[] row) {{
        still = Identity (on)
        {body}
        row = Identity (new)
    }}>"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("new = Tanh (old)", (None, 4)),
        ("r = Relu (old) s = Shape (r) new = Reshape (r, s)", (None, 4)),
        ("new = Transpose (old)", (None, None)),
        ("new = Concat <axis = 1> (old, old)", (None, None)),
        ("new = Concat <axis = 0> (old, old)", (None, 4)),
        ("axes = Constant <value_ints = [0]> () new = Unsqueeze (old, axes)", None),
        ("new = Reshape (old, n)", None),
    ],
)
def test_what_a_loop_carries_has_the_shape_that_no_turn_changes(body: str, expected: object) -> None:
    scope = scope_of(loop(body))
    assert scope.shape("z") == expected
    if expected is not None:
        assert scope.types.rank("rows") == 3
    position = next(index for index, node in enumerate(scope.graph.node) if node.op_type == "Loop")
    inner = next(scope.children(scope.graph.node[position], position, 13))
    assert inner.shape("old") == expected


def test_two_values_that_change_places_have_what_both_have() -> None:
    scope = scope_of("""z, other = Loop (trips, go, start, x) <
        body = b (int64 i, bool on, float[] one, float[] two) => (bool still, float[] first, float[] second) {
            still = Identity (on)
            first = Relu (two)
            second = Relu (one)
        }>""")
    assert scope.shape("z") == scope.shape("other") == (None, None)


def test_many_ifs_behind_each_other_need_no_recursion() -> None:
    chain = "\n".join(
        f"z{i + 1} = If (c) <then_branch = t () => (float[] a{i}) {{ a{i} = Reshape (z{i}, shape) }},"
        f" else_branch = e () => (float[] b{i}) {{ b{i} = Tanh (z{i}) }}>"
        for i in range(150)
    )
    scope = scope_of(f"z0 = Reshape (x, shape) {chain} z = Relu (z150)")
    assert scope.shape("z") == (None, 4)


def test_the_body_of_a_scan_that_a_rule_made_has_the_ranks_of_its_inputs() -> None:
    scope = scope_of("z = Relu (start)")
    made = onnx.parser.parse_node(
        "last, all = Scan <num_scan_inputs = 1, body = b (float state, float row) => (float next, float out) {"
        " next = Add (state, row) out = Neg (row) }> (y, start)"
    )
    inner = next(scope.children(made, None, 13))
    assert (inner.shape("state"), inner.shape("row"), inner.shape("out")) == ((None, None), (None,), (None,))
    of_a_batch = next(scope.children(made, None, 8))
    assert of_a_batch.shape("row") is None
