"""Forms of which onnx infers wrong shapes: their shapes are unknown."""

from __future__ import annotations

import re

import numpy as np
import onnx
import onnx.parser
import pytest
from helpers import convert_version, model, run
from onnx import TensorProto, TypeProto, helper

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.opsets import inference, type_protos
from split_rewrite.rewriter.opsets.misinferred import any_depends_on_operands, is_wrongly_inferred, may_be_wrong, usable_data

FLOAT = TensorProto.FLOAT


def types(**shapes: list[int | None] | None) -> dict[str, TypeProto]:
    return {name: helper.make_tensor_type_proto(FLOAT, shape) for name, shape in shapes.items()}


def numbers(value: int) -> TensorProto:
    """A vector of the one number."""
    return helper.make_tensor("", TensorProto.INT64, [1], [value])


@pytest.mark.parametrize(("length", "is_wrong"), [(None, True), (2, False)])
def test_the_rank_of_what_indices_of_unknown_length_pick(length: int | None, is_wrong: bool) -> None:
    node = onnx.parser.parse_node("y = GatherND (x, i)")
    assert is_wrongly_inferred(node, 10, types(x=[2, 3, 4], i=[5, length]), types(y=[5, 4]), {}) is is_wrong


def test_a_scalar_has_no_axis_to_squeeze() -> None:
    node = onnx.parser.parse_node("y = Squeeze <axes = [-1]> (x)")
    assert is_wrongly_inferred(node, 10, types(x=[]), types(y=[]), {})


def test_an_operator_of_another_domain_is_not_judged() -> None:
    node = onnx.parser.parse_node("y = own.GatherND (x, i)")
    assert not is_wrongly_inferred(node, 10, types(x=[2, 3, 4], i=[5, None]), types(y=[5, 4]), {})


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("y = GatherND (x, i)", True),
        ("y = Gather (x, i)", False),
        ("y = MaxPool <kernel_shape = [2], ceil_mode = 1> (x)", True),
        ("y = MaxPool <kernel_shape = [2], ceil_mode = 0> (x)", False),
        ("y = MaxPool <kernel_shape = [2]> (x)", False),
        ("y = MaxPool <kernel_shape = [2], dilations = [2]> (x)", True),
        ("y = MaxPool <kernel_shape = [2], dilations = [1]> (x)", False),
        ("y = ConvTranspose (x, w)", False),
        ("y = ConvTranspose <output_shape = [2]> (x, w)", True),
        ("y = Squeeze <axes = [-1]> (x)", True),
        ("y = Squeeze <axes = [0]> (x)", False),
        ("y = Squeeze <axes = [0, 2]> (x)", False),
        ("y = Squeeze <axes = [2, 0]> (x)", True),
        ("y = Unsqueeze (x, a)", False),
    ],
)
def test_what_may_be_inferred_wrongly(text: str, may: bool) -> None:
    assert may_be_wrong(onnx.parser.parse_node(text), 10) is may


def test_from_11_on_axes_count_from_the_end() -> None:
    assert not may_be_wrong(onnx.parser.parse_node("y = Squeeze <axes = [-1]> (x)"), 11)


