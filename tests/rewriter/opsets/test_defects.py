"""The rows of facts and the conditions of defects know each other."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.opsets import defects, facts
from split_rewrite.rewriter.opsets.cases import Case, Values
from split_rewrite.rewriter.opsets.defects import DEFECTS

pytestmark = pytest.mark.quick

WORDS = ("ort-wrong", "reference-wrong", "disputed", "lax")
NAMED = {name for word in WORDS for op_type in facts.with_word(word) for name in facts.of(op_type).names(word)}


def test_each_defect_is_that_of_a_row() -> None:
    assert set(DEFECTS) == NAMED


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_a_text_names_the_operator_and_nothing_else(name: str) -> None:
    assert "{" not in DEFECTS[name].text.format(op="Twist")


def test_a_defect_of_a_type_needs_a_value_of_it() -> None:
    text = "g ({}[2] x) => ({}[2] y) {{y = Pad(x, p)}}"
    for kind, is_wrong in (("string", True), ("float", False)):
        proto = model(text.format(kind, kind).replace("Pad(x, p)", "Pad<pads = [0, 0]>(x)"), 2)
        case = Case(proto.graph.node[0], 2, Values(proto))
        assert DEFECTS["strings_padded_with_0"].concerns(case) is is_wrong


@pytest.mark.parametrize(("release", "is_wrong"), [("1.20.1", True), ("1.28.0", True), ("1.29.0", False), ("2.0", False)])
def test_a_defect_of_older_releases_is_none_of_newer_ones(release: str, is_wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime counts what is no padding up to 1.28, and has not since 1.29."""
    monkeypatch.setattr(defects, "version", {"onnxruntime": release}.__getitem__)
    monkeypatch.setattr(defects, "_is_older_onnxruntime", defects._is_older_onnxruntime.__wrapped__)
    text = "g (float[1,1,3] x) => (float[1,1,2] y) { y = AveragePool<kernel_shape = [2], ceil_mode = 1, count_include_pad = 1>(x) }"
    proto = model(text, 13)
    assert DEFECTS["counted_beyond_padding"].concerns(Case(proto.graph.node[0], 13, Values(proto))) is is_wrong


