"""What a target cannot express: every reason of docs/errors.md, in the order of that page, and exit status 1, by the command line.

Here is one model a reason. Where a rule refuses, and where not, is in the tests of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from documentation import unseen
from helpers import model, refusal
from onnx import ModelProto, helper, numpy_helper

from split_rewrite.rewriter.checks import validity
from split_rewrite.rewriter.engine.registry import Registry
from split_rewrite.rewriter.engine.selection import Selection
from split_rewrite.rewriter.graph import bodies
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.opsets.transitions import Transition

# -- what is not in the model, and a test has to bring about

Circumstance = Callable[[pytest.MonkeyPatch], object]


def nothing(_: object) -> None:
    pass


def as_in_big_models(patch: pytest.MonkeyPatch) -> None:
    """Of more than 20,000 nodes: shape inference sees the result only, and with it not every mistake of the input."""
    patch.setattr(validity, "FULL_CHECK_OF_INPUT_UP_TO", 0)


def a_newer_onnx(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Transition, "review", property(lambda _: None))


def a_newer_body(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bodies, "DEFAULT_DOMAINS", ())


def without_rules(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Registry, "transition", lambda *_: None)


def by_schemas_alone(patch: pytest.MonkeyPatch) -> None:
    """As if no step of a version meant more than the schemas say."""
    without_rules(patch)
    patch.setattr(Transition, "review", property(lambda _: "R"))


def as_onnxruntime_does(patch: pytest.MonkeyPatch) -> None:
    """As with --semantics onnxruntime."""
    patch.setattr(Node, "meaning", lambda *_: "onnxruntime")


def as_the_specification_says(patch: pytest.MonkeyPatch) -> None:
    """As with --semantics specification."""
    patch.setattr(Node, "meaning", lambda *_: "specification")


def with_rules_skipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Selection, "allows", lambda *_: False)


# -- what the parser has no syntax for


def text_to_bytes(proto: ModelProto) -> None:
    proto.graph.node[0].attribute[0].s = b"\xff"


def value_to_sparse(proto: ModelProto) -> None:
    values, indices = numpy_helper.from_array(np.ones(2, np.float32)), numpy_helper.from_array(np.array([1, 5]))
    sparse = helper.make_sparse_tensor(values, indices, [1 << 20, 1 << 10])
    proto.graph.node[0].attribute[0].CopyFrom(helper.make_attribute("sparse_value", sparse))


def body_gives_nothing(proto: ModelProto) -> None:
    del proto.graph.node[1].attribute[0].g.output[:]


class Refusal(NamedTuple):
    text: str
    opset: int
    target: int
    reason: str
    """All of it."""
    circumstance: Circumstance = nothing
    change: Callable[[ModelProto], object] = nothing


REFUSED: dict[str, Refusal] = {
    # Something has to be known, and is not
    "axis-where-the-rank-is-unknown": Refusal(
        "g (float[2, 3, 4] x, int64[K] s) => (float[A, B] y) {t = Reshape(x, s) y = Softmax<axis = 1>(t)}",
        13, 12, "the rank of 't' is unknown",
    ),
    "shape-that-is-not-known": Refusal(
        "g (float[N] x) => (int64[1, K] y) {y = NonZero(x)}",
        9, 8, "the shape (N) of 'x' is not fully known",
    ),
    "dimension-without-a-name": Refusal(
        "g (float[?, ?] x) => (float y) {y = Det(x)}",
        11, 10, "dimension -1 of 'x' is unknown",
    ),
    "dimension-with-a-name": Refusal(
        "g (float[N, N] x) => (float y) {y = Det(x)}",
        11, 10, "the axis dimension 'N' of 'x' is unknown",
    ),
    "shape-of-any-length": Refusal(
        "g (float[N] x, int64[K] s) => (float y) {y = Expand(x, s)}",
        8, 7, "the length of the shape 's' is unknown",
    ),
    "diagonal-of-any-length": Refusal(
        'g (float[N, N] x) => (float[N] y) {y = Einsum<equation = "ii->i">(x)}',
        12, 11, "the diagonal 'i' of 'x' is of unknown length",
    ),
    "axis-of-an-unknown-rank": Refusal(
        "g (float[K] v, int64[R] r) => (float[A, B] y) {x = Reshape(v, r) y = Scan<num_scan_inputs = 1, scan_input_axes = [-1], body = b (float[M] s) => (float[M] o) {o = Relu(s)}>(x)}",
        11, 10, "scan_input_axes[0] is -1, and the rank that it counts from is unknown",
    ),
    "misread-shape": Refusal(
        "g (float[1, 1, 5] x) => (float[A, B, C] y, float[A, B, D] z) {h = MaxPool<auto_pad = \"SAME_UPPER\", kernel_shape = [3], dilations = [2]>(x) y, z = Split<axis = 2, num_outputs = 2>(h)}",
        18, 17, "its form needs the shape of 'h', which runtimes take for [1,1,5], though it may be another",
    ),
    "unknown-number-of-axes": Refusal(
        "g (float[1, 1, 4] x, int64[N] a) => (float s) {y = Squeeze(x, a) s = ReduceSum<keepdims = 0>(y)}",
        13, 12, "the number of the axes 'a' is known at run time only",
    ),
    "which-operand-broadcasts": Refusal(
        "g (float[1, N] a, float[4] b) => (float[A, B] y) {y = Add(a, b)}",
        7, 6, "before opset 7 it has to be known which operand broadcasts, and 'N' may or may not equal 4 (dimension -1 of 'a' and 'b')",
    ),
    "batch-of-four-sequences": Refusal(
        "g (float[4, 2] s0, float[4, 3, 2] x) => (float[4, 2] s, float[4, 3, 2] y) {s, y = Scan(ABSENT, s0, x)<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) {t = Add(s, e) o = Mul(s, e)}>}",
        8, 9, "before opset 9 Scan has a batch axis, and the batch size is not known to be 1",
    ),
    "unknown-type": Refusal(
        '<ir_version: 8, opset_import: ["" : 9, "com.example" : 1]> g (float[N] x) => (float[N] y) {m = com.example.Mystery(x) n = Erf(m) y = com.example.Mystery(n)}',
        9, 8, "the type of 'm' is unknown",
    ),
    "unknown-type-where-one-was-lost": Refusal(
        '<ir_version: 7, opset_import: ["" : 12, "com.example" : 1]> g (int8[N] x) => (float[N] y) {m = com.example.Mystery(x) n = Clip(m) y = com.example.Mystery(n)}',
        12, 11, "the type of 'm' is unknown, and the form of opset 11 does not take all types",
    ),
    "tensor-or-optional": Refusal(
        '<ir_version: 8, opset_import: ["" : 18, "com.example" : 1]> g (float[N] x) => (bool y) {m = com.example.Mystery(x) y = OptionalHasElement(m)}',
        18, 17, "it is unknown whether 'm' is an optional",
    ),
    "default-of-an-input": Refusal(
        "g (float[2, 3] x, int64[2] r = {1, 2}) => (float[A, B] y) {y = Tile(x, r)}",
        6, 5, "the older form needs the repeats as a constant, and 'r' is a default that callers may override",
    ),
    "repeats-at-run-time": Refusal(
        '<ir_version: 4, opset_import: ["" : 6]> g (float[2, 3] x, int64[2] r) => (float[A, B] y) {y = Tile(x, r)}',
        6, 5, "the older form needs the repeats as a constant, and 'r' is computed at run time",
    ),
    "integer-mean-of-computed-axes": Refusal(
        "g (int32[2, 3, 4] x, int64[2] a) => (int32[A, B, C] y) {y = ReduceMean(x, a)}",
        18, 17, "the 2 axes 'a' are computed at run time; axis by axis, integers would be rounded more than once",
    ),
    "parameter-of-a-function": Refusal(
        '< ir_version: 8, opset_import: ["" : 18, "local" : 1] > g (float[4] x) => (float[4] y) {y = Neg(x)} < domain: "local", opset_import: ["" : 18] > parts <n>(v) => (p, q) {p, q = Split<num_outputs: int = @n>(v)}',
        18, 13, "attribute num_outputs is a parameter of the function ('n')",
    ),
    "input-that-calls-may-leave-out": Refusal(
        '< ir_version: 8, opset_import: ["" : 18, "local" : 1] > g (float[4] x) => (float[4] y) {y = Neg(x)} < domain: "local", opset_import: ["" : 18] > clip (v, lo)  => (w) {w = Clip(v, lo)}',
        18, 10, "calls of the function may leave out its input 'lo', which is optional in the node",
    ),
    # The older form, or the newer, has no such thing
    "text-before-20": Refusal(
        "g (string[N] x, string[N] y) => (string[N] z) {z = StringConcat(x, y)}",
        20, 19, "StringConcat is new in opset 20 and older operators cannot express it exactly",
    ),
    "parts-of-two-meanings": Refusal(
        "g (float[8] x) => (float[A] a, float[B] b) {a, b = Split<num_outputs = 4>(x)}",
        18, 13, "it has two meanings: by the specification num_outputs=4 counts all parts, and onnxruntime makes the 2 that are outputs "
        "of the node, or fails",
    ),
    "one-query-or-several": Refusal(
        "g (float[1, 1, S, 4] q, float[1, 1, T, 4] k, float[1, 1, 2, 4] p) => (float y, float c, float d) "
        "{y, c, d = Attention<is_causal = 1>(q, k, k, , p, p)}",
        23, 22, "whether it has a single query, which sees all keys, is only known at run time", as_onnxruntime_does,
    ),
    "sequences-before-11": Refusal(
        "g (float[N] x) => (seq(float[a]) s) {s = SplitToSequence(x)}",
        13, 10, "SplitToSequence is new in opset 11 and older operators cannot express it exactly; it stays because the axis dimension "
        "'N' of 'x' is unknown",
    ),
    "determinant-of-five-rows": Refusal(
        "g (float[5, 5] x) => (float y) {y = Det(x)}",
        11, 10, "older operators cannot express the determinant of 5 rows without pivots",
    ),
    "sampling-integers": Refusal(
        'g (int32[2, 3, 4, 5] x, float[2, 3, 2, 2] grid) => (int32[2, 3, 3, 2] y) {y = GridSample<mode = "nearest">(x, grid)}',
        16, 15, "only float and double are sampled by older operators",
    ),
    "products-of-16-bits": Refusal(
        "g (int16[2, 3] x, int16[3, 2] z) => (int32[A, B] y) {y = MatMulInteger(x, z)}",
        10, 9, "only products of 8-bit integers can be written in older operators", as_in_big_models,
    ),
    "remainder-of-floats": Refusal(
        "g (float[N] a, float[N] b) => (float[N] y) {y = Mod(a, b)}",
        13, 9, "the remainder of these numbers cannot be computed exactly by older operators",
    ),
    "scatter-that-adds-booleans": Refusal(
        'g (bool[4] x, bool[2] u) => (bool[4] y) <int64[2] i = {0, 1}> {y = ScatterElements<reduction = "add">(x, i, u)}',
        16, 15, "reduction=add of bool, which Add does not take",
    ),
    "experimental-operator": Refusal(
        "g (float[4] x) => (float[4] y) {y = ATen(x)}",
        7, 13, "ATen of ONNX's first releases is in no opset, and no runtime computes it",
    ),
    "operator-of-a-later-opset-with-another-attribute": Refusal(
        "g (float[2, 4] x, float[4] s) => (float[2, 4] y) {y = LayerNormalization<mode = 1>(x, s)}",
        11, 13, "LayerNormalization has no attribute mode",
    ),
    "operator-of-a-later-opset-with-two-types": Refusal(
        "g (float16[2, 4] x, float[4] s) => (float[2, 4] y) {y = LayerNormalization(x, s)}",
        11, 17, "ONNX has no LayerNormalization with inputs of different types: tensor(float) and tensor(float16)",
    ),
    "antialias-of-a-region": Refusal(
        'g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}, int64[4] z = {1, 1, 3, 4}> {y = Resize<mode = "linear", antialias = 1, coordinate_transformation_mode = "tf_crop_and_resize">(x, r, ABSENT, z)}',
        18, 17, "antialias=1 of a region of interest has no older form",
    ),
    "no-region": Refusal(
        'g (float[1, 1, 6, 8] x) => (float[1, 1, 3, 4] y) <float[0] r = {}, int64[4] z = {1, 1, 3, 4}> {y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">(x, r, ABSENT, z)}',
        13, 10, "the region of interest must have the shape [8], and not [0]",
    ),
    "scales-of-a-region": Refusal(
        'g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[8] r = {0, 0, 0, 0, 1, 1, 0.9, 0.8}, float[4] s = {1, 1, 1.5, 2}> {y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">(x, r, s)}',
        13, 10, "scales of a cropped region have no older form",
    ),
    "windows-larger-than-the-input": Refusal(
        "g (float[1, 1, 4, 4] x) => (float[1, 1, 3, 0] y) {y = MaxPool<kernel_shape = [2, 3], dilations = [1, 2], ceil_mode = 1>(x)}",
        12, 9, "no window fits into the input",
    ),
    "padding-as-long-as-the-kernel": Refusal(
        "g (float[1, 1, 4, 6] x) => (float[1, 1, A, B] y) {y = MaxPool<kernel_shape = [2, 1], strides = [2, 2], ceil_mode = 1, dilations = [2, 2], pads = [1, 0, 1, 0]>(x)}",
        22, 21, "without ceil_mode its dilations need padding as long as the kernel, which runtimes refuse",
    ),
    "slices-of-strings": Refusal(
        "g (string[3, 2] x) => (string[2, 2] y) <int64[2, 1] i = {2, 1}> {y = GatherND(x, i)}",
        22, 10, "its rewrite needs Gather: it would take slices of strings, of which onnxruntime may copy only the first",
    ),
    "training-with-spatial-0": Refusal(
        "g (float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2, 3] y, float[3] nm, float[3] nv, float[3] sm, float[3] sv) {y, nm, nv, sm, sv = BatchNormalization<spatial = 0>(x, s, b, m, v)}",
        8, 9, "training with spatial=0 has no form from opset 9 on",
    ),
    "negative-axis-of-a-broadcast": Refusal(
        "g (float[2, 3] a, float[3, 1] s) => (float[2, 3] y) {y = Add<broadcast = 1, axis = -2>(a, s)}",
        6, 7, "axis=-2 has no meaning before opset 7",
    ),
    "transform-of-no-length": Refusal(
        "g (float[1, 128, 1] x, int64 s) => (float[A, B, C, 2] y) {y = STFT(x, s)}",
        17, 16, "an STFT without window and frame_length has no meaning",
    ),
    "sequences-along-one-axis": Refusal(
        "g (float[2, 2] x, int64[2] n) => (float[2, 2] y) {y = ReverseSequence<time_axis = 1>(x, n)}",
        10, 9, "batch_axis is 1 and time_axis is 1, where one has to be 0 and the other 1",
    ),
    "triangle-of-strings": Refusal(
        "g (string[2, 2] x) => (string[2, 2] y) {y = Trilu(x)}",
        16, 13, "the specification does not say what Trilu puts in the place of strings",
    ),
    "quotient-of-integers": Refusal(
        '<ir_version: 10, opset_import: ["" : 23]> g (float[4, 6] x, int32 s) => (uint8[4, 6] y) {y = QuantizeLinear(x, s)}',
        23, 22, "'x' is divided in int32, which is new in opset 23",
    ),
    "nonzero-of-a-scalar": Refusal(
        "g (float x) => (int64[A, K] y) {y = NonZero(x)}",
        9, 8, "NonZero of 1 elements and rank 0 is new in opset 9",
    ),
    "constant-of-strings": Refusal(
        '<ir_version: 4, opset_import: ["" : 9]> g () => (string[1] y) {y = Constant<value = string[1] {"text"}>()}',
        9, 8, "a Constant of type string does not exist before opset 9",
    ),
    "lengths-of-sequences": Refusal(
        "g (int64[1] n, float[1, 2] s0, float[1, 3, 2] x) => (float[1, 2] s, float[1, 3, 2] y) {s, y = Scan(n, s0, x)<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) {t = Add(s, e) o = Mul(s, e)}>}",
        8, 9, "sequence_lens does not exist from opset 9 on",
    ),
    "saved-statistics-are-gone": Refusal(
        "g (float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2, 3] y, float[3] nm, float[3] nv, float[3] sm, float[3] sv) {y, nm, nv, sm, sv = BatchNormalization(x, s, b, m, v)}",
        9, 14, "saved_mean and saved_var ('sm', 'sv') do not exist from opset 14 on",
    ),
    "attribute-of-the-newer-form": Refusal(
        "g (float[2] x, int64[1] s) => (float[N] y) {y = Reshape<allowzero = 1>(x, s)}",
        14, 13, "attribute allowzero=1 does not exist in the form of opset 13", by_schemas_alone,
    ),
    "zero-point-of-8-bit-floats": Refusal(
        "g (float[N] x) => (float[N] y) <float s = {0.5}, float8e4m3fn z = {1}> {q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)}",
        19, 18, "a zero point of a floating-point type has to be 0",
    ),
    "bfloat16-arithmetic": Refusal(
        "g (float[2] x) => (float[2] y) {b = Cast<to = 16>(x) c = Exp(b) y = Cast<to = 1>(c)}",
        13, 12, "it computes in bfloat16, which does not exist before opset 13, and in a wider type the result would not be the same to the last bit",
    ),
    "quotient-in-bfloat16": Refusal(
        "g (float[2] x, float s) => (int8[2] y) <int8 z = {0}> {b = Cast<to = 16>(x) t = Cast<to = 16>(s) y = QuantizeLinear(b, t, z)}",
        19, 12, "it divides in bfloat16, and in a wider type the result would not be the same to the last bit",
    ),
    "quotient-in-bfloat16-to-8-bits": Refusal(
        "g (float[2] x, float s) => (float[2] y) <float8e4m3fn z = {0}> {b = Cast<to = 16>(x) t = Cast<to = 16>(s) q = QuantizeLinear(b, t, z) y = Cast<to = 1>(q)}",
        23, 18, "it divides in bfloat16, which is not written out for float8e4m3fn",
    ),
    "frequencies-that-are-declared": Refusal(
        "g (float[1,16,1] x) => (float[1,7,4,2] y) <int64 s = {2}, int64 n = {4}> {y = STFT(x, s, ABSENT, n)}",
        17, 16, "it gives 3 frequencies, and the model declares 4",
    ),
    "narrow-type-in-another-domain": Refusal(
        '<ir_version: 10, opset_import: ["" : 21, "other" : 1]> g () => (float[2] y) <int4[2] w = {1, 2}> {y = other.Unpack(w)}',
        21, 20, "it is of the domain other and takes int4, which does not exist before opset 21; what it does with another type is not known",
    ),
    "nothing-to-choose-from": Refusal(
        "g (float[3, 0] x, int64[1] k) => (float[3, M] v, int64[3, M] i) {v, i = TopK(x, k)}",
        10, 9, "its axis is empty, and before opset 10 TopK takes no k below 1",
    ),
    "text-of-4-bits": Refusal(
        "g (int32[2] x) => (string[2] y) {n = Cast<to = 22>(x) y = Cast<to = 8>(n)}",
        21, 20, "the text of int4 may not be that of int8",
    ),
    "float8-without-saturation-as-in-onnxruntime": Refusal(
        "g (float[2] x) => (float[2] y) {t = Cast<to = 17, saturate = 0>(x) y = Cast<to = 1>(t)}",
        19, 18, "what onnxruntime makes of numbers beyond the largest cannot be written with older operators", as_onnxruntime_does,
    ),
    "output-of-the-newer-form": Refusal(
        "g (float[1, 1, 4, 4] x) => (float[A, B, C, D] y, int64[E, F, G, H] i) {y, i = MaxPool<kernel_shape = [2, 2]>(x)}",
        8, 7, "output 'i' does not exist in the form of opset 1", by_schemas_alone,
    ),
    "attribute-that-became-required": Refusal(
        "g (float[1, 1, 4] x) => (float[A, B, C] y) {y = LpPool<strides = [1]>(x)}",
        1, 2, "attribute kernel_shape is required in the form of opset 2 and is not given",
    ),
    "input-that-was-required": Refusal(
        "g (float[2, 3] x, float[3, 4] z) => (float[2, 4] y) {y = Gemm(x, z)}",
        11, 10, "input C is required in the form of opset 9 and is absent", by_schemas_alone,
    ),
    "complex-numbers": Refusal(
        "g (complex64[2] x) => (complex64[2] y) {y = Concat<axis = 0>(x)}",
        4, 3, "Concat of opset 1 does not take complex64 ('x')",
    ),
    "product-of-bytes": Refusal(
        'g (int8[2, 3] x, int8[3, 4] z) => (int8[A, B] y) {y = Einsum<equation = "ab,bc->ac">(x, z)}',
        12, 11, "MatMul of opset 9 takes no int8",
    ),
    "type-that-the-target-lacks": Refusal(
        "g (int32[N] x, int32[N] z) => (int32[N] y) {y = Sub(x, z)}",
        6, 5, "Sub cannot compute int32 before opset 6",
    ),
    "tile-of-integers-below-6": Refusal(
        "g (int64[2] x) => (int64[4] y) <int64[1] r = {2}> {y = Tile(x, r)}",
        16, 4, "before opset 6, Tile takes floating-point numbers only",
    ),
    "quantized-by-integers": Refusal(
        "g (int32[4, 2] x, int32[2, 2] s) => (uint8[4, 2] y) {y = QuantizeLinear<axis = 0, block_size = 2>(x, s)}",
        21, 20, "the scale 's' is not a floating-point number",
    ),
    "quantized-to-8-bit-floats": Refusal(
        "g (float[4, 2] x, float[2, 2] s, float8e5m2[2, 2] z) => (float8e5m2[4, 2] y) {y = QuantizeLinear<axis = 0, block_size = 2>(x, s, z)}",
        21, 20, "quantizing to float8e5m2 by several zero points needs a newer QuantizeLinear",
    ),
    "deprecated": Refusal(
        "g (float[1, 1, 4, 4] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, 2, 2}> {y = Upsample(x, s)}",
        9, 10, "Upsample is deprecated in opset 10", by_schemas_alone,
    ),
    "shift-of-regions": Refusal(
        "g (float[1, 1, 4, 4] x, float[1, 4] rois, int64[1] batch) => (float[1, 1, 2, 2] y) {y = RoiAlign<output_height = 2, output_width = 2, sampling_ratio = 0>(x, rois, batch)}",
        16, 15, "before opset 16 RoiAlign does not shift the regions, and coordinate_transformation_mode is half_pixel",
    ),
    "body-that-stops-a-loop-without-condition": Refusal(
        "g (float[2] x, int64 n, bool c) => (float[2] y) {y = Loop(n, ABSENT, x)<body = b (int64 i, bool go, float[2] s) => (bool stop, float[2] t) {stop = Not(go) t = Add(s, s)}>}",
        11, 10, "without a condition, the Loop ignores the one that its body returns, and before opset 11 the condition is required",
    ),
    "branches-of-different-shapes": Refusal(
        "g (bool c, float[2] x, float[3, 1] z) => (float s) {y = If(c)<then_branch = t () => (float[2] p) {p = Relu(x)}, else_branch = e () => (float[3, 1] q) {q = Neg(z)}> s = ReduceSum<keepdims = 0>(y)}",
        11, 10, "the branches give 'y' different shapes, which is allowed only from opset 11 on",
    ),
    "a-length-of-one-branch": Refusal(
        "g (bool c, float[2] x, float[M] z) => (float s) {y = If(c)<then_branch = t () => (float[2] p) {p = Relu(x)}, else_branch = e () => (float[M] q) {q = Neg(z)}> s = ReduceSum<keepdims = 0>(y)}",
        11, 10, "before opset 11 runtimes take a length that one branch gives 'y' for that of both, which it may not be",
    ),
    "three-dimensions-where-four-were": Refusal(
        "g (float[2, 3, 4] x, float[3] s, float[3] b) => (float[2, 3, 4] y) {y = InstanceNormalization(x, s, b)}",
        6, 5, "InstanceNormalization of opset 1 takes 4 dimensions, and 'x' has 3",
    ),
    "channels-that-grow": Refusal(
        "g (float[1, 1, 3, 4] x) => (float[1, 2, 3, 4] y) {y = Upsample<scales = [1.0, 2.0, 1.0, 1.0]>(x)}",
        7, 6, "scales [1.0, 2.0, 1.0, 1.0]: before opset 7, only the last two of four axes can be scaled",
    ),
    "cast-in-a-function": Refusal(
        '<ir_version: 8, opset_import: ["" : 15, "f" : 1]> g (float[3] x) => (int64[3] y) {y = f.f(x)} <domain: "f", opset_import: ["" : 14]> f(x) => (y) {c = Cast<to = 7>(x) y = Identity(c)}',
        15, 3, "onnx cannot check a function with a Cast before opset 6",
    ),
    "split-without-an-axis": Refusal(
        "g (float[4, 4] x) => (float[A0, 4] a, float[B0, 4] b) {a, b = Split(x)}",
        1, 2, "axis is not given, and opset 1 has no default for it",
    ),
    # The same numbers are not certain
    "integers-at-symmetric-positions": Refusal(
        "g (int32[1, 2, 4, 4] x) => (int32[1, 2, 6, 6] y) <int64[4] s = {1, 2, 6, 6}> "
        '{y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric">(x, ABSENT, ABSENT, s)}',
        19, 18, "mode linear of this type is rounded in ways that differ",
    ),
    "integers-between-integers": Refusal(
        'g (int32[1, 1, 4, 4] x) => (int32[1, 1, 8, 8] y) <float[4] s = {1, 1, 2, 2}> {y = Resize<mode = "linear">(x, ABSENT, s)}',
        13, 10, "mode linear of this type is rounded in ways that differ",
    ),
    "backward-slice-to-the-largest-end": Refusal(
        "g (float[4, 5] x) => (float[A, 5] y) <int64[1] s = {3}, int64[1] e = {9223372036854775807}, int64[1] a = {0}, int64[1] p = {-1}> {y = Slice(x, s, e, a, p)}",
        13, 9, "INT_MAX as the end of a backward slice is read in different ways",
    ),
    "dilated-window-beyond-the-input": Refusal(
        "g (float[1, 1, 6] x) => (float[1, 1, 4] y) {y = MaxPool<ceil_mode = 1, dilations = [2], kernel_shape = [1], strides = [2]>(x)}",
        18, 9, "with ceil_mode=1 the last window sees padding only",
    ),
    "no-groups": Refusal(
        "g (float[1, 4, 4] x) => (float[A, B, C] y) <float[2] s = {1, 1}> {y = GroupNormalization<num_groups = 0>(x, s, s)}",
        18, 21, "4 channels do not divide into 0 groups",
    ),
    "regions-of-no-bins": Refusal(
        "g (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (float[1, 1, A, B] y) {y = RoiAlign<output_height = -1, sampling_ratio = 2>(x, r, b)}",
        16, 15, "regions of -1 × 1 bins have no samples",
    ),
    "batch-of-negative-length": Refusal(
        "g (float[2, 2] x, int64[2, 1] i) => (float[A] y) {y = GatherND<batch_dims = -1>(x, i)}",
        12, 11, "batch_dims is -1, and the indices have rank 2", as_in_big_models,
    ),
    "image-of-negative-length": Refusal(
        "g (float[1, 5, 5] x) => (float[A, B, C, D] y) <int64[2] i = {-1, 5}, int64[2] b = {1, 5}> {y = Col2Im(x, i, b)}",
        18, 17, "a table of the shape [-1, 5] is needed, which there is not", as_in_big_models,
    ),
    "axis-twice": Refusal(
        "g (float[2, 3] x) => (float[A] y) <int64[2] a = {1, -1}> {y = ReduceMax<keepdims = 0>(x, a)}",
        18, 17, "axes has an axis twice: [1, -1]",
    ),
    "two-thresholds": Refusal(
        "g (float[1, 6, 4] x, float[1, 1, 6] s, int64[1] m, float[1] i, float[2] t) => (int64[A, 3] y) {y = NonMaxSuppression(x, s, m, i, t)}",
        11, 9, "score_threshold 't' is not known to be a single number",
    ),
    "numbers-of-no-parts": Refusal(
        "g (float[1, 4, 0] x) => (float[1, 4, 2] y) {y = DFT(x)}",
        17, 16, "a DFT is of numbers of 1 or 2 parts, and of a length above 0, and not of 0 and 4", as_in_big_models,
    ),
    "nothing-to-gather": Refusal(
        "g (float[0, 5, 5] x) => (float[A, B, C, D] y) <int64[2] i = {5, 5}, int64[2] b = {1, 5}> {y = Col2Im(x, i, b)}",
        18, 17, "'x' has no elements, and a Reshape cannot tell what its shape becomes",
    ),
    "no-channels-to-sample": Refusal(
        "g (float[1, 0, 4, 4] x, float[1, 2, 2, 2] p) => (float[A, B, C, D] y) {y = GridSample(x, p)}",
        16, 15, "'x' has no elements, and a Reshape cannot tell what its shape becomes",
    ),
    "nothing-to-resize": Refusal(
        'g (float[0, 4] x) => (float[A, B] y) <int64[2] z = {3, 3}> {y = Resize<mode = "linear">(x, , , z)}',
        13, 10, "'x' has no elements to gather",
    ),
    "two-arrows": Refusal(
        'g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ij->ji->">(x)}',
        12, 11, "the equation 'ij->ji->' is not of the form that Einsum has", as_in_big_models,
    ),
    "more-terms-than-operands": Refusal(
        'g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ij,jk->ik">(x)}',
        12, 11, "the equation 'ij,jk->ik' has 2 terms for 1 operands", as_in_big_models,
    ),
    "letter-of-no-operand": Refusal(
        'g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ij->ik">(x)}',
        12, 11, "the result of the equation 'ij->ik' has letters twice, or that no operand has", as_in_big_models,
    ),
    "term-of-another-rank": Refusal(
        'g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ijk->ij">(x)}',
        12, 11, "the term 'ijk' does not fit 'x', which has rank 2", as_in_big_models,
    ),
    "channels-that-are-no-blocks": Refusal(
        'g (float[1, 8, 2, 2] x) => (float[A, B, C, D] y) {y = DepthToSpace<blocksize = 3, mode = "CRD">(x)}',
        11, 10, "8 channels do not divide into blocks of 9",
    ),
    "more-axes-than-bounds": Refusal(
        "g (float[4, 5] x) => (float[A, B] y) <int64[1] one = {1}> "
        "{c = Concat<axis = 0>(one, one) y = Slice(x, one, one, c)}",
        13, 9, "starts has 1 entries for 2 values",
    ),
    "scales-of-other-axes": Refusal(
        "g (float[N, M] x) => (float[A, B] y) <float[0] r = {}, float[0] s = {}> {y = Resize(x, r, s)}",
        12, 10, "scales has 0 entries for 2 axes",
    ),
    "nearest-outside": Refusal(
        "g (float[1, 1, 6, 8] x) => (float[1, 1, 3, 4] y) <int64[4] z = {1, 1, 3, 4}> {y = Resize<exclude_outside = 1>(x, , , z)}",
        13, 10, "exclude_outside=1 has no meaning in mode nearest, and onnxruntime refuses it",
    ),
    "pads-that-cut-too-much": Refusal(
        'g (int64[3] x) => (int64[1] y) <int64[2] p = {-4, 2}> {y = Pad<mode = "reflect">(x, p)}',
        11, 10, "pads cut 4 elements off axis 0, which has 3, and add others",
    ),
    "bound-that-is-nan": Refusal(
        "g (float[3] x) => (float[3] y) <float low = {nan}> {y = Clip(x, low)}",
        12, 10, "a bound is NaN, which runtimes take in different ways",
    ),
    "length-between-two-numbers": Refusal(
        'g (float[1, 1, 10, 8] x) => (float[1, 1, A, B] y) <float[4] s = {1, 1, 0.7, 1}> {y = Resize<mode = "linear">(x, ABSENT, s)}',
        13, 10, "10 · 0.699999988 is 6 or 7 depending on rounding",
    ),
    "tie-between-two-elements": Refusal(
        "g (float[1, 1, 14, 8] x) => (float[1, 1, 17, 8] y) <int64[4] z = {1, 1, 17, 8}> {y = Resize(x, ABSENT, ABSENT, z)}",
        13, 10, "an element lies so near the middle between two that its neighbour depends on how the runtime rounds",
    ),
    "rounding-up-and-down": Refusal(
        "g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[4] s = {1, 1, 2, 0.6}> {y = Resize(x, s)}",
        10, 9, "mode nearest rounds one axis up and another down",
    ),
    "antialias-of-a-kept-length": Refusal(
        'g (float[1, 1, 6, 8] x) => (float[1, 1, A, B] y) <float[4] s = {1, 1, 1, 1.1}> {y = Resize<mode = "linear", antialias = 1>(x, ABSENT, s)}',
        18, 17, "antialias=1 of an axis that keeps its length, with a scale that is not 1, differs between runtimes",
    ),
    "sums-beyond-int32": Refusal(
        "g (uint8[1, 3670, 4, 3] x, uint8[2, 3670, 3, 3] w) => (int32[1, 2, 2, 1] y) <uint8 p = {3}, uint8 q = {7}> {y = ConvInteger(x, w, p, q)}",
        10, 9, "sums of 33030 products may overflow int32, and older operators do not wrap alike",
    ),
    "constant-beyond-double": Refusal(
        '<ir_version: 4, opset_import: ["" : 9]> g () => (int64[1] y) {y = Constant<value = int64[1] {9007199254740993}>()}',
        9, 8, "a Constant of 64-bit integers beyond 2^53 does not exist before opset 9",
    ),
    "erf-of-double": Refusal(
        "g (double[2] x) => (double[2] y) {y = Erf(x)}",
        13, 8, "Erf of this type is not accurate in older operators",
    ),
    "inference-with-outputs-of-training": Refusal(
        "g (float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2, 3] y, float[3] nm, float[3] nv, float[3] sm, float[3] sv) {y, nm, nv, sm, sv = BatchNormalization<is_test = 1>(x, s, b, m, v)}",
        6, 7, "is_test=1, and outputs that only training has",
    ),
    "integers-moved-by-a-fraction": Refusal(
        "g (int32[4] x) => (int32[4] y) {y = Shrink<bias = 0.5>(x)}",
        9, 8, "bias=0.5 of int32: no specification says how the result is rounded",
    ),
    "unsigned-moved-below-zero": Refusal(
        "g (uint8[4] x) => (uint8[4] y) {y = Shrink<bias = 3.0, lambd = 1.0>(x)}",
        9, 8, "lambd=1 and bias=3 of uint8: the result may be out of range for the type",
    ),
    "logarithms-of-integers": Refusal(
        "g (int64[4] x) => (int64[4] y) <int64[0] a = {}> {y = ReduceLogSum<noop_with_empty_axes = 1>(x, a)}",
        18, 17, "ReduceLogSum of int64 over no axes: no specification says how the logarithm is rounded",
    ),
    "exponentials-of-integers": Refusal(
        "g (int32[4] x) => (int32[1] y) {y = ReduceLogSumExp(x)}",
        18, 28, "ReduceLogSumExp of int32: no specification says how the exponentials are rounded",
    ),
    "window-of-integers": Refusal(
        "g (int64 n) => (int8[N] y) {y = BlackmanWindow<output_datatype = 3>(n)}",
        17, 16, "a window of int8: how an element is truncated depends on its last bit",
    ),
    "celu-without-a-slope": Refusal(
        "g (float[4] x) => (float[4] y) {y = Celu<alpha = 0.0>(x)}",
        12, 11, "alpha=0: Celu divides by it",
    ),
    "everything-is-dropped": Refusal(
        "g (float[4] x) => (float[4] y) {y = Dropout<ratio = 1.0>(x)}",
        6, 12, "ratio=1: opset 12 takes ratios from 0 on and below 1 only",
    ),
    "shrunk-integers-by-no-number": Refusal(
        "g (int32[4] x) => (int32[4] y) {y = Shrink<lambd = nan>(x)}",
        9, 8, "lambd=nan and bias=0 of int32 are not whole numbers",
    ),
    "scores-of-a-scale-that-is-no-number": Refusal(
        "g (float[1, 1, 2, 4] q) => (float[1, 1, 2, 4] y) {y = Attention<scale = nan>(q, q, q)}",
        23, 22, "scale=nan: Attention multiplies by its root twice, which is not a number",
    ),
    "slope-too-small-for-the-type": Refusal(
        "g (float16[4] x, float16[4] z) => (float16[4] y) {y = SwiGLU<alpha = 1e-30>(x, z)}",
        28, 27, "alpha=1e-30 becomes 0 in float16",
    ),
    "regions-of-no-size": Refusal(
        "g (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (float[1, 1, 1, 1] y) {y = RoiAlign<sampling_ratio = 2, spatial_scale = inf>(x, r, b)}",
        16, 9, "spatial_scale=inf: no position is a number",
    ),
    "quantized-by-infinity": Refusal(
        "g (float[4] x) => (uint8[4] y) <float s = {inf}> {y = QuantizeLinear(x, s)}",
        19, 9, "the scale 's' is not finite",
    ),
    "resized-by-infinity": Refusal(
        "g (float[4] x) => (float[N] y) <float[1] s = {inf}> {y = Resize(x, s)}",
        10, 9, "a scale is inf, which is not positive and finite",
    ),
    "nothing-is-taken": Refusal(
        "g (float[3, 5] x) => (float[3, 0] v, int64[3, 0] i) <int64[1] k = {0}> {v, i = TopK(x, k)}",
        11, 9, "k is 0, and before opset 10 TopK takes no k below 1",
    ),
    "cache-of-four-bits": Refusal(
        "g (int4[1, 4, 3] c, int4[1, 2, 3] u) => (int4[1, 4, 3] y) {y = TensorScatter(c, u)}",
        24, 23, "TensorScatter of int4, which ScatterElements does not take",
    ),
    "window-beside-the-data": Refusal(
        "g (float[1, 1, 4, 4] x) => (float[A, B, C, D] y) {y = MaxPool<kernel_shape = [2, 2], dilations = [2, 2], pads = [3, 3, 3, 3]>(x)}",
        10, 9, "a window sees padding only",
    ),
    "ceil-mode-and-automatic-padding": Refusal(
        'g (float[1, 2, 7, 6] x) => (float[A, B, C, D] y) {y = MaxPool<kernel_shape = [3, 3], dilations = [2, 2], auto_pad = "SAME_UPPER">(x)}',
        13, 9, "ceil_mode or dilations together with auto_pad=SAME_UPPER",
    ),
    "automatic-padding-that-counts": Refusal(
        'g (float[1, 2, 7, 6] x) => (float[A, B, C, D] y) {y = AveragePool<kernel_shape = [3, 3], count_include_pad = 1, auto_pad = "SAME_UPPER">(x)}',
        13, 6, "count_include_pad=1 together with automatic padding",
    ),
    "region-that-ends-at-the-border": Refusal(
        'g (float[1, 1, 6, 8] x) => (float[1, 1, 6, 7] y) <float[8] r = {0, 0, 0, 0.2, 1, 1, 1, 1}, int64[4] z = {1, 1, 6, 7}> {y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">(x, r, ABSENT, z)}',
        13, 10, "whether the border of the region of interest is extrapolated depends on how the runtime rounds",
    ),
    "grid-of-one-pixel": Refusal(
        "g (float[1, 2, 3] t) => (float[1, 1, 4, 2] y) <int64[4] s = {1, 1, 1, 4}> {y = AffineGrid<align_corners = 1>(t, s)}",
        20, 19, "the position of a single pixel is not defined for align_corners=1",
    ),
    "shift-of-signed-integers": Refusal(
        'g (int32[4] x) => (int32[4] y) {y = BitShift<direction = "LEFT">(x, x)}',
        11, 10, "a shift of signed integers is not defined before opset 28", as_in_big_models,
    ),
    "infinity-of-a-type-without-one": Refusal(
        "g (float[4] x) => (float[4] y) {t = Cast<to = 18>(x) y = Cast<to = 1>(t)}",
        23, 24, "an infinite input gives NaN before opset 24, the largest number from 24 on", as_the_specification_says,
    ),
    "windows-behind-the-input": Refusal(
        "g (float[1, 1, 6] x) => (float[A, B, C] y) {y = LpPool<ceil_mode = 1, kernel_shape = [1], strides = [2], pads = [0, 1]>(x)}",
        21, 22, "ceil_mode=1: windows that see only the padding behind the input are dropped since opset 22", as_the_specification_says,
    ),
    "infinite-slope": Refusal(
        "g (float[2, 3] x) => (float[2, 3] y) <float[2, 1] s = {inf, 1}> {y = PRelu(x, s)}",
        7, 6, "the slope is not one per channel, and not finite",
    ),
    "axis-out-of-range": Refusal(
        "g (float[4] x, float[2, 2] w) => (float[A, B] y) {s = Shape(w) t = Reshape(x, s) y = Softmax<axis = 5>(t)}",
        13, 12, "axis=5 is out of range for rank 2",
    ),
    "operand-that-does-not-fit": Refusal(
        "g (float[2, 3] x, float[3, 4] z) => (float[2, 3] y) {y = Add<broadcast = 1, axis = 1>(x, z)}",
        6, 7, "'z' of rank 2 does not fit 'x' from axis 1 on",
    ),
    "addend-that-does-not-fit": Refusal(
        "g (float[2, 3] x, float[3, 4] z, float[3] c) => (float[2, 4] y) {y = Gemm(x, z, c)}",
        7, 6, "C of shape (3,) does not broadcast to (2, 4)",
    ),
    "stride-beyond-int64": Refusal(
        "g (float[1099511627776, 1099511627776, 2] x, int64[1, 2] i) => (float[A, B] y) {y = GatherND(x, i)}",
        11, 10, "it would need the constant 1208925819614629174706176, beyond int64",
    ),
    "two-axes-for-one": Refusal(
        "g (float[2, 3] x) => (float[A, B] y) <int64[2] a = {0, 1}> {y = CumSum(x, a)}",
        11, 10, "a constant of shape [2] is given where a single number is needed",
    ),
    "index-out-of-range": Refusal(
        "g (float[4] x, float[1] u) => (float[4] y) <int64[1] i = {9}> {y = Scatter(x, i, u)}",
        9, 8, "the indices 'i' are out of range",
    ),
    "attribute-that-is-no-text": Refusal(
        'g () => (string y) {y = Constant<value_string = "a">()}',
        12, 11, "attribute value_string is b'\\xff', which is not UTF-8", change=text_to_bytes,
    ),
    "number-that-no-version-has": Refusal(
        "g (float[2, 3] x, float[3] s) => (float[2, 3] y) {y = LayerNormalization<stash_type = 7>(x, s)}",
        17, 16, "stash_type is 7; LayerNormalization has only 1, 10, 11, 16",
    ),
    "directions-of-nothing": Refusal(
        "g (float[1] x, float[2, 1] z) => (float[1] y) {y = Scan<num_scan_inputs = 1, scan_input_directions = [0, 0], body = b (float[1] v, float[1] s) => (float[1] w) {w = Add(v, s)}>(x, z)}",
        9, 7, "scan_input_directions has 2 entries for 1 values",
    ),
    "map-to-nothing": Refusal(
        "g (float[1] x) => (seq(float[1]) y) {s = SequenceConstruct(x) y = SequenceMap<body = b (float[1] v) => (float[1] w) {w = Relu(v)}>(s)}",
        18, 16, "onnx cannot write SequenceMap as a function: Expected 1 or more outputs.; it stays because its body gives 0 outputs, and the "
        "node has 1", change=body_gives_nothing,
    ),
    "half-a-copy": Refusal(
        '<ir_version: 4, opset_import: ["" : 5]> g (float[2, 3] x) => (float[A, B] y) <float t = {1.5}, float a = {1}> {y = Tile(x, t, a)}',
        5, 6, "tiles 't' is not a whole number",
    ),
    "power-that-is-not-whole": Refusal(
        '<ir_version: 3, opset_import: ["" : 1]> g (float[1, 1, 4, 4] x) => (float[A, B, C, D] y) {y = GlobalLpPool<p = 2.5>(x)}',
        1, 2, "p=2.5 is not a 64-bit integer, which opset 2 and newer need",
    ),
    "root-that-there-is-not": Refusal(
        "g (float[1, 1, 4, 4] x) => (float[A, B, C, D] y) {y = LpPool<p = 0, kernel_shape = [2, 2], dilations = [2, 2]>(x)}",
        18, 17, "p=0: no LpPool has the root of order 0",
    ),
    "depth-without-end": Refusal(
        "g (int64[3] i, float[2] v) => (float[N, M] y) <float16 d = {31744}> {y = OneHot(i, d, v)}",
        9, 8, "the depth is inf, and a table of its positions has at most 16,777,216 entries",
    ),
    "sizes-that-are-not-whole": Refusal(
        "g (float[4] x) => (float[A0] a, float[B0] b) <float[2] s = {1.5, 2.5}> {a, b = Split<axis = 0>(x, s)}",
        1, 13, "the split sizes [1.5, 2.5] are not whole numbers",
    ),
    "type-of-no-such-name": Refusal(
        'g (float[2] x) => (int64[2] y) {y = Cast<to = "integer">(x)}',
        5, 6, "'integer' is not a type that Cast knows",
    ),
    "parts-of-a-branch": Refusal(
        "g (bool c, float[5] x) => (float[A] y) {y = If(c)<then_branch = t () => (float[B] a) {a, b, d, e = Split<num_outputs = 4>(x)}, else_branch = e () => (float[C] f) {f = Relu(x)}>}",
        18, 17, "a dimension of 5 cannot make 4 parts, so the node fails if it runs",
    ),
    "mask-that-was-left-open": Refusal(
        "g (float[4] x) => (float[4] y, bool[4] m) {y, m = Dropout(x)}",
        10, 12, "the mask 'm' is true throughout from opset 12 on, and left open before",
    ),
    "indices-of-no-axis": Refusal(
        "g (float[2, 3] x, int64[2, 0] i) => (float[A, B, C] y) {y = GatherND(x, i)}",
        11, 10, "indices of length 0 select the whole data, which older operators cannot express",
    ),
    "one-side-of-complex-numbers": Refusal(
        "g (float[1, 8, 2] x) => (float[A, B, C] y) {y = DFT<onesided = 1>(x)}",
        17, 16, "a one-sided DFT is of real numbers, and its inverse of complex ones", as_in_big_models,
    ),
    "one-side-of-a-complex-signal": Refusal(
        "g (float[1, 128, 2] x, float[16] w) => (float[A, B, C, 2] y) <int64 s = {8}> {y = STFT(x, s, w)}",
        17, 16, "a one-sided STFT is of a real signal",
    ),
    "signal-without-parts": Refusal(
        "g (float[1, 80, 1, 1] x) => (float[A, B, C, D] y) <int64 step = {8}, int64 n = {16}> {y = STFT(x, step, ABSENT, n)}",
        17, 16, "the signal of an STFT has to be [batch, sample, part]",
    ),
    "ellipses-that-differ": Refusal(
        'g (float[2, 3] x, float[2, 2, 3] z) => (float[A, B] y) {y = Einsum<equation = "...a,...a->...">(x, z)}',
        12, 11, "the ellipses of '...a,...a->...' stand for different numbers of axes", as_in_big_models,
    ),
    # It would become too large, or nobody wrote it
    "matrix-as-a-constant": Refusal(
        "g (float[T, 8388609] x) => (float[T, 8] y) <int64 n = {8}, int64 d = {16777216}, int64 r = {8192}, float l = {0}, float u = {4096}> {w = MelWeightMatrix(n, d, r, l, u) y = MatMul(x, w)}",
        17, 16, "a table of 67108872 elements would have to be written into the model as a constant",
    ),
    "large-sparse-constant": Refusal(
        "g () => (float[1048576, 1024] y) {y = Constant<value = float {1}>()}",
        12, 10, "a sparse constant of 1048576×1024 elements is too large to be written out", change=value_to_sparse,
    ),
    "long-transform": Refusal(
        "g (float[1, 5000, 2] x) => (float[A, B, C] y) {y = DFT(x)}",
        17, 16, "the matrix of a DFT of length 5000 would be larger than 2048² elements",
    ),
    "long-slices": Refusal(
        "g (float[9, 65] x) => (float[N, 65] y) {y = Unique<axis = 0>(x)}",
        11, 10, "Unique of slices of 65 elements would take 325 nodes in older operators",
    ),
    "large-scatter": Refusal(
        "g (float[3000] x, int64[3000] i, float[3000] u) => (float[3000] y) {y = Scatter(x, i, u)}",
        9, 8, "the indices 'i' are computed at run time, and 3000 updates of 3000 elements are too many",
    ),
    "antialias-of-a-wide-filter": Refusal(
        'g (float[1, 1, 6, 1024] x) => (float[1, 1, A, B] y) <float[4] s = {1, 1, 1, 0.00390625}> {y = Resize<mode = "linear", antialias = 1>(x, ABSENT, s)}',
        18, 17, "antialias=1 with a filter of 512 elements would take twice as many nodes",
    ),
    "too-few-indexes-of-n-grams": Refusal(
        'g (int64[N, C] x) => (float[N, D] y) {y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 3, max_skip_count = 0, ngram_counts = [0, 2, 8], ngram_indexes = [0, 1], pool_int64s = [1, 2, 1, 1, 1, 2, 2, 1, 1, 2, 1]>(x)}',
        9, 8, "the pool, ngram_indexes and weights do not have the same number of n-grams",
    ),
    "piece-of-an-n-gram": Refusal(
        'g (int64[N, C] x) => (float[N, D] y) {y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 3, max_skip_count = 0, ngram_counts = [0, 1, 8], ngram_indexes = [2, 0, 1, 4, 5, 6], pool_int64s = [1, 2, 1, 1, 1, 2, 2, 1, 1, 2, 1]>(x)}',
        9, 8, "ngram_counts [0, 1, 8] do not cut the pool into whole n-grams",
    ),
    "no-n-grams-that-count": Refusal(
        'g (int64[N, C] x) => (float[N, D] y) {y = TfIdfVectorizer<mode = "TF", min_gram_length = 4, max_gram_length = 4, max_skip_count = 0, ngram_counts = [0, 2, 8, 11], ngram_indexes = [2, 0, 1, 4, 5, 6], pool_int64s = [1, 2, 1, 1, 1, 2, 2, 1, 1, 2, 1]>(x)}',
        9, 8, "the pool has no n-grams of the lengths that count, and a result of zeros has no older form",
    ),
    "edges-beyond-the-spectrum": Refusal(
        "g (float[T, 9] x) => (float[T, 8] y) <int64 n = {8}, int64 d = {16}, int64 r = {8192}, float l = {0}, float u = {10000}> {w = MelWeightMatrix(n, d, r, l, u) y = MatMul(x, w)}",
        17, 16, "the edges of MelWeightMatrix reach beyond the spectrum",
    ),
    "edge-on-a-boundary": Refusal(
        "g (float[T, 256] x) => (float[T, 8] y) <int64 n = {8}, int64 d = {511}, int64 r = {16000}, float l = {125}, float u = {4096}> {w = MelWeightMatrix(n, d, r, l, u) y = MatMul(x, w)}",
        17, 16, "an edge of MelWeightMatrix falls on the boundary of a bin, where runtimes round differently",
    ),
    "constants-of-a-body": Refusal(
        "g (float[17, 2] x) => (float[17, 2] y) {y = Scan<num_scan_inputs = 1, body = b (float[2] s) => (float[2] o) <float[2] k = {1, 2}> {o = Add(s, k)}>(x)}",
        9, 7, "the body of the Scan has initializers of its own",
    ),
    "many-steps-stacked-otherwise": Refusal(
        "g (float[2] s, float[17, 2] x) => (float[2] last, float[A, B] all) {last, all = Scan(s, x)<num_scan_inputs = 1, scan_output_axes = [1], body = step (float[2] a, float[2] b) => (float[2] c, float[2] d) {c = Add(a, b) d = Mul(c, s)}>}",
        11, 7, "a Scan of 17 steps that stacks along another axis, or backward, is not written as a Loop",
    ),
    "three-dimensions": Refusal(
        "g (float[1, 1, 4, 4, 4] x, float[1, 1, 2, 2, 2] w, float[1, 24, 3, 3, 3] o) => (float[A, B, C, D, E] y) {y = DeformConv(x, w, o)}",
        19, 18, "DeformConv in 3 dimensions cannot be written as GridSample, which has 2",
    ),
    "body-of-a-newer-onnx": Refusal(
        "g (float[4] x) => (float[4] y) {y = Mish(x)}",
        18, 17, "the function body of Mish needs operators of another domain", a_newer_body,
    ),
    "step-without-a-rule": Refusal(
        "g (float[4] x) => (float[A] a, float[B] b) {a, b = Split<num_outputs = 2>(x)}",
        18, 17, "there is no rule for this step of Split yet", without_rules,
    ),
    "step-of-a-newer-onnx": Refusal(
        "g (float[4] x) => (float[A] a, float[B] b) {a, b = Split<num_outputs = 2>(x)}",
        18, 17, f"the installed onnx {onnx.__version__} has a version of Split that this split-rewrite does not know", a_newer_onnx,
    ),
    "excluded-rule": Refusal(
        "g (float[4] x) => (float[A] a, float[B] b) {a, b = Split<num_outputs = 2>(x)}",
        18, 17, "rule split.spell_out_parts is needed here, and --only or --skip excludes it", with_rules_skipped,
    ),
    "flag-that-says-neither-yes-nor-no": Refusal(
        "g (float[2] x, float[2] d) => (float[2] y) {y = Mod<fmod = 17>(x, d)}",
        13, 9, "fmod=17 is neither 0 nor 1, which the specification gives no meaning",
    ),
    "integer-mask-that-may-be-shorter": Refusal(
        "g (float[1,1,2,4] q, float[1,1,N,4] k, float[1,1,N,4] v, int32[2,M] m) => (float[1,1,2,4] y) {y = Attention(q, k, v, m)}",
        24, 23, "attn_mask may be shorter than the keys, and attn_mask is int32, which has no minus infinity: what is masked is not defined",
    ),
    "integer-mask-beside-a-causal-one": Refusal(
        "g (float[1,1,2,4] q, float[1,1,2,4] k, float[1,1,2,4] v, int32[2,2] m) => (float[1,1,2,4] y) {y = Attention<is_causal = 1>(q, k, v, m)}",
        23, 22, "is_causal masks keys, and attn_mask is int32, which has no minus infinity: what is masked is not defined",
    ),
    "two-values": Refusal(
        "g () => (int64 y) {y = Constant<value_int = 1, value_float = 2.0>()}",
        12, 11, "the constant's attribute value_int cannot be read", as_in_big_models,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", REFUSED.values(), ids=REFUSED)
def test_refused(monkeypatch: pytest.MonkeyPatch, row: Refusal) -> None:
    if max(row.opset, row.target) > onnx.defs.onnx_opset_version():
        pytest.skip("this onnx does not know the opset")
    proto = model(row.text, row.opset)
    row.change(proto)
    row.circumstance(monkeypatch)
    blockers = refusal(proto, row.target)
    assert re.search(
        rf"(?: \d+→\d+)?: (?:its rewrite needs \w+: |its rewrite needs \w+, which )?{re.escape(row.reason)}(?:. Hint: .+)?$",
        blockers,
        re.MULTILINE,
    ), blockers


def test_no_reason_is_missing() -> None:
    assert unseen("The target cannot express it (status 1)", [row.reason for row in REFUSED.values()]) == set()