# Lengths by onnxruntime 1.32; onnx infers 12, 2, 10 and (1, 2) for the first of each.
OPEN = {
    "scale": (13, "float[1,1,5,5] x", "float[4] s = {1, 1, 2.6, 2.6}", "y = Resize (x, , s)", None),
    "scale-of-10": (10, "float[1,1,5,5] x", "float[4] s = {1, 1, 2.6, 2.6}", "y = Resize (x, s)", None),
    "scale-beyond-float": (13, "float[1,1,5,5] x", "float[4] s = {1, 1, 3e38, 1}", "y = Resize (x, , s)", None),
    "certain-scale": (13, "float[1,1,5,5] x", "float[4] s = {1, 1, 2.5, 3}", "y = Resize (x, , s)", (1, 1, 12, 15)),
    "policy": (
        19,
        "float[1,2,5,8] x",
        "int64[2] s = {1, 2}",
        'y = Resize <axes = [-2, -1], keep_aspect_ratio_policy = "not_smaller"> (x, , , s)',
        None,
    ),
    "certain-policy": (
        19,
        "float[1,2,5,8] x",
        "int64[2] s = {5, 8}",
        'y = Resize <axes = [-2, -1], keep_aspect_ratio_policy = "not_smaller"> (x, , , s)',
        (1, 2, 5, 8),
    ),
    "range": (13, "", "float s = {0.3}, float e = {10.3}, float d = {1}", "y = Range (s, e, d)", None),
    "certain-range": (13, "", "float s = {0}, float e = {10.5}, float d = {1}", "y = Range (s, e, d)", (11,)),
    "dilated": (13, "float[1,1,7] x", "", 'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], dilations = [2]> (x)', None),
    "certain-same": (13, "float[1,1,7] x", "", 'y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3]> (x)', (1, 1, 7)),
    "transposed": (
        13,
        "float[1,1,4] x, float[1,1,2] w",
        "",
        'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2], output_padding = [1]> (x, w)',
        None,
    ),
    "certain-transposed": (
        13,
        "float[1,1,4] x, float[1,1,2] w",
        "",
        'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2]> (x, w)',
        (1, 1, 8),
    ),
    "transposed-to-less": (13, "float[1,1,4] x, float[1,1,3] w", "", "y = ConvTranspose <output_shape = [2]> (x, w)", None),
    "axes-from-the-end-below-11": (9, "float[2,3] x", "", "y = Unsqueeze <axes = [-1, -3]> (x)", None),
    "squeezed-from-the-end-below-11": (9, "float[2,1,3,1] x", "", "y = Squeeze <axes = [-1, -3]> (x)", None),
    "squeezed-in-another-order-below-11": (9, "float[1,2,3,1] x", "", "y = Squeeze <axes = [3, 0]> (x)", (2, 3)),
    "added-in-another-order-below-11": (9, "float[2,3] x", "", "y = Unsqueeze <axes = [0, 2]> (x)", (1, 2, 1, 3)),
    "certain-axes": (11, "float[2,3] x", "", "y = Unsqueeze <axes = [-1, -3]> (x)", (2, 1, 3, 1)),
    "certain-pool": (13, "float[1,1,4] x", "", "y = MaxPool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (x)", (1, 1, 2)),
}


@pytest.mark.parametrize("case", OPEN)
def test_lengths_that_are_read_in_two_ways_are_unknown(case: str) -> None:
    opset, inputs, stored, text, shape = OPEN[case]
    proto = model(f"g ({inputs}) => (float[] y) {f'<{stored}>' if stored else ''} {{ {text} }}", opset)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    found = inference.infer_model(proto)
    assert found is not None
    assert type_protos.shape_of(found.graph.output[0].type) == shape


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
def test_a_last_window_behind_the_input_is_none(op_type: str) -> None:
    """Along three elements a window of two would begin at the fourth, by what onnx 1.17 to 1.23 infer."""
    node = onnx.parser.parse_node(f"y = {op_type} <ceil_mode = 1, kernel_shape = [2], strides = [3]> (x)")
    assert is_wrongly_inferred(node, 10, types(x=[1, 1, 3]), types(y=[1, 1, 2]), {})
    assert not is_wrongly_inferred(node, 10, types(x=[1, 1, 3]), types(y=[1, 1, 1]), {})
    assert not is_wrongly_inferred(node, 10, types(x=[1, 1, 4]), types(y=[1, 1, 2]), {})
    assert not is_wrongly_inferred(node, 10, types(x=[1, 1, None]), types(y=[1, 1, None]), {})


def test_a_window_longer_than_the_input_is_none_if_it_is_longer_by_a_stride() -> None:
    node = onnx.parser.parse_node("y = MaxPool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (x)")
    assert is_wrongly_inferred(node, 10, types(x=[1, 1, 1]), types(y=[1, 1, 1]), {})
    assert not is_wrongly_inferred(node, 10, types(x=[1, 1, 2]), types(y=[1, 1, 1]), {})


