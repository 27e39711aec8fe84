"""If and Loop before opset 11."""

import numpy as np
import pytest
from helpers import model, refusal, run
from split_rewrite.rewriter import convert_version


def branches(one, other, output="[N]"):
    return model(
        f"g (bool c, float[2] x, float[3] z, float[M] m) => (float{output} y) {{ y = If (c) "
        f"<then_branch = t () => (float{one[1]} p) {{ p = Relu ({one[0]}) }}, "
        f"else_branch = e () => (float{other[1]} q) {{ q = Neg ({other[0]}) }}> }}",
        11,
    )


def test_refuses_branches_of_different_shapes():
    assert "the branches give 'y' different shapes" in refusal(branches(("x", "[2]"), ("z", "[3]")), 10)


def test_a_caution_where_the_shapes_are_unknown():
    report = convert_version(branches(("x", "[2]"), ("m", "[M]")), 10).report
    (message,) = [remark.message for remark in report.remarks if remark.kind == "caution"]
    assert "both branches have to give 'y' the same shape" in message


def test_equal_shapes_pass():
    assert convert_version(branches(("x", "[2]"), ("x", "[2]"), "[2]"), 10).report.remarks == []


def loop(count, condition_in, condition, body=""):
    """Absent inputs are ""; older parsers do not read an absent first one."""
    proto = model(
        f"g (float[2] x, int64 n, bool c) => (float[2] y) {{ y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] s) => "
        f"(bool {condition}, float[2] t) {{ {body} t = Add (s, s) }}> }}",
        11,
    )
    proto.graph.node[0].input[:2] = [count, condition_in]
    return proto


STOPS = [
    pytest.param(
        "stop", "half = Constant <value = float {8.0}> () m = ReduceMax <keepdims=0> (s) stop = Less (m, half)", id="computed"
    ),
    pytest.param("stop", "stop = Constant <value = bool {0}> ()", id="false"),
    pytest.param("stop", "stop = Not (go)", id="turned around"),
]


@pytest.mark.parametrize("condition, body", STOPS)
def test_refuses_a_body_that_says_stop_to_a_loop_that_does_not_listen(condition, body):
    assert "without a condition the Loop ignores what its body says" in refusal(loop("n", "", condition, body), 10)


GOES_ON = [
    pytest.param("go2", "go2 = Identity (go)", id="passes it on"),
    pytest.param("go2", "one = Identity (go) go2 = Identity (one)", id="passes it on twice"),
    pytest.param("go2", "go2 = Constant <value = bool {1}> ()", id="true"),
]


@pytest.mark.parametrize("target", [10, 7])
@pytest.mark.parametrize("condition, body", GOES_ON)
def test_a_loop_without_a_condition_gets_one(condition, body, target):
    result = convert_version(loop("n", "", condition, body), target).model
    feeds = {"x": np.float32([1, 2]), "n": np.array(3), "c": np.array(True)}
    np.testing.assert_array_equal(run(result, feeds)[0], [8, 16])


def test_a_loop_without_a_count_gets_the_largest():
    body = "half = Constant <value = float {8.0}> () m = ReduceMax <keepdims=0> (s) stop = Less (m, half)"
    result = convert_version(loop("", "c", "stop", body), 10).model
    feeds = {"x": np.float32([1, 2]), "n": np.array(3), "c": np.array(True)}
    np.testing.assert_array_equal(run(result, feeds)[0], [8, 16])
