"""Property: a Split taken to any opset and back cuts the same parts, or is refused; the parts are numpy's."""

from __future__ import annotations

import helpers
import hypothesis
import numpy as np
from helpers import convert_version, round_trip
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter import UnconvertibleError

OPSETS = (7, 9, 10, 11, 12, 13, 15, 17, 18, 20, 21, 22)


@st.composite
def splits(draw: st.DrawFn):
    """(model, input, expected parts)"""
    opset = draw(st.sampled_from(OPSETS))
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    axis = draw(st.integers(-len(shape) if opset >= 11 else 0, len(shape) - 1))
    form = draw(st.sampled_from(["sizes", "equal", "count"] if opset >= 18 else ["sizes", "equal"]))
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    if form == "equal":
        sizes = [draw(st.integers(1, 3))] * len(sizes)
    if form == "count":
        each, last = draw(st.integers(1, 3)), draw(st.integers(0, 3))
        sizes = [each] * (len(sizes) - 1) + [min(each, last) if len(sizes) > 1 else each]
        hypothesis.assume(-(-sum(sizes) // len(sizes)) == each)
    shape[axis] = sum(sizes)
    attributes, inputs, initializers = {"axis": axis}, ["x"], []
    if form == "sizes" and opset < 13:
        attributes["split"] = sizes
    elif form == "sizes":
        inputs.append("sizes")
        initializers.append(numpy_helper.from_array(np.array(sizes, np.int64), "sizes"))
    elif opset >= 18:
        attributes["num_outputs"] = len(sizes)
    symbolic = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    declared = [f"D{i}" if hide else size for i, (size, hide) in enumerate(zip(shape, symbolic, strict=True))]
    names = [f"y{i}" for i in range(len(sizes))]
    outputs = [helper.make_tensor_value_info(name, TensorProto.INT32, [f"{name}_{i}" for i in range(len(shape))]) for name in names]
    graph = helper.make_graph(
        [helper.make_node("Split", inputs, names, **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT32, declared)],
        outputs,
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    return model, x, np.split(x, np.cumsum(sizes)[:-1], axis=axis)


@hypothesis.given(splits(), st.sampled_from(OPSETS))
@hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
def test_there_and_back(case, target: int) -> None:
    model, x, parts = case
    try:
        there = convert_version(model, target).model
    except UnconvertibleError as refusal:
        assert target < 11, f"every Split has a form from 11 on: {refusal}"
        return
    back = round_trip(model, target).model
    assert back.opset_import[0].version == model.opset_import[0].version
    for result in (there, back):
        for got, want in zip(helpers.run(result, {"x": x}), parts, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