@pytest.mark.parametrize(
    ("pads", "length", "is_wrong"),
    [("[1, 1]", 8, False), ("[0, 0]", 6, True), ("[0, 2]", 8, False), ("[2, 2]", 10, True)],
)
def test_pads_beside_auto_pad_are_in_doubt_where_they_give_another_length(pads: str, length: int, is_wrong: bool) -> None:
    text = f'y = MaxPool <kernel_shape = [3], auto_pad = "SAME_UPPER", pads = {pads}> (x)'
    node = onnx.parser.parse_node(text)
    assert is_wrongly_inferred(node, 13, types(x=[1, 2, 8]), types(y=[1, 2, length]), {}) is is_wrong
    proto = model(f"g (float[1,2,8] x) => (float[1,2,n] y) {{ {text} }}", 13)
    assert run(proto, {"x": np.zeros((1, 2, 8), np.float32)})[0].shape == (1, 2, 8)


def test_an_odd_flag_counts_beside_pads_that_agree() -> None:
    text = 'y = MaxPool <kernel_shape = [3], auto_pad = "SAME_UPPER", pads = [1, 1], ceil_mode = 2> (x)'
    assert is_wrongly_inferred(onnx.parser.parse_node(text), 13, types(x=[1, 2, 8]), types(y=[1, 2, 8]), {})


def test_a_last_window_is_none_also_where_a_function_is_told_the_kernel() -> None:
    node = onnx.parser.parse_node("y = MaxPool <ceil_mode = 1, kernel_shape: ints = @k, strides = [1, 3]> (x)")
    assert is_wrongly_inferred(node, 10, types(x=[1, 1, 5, 3]), types(y=[1, 1, 4, 2]), {})
    assert not is_wrongly_inferred(node, 10, types(x=[1, 1, 5, 4]), types(y=[1, 1, 4, 2]), {})


@pytest.mark.parametrize("opset", [7, 16])
@pytest.mark.parametrize("slope", ["3,4,5", "2,1,4,1", "5"])
def test_a_slope_may_be_larger_than_what_it_is_for(slope: str, opset: int) -> None:
    """The specification forbids it, onnx infers the shape of the data, and onnxruntime spreads both."""
    proto = model(f"g (float[1,4,5] x, float[{slope}] s) => (float[] y) {{ y = PRelu (x, s) }}", opset)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    feeds = {"x": np.ones((1, 4, 5), np.float32), "s": np.ones([int(length) for length in slope.split(",")], np.float32)}
    shape = run(proto, feeds)[0].shape
    found = inference.infer_model(proto)
    assert found is not None
    assert type_protos.shape_of(found.graph.output[0].type) == shape
    assert found.graph.node == proto.graph.node
    given = {value.name: value.type for value in proto.graph.input}
    assert type_protos.shape_of(inference.infer_node(proto.graph.node[0], opset, given, {}, 8)["y"]) == shape


@pytest.mark.parametrize(("op_type", "opset"), [("GreaterOrEqual", 12), ("LessOrEqual", 15)])
def test_an_order_has_the_shape_to_which_its_operands_spread(op_type: str, opset: int) -> None:
    """By what onnx 1.17 to 1.23 infer, it has none below opset 16."""
    proto = model(f"g (float[N,1,5] x, float[4,1] s) => (bool[] y) {{ y = {op_type} (x, s) }}", opset)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    found = inference.infer_model(proto)
    assert found is not None
    assert type_protos.shape_of(found.graph.output[0].type) == ("N", 4, 5)


@pytest.mark.parametrize("opset", [9, 13])
def test_a_normalization_of_mean_and_variance_keeps_its_shape(opset: int) -> None:
    node = onnx.parser.parse_node("y = MeanVarianceNormalization (x)")
    found = inference.infer_node(node, opset, types(x=[None, 4, 6, 8]), {}, 8)
    assert type_protos.shape_of(found["y"]) == (None, 4, 6, 8)


def test_a_slice_by_steps_at_run_time_is_not_inferred_by_its_bounds() -> None:
    node = onnx.parser.parse_node("y = Slice (x, starts, ends, axes, steps)")
    bounds = {name: numbers(value) for name, value in {"starts": 0, "ends": 4, "axes": 0}.items()}
    assert usable_data(node, bounds) == {}
    assert usable_data(node, {**bounds, "steps": numbers(2)}) == {**bounds, "steps": numbers(2)}


