"""About a hundred models of a few nodes: for each form that a quirk may name, and for opsets and IR versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from ..opsets.transitions import newest_opset

OLDEST_OPSET = 7
"""What documents of runtimes start with, and the first opset that broadcasts as all later ones do."""
OLDEST_IR = 3


class Probe(NamedTuple):
    """`form` as `@avoid` names it, and the operator; or "opset" or "ir_version" and a number; or "operators" and their names."""

    form: str
    about: str | int | tuple[str, ...]
    model: onnx.ModelProto

    def inputs(self) -> list[np.ndarray]:
        """Numbers of both signs, halves among them, for each input."""
        return [_values(value.type.tensor_type) for value in self.model.graph.input]


def _values(kind: TensorProto | onnx.TypeProto.Tensor) -> np.ndarray:
    shape = [dim.dim_value for dim in kind.shape.dim]  # type: ignore[union-attr]
    count = int(np.prod(shape))
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)  # type: ignore[union-attr]
    if dtype == np.bool_:
        return (np.arange(count) % 3 == 0).reshape(shape)
    values = (np.arange(count) * 7 % 13 - 5) / 2
    return (values * 2 if dtype.kind == "i" else values).astype(dtype).reshape(shape)


def probes() -> Iterator[Probe]:
    """All of them that the installed onnx can express, the opsets and IR versions first."""
    for opset in range(OLDEST_OPSET, newest_opset() + 1):
        yield Probe("opset", opset, _model("(float[2,3] x) => (float[2,3] y) { y = Add(x, x) }", opset))
    for ir_version in range(OLDEST_IR, onnx.IR_VERSION + 1):
        model = _model("(float[2,3] x) => (float[2,3] y) { y = Add(x, x) }", 9)
        model.ir_version = ir_version
        yield Probe("ir_version", ir_version, model)
    for form, about, opset, text in _FORMS:
        if opset <= newest_opset():
            model = _model(text, opset)
            model.producer_name = "pytorch" if form.endswith("exported by pytorch") else ""
            yield Probe(form, about, model)


def _model(text: str, opset: int) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\nagraph {text}')


_REDUCE = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
_BY_INPUT = "(float[2,3,4] x) => (float[2,1,4] y) <int64[1] a = {{1}}> {{ p = Exp(x) y = Reduce{}(p, a) }}"
_BY_ATTRIBUTE = "(float[2,3,4] x) => (float[2,1,4] y) {{ p = Exp(x) y = Reduce{}<axes = [1]>(p) }}"
_OF_NONE = "(float[2,3] x) => (float[2,3] y) {{ y = Reduce{}<noop_with_empty_axes = 1>(x) }}"
_OF_THREE = "(float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) {{ y = {}(a, b, c) }}"
_IMAGE = "(float[1,1,4,4] x) => (float[1,1,{0},{0}] y) <float[4] s = {{1, 1, {1}, {1}}}>"
_GRU = (
    "(float[2,1,1] x) => (float[2,1,1,1] y) <float[1,3,1] w = {0.5, -1, 2}, float[1,3,1] r = {1, 0.5, -1}, "
    "float[1,6] b = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}> { y = GRU<hidden_size = 1>(x, w, r, b) }"
)
_LSTM = (
    "(float[2,1,1] x) => (float[2,1,1,1] y) <float[1,4,1] w = {0.5, -1, 2, 1}, float[1,4,1] r = {1, 0.5, -1, 2}, "
    "float[1,8] b = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}> { y = LSTM<hidden_size = 1>(x, w, r, b) }"
)
_FORMS: tuple[tuple[str, str | tuple[str, ...], int, str], ...] = (
    *(
        ("Softmax before opset 13, axis not last", op, 11, f"(float[2,3,4] x) => (float[2,3,4] y) {{ y = {op}<axis = 1>(x) }}")
        for op in ("Softmax", "LogSoftmax")
    ),
    *(("Reduce axes as an input", f"Reduce{op}", 18, _BY_INPUT.format(op)) for op in _REDUCE),
    ("Reduce axes as an input", "ReduceSum", 13, _BY_INPUT.format("Sum")),
    *(("Reduce axes as an attribute at opset 13 to 17", f"Reduce{op}", 17, _BY_ATTRIBUTE.format(op)) for op in _REDUCE),
    *(("Reduce with noop_with_empty_axes", f"Reduce{op}", 18, _OF_NONE.format(op)) for op in ("Max", "Mean", "Min", "Prod", "Sum")),
    ("Negative index", "GatherND", 13, "(float[2,3] x) => (float[2] y) <int64[2,2] i = {0, -1, -1, 0}> { y = GatherND(x, i) }"),
    (
        "Negative index",
        "GatherElements",
        13,
        "(float[2,3] x) => (float[1,3] y) <int64[1,3] i = {-1, 0, -2}> { y = GatherElements(x, i) }",
    ),
    (
        "Negative index",
        "OneHot",
        13,
        "(float[3] x) => (float[2,3] y) <int64[2] i = {-1, 1}, int64 d = {3}, float[2] v = {0, 1}> "
        "{ o = OneHot(i, d, v) y = Add(o, x) }",
    ),
    (
        "Negative index",
        "ScatterElements",
        13,
        "(float[2,3] x, float[1,3] u) => (float[2,3] y) <int64[1,3] i = {-1, 0, -2}> { y = ScatterElements(x, i, u) }",
    ),
    ("Shape with start or end", "Shape", 15, "(float[2,3,4] x) => (int64[1] y) { y = Shape<start = 1, end = 2>(x) }"),
    ("Split by num_outputs, uneven", "Split", 18, "(float[5] x) => (float[3] y, float[2] z) { y, z = Split<num_outputs = 2>(x) }"),
    ("Split without sizes", "Split", 13, "(float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }"),
    (
        "Split with a part of length 0",
        "Split",
        13,
        "(float[4] x) => (float[3] y, float[1] z) <int64[3] s = {3, 0, 1}> { y, none, z = Split(x, s) }",
    ),
    ("Split of bool", "Split", 13, "(bool[4] x) => (bool[2] y, bool[2] z) { y, z = Split(x) }"),
    ("GatherND of bool", "GatherND", 13, "(bool[2,3] x) => (bool[2] y) <int64[2,2] i = {0, 1, 1, 0}> { y = GatherND(x, i) }"),
    (
        "Constant without the attribute value",
        "Constant",
        13,
        "(float[2,3] x) => (float[3] y) "
        "{ i = Constant<value_int = 1>() g = Gather(x, i) t = Constant<value_float = 2.0>() y = Mul(g, t) }",
    ),
    (
        "Constant without the attribute value at opset 12",
        "Constant",
        12,
        "(float[2,3] x) => (float[2,3] y) { t = Constant<value_float = 2.0>() y = Mul(x, t) }",
    ),
    (
        "ConstantOfShape without value",
        "ConstantOfShape",
        13,
        "(float[3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { c = ConstantOfShape(s) y = Add(c, x) }",
    ),
    (
        "ConstantOfShape of a scalar",
        "ConstantOfShape",
        13,
        "(float[3] x) => (float[3] y) <int64[0] s = {}> { c = ConstantOfShape<value = float[1] {2}>(s) y = Add(c, x) }",
    ),
    ("Cast to bool", "Cast", 13, "(float[2,3] x) => (float[2,3] y) { b = Cast<to = 9>(x) y = Cast<to = 1>(b) }"),
    ("Cast of a float to an integer", "Cast", 13, "(float[2,3] x) => (float[2,3] y) { i = Cast<to = 6>(x) y = Cast<to = 1>(i) }"),
    (
        "Div of integers",
        "Div",
        13,
        "(float[2,3] x) => (float[2,3] y) <int32 d = {2}> { a = Abs(x) i = Cast<to = 6>(a) q = Div(i, d) y = Cast<to = 1>(q) }",
    ),
    *(("Three operands or more", op, 13, _OF_THREE.format(op)) for op in ("Max", "Min", "Sum", "Mean")),
    ("Pow by 3", "Pow", 13, "(float[2,3] x) => (float[2,3] y) <float e = {3}> { y = Pow(x, e) }"),
    (
        "Gemm with transA",
        "Gemm",
        13,
        "(float[3,2] a) => (float[2,2] y) <float[3,2] b = {1, 2, 3, 4, 5, 6}> { y = Gemm<transA = 1>(a, b) }",
    ),
    ("Celu with alpha", "Celu", 12, "(float[2,3] x) => (float[2,3] y) { y = Celu<alpha = 2.0>(x) }"),
    (
        "HardSigmoid that can be part of a HardSwish",
        "HardSigmoid",
        13,
        "(float[1,2,2,2] x, float[1,2,1,1] g) => (float[1,2,2,2] y) "
        "{ h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(g) y = Mul(x, h) }",
    ),
    ("Shrink", "Shrink", 9, "(float[2,3] x) => (float[2,3] y) { y = Shrink<bias = 0.5>(x) }"),
    ("Round", "Round", 13, "(float[2,3] x) => (float[2,3] y) { y = Round(x) }"),
    ("Mod with fmod", "Mod", 13, "(float[2,3] x) => (float[2,3] y) <float d = {2}> { y = Mod<fmod = 1>(x, d) }"),
    ("GlobalLpPool", "GlobalLpPool", 13, "(float[1,2,3,3] x) => (float[1,2,1,1] y) { y = GlobalLpPool(x) }"),
    (
        "ArgMax with select_last_index",
        "ArgMax",
        13,
        "(float[2,3] x) => (float[2,1] y) { z = Sub(x, x) i = ArgMax<axis = 1, select_last_index = 1>(z) y = Cast<to = 1>(i) }",
    ),
    (
        "AveragePool with count_include_pad",
        "AveragePool",
        13,
        "(float[1,1,4,4] x) => (float[1,1,5,5] y) "
        "{ y = AveragePool<kernel_shape = [2,2], pads = [1,1,1,1], count_include_pad = 1>(x) }",
    ),
    (
        "AveragePool that leaves padding out, exported by pytorch",
        "AveragePool",
        13,
        "(float[1,1,4,4] x) => (float[1,1,3,3] y) { y = AveragePool<kernel_shape = [2,2], pads = [1,1,1,1], strides = [2,2]>(x) }",
    ),
    (
        "AveragePool with dilations",
        "AveragePool",
        19,
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = AveragePool<kernel_shape = [2,2], dilations = [2,2]>(x) }",
    ),
    (
        "MaxPool with dilations",
        "MaxPool",
        13,
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape = [2,2], dilations = [2,2]>(x) }",
    ),
    ("Resize of opset 10", "Resize", 10, _IMAGE.format(8, 2) + ' { y = Resize<mode = "linear">(x, s) }'),
    ("Resize with antialias", "Resize", 18, _IMAGE.format(2, 0.5) + ' { y = Resize<mode = "linear", antialias = 1>(x, , s) }'),
    (
        "Resize to the nearest by half_pixel, align_corners or ceil",
        "Resize",
        13,
        _IMAGE.format(6, 1.5) + ' { y = Resize<mode = "nearest", nearest_mode = "ceil">(x, , s) }',
    ),
    ("Resize cubic by half_pixel", "Resize", 13, _IMAGE.format(8, 2) + ' { y = Resize<mode = "cubic">(x, , s) }'),
    ("Pad before opset 11", "Pad", 10, "(float[2,3] x) => (float[4,3] y) { y = Pad<pads = [1,0,1,0], value = 2.0>(x) }"),
    ("Pad by negative numbers", "Pad", 13, "(float[3,3] x) => (float[2,3] y) <int64[4] p = {-1, 0, 0, 0}> { y = Pad(x, p) }"),
    (
        "Conv with auto_pad SAME_LOWER",
        "Conv",
        13,
        '(float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,2,2] w = {1, 2, 3, 4}> { y = Conv<auto_pad = "SAME_LOWER">(x, w) }',
    ),
    (
        "ConvTranspose with output_shape",
        "ConvTranspose",
        13,
        "(float[1,1,3,3] x) => (float[1,1,3,3] y) <float[1,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> "
        "{ y = ConvTranspose<strides = [1,1], output_shape = [3,3]>(x, w) }",
    ),
    ("GRU with linear_before_reset 0", "GRU", 14, _GRU),
    ("LSTM without all outputs", "LSTM", 14, _LSTM),
    (
        "ScatterElements with reduction",
        "ScatterElements",
        16,
        "(float[2,3] x, float[1,3] u) => (float[2,3] y) <int64[1,3] i = {1, 0, 1}> "
        '{ y = ScatterElements<reduction = "add">(x, i, u) }',
    ),
    (
        "operators",
        ("SequenceAt", "SplitToSequence"),
        13,
        "(float[4] x) => (float[1] y) <int64 i = {1}> { s = SplitToSequence(x) y = SequenceAt(s, i) }",
    ),
    (
        "operators",
        ("ConcatFromSequence", "SequenceConstruct"),
        13,
        "(float[4] x) => (float[8] y) { s = SequenceConstruct(x, x) y = ConcatFromSequence<axis = 0>(s) }",
    ),
    (
        "operators",
        ("SequenceEmpty", "SequenceInsert"),
        13,
        "(float[4] x) => (float[4] y) { e = SequenceEmpty() s = SequenceInsert(e, x) y = ConcatFromSequence<axis = 0>(s) }",
    ),
)
