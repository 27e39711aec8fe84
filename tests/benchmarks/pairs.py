"""Pairs of models that are equal almost everywhere, written by hand, with inputs on which they differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import ModelProto


def _pair(types: str, one: str, other: str, **feeds: Any) -> tuple[ModelProto, ModelProto, dict[str, Any]]:
    models = []
    for body in (one, other):
        text = f'<ir_version: 8, opset_import: ["" : 18]> g {types} {{ {body} }}'
        models.append(onnx.parser.parse_model(text))
    kinds = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in models[0].graph.input}
    return models[0], models[1], {name: np.array(value, kinds[name]) for name, value in feeds.items()}


_F = "(float[12] x) => (float[12] y)"
_HALF = "h = Constant<value_float = 0.5>()\n"


def _floats(*values: float) -> list[float]:
    return [*values, *([0.25] * (12 - len(values)))]


def _unary(one: str, other: str, *values: float) -> tuple[ModelProto, ModelProto, dict[str, Any]]:
    return _pair(_F, one, other, x=_floats(*values))


def _shift(bits: int, one: int, other: int) -> tuple[ModelProto, ModelProto, dict[str, Any]]:
    types = f"(uint{bits}[12] x) => (uint{bits}[12] y)"
    bodies = []
    for amount in (one, other):
        bodies.append(
            f'c = Constant<value_int = {amount}>()\n s = Cast<to = {_UNSIGNED[bits]}>(c)\n y = BitShift<direction = "RIGHT">(x, s)'
        )
    return _pair(types, *bodies, x=[(1 << bits) - 1] * 12)


_UNSIGNED = {8: 2, 16: 4, 32: 12, 64: 13}
_CLIP = "a = Constant<value_float = {}>()\n b = Constant<value_float = {}>()\n y = Clip(x, a, b)"
_INT = "(int64[12] x) => (int64[12] y)"
_ABOVE = "t = Constant<value_float = {}>()\n b = Greater(x, t)\n y = Cast<to = 1>(b)"

PAIRS = {
    "Round and Floor(x + 0.5)": _unary("y = Round(x)", f"{_HALF} a = Add(x, h)\n y = Floor(a)", 2.5),
    "Round and away from zero": _unary(
        "y = Round(x)", f"{_HALF} a = Abs(x)\n b = Add(a, h)\n c = Floor(b)\n s = Sign(x)\n y = Mul(c, s)", 0.5
    ),
    "Ceil(x - 0.5) and Round": _unary("y = Round(x)", f"{_HALF} a = Sub(x, h)\n y = Ceil(a)", 3.5),
    "Floor and Ceil less 1": _unary(
        "y = Floor(x)", "o = Constant<value_float = 1.0>()\n c = Ceil(x)\n y = Sub(c, o)", 2.0
    ),
    "x >> 8 and x >> 9, 16 bits": _shift(16, 8, 9),
    "x >> 8 and x >> 9, 32 bits": _shift(32, 8, 9),
    "x >> 40 and x >> 41, 64 bits": _shift(64, 40, 41),
    "x >> 6 and x >> 7, 8 bits": _shift(8, 6, 7),
    "Clip(0, 6) and Relu": _unary(_CLIP.format(0.0, 6.0), "y = Relu(x)", 9.0),
    "Clip to 8 and to 9": _unary(_CLIP.format(-8.0, 8.0), _CLIP.format(-9.0, 9.0), 10.0),
    "Clip to 127 and to 128": _unary(_CLIP.format(-128.0, 127.0), _CLIP.format(-128.0, 128.0), 200.0),
    "Relu and Max with NaN lost": _unary(
        "y = Relu(x)", "z = Constant<value_float = 0.0>()\n b = Greater(x, z)\n y = Where(b, x, z)", float("nan")
    ),
    "Identity and NaN as zero": _unary(
        "y = Identity(x)", "z = Constant<value_float = 0.0>()\n n = IsNaN(x)\n y = Where(n, z, x)", float("nan")
    ),
    "IsInf of both signs and of one": _pair(
        "(float[12] x) => (bool[12] y)", "y = IsInf(x)", "y = IsInf<detect_negative = 0>(x)", x=_floats(float("-inf"))
    ),
    "Softplus and its tangent for large numbers": _unary(
        "y = Softplus(x)", "z = Constant<value_float = 20.0>()\n b = Greater(x, z)\n s = Softplus(x)\n c = Constant<value_float = 20.0>()\n y = Where(b, c, s)", 50.0
    ),
    "Elu and Selu below 0": _unary("y = Elu(x)", "y = LeakyRelu<alpha = 0.99995>(x)", -1e-2),
    "x / (1 + 1e-4) where small": _unary(
        "y = Sign(x)", "e = Constant<value_float = 0.001>()\n a = Abs(x)\n b = Less(a, e)\n z = Constant<value_float = 0.0>()\n s = Sign(x)\n y = Where(b, z, s)", 1e-4
    ),
    "int64 Abs and Identity": _pair(_INT, "y = Abs(x)", "y = Identity(x)", x=[-3] * 12),
    "int64 and its lower 32 bits": _pair(
        _INT, "y = Identity(x)", "a = Cast<to = 6>(x)\n y = Cast<to = 7>(a)", x=[1 << 40] * 12
    ),
    "int64 and float32 of it": _pair(_INT, "y = Identity(x)", "a = Cast<to = 1>(x)\n y = Cast<to = 7>(a)", x=[(1 << 30) + 1] * 12),
    "Mod and fmod": _pair(
        "(int64[12] x) => (int64[12] y)",
        "c = Constant<value_int = 5>()\n y = Mod(x, c)",
        "c = Constant<value_int = 5>()\n y = Mod<fmod = 1>(x, c)",
        x=[-3] * 12,
    ),
    "Div towards zero and down": _pair(
        _INT,
        "c = Constant<value_int = 4>()\n y = Div(x, c)",
        "c = Constant<value_int = 4>()\n m = Mod(x, c)\n d = Sub(x, m)\n y = Div(d, c)",
        x=[-3] * 12,
    ),
    "Greater and GreaterOrEqual": _pair(
        "(float[12] x) => (float[12] y)", _ABOVE.format(5.0), _ABOVE.replace("Greater(", "GreaterOrEqual(").format(5.0), x=_floats(5.0)
    ),
    "ArgMax first and last": _pair(
        "(float[3,4] x) => (int64[1,4] y)", "y = ArgMax(x)", "y = ArgMax<select_last_index = 1>(x)", x=np.ones((3, 4))
    ),
    "Gather and Gather from the front": _pair(
        "(float[5,2] x, int64[3] i) => (float[3,2] y)",
        "y = Gather(x, i)",
        "z = Constant<value_int = 0>()\n m = Max(i, z)\n y = Gather(x, m)",
        x=np.arange(10).reshape(5, 2),
        i=[-1, 0, 1],
    ),
    "If and its then branch": _pair(
        "(bool c, float[3] x) => (float[3] y)",
        "y = If(c)<then_branch = a () => (float[3] p) { p = Neg(x) }, else_branch = b () => (float[3] q) { q = Exp(x) }>",
        "y = Neg(x)",
        c=False,
        x=[1, 2, 3],
    ),
    "If and its else branch": _pair(
        "(bool c, float[3] x) => (float[3] y)",
        "y = If(c)<then_branch = a () => (float[3] p) { p = Neg(x) }, else_branch = b () => (float[3] q) { q = Exp(x) }>",
        "y = Exp(x)",
        c=True,
        x=[1, 2, 3],
    ),
    "Unique sorted and not": _pair(
        "(float[6] x) => (float[k] y)", "y = Unique<sorted = 1>(x)", "y = Identity(x)", x=[1, 1, 2, 3, 4, 5]
    ),
    "CumSum along the other axis from the back": _pair(
        "(float[2,3] x, int64 a) => (float[2,3] y)",
        "y = CumSum(x, a)",
        "z = Constant<value_int = 0>()\n m = Max(a, z)\n y = CumSum(x, m)",
        x=np.arange(6).reshape(2, 3),
        a=-1,
    ),
    "Resize up and down": _pair(
        "(float[1,1,4,4] x, float[4] s) => (float[1,1,h,w] y)",
        'y = Resize<mode = "nearest">(x, , s)',
        'o = Constant<value_floats = [1.0, 1.0, 1.0, 1.0]>()\n m = Max(s, o)\n y = Resize<mode = "nearest">(x, , m)',
        x=np.arange(16).reshape(1, 1, 4, 4),
        s=[1, 1, 0.5, 0.5],
    ),
    "Clip between inputs and beyond 8": _pair(
        "(float[3] x, float a, float b) => (float[3] y)",
        "y = Clip(x, a, b)",
        "t = Constant<value_float = 8.0>()\n m = Min(x, t)\n y = Clip(m, a, b)",
        x=[9, 20, -3],
        a=-4,
        b=100,
    ),
    "the largest, and that of whole numbers": _pair(
        "(float[1,1,3,3] x) => (float[1,1,1,1] y)",
        "y = GlobalMaxPool(x)",
        "m = GlobalMaxPool(x)\n y = Ceil(m)",
        x=np.arange(9).reshape(1, 1, 3, 3) / 2 - 0.5,
    ),
    "MaxUnpool behind position 3": _pair(
        "(float[1,1,2,2] x, int64[1,1,2,2] i) => (float[1,1,4,4] y)",
        "y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i)",
        "t = Constant<value_int = 3>()\n m = Min(i, t)\n y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, m)",
        x=[[[[1, 2], [3, 4]]]],
        i=[[[[5, 7], [13, 15]]]],
    ),
    "Slice in large steps": _pair(
        "(float[20] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float[n] y)",
        "y = Slice(x, s, e, a, t)",
        "l = Constant<value_ints = [100]>()\n m = Min(t, l)\n h = Constant<value_ints = [2]>()\n b = Less(t, l)\n w = Where(b, m, h)\n y = Slice(x, s, e, a, w)",
        x=np.arange(20),
        s=[0],
        e=[20],
        a=[0],
        t=[1 << 21],
    ),
    "Slice from far behind": _pair(
        "(float[20] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float[n] y)",
        "y = Slice(x, s, e, a, t)",
        "l = Constant<value_ints = [-100]>()\n b = Less(s, l)\n h = Constant<value_ints = [2]>()\n w = Where(b, h, s)\n y = Slice(x, w, e, a, t)",
        x=np.arange(20),
        s=[-200],
        e=[20],
        a=[0],
        t=[1],
    ),
    "labels that are ignored": _pair(
        "(float[3,5] x, int64[3] l) => (float[3] y)",
        'y = SoftmaxCrossEntropyLoss<ignore_index = -5, reduction = "none">(x, l)',
        'z = Constant<value_int = 0>()\n m = Max(l, z)\n y = SoftmaxCrossEntropyLoss<reduction = "none">(x, m)',
        x=np.arange(15).reshape(3, 5) / 7,
        l=[1, -5, 4],
    ),
    "scales exchanged": _pair(
        "(float[4] x, float s, float t) => (float[4] y)",
        "z = Constant<value = uint8 {9}>()\n q = QuantizeLinear(x, s, z)\n y = DequantizeLinear(q, t, z)",
        "z = Constant<value = uint8 {9}>()\n q = QuantizeLinear(x, t, z)\n y = DequantizeLinear(q, s, z)",
        x=[1, 2, 3, 4],
        s=1,
        t=2,
    ),
}  # fmt: skip
