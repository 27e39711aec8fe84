"""About two hundred small models for probing a runtime: one for each form that a quirk may name, and for opsets and IR versions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from ..opsets.transitions import newest_opset

OLDEST_OPSET = 7
"""The oldest opset that is probed.

Documentation of runtimes starts with it, and it is the first that broadcasts like all later ones.
"""
OLDEST_IR = 3


class Probe(NamedTuple):
    """One model and what it tests.

    `form` is the name of a form as in `@avoid`, and `about` an operator. Otherwise, `form` is "opset" or "ir_version" and `about` a
    number; or "operators" and `about` their names; or "functions" and `about` the number of local functions.
    """

    form: str
    about: str | int | tuple[str, ...]
    model: onnx.ModelProto

    def inputs(self) -> list[np.ndarray]:
        """Values for each input: numbers of both signs, some of them halves."""
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
    """All probes that the installed onnx can express, those of opsets and IR versions first."""
    for opset in range(OLDEST_OPSET, newest_opset() + 1):
        yield Probe("opset", opset, _model("(float[2,3] x) => (float[2,3] y) { y = Add(x, x) }", opset))
    for ir_version in range(OLDEST_IR, onnx.IR_VERSION + 1):
        model = _model("(float[2,3] x) => (float[2,3] y) { y = Add(x, x) }", 9)
        model.ir_version = ir_version
        yield Probe("ir_version", ir_version, model)
    yield Probe("functions", 1, parser.parse_model(_FUNCTION))
    for form, about, opset, text in _FORMS:
        if opset <= newest_opset():
            model = _model(text, opset)
            model.producer_name = "pytorch" if form.endswith("exported by pytorch") else ""
            yield Probe(form, about, model)


def _model(text: str, opset: int) -> onnx.ModelProto:
    """The model written as `text`.

    The name "absent" stands for an absent input, since the parser of older onnx has no notation for it.
    """
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\nagraph {text}')
    for node in model.graph.node:
        node.input[:] = ["" if name == "absent" else name for name in node.input]
        node.output[:] = ["" if name == "absent" else name for name in node.output]
    return model


_FUNCTION = """<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
agraph (float[2,3] x) => (float[2,3] y) { y = local.Twice(x) }
<domain: "local", opset_import: ["" : 13]>
Twice (a) => (b) { b = Add(a, a) }"""
_REDUCE = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
_REDUCTIONS = tuple(f"Reduce{op}" for op in (*_REDUCE, "Sum"))
_BY_INPUT = "(float[2,3,4] x) => (float[2,1,4] y) <int64[1] a = {{1}}> {{ p = Exp(x) y = Reduce{}<keepdims = 1>(p, a) }}"
_BY_ATTRIBUTE = "(float[2,3,4] x) => (float[2,1,4] y) {{ p = Exp(x) y = Reduce{}<axes = [1], keepdims = 1>(p) }}"
_IN_STEPS = "(float[2,3,2,4,3] x) => (float[2,1,1,4,1] y) {{ p = Exp(x) y = {}<axes = [1, 2, 4], keepdims = 1>(p) }}"
_OF_ALL = "(float[2,3] x) => (float[1,1] y) {{ p = Exp(x) y = {}<axes = [0, 1], keepdims = 1>(p) }}"
_OF_NONE = "(float[2,3] x) => (float[2,3] y) {{ y = Reduce{}<noop_with_empty_axes = 1>(x) }}"
_OF_THREE = "(float[2,3] a, float[1,3] b, float[2,1] c) => (float[2,3] y) {{ y = {}(a, b, c) }}"
_COORDINATES = ("asymmetric", "half_pixel", "align_corners")
_SIZES = {"a": (6, 4), "b": (8, 12), "c": (7, 9), "d": (2, 3)}
"""The sizes to which an image of 4 by 6 pixels is resized."""
_IMAGE = "(float[1,1,4,4] x) => (float[1,1,{0},{0}] y) <float[4] s = {{1, 1, {1}, {1}}}>"


def _recurrent(op_type: str, gates: int, outputs: str, more: str = "", attributes: str = "") -> str:
    """A recurrent node of hidden size 2 for two steps of two sequences. `more` are the inputs after B.

    `outputs` are its outputs; y is either the output of all steps or the last state.
    """
    w, r, b = (", ".join(str(number * 3 % 7 / 2 - 1) for number in range(count)) for count in (2 * gates, 4 * gates, 4 * gates))
    constants = f"float[1,{2 * gates},1] w = {{{w}}}, float[1,{2 * gates},2] r = {{{r}}}, float[1,{4 * gates}] b = {{{b}}}"
    shape = "2,1,2,2" if outputs.startswith("y") else "1,2,2"
    node = f"{outputs} = {op_type}<hidden_size = 2{attributes}>(x, w, r, b{more})"
    return f"(float[2,2,1] x) => (float[{shape}] y) <{constants}, float[1,2,2] h = {{0.5, -0.5, 1, 0}}> {{ {node} }}"


def _resized(attributes: str) -> str:
    """Resize nodes from one image to all of `_SIZES`."""
    outputs = ", ".join(f"float[1,1,{height},{width}] {name}" for name, (height, width) in _SIZES.items())
    sizes = ", ".join(f"int64[4] to_{name} = {{1, 1, {height}, {width}}}" for name, (height, width) in _SIZES.items())
    nodes = " ".join(f"{name} = Resize<{attributes}>(x, absent, absent, to_{name})" for name in _SIZES)
    return f"(float[1,1,4,6] x) => ({outputs}) <{sizes}> {{ {nodes} }}"


def _padded(op_type: str, mode: str) -> str:
    """Nodes whose windows move by 2 and by 1 and need one element of padding."""
    weights = {size: ", w" + str(size) if op_type == "Conv" else "" for size in (3, 2)}
    y, z = (
        f'{op_type}<kernel_shape = [{size},{size}], strides = [{step},{step}], auto_pad = "{mode}">(x{weights[size]})'
        for size, step in ((3, 2), (2, 1))
    )
    constants = "<float[1,1,3,3] w3 = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[1,1,2,2] w2 = {1, 2, 3, 4}>" if op_type == "Conv" else ""
    return f"(float[1,1,4,4] x) => (float[1,1,2,2] y, float[1,1,4,4] z) {constants} {{ y = {y} z = {z} }}"


def _transposed(mode: str, *windows: tuple[int, int]) -> str:
    """ConvTranspose nodes, one for each of `windows`, which are pairs of size and stride."""
    numbers = {size: ", ".join(str(1 + number % 7) for number in range(size * size)) for size, _ in windows}
    constants = ", ".join(f"float[1,1,{size},{size}] w{size} = {{{numbers[size]}}}" for size, _ in windows)
    outputs = ", ".join(f"float[1,1,{4 * step},{4 * step}] y{size}" for size, step in windows)
    nodes = " ".join(
        f'y{size} = ConvTranspose<kernel_shape = [{size},{size}], strides = [{step},{step}], auto_pad = "{mode}">(x, w{size})'
        for size, step in windows
    )
    return f"(float[1,1,4,4] x) => ({outputs}) <{constants}> {{ {nodes} }}"


_RECURRENT = (("GRU", 3, "y, h1", ", absent, h"), ("LSTM", 4, "y, h1, c1", ", absent, h, h"), ("RNN", 1, "y, h1", ", absent, h"))
_LINEAR = ", linear_before_reset = 1"
_ROWS, _PLANE = "(float[2,3] x) => (float[2,3] y)", "(float[1,1,4,4] x) => (float[1,1,{0},{0}] y)"
_KERNEL = "<float[1,1,2,2] w = {1, 2, 3, 4}>"
_LEFT_OUT = (
    *((op, 13, _PLANE.format(3) + f" {{ y = {op}<kernel_shape = [2,2]>(x) }}") for op in ("AveragePool", "LpPool", "MaxPool")),
    ("Conv", 13, _PLANE.format(3) + _KERNEL + " { y = Conv(x, w) }"),
    ("ConvTranspose", 13, _PLANE.format(5) + _KERNEL + " { y = ConvTranspose(x, w) }"),
    ("LogSoftmax", 13, _ROWS + " { y = LogSoftmax(x) }"),
    ("OneHot", 13, _ROWS + "<int64[2] i = {2, 1}, int64 d = {3}, float[2] v = {0, 1}> { o = OneHot(i, d, v) y = Add(o, x) }"),
    *(
        (op, 12, f"(float[2,3,4] x) => (float[2,1,4] y) {{ p = Exp(x) y = {op}<axes = [1]>(p) }}")
        for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
    ),
    ("Resize", 13, _PLANE.format(8) + "<float[4] s = {1, 1, 2, 2}> { y = Resize(x, absent, s) }"),
    ("Softmax", 11, "(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }"),
    ("Split", 13, "(float[4,2] x) => (float[3,2] y, float[1,2] z) <int64[2] s = {3, 1}> { y, z = Split(x, s) }"),
)
_OPERATORS = (
    ("CumSum", 11, _ROWS + "<int32 a = {1}> { y = CumSum(x, a) }"),
    ("Einsum", 12, _ROWS + """<float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = Einsum<equation = "ij,jk->ik">(x, w) }"""),
    ("GatherElements", 13, _ROWS + "<int64[2,3] i = {1, 0, 1, 0, 1, 0}> { y = GatherElements<axis = 0>(x, i) }"),
    ("GatherND", 13, "(float[2,3,2] x) => (float[2,2] y) <int64[2,2] i = {0, 1, 1, 0}> { y = GatherND(x, i) }"),
    ("GRU", 14, _recurrent("GRU", 3, "y, h1", ", absent, h", _LINEAR)),
    ("Hardmax", 13, _ROWS + " { y = Hardmax<axis = -1>(x) }"),
    (
        "If",
        13,
        _ROWS
        + """ {
        s = ReduceSum<keepdims = 0>(x) z = Constant<value = float {100}>() c = Greater(s, z)
        y = If(c) <then_branch = more () => (float[2,3] a) { a = Neg(x) }, else_branch = less () => (float[2,3] b) { b = Exp(x) }>
    }""",
    ),
    ("IsNaN", 13, _ROWS + " { r = Sqrt(x) n = IsNaN(r) y = Cast<to = 1>(n) }"),
    (
        "LayerNormalization",
        17,
        _ROWS + "<float[3] s = {1, 2, 3}, float[3] b = {0, 1, 2}> { y = LayerNormalization<axis = -1>(x, s, b) }",
    ),
    (
        "Loop",
        13,
        _ROWS
        + """<int64 n = {3}, bool c = {1}> {
        y = Loop(n, c, x) <body = step (int64 i, bool a, float[2,3] v) => (bool b, float[2,3] w) { b = Identity(a) w = Add(v, v) }>
    }""",
    ),
    ("LpPool", 13, _PLANE.format(3) + " { y = LpPool<kernel_shape = [2,2], strides = [1,1]>(x) }"),
    ("LSTM", 14, _recurrent("LSTM", 4, "y, h1, c1", ", absent, h, h")),
    ("NonZero", 13, "(float[2,3] x) => (int64[2,n] y) { r = Relu(x) y = NonZero(r) }"),
    (
        "OneHot",
        13,
        _ROWS + "<int64[2] i = {2, 1}, int64 d = {3}, float[2] v = {0, 1}> { o = OneHot<axis = -1>(i, d, v) y = Add(o, x) }",
    ),
    ("RNN", 14, _recurrent("RNN", 1, "y, h1", ", absent, h")),
    (
        "Range",
        11,
        _ROWS
        + """<int64 z = {0}, int64 o = {1}, int64 a = {1}> {
        s = Shape(x) n = Gather<axis = 0>(s, a) r = Range(z, n, o) f = Cast<to = 1>(r) y = Add(x, f)
    }""",
    ),
    (
        "ScatterElements",
        13,
        "(float[2,3] x, float[1,3] u) => (float[2,3] y) <int64[1,3] i = {1, 0, 1}> { y = ScatterElements<axis = 0>(x, i, u) }",
    ),
    ("ScatterND", 13, "(float[3,2] x, float[2,2] u) => (float[3,2] y) <int64[2,1] i = {2, 1}> { y = ScatterND(x, i, u) }"),
    ("TopK", 11, "(float[2,3] x) => (float[2,2] y) <int64[1] k = {2}> { y, i = TopK<axis = -1, largest = 1, sorted = 1>(x, k) }"),
    ("Trilu", 14, "(float[3,3] x) => (float[3,3] y) { y = Trilu<upper = 1>(x) }"),
    ("Where", 9, _ROWS + "<float n = {0}> { c = Greater(x, n) y = Where(c, x, n) }"),
)
_FORMS: tuple[tuple[str, str | tuple[str, ...], int, str], ...] = (
    *(
        ("Softmax before opset 13, axis not last", op, 11, f"(float[2,3,4] x) => (float[2,3,4] y) {{ y = {op}<axis = 1>(x) }}")
        for op in ("Softmax", "LogSoftmax")
    ),
    *(("Attribute left out", op, opset, text) for op, opset, text in _LEFT_OUT),
    ("Squeeze without axes", "Squeeze", 13, "(float[2,1,3] x) => (float[2,3] y) { y = Squeeze(x) }"),
    *(("Reduce axes as an input", f"Reduce{op}", 18, _BY_INPUT.format(op)) for op in _REDUCE),
    ("Reduce axes as an input", "ReduceSum", 13, _BY_INPUT.format("Sum")),
    *(("Reduce axes as an attribute at opset 13 to 17", f"Reduce{op}", 17, _BY_ATTRIBUTE.format(op)) for op in _REDUCE),
    *(("Reduce over three axes or more", op, 12, _IN_STEPS.format(op)) for op in _REDUCTIONS),
    *(("Reduce over all axes, which it names", op, 12, _OF_ALL.format(op)) for op in _REDUCTIONS),
    *(("Reduce with noop_with_empty_axes", f"Reduce{op}", 18, _OF_NONE.format(op)) for op in ("Max", "Mean", "Min", "Prod", "Sum")),
    ("Negative index", "GatherND", 13, "(float[2,3,2] x) => (float[2,2] y) <int64[2,2] i = {0, -1, -1, 0}> { y = GatherND(x, i) }"),
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
        "(float[2,3] x) => (float[2,3] y) <int64[2] i = {-1, 1}, int64 d = {3}, float[2] v = {0, 1}> "
        "{ o = OneHot<axis = -1>(i, d, v) y = Add(o, x) }",
    ),
    (
        "Negative index",
        "ScatterElements",
        13,
        "(float[2,3] x, float[1,3] u) => (float[2,3] y) <int64[1,3] i = {-1, 0, -2}> { y = ScatterElements(x, i, u) }",
    ),
    (
        "Shape with start or end",
        "Shape",
        15,
        "(float[5,2] x) => (float[5,2] y) { s = Shape<start = 1, end = 2>(x) c = Cast<to = 1>(s) y = Mul(x, c) }",
    ),
    (
        "Split by num_outputs, uneven",
        "Split",
        18,
        "(float[2,5] x) => (float[2,3] y, float[2,2] z) { y, z = Split<num_outputs = 2, axis = 1>(x) }",
    ),
    ("Split without sizes", "Split", 13, "(float[2,4] x) => (float[2,2] y, float[2,2] z) { y, z = Split<axis = 1>(x) }"),
    (
        "Split with a part of length 0",
        "Split",
        13,
        "(float[2,4] x) => (float[2,3] y, float[2,1] z) <int64[3] s = {3, 0, 1}> { y, none, z = Split<axis = 1>(x, s) }",
    ),
    (
        "Split of bool",
        "Split",
        13,
        "(float[2,4] x) => (float[2,2] y, float[2,2] z) <float n = {0}> "
        "{ b = Greater(x, n) p, q = Split<axis = 1>(b) y = Cast<to = 1>(p) z = Cast<to = 1>(q) }",
    ),
    (
        "GatherND of bool",
        "GatherND",
        13,
        "(float[2,3,2] x) => (float[2,2] y) <int64[2,2] i = {0, 1, 1, 0}, float n = {0}> "
        "{ b = Greater(x, n) g = GatherND(b, i) y = Cast<to = 1>(g) }",
    ),
    (
        "Constant without the attribute value",
        "Constant",
        13,
        "(float[2,3,4] x) => (float[2,4] y) "
        "{ i = Constant<value_int = 1>() g = Gather<axis = 1>(x, i) t = Constant<value_float = 2.0>() y = Mul(g, t) }",
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
        "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { c = ConstantOfShape(s) y = Add(c, x) }",
    ),
    (
        "ConstantOfShape of a scalar",
        "ConstantOfShape",
        13,
        "(float[2,3] x) => (float[2,3] y) <int64[0] s = {}> { c = ConstantOfShape<value = float[1] {2}>(s) y = Add(c, x) }",
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
    ("Less", "Less", 13, "(float[2,3] x) => (float[2,3] y) <float n = {-1}> { b = Less(x, n) y = Cast<to = 1>(b) }"),
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
        "{ y = AveragePool<kernel_shape = [2,2], strides = [1,1], pads = [1,1,1,1], count_include_pad = 1>(x) }",
    ),
    (
        "AveragePool that leaves padding out, exported by pytorch",
        "AveragePool",
        13,
        "(float[1,1,4,4] x) => (float[1,1,3,3] y) { y = AveragePool<kernel_shape = [2,2], pads = [1,1,1,1], strides = [2,2]>(x) }",
    ),
    (
        "LpPool with padding",
        "LpPool",
        13,
        "(float[1,1,4,4] x) => (float[1,1,4,4] y) { y = LpPool<kernel_shape = [2,2], strides = [1,1], pads = [0,0,1,1]>(x) }",
    ),
    (
        "AveragePool with dilations",
        "AveragePool",
        19,
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = AveragePool<kernel_shape = [2,2], strides = [1,1], dilations = [2,2]>(x) }",
    ),
    *(
        (
            "Global pool of three axes or more",
            op,
            13,
            f"(float[1,2,2,2,3] x) => (float[1,2,1,1,1] y) {{ y = {op}(x) }}",
        )
        for op in ("GlobalAveragePool", "GlobalMaxPool")
    ),
    (
        "MaxPool with dilations",
        "MaxPool",
        13,
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape = [2,2], strides = [1,1], dilations = [2,2]>(x) }",
    ),
    ("Resize of opset 10", "Resize", 10, _IMAGE.format(8, 2) + ' { y = Resize<mode = "linear">(x, s) }'),
    (
        "Resize with antialias",
        "Resize",
        18,
        _IMAGE.format(2, 0.5)
        + ' { y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel", antialias = 1>(x, absent, s) }',
    ),
    *(
        (
            f"Resize to the nearest, {coordinates}, {rounding}",
            "Resize",
            13,
            _resized(f'mode = "nearest", coordinate_transformation_mode = "{coordinates}", nearest_mode = "{rounding}"'),
        )
        for coordinates, rounding in product(_COORDINATES, ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"))
    ),
    *(
        (
            f"Resize cubic, {coordinates}",
            "Resize",
            13,
            _resized(f'mode = "cubic", coordinate_transformation_mode = "{coordinates}", nearest_mode = "floor"'),
        )
        for coordinates in _COORDINATES
    ),
    ("Upsample, linear", "Upsample", 9, _IMAGE.format(8, 2) + ' { y = Upsample<mode = "linear">(x, s) }'),
    ("Pad before opset 11", "Pad", 10, "(float[2,3] x) => (float[4,3] y) { y = Pad<pads = [1,0,1,0], value = 2.0>(x) }"),
    ("Pad by negative numbers", "Pad", 13, "(float[3,3] x) => (float[2,3] y) <int64[4] p = {-1, 0, 0, 0}> { y = Pad(x, p) }"),
    *(
        (f"auto_pad {mode}", op, 13, _padded(op, mode))
        for mode, op in product(("SAME_UPPER", "SAME_LOWER"), ("AveragePool", "Conv", "LpPool", "MaxPool"))
    ),
    *((f"auto_pad {mode}", "ConvTranspose", 13, _transposed(mode, (3, 1), (4, 2))) for mode in ("SAME_UPPER", "SAME_LOWER")),
    ("ConvTranspose with disputed auto_pad", "ConvTranspose", 13, _transposed("SAME_LOWER", (2, 1))),
    (
        "ConvTranspose with output_shape",
        "ConvTranspose",
        13,
        "(float[1,1,3,3] x) => (float[1,1,3,3] y) <float[1,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> "
        "{ y = ConvTranspose<kernel_shape = [3,3], strides = [1,1], output_shape = [3,3]>(x, w) }",
    ),
    ("GRU with linear_before_reset 0", "GRU", 14, _recurrent("GRU", 3, "y, h1", ", absent, h")),
    *(
        (f"Recurrent operator without {what}", op, 14, _recurrent(op, gates, outputs, first, _LINEAR if op == "GRU" else ""))
        for what, outputs in (("last state", "y"), ("all steps", "absent, y"))
        for op, gates, _, first in _RECURRENT
    ),
    *(
        (
            "Last state of a recurrent operator",
            op,
            14,
            _recurrent(op, gates, outputs.replace("y, h1", "all, y"), first, _LINEAR if op == "GRU" else ""),
        )
        for op, gates, outputs, first in _RECURRENT
    ),
    *(
        ("Recurrent operator without a first state", op, 14, _recurrent(op, gates, outputs, "", _LINEAR if op == "GRU" else ""))
        for op, gates, outputs, _ in _RECURRENT
    ),
    (
        "ScatterElements with reduction",
        "ScatterElements",
        16,
        "(float[2,3] x, float[2,2] u) => (float[2,3] y) <int64[2,2] i = {1, 0, 2, 2}> "
        '{ y = ScatterElements<axis = 1, reduction = "add">(x, i, u) }',
    ),
    (
        "ScatterND with reduction",
        "ScatterND",
        16,
        '(float[3,2] x, float[2,2] u) => (float[3,2] y) <int64[2,1] i = {1, 1}> { y = ScatterND<reduction = "add">(x, i, u) }',
    ),
    *(("operators", (op,), opset, text) for op, opset, text in _OPERATORS),
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
