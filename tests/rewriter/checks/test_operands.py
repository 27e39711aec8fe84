"""What onnx.checker lets through: attribute values and lengths that no runtime takes."""

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter.opsets.transitions import newest_opset

ATTENTION = "g (float[1,2,4] x, float[1,2,3,2] p) => (float[1,2,4] y) {{ {} = Attention <q_num_heads = {}, kv_num_heads = 2{}> (x, x, x{}) }}"
ROTARY = "g (float[1,2,3,{}] x, float[5,{}] c, int64[1,3] p) => (float[1,2,3,{}] y) {{ y = RotaryEmbedding <interleaved = 0> (x, c, c, p) }}"
GRAMS = (
    "g (int64[6] x) => (float[N] y) {{ y = TfIdfVectorizer <min_gram_length = {}, max_gram_length = {}, max_skip_count = {},"
    ' mode = "TF", ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 3, 4]> (x) }}'
)
GROUPS = (
    "g (float[1,2,2] x, float[2] s) => (float[1,2,2] y) {{ y = GroupNormalization <num_groups = 1, stash_type = {}> (x, s, s) }}"
)
RESIZE = "g (float[1,4] x, float[0] r, float[{}] s, int64[2] z) => (float[A,B] y) {{ y = Resize(x, r, s, z) }}"
CROP = "g (float[4,5] x, int64[{}] s) => (float[A,B] y) {{ y = CenterCropPad{}(x, s) }}"


def attention(outputs="y", heads=2, attributes="", inputs=""):
    return ATTENTION.format(outputs, heads, attributes, inputs)


INVALID = [
    (23, attention(heads=-2), "the number of heads q_num_heads is -2"),
    (23, attention(heads=0), "the number of heads q_num_heads is 0"),
    (23, attention(attributes=", scale = 0.0"), "scale is 0, and has to be positive"),
    (23, attention(attributes=", softcap = -1.0"), "softcap is -1, and has to be 0 or positive, and finite"),
    (23, attention("y, k, v", inputs=", , p"), "it has only one of past_key and past_value"),
    (23, ROTARY.format(8, 2, 8), "cos_cache has 2 columns for 8 rotated elements, which need 4"),
    (23, ROTARY.format(8, 4, 8).replace(", c, c, p)", ", c, c)"), "cos_cache has rank 2, and needs 3 without position_ids"),
    (21, GROUPS.format(2), "stash_type is 2, which is no floating-point type"),
    (9, GRAMS.format(0, 2, 1), "min_gram_length is 0, and has to be positive"),
    (9, GRAMS.format(2, 1, 1), "max_gram_length is 1, below min_gram_length, which is 2"),
    (9, GRAMS.format(1, 2, -1), "max_skip_count is -1"),
    (11, RESIZE.format(2), "it has both scales and sizes"),
    (
        18,
        "g (float[1,1,4,4] x) => (float[A,B,C,D] y) <float[4] s = {1.0, 1.0, 0.5, 0.5}> { y = Resize <axes = [3]> (x, , s) }",
        "scales has 4 entries for 1 axes",
    ),
    (
        18,
        "g (float[1,1,4,4] x) => (float[A,B,C,D] y) <int64[1] z = {2}> { y = Resize <axes = [2, 3]> (x, , , z) }",
        "sizes has 1 entries for 2 axes",
    ),
    (11, "g (float[3,2] x, bool[3,2] c) => (float[N] y) { y = Compress (x, c) }", "the condition has rank 2, and needs 1"),
    (18, CROP.format(3, " <axes = [0, 1]> "), "shape has 3 entries for 2 axes"),
    (18, CROP.format(1, " "), "shape has 1 entries for 2 axes"),
]


@pytest.mark.parametrize(("opset", "text", "message"), [row for row in INVALID if row[0] <= newest_opset()])
def test_invalid(opset, text, message):
    found = invalidity(model(text, opset, ir_version=10 if opset > 20 else 7), opset + 1)
    assert found.endswith(f"(main graph) is invalid: {message}")


@pytest.mark.parametrize(
    ("opset", "text"),
    [
        (23, attention(attributes=", scale = 0.5, softmax_precision = 1")),
        (23, attention("y, k, v", inputs=", , p, p")),
        (23, ROTARY.format(8, 4, 8)),
        (21, GROUPS.format(10)),
        (9, GRAMS.format(1, 2, 0)),
        (11, RESIZE.format(0)),
        (18, CROP.format(1, " <axes = [0]> ")),
        (18, CROP.format("N", " ")),
    ],
)
def test_valid(opset, text):
    if opset <= newest_opset():
        convert_version(model(text, opset, ir_version=10 if opset > 20 else 7), opset, compare="off")