# For each defect, a node of an operator that has it, which does not have it.
FALSE = {
    "axes_dropped_once": (13, "y = Squeeze(x, a)", "float[1,1,2] x", "int64[2] a = {0, -2}"),
    "axes_given_twice": (18, "y = ReduceSum(x, a)", "float[2,2,2,2] x", "int64[3] a = {0, -1, 2}"),
    "axes_one_by_one": (11, "y = Unsqueeze<axes = [0, 2]>(x)", "float[2] x", ""),
    "batches": (9, "y = Scan<num_scan_inputs = 1, body = b (float[2] s) => (float[2] t) { t = Relu(s) }>(x)", "float[2,2] x", ""),
    "body_of_28": (27, "y = ReduceLogSum(x)", "float[2] x", ""),
    "body_of_bfloat16": (17, "y = ReduceLogSumExp(x)", "bfloat16[2] x", ""),
    "body_of_float16": (17, "y = ReduceLogSumExp(x)", "float16[2] x", ""),
    "broadcast_axis": (6, "y = Add<broadcast = 1>(x, x)", "float[2] x", ""),
    "capped_scores": (23, "y, , , s = Attention<softcap = 2.0, qk_matmul_output_mode = 3>(x, x, x)", "float[1,1,2,2] x", ""),
    "coefficients_of_floats": (17, "y = HammingWindow<output_datatype = 1>(n)", "int64 n", ""),
    "collected_strings": (
        *(16, "y, z = Loop(n, , x) <body = b (int64 i, bool k, float[1] v) => (bool c, float[1] w, float[1] o) {c = Identity(k) w = Identity(v) o = Identity(v)}>"),
        *("float[1] x, int64 n", ""),
    ),
    "copied_input": (18, "y = Resize(x, , s)", "float[1,1,2] x, float[3] s", ""),
    "counted_beyond_padding": (13, "y = AveragePool<kernel_shape = [2], ceil_mode = 1>(x)", "float[1,1,3] x", ""),
    "counted_padding": (13, "y = AveragePool<kernel_shape = [2], pads = [1, 0]>(x)", "float[1,1,2] x", ""),
    "cubic_border": (20, 'y = GridSample<mode = "cubic", padding_mode = "zeros">(x, x)', "float[1,1,1,2] x", ""),
    "cut_to_integers": (18, "y = Resize(x, , s)", "int32[1,1,2] x, float[3] s", ""),
    "empty_axes": (13, "y = Squeeze(x, a)", "float[1,2] x", "int64[1] a = {0}"),
    "first_strings": (13, "y = Gather(x, i)", "string[2,1] x, int64[1] i", ""),
    "flattened_input": (12, "y = Softmax<axis = -1>(x)", "float[2,2] x", ""),
    "half_pixels": (16, "y = RoiAlign(x, r, i)", "float[1,1,2,2] x, float[1,4] r, int64[1] i", ""),
    "halves_divided": (23, "y = QuantizeLinear(x, s)", "float16[2] x, float16 s", ""),
    "halves_of_int64": (13, "y = Max(x, k)", "int64[2] x", "int64 k = {2147483647}"),
    "ignored_beta": (6, "y = Gemm<beta = 0.5, broadcast = 1>(x, x, x)", "float[1,1] x", ""),
    "ignored_lengths": (14, "y = RNN<hidden_size = 1>(x, w, w)", "float[1,1,1] x, float[1,1,1] w", ""),
    "images_alone": (13, "y = GlobalMaxPool(x)", "float[1,1,2,2] x", ""),
    "inserts_at_the_front": (13, "q = SequenceConstruct(x) t = SequenceInsert(q, x)", "float[1] x", ""),
    "large_powers": (13, "y = Pow(x, x)", "float[2] x", ""),
    "long_condition": (13, "y = Compress<axis = 0>(x, c)", "float[3,2] x, bool[3] c", ""),
    "made_up_shape": (13, "y = Loop(n, , x) <body = b (int64 i, bool k, float[1] v) => (bool c, float[1] w) {c = Identity(k) w = Neg(v)}>", "float[1] x, int64 n", ""),
    "many_choices": (13, "y = GatherElements<axis = -1>(x, i)", "float[64,32] x, int64[64,3] i", ""),
    "masked_scores": (24, "y, , , s = Attention<qk_matmul_output_mode = 2>(x, x, x)", "float[1,1,2,2] x", ""),
    "matrices_of_any_shape": (20, "y = AffineGrid(x, s)", "float[n,2,3] x, int64[4] s", ""),
    "named_parts": (18, "a, b = Split<num_outputs = 2>(x)", "float[4] x", ""),
    "negative_axes_of_a_policy": (18, 'y = Resize<axes = [2], keep_aspect_ratio_policy = "not_larger">(x, , , z)', "float[1,1,2] x, int64[1] z", ""),
    "newer_defaults": (6, "y = Selu(x)", "float[2] x", ""),
    "obeyed_keepdims": (13, "q = SplitToSequence<keepdims = 0>(x)", "float[2] x", ""),
    "one_batch_for_many": (13, "y = GatherND(x, i)", "float[2,2] x, int64[2,1] i", ""),
    "own_casts": (21, "y = Cast<to = 3>(x)", "float[2] x", ""),
    "own_padding": (13, "y = MaxPool<kernel_shape = [2], pads = [1, 1]>(x)", "float[1,1,3] x", ""),
    "one_causal_query": (23, "y, , = Attention<is_causal = 1>(x, x, x, , x, x)", "float[1,1,1,2] x", ""),
    "place_of_a_scalar": (13, "y = NonZero(x)", "float[2] x", ""),
    "padded_mask": (23, "y = Attention(x, x, x, m)", "float[1,1,2,2] x, float[2,2] m", ""),
    "padding_beside_a_shape": (11, "y = ConvTranspose<output_shape = [4, 4]>(x, w)", "float[1,1,4,4] x, float[1,1,2,2] w", ""),
    "positions_in_float": (16, "y = GridSample(x, p)", "float[1,1,2,2] x, float[1,1,1,2] p", ""),
    "positions_in_the_output": (11, "y = MaxUnpool<kernel_shape = [2]>(x, i)", "float[1,1,1] x, int64[1,1,1] i", ""),
    "powers_in_double": (13, "a = Pow(x, x) b = Pow(z, two) c = Pow(z, three)", "int32[2] x, int64[2] z", "int64 two = {2}, float[1] three = {3}"),
    "products_of_nothing": (13, "y = MatMulInteger(x, w)", "uint8[2,1] x, uint8[1,2] w", ""),
    "root_in_float": (23, "y = Attention<scale = 0.25>(x, x, x)", "double[1,1,2,3] x", ""),
    "only_element_before_the_first": (18, 'y = Resize<mode = "cubic">(x, , s)', "float[2,2] x, float[2] s", ""),
    "rounded_doubles": (18, "y = Shrink(x)", "float[2] x", ""),
    "rounded_integers": (18, "y = Shrink(x)", "float[2] x", ""),
    "rounded_length": (18, "y = Resize(x, , s)", "float[1,1,2] x, float[3] s", ""),
    "rounding_as_length": (18, 'y = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, , s)', "float[1,1,4] x", "float[3] s = {1, 1, 2.5}"),
    "saturated_products": (13, "y = MatMulInteger(x, w)", "uint8[2,2] x, uint8[2,2] w", ""),
    "scan_outputs_in_a_row": (13, "y = Loop(n, , x) <body = b (int64 i, bool k, float[1] v) => (bool c, float[1] w) {c = Identity(k) w = Neg(v)}>", "float[1] x, int64 n", ""),
    "sequence_for_an_element": (18, "o = Optional<type = float[1]>() y = OptionalHasElement(o)", "", ""),
    "signed_norm": (18, "y = LpNormalization<p = 2>(x)", "float[1,2] x", ""),
    "slope_of_the_last_axis": (7, "y = PRelu(x, x)", "float[2] x", ""),
    "sorted_anyway": (13, "y = Unique(x)", "float[2] x", ""),
    "strings_padded_with_0": (13, "y = Pad(x, p)", "float[2] x, int64[2] p", ""),
    "sum_for_a_value": (13, "y = OneHot(i, d, v)", "int64[1] i, int64 d", "float[2] v = {0, 1}"),
    "uncut_positions": (13, "y = OneHot(i, d, v)", "int64[1] i, int64 d", "float[2] v = {0, 1}"),
    "undilated_padding": (19, 'y = AveragePool<kernel_shape = [2], auto_pad = "SAME_UPPER">(x)', "float[1,1,3] x", ""),
    "unnamed_outputs": (13, "a, b = Split(x)", "float[2] x", ""),
    "weights_in_float": (18, 'y = Resize<mode = "linear">(x, , s)', "double[1,1,2] x, float[3] s", ""),
    "windows_beyond_the_input": (18, "y = LpPool<kernel_shape = [2]>(x)", "float[1,1,3] x", ""),
    "windows_longer_than_data": (18, "y = AveragePool<kernel_shape = [4], pads = [1, 0]>(x)", "float[1,1,3] x", ""),
}  # fmt: skip
OF_EVERY_NODE = {"late_rounding", "nan_for_0", "removed_accents"}
"""Defects that depend on numbers, or that every node of the operator has."""


def test_each_defect_is_false_somewhere() -> None:
    assert set(DEFECTS) == set(FALSE) | OF_EVERY_NODE


@pytest.mark.parametrize("name", FALSE)
def test_a_defect_is_not_named_where_the_node_does_not_have_it(name: str) -> None:
    opset, nodes, inputs, stored = FALSE[name]
    proto = model(f"g ({inputs}) => () {f'<{stored}>' if stored else ''} {{ {nodes} }}", opset)
    words = [word for word in WORDS for node in proto.graph.node if name in facts.of(node.op_type).names(word)]
    assert words, "no node of an operator with this defect"
    for node in proto.graph.node:
        assert name not in facts.of(node.op_type).names(words[0]) or not DEFECTS[name].concerns(Case(node, opset, Values(proto)))
