"""Shapes of convolutions and pooling."""

from __future__ import annotations

import onnx.parser
import pytest

from split_rewrite.rewriter.opsets.foreign.call import Call
from split_rewrite.rewriter.opsets.foreign.shapes import windows

pytestmark = pytest.mark.quick


def call(attributes: str, *shapes: list[object] | None) -> Call:
    names = [f"v{number}" for number in range(len(shapes))]
    node = onnx.parser.parse_node(f"y = com.microsoft.Any <{attributes}> ({', '.join(names)})")
    return Call(node, {name: onnx.helper.make_tensor_type_proto(1, shape) for name, shape in zip(names, shapes, strict=True)}, {})


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ("pads = [1,0,2,1], strides = [2,1]", (4, 7)),
        ("dilations = [2,3]", (3, 2)),
        ('auto_pad = "SAME_LOWER", strides = [2,3]', (4, 3)),
        ('auto_pad = "VALID"', (5, 6)),
    ],
)
def test_convolutions(attributes, sizes):
    assert windows.convolved(call(attributes, ["N", 4, 7, 8], [6, 2, 3, 3])) == [("N", 6, *sizes)]
    assert windows.convolved_last(call(attributes, ["N", 7, 8, 4], [6, 2, 3, 3])) == [("N", *sizes, 6)]


def test_what_is_unknown():
    assert windows.convolved(call("group = 1", None, [6, 2, 3, 3])) == [None]
    assert windows.convolved(call("group = 1", [1, 2, 3], None)) == [None]
    assert windows.convolved(call("group = 1", [1, 2, None], [3, 2, 1])) == [(1, 3, None)]


def test_pooling():
    assert windows.pooled(call("kernel_shape = [2,2], strides = [2,2], ceil_mode = 1", [1, 3, 7, 8])) == [(1, 3, 4, 4)]
    assert windows.pooled(call("kernel_shape = [2,2], channels_last = 1", [1, 7, 8, 3])) == [(1, 6, 7, 3)]
    assert windows.pooled_last(call("kernel_shape = [2,2]", [1, 7, 8, 3])) == [(1, 6, 7, 3)]
    assert windows.pooled_whole(call("group = 1", [1, 3, 7, 8])) == [(1, 3, 1, 1)]
    assert windows.pooled_whole(call("channels_last = 1", [1, 7, 8, 3])) == [(1, 1, 1, 3)]
    assert windows.reduced(call("axes = [-1], keepdims = 0", [2, 3, 4])) == [(2, 3)]
    assert windows.reduced(call("keepdims = 1", [2, 3, 4])) == [(1, 1, 1)]


def test_layouts_in_blocks():
    assert windows.in_blocks(call("channels_last = 0", ["N", 3, 7, 8])) == [("N", None, 7, 8)]
    assert windows.in_blocks(call("channels_last = 1", ["N", 7, 8, 3])) == [("N", None, 7, 8)]
    assert windows.out_of_blocks(call("channels = 3", ["N", 8, 7, None])) == [("N", 3, 7, None)]
    assert windows.out_of_blocks(call("channels = 3, channels_last = 1", ["N", 8, 7, 9])) == [("N", 7, 9, 3)]
    assert windows.scaled(call("scales = [1,1,2,3]", ["N", 8, 7, None])) == [("N", 8, 14, None)]
    for function in (windows.in_blocks, windows.out_of_blocks, windows.scaled):
        assert function(call("scales = [1,1,1], channels = 1", None)) == [None]