@pytest.mark.parametrize("end", [2**31 - 1, 2**63 - 1])
def test_a_slice_that_goes_back_to_int_max_has_two_lengths(end: int) -> None:
    """By the specification, and as onnx infers, it is empty; onnxruntime goes down to the first element."""
    nodes = """s = Constant <value_ints = [1]> () e = Constant <value_ints = [END]> () a = Constant <value_ints = [1]> ()
        b = Constant <value_ints = [-1]> () h = Slice (x, s, e, a, b) z = Shape (h)""".replace("END", str(end))
    stored = f"<int64[1] s = {{1}}, int64[1] e = {{{end}}}, int64[1] a = {{1}}, int64[1] b = {{-1}}> {{ h = Slice (x, s, e, a, b) z = Shape (h) }}"
    for body in (f"{{ {nodes} }}", stored):
        proto = model(f"g (float[2,3] x) => (int64[2] z) {body}", 13)
        assert run(proto, {"x": np.zeros((2, 3), np.float32)})[0].tolist() == [2, 2]
        found = inference.infer_model(proto)
        assert found is not None
        assert {value.name: type_protos.shape_of(value.type) for value in found.graph.value_info}["h"] == (None, None)


@pytest.mark.parametrize("target", [11, 17])
def test_the_length_of_a_slice_back_to_int_max_is_not_stored(target: int) -> None:
    text = """g (float[2,3] x) => (float[a,b] y, int64[2] z) <int64[1] s = {1}, int64[1] e = {2147483647}, int64[1] a = {1}, int64[1] b = {-1}> {
        y = Slice (x, s, e, a, b) z = Shape (y) }"""
    with pytest.raises(UnconvertibleError, match=r"--static needs fixed shapes, and that of 'y' is \(2, \?\)"):
        convert_version(model(text, 13), target, options=Options(static=True))
    proto = model(text, 13)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    result = convert_version(proto, target).model
    assert type_protos.shape_of(result.graph.output[0].type) == (None, None)
    assert run(result, {"x": np.zeros((2, 3), np.float32)})[1].tolist() == [2, 2]


NO_AXES = {
    "an attribute": (11, "{ y = Squeeze <axes: ints = []> (x) }"),
    "an attribute of an old opset": (9, "{ y = Squeeze <axes: ints = []> (x) }"),
    "stored": (13, "<int64[0] a = {}> { y = Squeeze (x, a) }"),
    "a node": (13, "{ a = Constant <value_ints: ints = []> () y = Squeeze (x, a) }"),
}


@pytest.mark.parametrize(("opset", "body"), NO_AXES.values(), ids=NO_AXES)
def test_the_rank_behind_empty_axes_is_unknown(opset: int, body: str) -> None:
    """By the specification, and as onnx infers, nothing is removed; onnxruntime removes all axes of length 1."""
    proto = model(f"g (float[1,3] x) => (float[a] y) {body}", opset)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    assert run(proto, {"x": np.zeros((1, 3), np.float32)})[0].shape == (3,)
    result = convert_version(proto, opset + 1).model
    assert not result.graph.output[0].type.tensor_type.HasField("shape")


def test_axes_that_are_there_are_followed() -> None:
    node, x = onnx.parser.parse_node("y = Squeeze (x, a)"), types(x=[1, 3, 1])
    kinds = {**x, "a": helper.make_tensor_type_proto(TensorProto.INT64, [1])}
    assert type_protos.shape_of(inference.infer_node(node, 13, kinds, {"a": numbers(0)}, 8)["y"]) == (3, 1)
    assert type_protos.shape_of(inference.infer_node(onnx.parser.parse_node("y = Squeeze (x)"), 13, x, {}, 8)["y"]) == (3,)
    empty = helper.make_tensor("", TensorProto.INT64, [0], [])
    assert type_protos.shape_of(inference.infer_node(node, 13, kinds, {"a": empty}, 8).get("y", TypeProto())) is None
    stated = onnx.parser.parse_node("y = Squeeze <axes: ints = []> (x)")
    assert type_protos.shape_of(inference.infer_node(stated, 11, x, {}, 8)["y"]) is None


