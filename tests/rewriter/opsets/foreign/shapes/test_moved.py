"""Shapes of what inserts axes, pads, gathers, or takes samples."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from split_rewrite.rewriter.opsets.foreign.call import Call
from split_rewrite.rewriter.opsets.foreign.shapes import moved

pytestmark = pytest.mark.quick


def call(attributes: str, *shapes: list[object] | None, constant: list[int] | None = None, kind: int = 1) -> Call:
    names = [f"v{number}" for number in range(len(shapes))]
    node = onnx.parser.parse_node(f"y = com.microsoft.Any <{attributes}> ({', '.join(names)})")
    types = {name: helper.make_tensor_type_proto(kind, shape) for name, shape in zip(names, shapes, strict=True)}
    return Call(node, types, {} if constant is None else {names[1]: numpy_helper.from_array(np.array(constant), names[1])})


def test_an_axis():
    assert moved.with_axis(call("a = 1", [2, "N"], [], constant=[-1])) == [(2, "N", 1)]
    assert moved.with_axis(call("a = 1", [2, "N"], [])) == [(None, None, None)]
    assert moved.with_axis(call("a = 1", None, [])) == [None]


def test_padding():
    assert moved.padded(call("a = 1", [2, "N", 5], [6], constant=[1, 0, 0, 1, 2, 3])) == [(4, None, 8)]
    assert moved.padded(call("a = 1", [2, 3], [4])) == [(None, None)]


def test_samples_and_distances():
    assert moved.sampled(call("a = 1", ["N", 3, 7, 8], ["N", 4, 5, 2])) == [("N", 3, 4, 5)]
    assert moved.distances(call("a = 1", ["N", 3], [4, 3])) == [("N", 4)]
    assert moved.transformed(call("a = 1", ["N", 9])) == [("N", 5, 2)]
    assert moved.first_of_each(call("a = 1", [6])) == [(None,), (6,), (None,)]


def test_rows_of_packed_numbers():
    assert moved.gathered(call("bits = 4", [6, 32], ["N", 2], kind=2)) == [("N", 2, 64)]
    assert moved.gathered(call("bits = 8", [6, 32], [], kind=2)) == [(32,)]
    assert moved.gathered(call("gather_axis = 1", [6, 32], [3], kind=22)) == [(6, 3)]
