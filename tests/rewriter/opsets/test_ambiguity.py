"""Nodes without one meaning, such as flags that are neither 0 nor 1: refused where a rule reads them, left alone where nothing changes,
and of unknown shape.
"""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from helpers import convert_version, model, refusal
from onnx import numpy_helper

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.opsets.ambiguity import remedy

MOD = "g (float[3] x, float[3] z) => (float[3] y) { y = Mod <fmod = 17> (x, z) }"
REDUCE = "g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {1}> { y = ReduceMax <keepdims = 2> (x, axes) }"


@pytest.mark.parametrize(
    ("text", "opset", "target", "flag"),
    [(MOD, 11, 9, "fmod=17"), (REDUCE, 18, 17, "keepdims=2"), (MOD.replace("17", "-1"), 13, 9, "fmod=-1")],
)
def test_refuses_what_a_rule_would_have_to_read(text: str, opset: int, target: int, flag: str) -> None:
    message = refusal(model(text, opset), target)
    assert f"{flag} is neither 0 nor 1, which the specification gives no meaning" in message


def test_stays_where_no_rule_changes_the_node() -> None:
    (node,) = convert_version(model(MOD, 13), 11).model.graph.node
    assert node.attribute[0].i == 17


def shape_of(node: str, x: str = "2,3,4") -> str:
    """A graph that gives the shape of what the node makes of x."""
    return f"g (float[{x}] x) => (int64[r] s) <int64[4] sizes = {{2,0,4,1}}> {{ y = {node} s = Shape(y) }}"


@pytest.mark.parametrize(
    ("node", "advice"),
    [
        ("Reshape <allowzero = 2> (x, sizes)", "set allowzero to 0 or 1 in Reshape 'y', which runtimes read in different ways"),
        ("ReduceSum <noop_with_empty_axes = -1> (x)", "set noop_with_empty_axes to 0 or 1 in ReduceSum 'y'"),
        ("MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 2> (x)", "set ceil_mode to 0 or 1"),
        ('MaxPool <kernel_shape = [2], auto_pad = "SAME_UPPER", pads = [0, 0]> (x)', "leave out pads or auto_pad"),
    ],
)
def test_the_shape_behind_a_node_of_two_meanings_is_no_number(node: str, advice: str) -> None:
    with pytest.raises(UnconvertibleError) as refused:
        convert_version(model(shape_of(node), 14), 14, options=Options(static=True))
    (blocker,) = refused.value.blockers
    assert blocker.reason.startswith("--static needs fixed shapes, and that of 'y' is")
    assert advice in blocker.hint


def test_what_is_stored_and_has_two_meanings_is_not_computed() -> None:
    text = "g () => (float[a,b,c,d] y) <int64[4] sizes = {2,0,4,1}> { y = Reshape <allowzero = 2> (x, sizes) }"
    before = model(text, 14)
    before.graph.initializer.append(numpy_helper.from_array(np.zeros((2, 3, 4), np.float32), "x"))
    (node,) = convert_version(before, 18).model.graph.node
    assert node.op_type == "Reshape"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("y = Mod <fmod = 17> (x, z)", ""),
        ("y = ArgMax <select_last_index = 2, keepdims = 2> (x)", "set keepdims to 0 or 1"),
        ("y = ReduceMax <keepdims = 17> (x)", "set keepdims to 0 or 1"),
        ("y = Mod <fmod = 1> (x, z)", ""),
        ("y = own.Mod <fmod = 17> (x, z)", ""),
        ('y = Conv <auto_pad = "SAME_LOWER", pads = [0, 0]> (x, z)', "leave out pads or auto_pad"),
        ('y = Conv <auto_pad = "VALID", pads = [0, 1]> (x, z)', "leave out pads or auto_pad"),
        ('y = Conv <auto_pad = "VALID", pads = [0, 0]> (x, z)', ""),
        ('y = Conv <auto_pad = "NOTSET", pads = [0, 1]> (x, z)', ""),
        ('y = Conv <auto_pad = "SAME_LOWER"> (x, z)', ""),
        ("y = Squeeze <axes: ints = []> (x)", "list the axes"),
        ("y = Squeeze <axes = [0]> (x)", ""),
        ("y = Unsqueeze <axes: ints = []> (x)", ""),
    ],
)
def test_what_settles_the_meaning(text: str, told: str) -> None:
    assert remedy(onnx.parser.parse_node(text)) == told