def test_axes_that_a_function_is_given_are_not_empty() -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 11, "l" : 1]> g (float[1,3,1] x) => (float[3,1] y) { y = l.f <axes = [0]> (x) }
        <domain: "l", opset_import: ["" : 11]> f <axes> (x) => (y) { y = Squeeze <axes: ints = @axes> (x) }"""
    )
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    found = inference.infer_model(proto)
    assert found is not None
    assert type_protos.shape_of(found.graph.output[0].type) == (3, 1)


def test_a_constant_that_does_not_fit_its_shape_is_left_to_the_checks() -> None:
    proto = model("g (float[2,3] x) => (float[a,b] y) <int64[1] s = {1}> { y = Squeeze (x, s) }", 13)
    proto.graph.initializer[0].raw_data = b"123"
    del proto.graph.initializer[0].int64_data[:]
    assert not any_depends_on_operands(proto)


def test_one_name_in_many_functions_is_looked_at_once() -> None:
    body = "s = Constant <value_ints = [0]> () e = Constant <value_ints = [2]> () a = Constant <value_ints = [0]> () b = Constant <value_ints = [1]> ()"
    functions = "".join(
        f'<domain: "l", opset_import: ["" : 13]> f{number} (x) => (y) {{ {body} y = Slice (x, s, e, a, b) }}'
        for number in range(300)
    )
    proto = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[3] x) => (float[2] y) {{ y = l.f0 (x) }} {functions}'
    )
    assert not any_depends_on_operands(proto)


@pytest.mark.parametrize(("end", "step", "length"), [(2**63 - 1, 1, 2), (-(2**63), -1, 2), (0, -1, 1)])
def test_other_ends_have_one_meaning(end: int, step: int, length: int) -> None:
    node = onnx.parser.parse_node("y = Slice (x, starts, ends, axes, steps)")
    data = {"starts": numbers(1), "ends": numbers(end), "axes": numbers(0), "steps": numbers(step)}
    kinds = {**types(x=[3]), **dict.fromkeys(data, helper.make_tensor_type_proto(TensorProto.INT64, [1]))}
    found = inference.infer_node(node, 13, kinds, data, 8)
    assert type_protos.shape_of(found["y"]) == (length,)


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 23, reason="the installed onnx has no opset 23")
@pytest.mark.parametrize(("past", "scores"), [("L", None), ("12", (2, 3, 4, 18))])
def test_the_scores_of_attention_behind_a_past_of_unknown_length(past: str, scores: tuple[int, ...] | None) -> None:
    """onnx infers a length of 6 where it does not know that of the past."""
    found = inference.infer_model(
        model(
            f"""g (float[2,3,4,8] q, float[2,3,6,8] k, float[2,3,6,8] v, float[2,3,{past},8] pk, float[2,3,{past},8] pv)
                => (float[] y, float[] s) {{ y, nk, nv, s = Attention (q, k, v, , pk, pv) }}""",
            23,
        )
    )
    assert found is not None
    assert type_protos.shape_of(found.graph.output[1].type) == scores


MISREAD = {
    "dilated": ('h = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], dilations = [2]> (x)', r"\[1,1,5\]"),
    "transposed": ('h = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2], output_padding = [1]> (x, w)', r"\[1,1,11\]"),
    "scale": ("h = Resize (x, , s)", r"\[1,1,1[23]\]"),
}


@pytest.mark.parametrize("case", MISREAD)
def test_nothing_is_computed_of_a_shape_that_runtimes_misread(case: str) -> None:
    """onnxruntime puts what onnx infers in the place of a new Shape, and fails on the sizes that follow from it."""
    text, shape = MISREAD[case]
    stored = "<float[1,1,2] w = {1, 2}, float[3] s = {1, 1, 2.6}>"
    proto = model(
        f"g (float[1,1,5] x) => (float[] y, float[] z) {stored} {{ {text} y, z = Split<axis = 2, num_outputs = 2>(h) }}", 18
    )
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(proto, 17)
    misread = f"its form needs the shape of 'h', which runtimes take for {shape}, though it may be another"
    assert re.search(misread, str(caught.value))
    assert "state its type with --declare h:float" in str(caught.value)


def test_a_shape_that_is_declared_is_read() -> None:
    text = 'h = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], dilations = [2]> (x)'
    proto = model(
        f"g (float[1,1,7] x) => (float[1,1,3] y, float[1,1,2] z) {{ {text} y, z = Split<axis = 2, num_outputs = 2>(h) }}", 18
    )
    result = convert_version(proto, 17, options=Options(declare={"h": "float[1,1,5]"})).model
    x = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
    for found, expected in zip(run(result, {"x": x}), run(proto, {"x": x}), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('h = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], dilations = [2]> (x)', (1, 2, None)),
        ("h = ConvTranspose <output_shape = [4]> (x, w)", (1, 3, None)),
        ("h = MaxPool <kernel_shape = [1], strides = [3], ceil_mode = 1> (x)", (1, 2, None)),
    ],
)
def test_the_rank_is_certain_where_lengths_alone_are_not(text: str, shape: tuple[int | None, ...]) -> None:
    proto = model(f"g (float[1,2,5] x, float[2,3,4] w) => (float[A,B] y) {{ {text} y = Flatten(h) }}", 13)
    inferred = inference.infer_model(proto)
    assert inferred is not None
    (found,) = [value.type for value in inferred.graph.value_info if value.name == "h"]
    assert type_protos.shape_of(found) == shape


@pytest.mark.parametrize(
    ("opset", "other", "shape"), [(7, "[6,4]", None), (10, "[N,6]", None), (10, "[2,3]", (2, 3)), (11, "[6,4]", None)]
)
def test_a_length_of_one_branch_is_not_that_of_both(opset: int, other: str, shape: tuple[int, ...] | None) -> None:
    made = "w = Constant <value = float[2,3] {1,2,3,4,5,6}> ()" if other == "[2,3]" else "w = Reshape (x, s)"
    text = f"g (float[N,6] x, bool c, int64[2] s) => (float y) {{ y = If (c) <else_branch = e () => (float z) {{ z = Constant <value = float[2,3] {{1,2,3,4,5,6}}> () }}, then_branch = t () => (float w) {{ {made} }}> }}"
    proto = model(text, opset)
    for value in (proto.graph.output[0], *(attribute.g.output[0] for attribute in proto.graph.node[0].attribute)):
        value.type.tensor_type.ClearField("shape")
    inferred = inference.infer_model(proto)
    assert inferred is not None
    assert type_protos.shape_of(inferred.graph.output[0].type) == shape


@pytest.mark.parametrize(
    ("equation", "inputs", "shape"),
    [
        ("bij,bjk->bik", "float[1,3,4] x, float[N,4,5] w", ("N", 3, 5)),
        ("bij,bjk->bik", "float[2,3,4] x, float[N,4,5] w", (2, 3, 5)),
        ("bij,bjk->bik", "float[1,3,4] x, float[1,4,5] w", (1, 3, 5)),
        ("bij,bjk->bik", "float[N,3,4] x, float[N,4,5] w", ("N", 3, 5)),
        ("bij,bjk->bik", "float[N,3,4] x, float[1,4,5] w", ("N", 3, 5)),
        ("bij,bjk->bik", "float[N,3,4] x, float[M,4,5] w", (None, 3, 5)),
        ("ij,ij->ij", "float[1,3] x, float[2,3] w", (2, 3)),
        ("ij , jk -> ik", "float[1,3] x, float[1,2] w", (1, 2)),
        ("ij,jk->ijk", "float[2,1] x, float[N,3] w", (2, "N", 3)),
        ("i,i->i", "float[1] x, float[N] w", ("N",)),
        ("i,i", "float[1] x, float[N] w", ()),
        ("ij,jk", "float[1,1] x, float[N,2] w", (1, 2)),
        ("...i,...i->...", "float[1,M,3] x, float[N,2,3] w", ("N", 2)),
        ("b...,b...", "float[2,1] x, float[2,3] w", (3,)),
        ("i,i,i->i", "float[1] x, float[1] w, float[2] v", (2,)),
    ],
)
def test_a_length_of_an_einsum_is_not_the_first_of_its_label(
    equation: str, inputs: str, shape: tuple[int | str | None, ...]
) -> None:
    names = ", ".join(value.name for value in model(f"g ({inputs}) => (float y) {{ y = Identity (x) }}", 17).graph.input)
    proto = model(
        f'g ({inputs}) => (float y) {{ h = Einsum <equation = "{equation}"> ({names}) y = ReduceSum <keepdims = 0> (h) }}', 17
    )
    inferred = inference.infer_model(proto)
    assert inferred is not None
    assert type_protos.shape_of(inferred.graph.value_info[0].type) == shape
