"""Inputs that are not valid models: the whole message, as docs/errors.md lists it, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from documentation import unseen
from failures import LONE, SPLIT, WHOLE, assert_fails, bytes_of, edited
from hostile_models import functions, functions_with_a_constant
from onnx import ModelProto, TensorProto, helper

from split_rewrite.rewriter.opsets.transitions import newest_opset


def split(opset: int, node: str, more: str = "") -> bytes:
    head = "g (float[N] x, float[4] f, float[3] odd, int32[2] j) => (float[A] a, float[B] b)"
    constants = "int64[2] s = {1, 3}, int64[3] three = {1, 1, 2}, int64[2] negative = {-1, 5}, int64[1,2] square = {1, 3}, float[2] real = {1, 3}"
    return bytes_of(f"{head} <{constants}> {{[cut] a, b = {node}}}", opset)


def to_sequence(sizes: str) -> bytes:
    return bytes_of(f"g (float[N] x) => (seq(float[M]) y) <int64{sizes}> {{[cut] y = SplitToSequence(x, s)}}", 13)


def imported_twice() -> bytes:
    return edited(LONE, lambda proto: proto.opset_import.append(helper.make_opsetid("ai.onnx", 17)))


def redefined() -> bytes:
    return bytes_of(
        """<ir_version: 8, opset_import: ["" : 18]> g (float[4] x) => (float[4] y) {y = Mish(x)}
        <domain: "", opset_import: ["" : 18]> Mish (v) => (w) {w = Relu(v)}"""
    )


def function_twice() -> bytes:
    proto = ModelProto.FromString(functions({"f0": ["Relu"]}))
    proto.functions.append(proto.functions[0])
    return proto.SerializeToString()


def quantize(opset: int, attributes: str, scale: str = "", zero: str = "int8", shape: str = "") -> bytes:
    head = f"g (float[4,6] x, float{scale} s, {zero}{shape or scale} z) => ({zero}[4,6] y)"
    return bytes_of(f"{head} {{[q] y = QuantizeLinear {attributes} (x, s, z)}}", opset)


def beyond_its_type() -> bytes:
    proto = ModelProto.FromString(quantize(21, ""))
    del proto.graph.input[2]
    proto.graph.initializer.add(name="z", data_type=TensorProto.INT8, int32_data=[128])
    return proto.SerializeToString()


CONTRADICTION = bytes_of("g (float[2,3] x, float[4] s) => (float[2,3] y) { y = LayerNormalization(x, s) }", 17)


CONTRADICTED = "the input is not a valid model: onnxruntime cannot run it on any inputs tried (…): …Scale…"


CUT = "Split 'cut' (main graph) is invalid: "


Q = "QuantizeLinear 'q' (main graph) is invalid: "


ROTARY = "g (float[1,2,3,8] x, float[5,2] c{}) => (float[1,2,3,8] y) {{ [s] y = RotaryEmbedding (x, c, c{}) }}"


GRAMS = (
    'g (int64[6] x) => (float[N] y) {{ [s] y = TfIdfVectorizer <mode = "TF", min_gram_length = {}, max_gram_length = {}, max_skip_count = {},'
    " ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 3, 4]> (x) }}"
)


HEADS = "g (float[1,2,4] x, float[1,2,3,2] p) => (float[1,2,4] y) {{ [s] y{} = Attention <q_num_heads = {}, kv_num_heads = 2{}> (x, x, x{}) }}"


OPERANDS = {
    "Attention": [
        (23, HEADS.format("", -2, "", ""), "the number of heads q_num_heads is -2"),
        (23, HEADS.format("", 2, ", scale = 0.0", ""), "scale is 0, and has to be positive"),
        (23, HEADS.format("", 2, ", softcap = -1.0", ""), "softcap is -1, and has to be 0 or positive, and finite"),
        (23, HEADS.format(", k, v", 2, "", ", , p"), "it has only one of past_key and past_value"),
    ],
    "Compress": [
        (11, "g (float[3,2] x, bool[3,2] c) => (float[N] y) { [s] y = Compress (x, c) }", "the condition has rank 2, and needs 1"),
        (9, "g (float x, bool[1] c) => (float[N] y) { [s] y = Compress (x, c) }", "the data is a scalar, and needs rank 1 or more"),
    ],
    "Resize": [
        (
            11,
            "g (float[1,4] x, float[0] r, float[2] s, int64[2] z) => (float[A,B] y) { [s] y = Resize (x, r, s, z) }",
            "it has both scales and sizes",
        ),
        (
            18,
            "g (float[1,4] x) => (float[A,B] y) <int64[1] z = {2}> { [s] y = Resize <axes = [0, 1]> (x, , , z) }",
            "sizes has 1 entries for 2 axes",
        ),
    ],
    "GroupNormalization": [
        (
            21,
            "g (float[1,2] x, float[2] b) => (float[1,2] y) { [s] y = GroupNormalization <num_groups = 1, stash_type = 2> (x, b, b) }",
            "stash_type is 2, which is not a floating-point type",
        )
    ],
    "RotaryEmbedding": [
        (23, ROTARY.format(", int64[1,3] p", ", p"), "cos_cache has 2 columns for 8 rotated elements, which need 4"),
        (23, ROTARY.format("", ""), "cos_cache has rank 2, and needs 3 without position_ids"),
    ],
    "TfIdfVectorizer": [
        (9, GRAMS.format(0, 2, 1), "min_gram_length is 0, and has to be positive"),
        (9, GRAMS.format(2, 1, 1), "max_gram_length is 1, below min_gram_length, which is 2"),
        (9, GRAMS.format(1, 2, -1), "max_skip_count is -1"),
    ],
    "Einsum": [
        (
            13,
            'g (float[4,5] x) => (float[A,B] y) { [s] y = Einsum <equation = "......->..."> (x) }',
            "a term of the equation '......->...' has more than one ellipsis",
        ),
    ],
    "CenterCropPad": [
        (18, "g (float[4,5] x, int64[1] i) => (float[A,B] y) { [s] y = CenterCropPad (x, i) }", "shape has 1 entries for 2 axes"),
    ],
}
"""Operands and attributes that no runtime takes: the opset, the model, and the message."""


INVALID: dict[str, tuple[bytes, str]] = {
    **{
        f"{op_type}-{number}": (bytes_of(text, opset), f"{op_type} 's' (main graph) is invalid: {message}")
        for op_type, rows in OPERANDS.items()
        for number, (opset, text, message) in enumerate(rows)
        if opset <= newest_opset()
    },
    "word-of-no-opset": (
        bytes_of(
            'g (float[4] x, int64[2] i, float[2] u) => (float[4] y) {[s] y = ScatterElements<reduction = "sum">(x, i, u)}', 16
        ),
        "ScatterElements 's' (main graph) is invalid: reduction is 'sum'; ScatterElements has only none, add, mul, max, min",
    ),
    "type-of-no-number": (quantize(21, "<output_dtype = 99>"), Q + "output_dtype is 99, which is not a type"),
    "blocks-and-scales": (quantize(21, "<block_size = 2>", "[4,2]"), Q + "a dimension of 6 has 3 blocks of 2, and the scale has 2"),
    "scales-beside-blocks": (quantize(21, "<block_size = 2>", "[3,3]"), Q + "dimension 0 of x is 4, and the scale has 3"),
    "scale-of-another-rank": (
        quantize(21, "<block_size = 2>", "[6]"),
        Q + "with block_size the scale has the rank of x, which is 2, and not 1",
    ),
    "block-of-no-size": (quantize(21, "<block_size = -2>", "[4,3]"), Q + "block_size is -2"),
    "scales-without-blocks": (quantize(21, "", "[4,3]"), Q + "the scale has rank 2 and there is no block_size"),
    "scale-of-rank-2": (quantize(13, "", "[4,3]"), Q + "the scale has rank 2"),
    "scales-for-an-axis": (quantize(13, "", "[5]"), Q + "axis 1 of x has a length of 6, and the scale 5 elements"),
    "scales-before-there-are-some": (quantize(10, "", "[6]"), Q + "the scale has 6 elements, and before opset 13 it is a scalar"),
    "zero-points-for-other-scales": (
        quantize(13, "", "[6]", shape="[5]"),
        Q + "the shape of the zero point is (5), and that of the scale (6)",
    ),
    "zero-point-beyond-its-type": (beyond_its_type(), Q + "the zero point is 128, beyond int8"),
    "zero-point-of-another-type": (quantize(21, "<output_dtype = 2>", "[6]"), Q + "output_dtype is uint8 and the zero point int8"),
    "checker": (bytes_of(LONE.replace("Relu", "Rellu")), "the input is not a valid model: …Rellu…"),
    "attribute-of-another-type": (
        bytes_of(SPLIT.replace("axis = 1", 'axis = "x"')),
        "the input is not a valid model: Mismatched attribute type…",
    ),
    "operator-of-no-text": (
        WHOLE.replace(b"Split", b"Spl\xeft"),
        "the input is not a valid model: the operator b'Spl\\xeft' is not valid UTF-8",
    ),
    "form-of-another-opset": (
        split(12, "Split(x, s)"),
        "the input is not a valid model: Split 'cut': it has 2 inputs, and the form of opset 11 has 1, and the model counts as opset 12; …",
    ),
    "no-such-opset": (imported_twice(), "the model imports the default domain twice, as opset 17 and 18"),
    "no-ir-version": (
        edited(LONE, lambda proto: proto.ClearField("ir_version")),
        "the model states no IR version; give it one with --ir-version 8",
    ),
    "ir-version-of-the-future": (
        edited(LONE, lambda proto: setattr(proto, "ir_version", 99)),
        "the model has IR version 99, and the installed onnx … knows up to …: a newer onnx may know it; --ir-version … takes the model "
        "as it is and writes that version",
    ),
    "no-opset": (
        edited(LONE, lambda proto: proto.ClearField("opset_import")),
        "the model does not state its opset; give it with --assume-opset N, as the exporter had it",
    ),
    "training": (
        edited(LONE, lambda proto: proto.training_info.add()),
        "the model has training_info, which is not converted; remove it (inference does not need it)",
    ),
    "redefined": (redefined(), "the local function 'Mish' redefines an operator of ONNX's own domain; give it another domain"),
    "function-twice": (function_twice(), "there are 2 functions 'f0'"),
    "recursion": (functions({"f0": ["Relu", "f0"]}), "function 'f0' calls itself, at once or through others"),
    "calls-too-deep": (
        functions({f"f{i}": [f"f{i + 1}"] for i in range(300)} | {"f300": ["Relu"]}),
        "its functions call each other more than 200 deep",
    ),
    "calls-too-many": (
        functions({f"f{i}": [f"f{i + 1}"] * 2 for i in range(40)} | {"f40": ["Relu"]}),
        "its functions call each other so often that they stand for over 2^41 nodes, and up to 100,000 more than in the file are "
        "accepted: call the inner ones less often, or inline those with few nodes",
    ),
    "calls-with-too-much": (
        functions_with_a_constant(11, 250_000),
        "its functions call each other so often that they stand for 976 MiB, and up to 64 more than in the file are accepted: let "
        "them have their constants as inputs",
    ),
    "both": (split(18, "Split<num_outputs = 2>(x, s)"), f"{CUT}it has both split and num_outputs"),
    "neither": (split(18, "Split(x)"), f"{CUT}it has neither split nor num_outputs"),
    "attribute-and-input": (
        split(1, "Split<axis = 0, split = [1, 3]>(x, real)"),
        f"{CUT}it has both the attribute and the input split",
    ),
    "no-part": (split(18, "Split<num_outputs = 0>(x)"), f"{CUT}num_outputs is 0"),
    "a-billion-parts": (
        split(18, "Split<num_outputs = 1000000000>(x)"),
        f"{CUT}num_outputs is 1000000000, and only 2 of the parts are outputs",
    ),
    "more-outputs-than-parts": (split(18, "Split<num_outputs = 1>(x)"), f"{CUT}it has 2 outputs and num_outputs is 1"),
    "nothing-for-the-last": (
        split(18, "Split<num_outputs = 5>(odd)"),
        f"{CUT}a dimension of 3 cannot make 5 parts: parts of 1 leave nothing for the last",
    ),
    "more-sizes-than-outputs": (split(13, "Split(x, three)"), f"{CUT}split has 3 sizes and the node 2 outputs"),
    "negative-size": (split(13, "Split(x, negative)"), f"{CUT}split has negative sizes: [-1, 5]"),
    "sizes-of-rank-2": (split(13, "Split(x, square)"), f"{CUT}split must be 1-D and has rank 2"),
    "sizes-of-int32": (split(13, "Split(x, j)"), f"{CUT}split must be int64 and is int32"),
    "uneven-at-1": (split(1, "Split<axis = 0>(odd)"), f"{CUT}a dimension of 3 does not divide into 2 equal parts"),
    "wrong-sum-at-1": (split(1, "Split<axis = 0, split = [1, 1]>(f)"), f"{CUT}the sizes [1, 1] do not add up to the dimension 4"),
    "sequence-of-sizes-0": (
        to_sequence(" s = {0}"),
        f"{CUT.replace('Split', 'SplitToSequence')}a scalar split must be positive and is 0",
    ),
    "sequence-of-nothing": (to_sequence("[0] s = {}"), f"{CUT.replace('Split', 'SplitToSequence')}split is empty"),
    "position-beyond-the-end": (
        bytes_of("g (float[2] x) => (float[M] y) <int64 i = {7}> {s = SequenceConstruct(x, x) [at] y = SequenceAt(s, i)}"),
        "SequenceAt 'at' (main graph) is invalid: position 7 is out of range of a sequence of 2 elements",
    ),
}


@pytest.mark.parametrize(("content", "message"), INVALID.values(), ids=INVALID)
def test_invalid(folder: Path, content: bytes, message: str) -> None:
    Path("m.onnx").write_bytes(content)
    assert_fails(folder, "m.onnx o.onnx", 2, message)


def test_a_model_that_contradicts_itself(folder: Path) -> None:
    """Nobody sees it before a rule fails; then the model is run."""
    Path("m.onnx").write_bytes(CONTRADICTION)
    assert_fails(folder, "m.onnx o.onnx -t 16", 2, CONTRADICTED)


def test_no_message_is_missing() -> None:
    operands = [message for rows in OPERANDS.values() for _, _, message in rows]
    messages = [*(message for _, message in INVALID.values()), *operands, CONTRADICTED]
    assert unseen("The input is not a valid model (status 2)", messages) == set()
