"""The models of `wild`, as rows of text by their kind: what is odd about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper


@dataclass(frozen=True)
class Row:
    """A model in the notation of onnx.parser, without the head, and what is changed in it then."""

    text: str
    opset: int = 13
    ir: int = 8
    changes: Sequence[Callable[[ModelProto], object]] = ()
    imports: Mapping[str, int] = field(default_factory=dict)


def _rows(opsets: Sequence[int], *texts: str, **more: Any) -> list[Row]:
    return [Row(text, opset, **more) for text in texts for opset in opsets]


# -- what the notation has no words for


def no_graph_name(model: ModelProto) -> None:
    model.graph.name = ""


def no_inner_graph_names(model: ModelProto) -> None:
    for node in model.graph.node:
        for attribute in node.attribute:
            attribute.g.name = ""


def no_imports_of(domain: str) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        kept = [entry for entry in model.opset_import if entry.domain != domain]
        del model.opset_import[:]
        model.opset_import.extend(kept)

    return change


def imported_twice(model: ModelProto) -> None:
    model.opset_import.append(model.opset_import[0])


def import_named_ai_onnx(model: ModelProto) -> None:
    model.opset_import[0].domain = "ai.onnx"


def nodes_named_ai_onnx(model: ModelProto) -> None:
    for node in model.graph.node:
        node.domain = "ai.onnx"


def nodes_reversed(model: ModelProto) -> None:
    nodes = [type(node).FromString(node.SerializeToString()) for node in reversed(model.graph.node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def equal_node_names(model: ModelProto) -> None:
    for node in model.graph.node:
        node.name = "same"


def declared_twice(model: ModelProto) -> None:
    model.graph.value_info.extend([model.graph.value_info[0], model.graph.value_info[0]])


def input_declared_as_value(model: ModelProto) -> None:
    model.graph.value_info.extend([*model.graph.input, *model.graph.output])


def value_without_type(model: ModelProto) -> None:
    model.graph.value_info.append(ValueInfoProto(name="t"))


def value_of_unknown_name(model: ModelProto) -> None:
    model.graph.value_info.append(helper.make_tensor_value_info("nobody", 1, [2]))


def outputs_without_type(model: ModelProto) -> None:
    for value in model.graph.output:
        value.ClearField("type")


def output_shape_of(*dims: int | str) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(model.graph.output[0].type.tensor_type.elem_type, dims))

    return change


def stated(name: str, kind: int, *dims: int | str) -> Callable[[ModelProto], None]:
    return lambda model: model.graph.value_info.append(helper.make_tensor_value_info(name, kind, dims))


def sparse(name: str, *dims: int) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        values = numpy_helper.from_array(np.array([1.5, -2.0], np.float32), name)
        places = np.array([1, int(np.prod(dims)) - 1], np.int64)
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, numpy_helper.from_array(places, "places"), dims))

    return change


def sparse_constant(model: ModelProto) -> None:
    values = numpy_helper.from_array(np.array([1.5, -2.0], np.float32), "v")
    tensor = helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([1, 3], np.int64), "i"), [2, 3])
    model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=tensor))


def ir(version: int) -> Callable[[ModelProto], None]:
    return lambda model: setattr(model, "ir_version", version)


def unnamed_producer(model: ModelProto) -> None:
    model.producer_name = model.doc_string = ""


def unused_initializer(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "unused"))


def attributes_without_type(model: ModelProto) -> None:
    for node in model.graph.node:
        for attribute in node.attribute:
            attribute.ClearField("type")


RELU = "g (float[2,3] x) => (float[2,3] y) {t = Relu(x) y = Softmax<axis = 1>(t)}"
CHAIN = "g (float[2,3] x) => (float[2,3] y) <float[2,3] t> {t = Relu(x) y = Softmax<axis = 1>(t)}"
WEIGHT = "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1.0,2.0,3.0}> {t = Add(x, w) y = Softmax<axis = 1>(t)}"
IF = """g (float[2,3] x, bool c) => (float[2,3] y) {
    y = If(c) <then_branch = a () => (float[2,3] p) {p = Relu(x)}, else_branch = b () => (float[2,3] q) {q = Neg(x)}>}"""

TOO_NEW = [  # of an opset that does not have them, and onnxruntime does
    "g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) {y = LayerNormalization(x, s)}",
    "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) {y = LayerNormalization<axis = -1, epsilon = 0.00001>(x, s, b)}",
    "g (float[N,S,4] x, float[4] s, float[4] b) => (float[N,S,4] y) {t = Relu(x) u = LayerNormalization<axis = 2>(t, s, b) y = Softmax<axis = 2>(u)}",
    "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) {y = LayerNormalization<axis = -1, stash_type = 1>(x, s, b)}",
    "g (float[2,3,4] x, float[3,4] s, float[3,4] b) => (float[2,3,4] y, float[2,1,1] m) {y, m = LayerNormalization<axis = 1>(x, s, b)}",
    "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y, float[2,3,1] m, float[2,3,1] d) {y, m, d = LayerNormalization(x, s, b)}",
    "g (float16[2,3,4] x, float16[4] s, float16[4] b) => (float16[2,3,4] y) {y = LayerNormalization(x, s, b)}",
    "g (double[2,3,4] x, double[4] s, double[4] b) => (double[2,3,4] y) {y = LayerNormalization(x, s, b)}",
    "g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) {y = SimplifiedLayerNormalization(x, s)}",
    "g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) {y = SimplifiedLayerNormalization<axis = -1, epsilon = 0.000001, stash_type = 1>(x, s)}",
    "g (float16[2,3,4] x, float16[4] s) => (float16[2,3,4] y) {y = SimplifiedLayerNormalization<axis = 2>(x, s)}",
    "g (float[2,S,4] x, float[4] s) => (float[2,S,4] y) {t = SimplifiedLayerNormalization(x, s) y = Softmax<axis = 2>(t)}",
]
LEGACY = [
    "g (float[1,3,4,4] x) => (float[1,3,4,4] y) {y = MeanVarianceNormalization(x)}",
    "g (float[2,3,4,4] x) => (float[2,3,4,4] y) {y = MeanVarianceNormalization<across_channels = 1>(x)}",
    "g (float[2,3,4,4] x) => (float[2,3,4,4] y) {y = MeanVarianceNormalization<across_channels = 0, normalize_variance = 0>(x)}",
    "g (float[1,3,4,4] x) => (float[1,3,4,4] y) {y = ImageScaler<bias = [1.0,2.0,3.0], scale = 2.0>(x)}",
    "g (float[N,3,4,4] x) => (float[N,3,4,4] y) {y = ImageScaler<bias = [1.0,2.0,3.0], scale = 0.5>(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = Affine<alpha = 2.0, beta = 0.5>(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = Affine(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = ParametricSoftplus<alpha = 2.0, beta = 0.5>(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = ScaledTanh<alpha = 2.0, beta = 0.5>(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = ThresholdedRelu<alpha = 2.0>(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = ThresholdedRelu(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = Scale<scale = 2.0>(x)}",
    "g (float[2,3] x) => (float[2,3] y) {y = Scale(x)}",
    "g (float[1,3,6,6] x) => (float[1,3,4,4] y) {y = Crop<border = [1,1,1,1]>(x)}",
    "g (float[1,3,6,6] x) => (float[1,3,2,3] y) {y = Crop<border = [1,2,1,1], scale = [2,3]>(x)}",
    "g (float[4,3] x) => (float[2,3] y) <int64[1] s = {1}, int64[1] e = {3}> {y = DynamicSlice(x, s, e)}",
    "g (float[4,3] x) => (float[4,2] y) <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {1}> {y = DynamicSlice(x, s, e, a)}",
]

ROWS: dict[str, list[Row]] = {
    "no shape": [
        *_rows(
            (11, 17),
            "g (float[] x) => (float[] y) {y = Relu(x)}",
            "g (float[2,3] x) => (float[] y) {y = Relu(x)}",
            "g (float[] x) => (float[2,3] y) {y = Relu(x)}",
            "g (float[2,3] x) => (float[] y) {t = Relu(x) y = Softmax<axis = 1>(t)}",
            "g (float[2,3] x) => (float[] y) <float[] t> {t = Relu(x) y = Softmax<axis = -1>(t)}",
            "g (float[N,3] x) => (float[] y, float[] z) {y = Relu(x) z = Concat<axis = 0>(x, y)}",
            "g (float[2,3,4] x, float[4,5] w) => (float[] y) {y = MatMul(x, w)}",
            "g (float[] x, float[] w) => (float[] y) {y = MatMul(x, w)}",
            "g (int64[] x) => (float[] y) {y = Cast<to = 1>(x)}",
            "g (float[4] x) => (int64[] y) {y = NonZero(x)}",
            "g (float[2,3] x, int64[K] s) => (float[] y) {y = Reshape(x, s)}",
            "g (float[2,3] x, int64[] s) => (float[] y) {y = Reshape(x, s)}",
            "g (float[] x) => (float[] y) {y = Transpose<perm = [1,0]>(x)}",
            "g (float[2,3] x, bool c) => (float[] y) {y = If(c) <then_branch = a () => (float[] p) {p = Relu(x)}, else_branch = b () => (float[] q) {q = Neg(x)}>}",
            "g (float[] x) => (float[] y) {y = ReduceMean<keepdims = 0>(x)}",
            "g (float[] x) => (float[] y, int64[] s) {y = Flatten(x) s = Shape(x)}",
        ),
        Row("g (float[2,3] x) => (float[2,3] y) {y = Relu(x)}", changes=[outputs_without_type]),
        Row(RELU, changes=[outputs_without_type]),
    ],
    "names and order": [
        *(Row(RELU, opset, changes=[no_graph_name]) for opset in (9, 11, 13, 18)),
        Row(IF, 11, changes=[no_graph_name]),
        Row(IF, 13, changes=[no_inner_graph_names]),
        Row(RELU, changes=[imported_twice]),
        Row(RELU, changes=[import_named_ai_onnx]),
        Row(RELU, changes=[nodes_named_ai_onnx]),
        Row(RELU, changes=[import_named_ai_onnx, nodes_named_ai_onnx]),
        Row(RELU, changes=[nodes_reversed]),
        Row(WEIGHT, changes=[nodes_reversed, no_graph_name]),
        Row(RELU, changes=[equal_node_names]),
        Row(CHAIN, changes=[declared_twice]),
        Row(CHAIN, changes=[input_declared_as_value]),
        Row(RELU, changes=[value_without_type]),
        Row(RELU, changes=[value_of_unknown_name]),
        Row(WEIGHT, changes=[unused_initializer]),
        Row(RELU, 11, changes=[attributes_without_type]),
        Row("g (float[2,3] x, float[2,3] unused) => (float[2,3] y) {y = Relu(x)}"),
        Row("g (float[2,3] x) => (float[2,3] y, float[2,3] y) {y = Relu(x)}"),
        Row("g (float[2,3] x) => (float[2,3] x) {}"),
        Row("g (float[2,3] x) => (float[2,3] y, float[2,3] x) {y = Relu(x)}"),
        Row("g () => (float[3] w) <float[3] w = {1.0,2.0,3.0}> {}"),
        Row("g (float[3] x) => (float[3] y, float[3] w) <float[3] w = {1.0,2.0,3.0}> {y = Add(x, w)}"),
    ],
    "versions": [
        *(Row(RELU, 7, ir=version, changes=[unnamed_producer]) for version in (3, 4, 5, 9, 10)),
        *(Row(WEIGHT, 7, ir=version) for version in (1, 2, 3, 4)),
        *(Row(RELU, 1, ir=version) for version in (1, 2, 3)),
        Row(RELU, 1, ir=2, changes=[no_imports_of("")]),
        Row(RELU, 13, imports={"ai.onnx.ml": 2}, changes=[no_imports_of("")]),
        Row(RELU, 13, imports={"com.microsoft": 1}, changes=[no_imports_of("")]),
        Row(RELU, 13, imports={"ai.onnx.ml": 3, "com.microsoft": 1, "ai.onnx.training": 1, "org.pytorch.aten": 1}),
        Row(RELU, 13, changes=[ir(8)], imports={"ai.onnx.preview.training": 1}),
        *(Row(RELU, opset, ir=3) for opset in (8, 12, 15, 18, 21)),
    ],
    "other domains": [
        *_rows(
            (11, 17),
            "g (float[2,3] x) => (float[2,3] y) {y = ai.onnx.ml.Normalizer(x)}",
            "g (float[2,3] x) => (float[2,3] y) {y = ai.onnx.ml.Scaler<offset = [0.0], scale = [2.0]>(x)}",
            "g (float[2,3] x) => (float[2,3] y) {t = Softmax<axis = 1>(x) y = ai.onnx.ml.Binarizer<threshold = 0.5>(t)}",
            "g (int64[3] x) => (float[3] y) {y = ai.onnx.ml.LabelEncoder<keys_int64s = [1,2], values_floats = [1.0,2.0]>(x)}",
            "g (float[2,3] x) => (float[2,1] y) {y = ai.onnx.ml.LinearRegressor<coefficients = [1.0,2.0,3.0], intercepts = [1.0]>(x)}",
            "g (float[2,3] x) => (float[2,3] y) {y = ai.onnx.ml.Imputer<imputed_value_floats = [1.0], replaced_value_float = 0.0>(x)}",
            "g (float[2,3] x) => (float[2,3] y) {t = com.microsoft.Gelu(x) y = Softmax<axis = 1>(t)}",
            "g (float[2,3] x, float[3] b) => (float[2,3] y) {t = com.microsoft.BiasGelu(x, b) y = Softmax<axis = 1>(t)}",
            "g (float[2,3] x, float[3] b) => (float[2,3] y) {t = com.microsoft.FastGelu(x, b) y = Softmax<axis = 1>(t)}",
            "g (float[2,3] x) => (float[2,3] y) {y = com.microsoft.QuickGelu<alpha = 1.702>(x)}",
            "g (float[2,3] x, float[3,2] w) => (float[2,2] y) {y = com.microsoft.FusedMatMul<alpha = 0.5>(x, w)}",
            "g (float[2,3,4] x, float[2,3,4] s, float[4] g, float[4] b) => (float[2,3,4] y) {y = com.microsoft.SkipLayerNormalization<epsilon = 0.00001>(x, s, g, b)}",
            "g (float[2,3,4] x, float[2,3,4] s, float[4] g) => (float[2,3,4] y) {y = com.microsoft.SkipSimplifiedLayerNormalization(x, s, g)}",
            "g (float[1,4,8] q, float[1,4,8] k, float[1,4,8] v) => (float[1,4,8] y) {y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v)}",
            "g (float[1,4,8] x, float[8,24] w, float[24] b) => (float[1,4,8] y) {y = com.microsoft.Attention<num_heads = 2>(x, w, b)}",
            "g (float[2,32] x, uint8[4,2,8] w, float[8] s) => (float[2,4] y) {y = com.microsoft.MatMulNBits<K = 32, N = 4, bits = 4, block_size = 16>(x, w, s)}",
            "g (uint8[2,3] a, float s, uint8 z, uint8[2,3] b) => (uint8[2,3] y) {y = com.microsoft.QLinearAdd(a, s, z, b, s, z, s, z)}",
            'g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y) {y = com.microsoft.FusedConv<activation = "Relu">(x, w)}',
            'g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) {y = com.microsoft.FusedGemm<activation = "Relu">(x, w, b)}',
            "g (float[3,3] x) => (float[3,3] y) {y = com.microsoft.Inverse(x)}",
            "g (float[2,3] x, bool c) => (float[2,3] y) {y = If(c) <then_branch = a () => (float[2,3] p) {p = com.microsoft.Gelu(x)}, else_branch = b () => (float[2,3] q) {q = com.microsoft.QuickGelu(x)}>}",
            "g (float[1,8,4,4] x) => (float[1,8,2,2] y) {t = com.microsoft.nchwc.MaxPool<kernel_shape = [2,2], strides = [2,2]>(x) y = Relu(t)}",
        ),
        *(
            Row(
                "g (float[1,3,4,4] x, float[3] s, float[3] b) => (float[1,3,4,4] y) {t = com.microsoft.Gelu(x) y = InstanceNormalization(t, s, b)}",
                n,
            )
            for n in (9, 21)
        ),
    ],
    "stamps": [
        *_rows((9, 11, 14, 16), *TOO_NEW),
        *_rows(
            (18, 19, 20),
            "g (float[2,4,3] x, float[2] s, float[2] b) => (float[2,4,3] y) {y = GroupNormalization<num_groups = 2>(x, s, b)}",
        ),
        *_rows(
            (21, 22),
            "g (float[2,4,3] x, float[4] s, float[4] b) => (float[2,4,3] y) {y = GroupNormalization<num_groups = 2>(x, s, b)}",
        ),
    ],
    "legacy": [*_rows((7, 8, 9), *LEGACY), *_rows((11, 13), *(text for text in LEGACY if "Thresh" in text))],
    "disputed": [
        *(
            Row(CHAIN, changes=[lambda m, d=dims: m.graph.value_info[0].type.CopyFrom(helper.make_tensor_type_proto(1, d))])
            for dims in ([5, 7], [2, 3, 1], [6], [], ["N", 7])
        ),
        Row(RELU, changes=[output_shape_of(3, 2)]),
        Row(RELU, changes=[output_shape_of(2, 3, 1)]),
        Row(RELU, changes=[output_shape_of("N", "M", "K")]),
        Row("g (float[2,3] x) => (int64 y) {y = Size(x)}", changes=[output_shape_of(1)]),
        Row("g (float[1,3] x) => (float[1,3] y) {y = Squeeze<axes = [0]>(x)}", 11),
        Row("g (float[2,3] x) => (int64[3] y) {y = Shape(x)}"),
        Row(
            "g (float[2,3] x) => (float[2,4] y) <float[4] w = {1.0,2.0,3.0,4.0}> {c = Constant<value_floats = [1.0,2.0,3.0]>() y = Add(x, c)}"
        ),
        Row(
            "g (float[2,3] x) => (float[2,3] y) {c = Constant<value = float[3] {1.0,2.0,3.0}>() y = Add(x, c)}",
            changes=[stated("c", TensorProto.FLOAT, 1)],
        ),
        Row(
            IF,
            11,
            changes=[lambda m: m.graph.node[0].attribute[0].g.output[0].type.CopyFrom(helper.make_tensor_type_proto(1, [5, 5]))],
        ),
        Row(
            IF,
            13,
            changes=[lambda m: m.graph.node[0].attribute[0].g.output[0].type.CopyFrom(helper.make_tensor_type_proto(1, [6]))],
        ),
        Row(IF, 13, changes=[output_shape_of(2, 4)]),
        Row(
            "g (float[2,3] x, bool c) => (float[A,B] y) {y = If(c) <then_branch = a () => (float[2,3] p) {p = Relu(x)}, else_branch = b () => (float[3,2] q) {q = Transpose(x)}>}",
            13,
        ),
        Row(
            "g (float[2,3] x, bool c) => (float[A,B] y) {y = If(c) <then_branch = a () => (float[2,3] p) {p = Relu(x)}, else_branch = b () => (float[6] q) {q = Flatten<axis = 0>(x)}>}",
            13,
        ),
        *_rows((9, 13, 17), "g (float16[1,2,3,4] x) => (float16[1,2,3,4] y) {y = MeanVarianceNormalization<axes = [0,2,3]>(x)}"),
        *_rows((9, 13), "g (float16[1,2,3,4] x) => (float16[1,2,3,4] y) {y = MeanVarianceNormalization(x)}"),
        Row("g (int64[2] s) => (float[4,5] y) {y = ConstantOfShape(s)}"),
        Row(
            "g (float[2,3] x) => (float[2,3] y) {t = Cast<to = 7>(x) y = Cast<to = 1>(t)}",
            changes=[stated("t", TensorProto.FLOAT, 2, 3)],
        ),
        Row("g (float[2,3] x, float[3,4] w) => (float[2,5] y) {y = MatMul(x, w)}"),
        Row("g (float[1,1,4,4] x) => (float[1,1,9,9] y) {y = MaxPool<kernel_shape = [2,2]>(x)}"),
        Row("g (float[2,3] x) => (float[3,2] y) {y = Reshape<shape = [2,3]>(x)}", 1),
        *_rows((11, 13), "g (float[N,3] x) => (float[M,6] y) {y = Concat<axis = 1>(x, x)}"),
    ],
    "sparse": [
        *(Row("g (float[2,3] x) => (float[2,3] y) {y = Add(x, w)}", opset, changes=[sparse("w", 2, 3)]) for opset in (11, 13, 17)),
        *(
            Row("g (float[2,3] x) => (float[2,4] y) {y = MatMul(x, w)}", opset, changes=[sparse("w", 3, 4)])
            for opset in (11, 13, 17)
        ),
        *(Row("g (float[2,3] x) => (float[2,3] y) {y = Add(x, w)}", opset, changes=[sparse_constant]) for opset in (11, 13)),
    ],
    "plain": [*_rows((9, 13, 17), RELU, CHAIN, WEIGHT)],
}
