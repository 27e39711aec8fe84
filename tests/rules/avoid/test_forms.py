"""Each form that is avoided: what cannot be is refused and named; what can be is gone, and computes the same in onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import PROFILE, converted, for_a_runtime
from helpers import convert_version, model, run

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.engine.registry import Rule, registry
from split_rewrite.rewriter.runtimes.probe_models import Probe, probes
from split_rewrite.rewriter.runtimes.probing import NO_FORMS

PROBES = [probe for probe in probes() if probe.form not in NO_FORMS]


REFUSED = {
    "Reshape of an open first axis to lengths for another": "the lengths 2×3×4 need a first length of 2",
    "Reduce axes as an input": "the axes are an input",
    "Reduce axes as an attribute at opset 13 to 17": "the axes are an attribute",
    "Div of integers": "it divides integers, and no other form of it is exact",
    "AveragePool with dilations": "it has dilations",
    "MaxPool with dilations": "it has dilations",
    "ConvTranspose along three axes": "it has three spatial axes",
    "Resize of opset 10": "it is of opset 10",
    "Resize of a region": "it takes a region",
    "Upsample, linear": "its mode is linear",
    "Pad before opset 11": "it pads with a value",
    "ConvTranspose with disputed auto_pad": "auto_pad SAME_LOWER needs a padding of [1, 1], which is odd or negative",
    "GRU with linear_before_reset 0": "linear_before_reset is 0",
    "ScatterElements with reduction": "it has a reduction",
    "ScatterND with reduction": "it has a reduction",
    "Recurrent operator of an open batch": "the axis dimension 'N' of 'x' is unknown",
    "Recurrent operator of an open number of steps": "the axis dimension 'T' of 'x' is unknown",
    "Mod with fmod": "fmod is 1",
    "GlobalLpPool": "there is no other form of it",
    "If of unlike ranks": "its branches make tensors of 1 and 2 axes",
}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: f"{probe.form}-{probe.about}")
def test_the_form_is_gone_or_refused(probe: Probe, tmp_path: Path) -> None:
    if probe.form in REFUSED:
        with pytest.raises(UnconvertibleError) as caught:
            converted(probe.model, probe.form, tmp_path)
        (blocker,) = caught.value.blockers
        assert blocker.op_type == probe.about
        assert blocker.reason == f"NPU 1 computes it wrongly ({probe.form}): {REFUSED[probe.form]}"
        return
    result = converted(probe.model, probe.form, tmp_path)
    assert result.graph.node != probe.model.graph.node
    inputs = dict(zip([value.name for value in probe.model.graph.input], probe.inputs(), strict=True))
    for expected, got in zip(run(probe.plain or probe.model, inputs), run(result, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-5)  # onnxruntime has coordinates of a Resize in float32


FREE = {
    "Softmax before opset 13, axis not last": (11, "(float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"),
    "Reduce axes as an input": (18, "(float[2,3] x) => (float[1,1] y) { y = ReduceMean(x) }"),
    "Reduce axes as an attribute at opset 13 to 17": (
        12,
        "(float[2,3] x) => (float[2] y) { y = ReduceL1<axes=[1], keepdims=0>(x) }",
    ),
    "Reduce with noop_with_empty_axes": (18, "(float[2,3] x) => (float[1,1] y) { y = ReduceMean(x) }"),
    "Negative axis": (18, "(float[1,2,3,1] x) => (float[1,2,3,2] y) { y = DFT<axis = 1>(x) }"),
    "Negative index": (13, "(float[2,3] x) => (float[1] y) <int64[1,2] i = {0,1}> { y = GatherND(x, i) }"),
    "Shape with start or end": (15, "(float[2,3] x) => (int64[2] y) { y = Shape(x) }"),
    "Split by num_outputs, uneven": (18, "(float[4] x) => (float[2] y, float[2] z) { y, z = Split<num_outputs=2>(x) }"),
    "Split by num_outputs along an open axis": (
        18,
        "(float[N,4] x) => (float[N,2] y, float[N,2] z) { y, z = Split<axis=1, num_outputs=2>(x) }",
    ),
    "Split without sizes": (13, "(float[4] x) => (float[2] y, float[2] z) <int64[2] s = {2,2}> { y, z = Split(x, s) }"),
    "Split with a part of length 0": (13, "(float[4] x) => (float[2] y, float[2] z) <int64[2] s = {2,2}> { y, z = Split(x, s) }"),
    "Split of bool": (13, "(float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }"),
    "GatherND of bool": (13, "(float[2] x) => (float[1] y) <int64[1,1] i = {0}> { y = GatherND(x, i) }"),
    "Constant without the attribute value": (
        13,
        "(float[2] x) => (float[2] y) { c = Constant<value = float {1}>() y = Add(x, c) }",
    ),
    "ConstantOfShape without value": (13, "(int64[1] s) => (float[n] y) { y = ConstantOfShape<value = float[1] {1}>(s) }"),
    "Cast of a float to an integer": (13, "(float[2] x) => (int32[2] y) { whole = Floor(x) y = Cast<to=6>(whole) }"),
    "Cast to bool": (13, "(float[2] x) => (int64[2] y) { y = Cast<to=7>(x) }"),
    "Einsum with capital letters": (13, '(float[2,2] x) => (float[2,2] y) { y = Einsum<equation = "ij,jk->ik">(x, x) }'),
    "Add of a convolution along three axes": (
        13,
        "(float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}> { c = Conv(x, w) y = Add(x, c) }",
    ),
    "Scatter of more updates than elements along the axis": (
        13,
        "(float[3] x, float[3] u) => (float[3] y) <int64[3] i = {0,1,0}> { y = ScatterElements(x, i, u) }",
    ),
    "Sum of Erf that is scaled before it is multiplied": (
        13,
        "(float[2] x) => (float[2] y) <float r = {1.5}, float o = {1}, float h = {0.5}> "
        "{ d = Div(x, r) e = Erf(d) s = Add(e, o) m = Mul(x, s) y = Mul(m, h) }",
    ),
    "Division by the own L2 norm along another axis than 1": (
        13,
        "(float[2,3] x) => (float[2,3] y) { n = ReduceL2<axes = [-1]>(x) y = Div(x, n) }",
    ),
    "Stored value that another operator reads": (
        17,
        "(float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { m = LayerNormalization(x, w) y = LayerNormalization(m, w) }",
    ),
    "Stored value that is read twice": (
        13,
        "(float[3] x) => (float[9] y) <float[3] v = {1, 2, 3}, float[3] w = {1, 2, 3}> { y = Concat<axis = 0>(x, v, w) }",
    ),
    "Vector beside a constant or more axes": (13, "(float[2] x, float[2] z) => (float[2] y) { y = Sub(x, z) }"),
    "Concat of a vector and a constant": (13, "(float[2] x) => (float[4] y) { y = Concat<axis = 0>(x, x) }"),
    "Negative axis of a vector": (13, "(float[2] x) => (float[2] y) { y = Softmax<axis = 0>(x) }"),
    "Quantization of a constant": (
        13,
        "(float[2] x) => (uint8[2] y) <float s = {1}, uint8 z = {0}> { y = QuantizeLinear(x, s, z) }",
    ),
    "Norm that is scaled by another shape than its axes have": (
        13,
        """(float[2,3] x) => (float[2,3] y) <float[3] s = {1, 2, 3}, float two = {2}, float e = {0.001}> {
        m = ReduceMean<axes = [1]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes = [1]>(p)
        a = Add(v, e) r = Sqrt(a) q = Div(d, r) y = Mul(q, s) }""",
    ),
    "Mod of integers": (13, "(int64[2] x) => (int64[2] y) <int64 c = {2}> { y = Mod(x, c) }"),
    "Three or more operands": (13, "(float[2] x) => (float[2] y) { y = Max(x, x) }"),
    "Pow by 3": (13, "(float[2] x) => (float[2] y) <float e = {2}> { y = Pow(x, e) }"),
    "HardSigmoid that can be part of a HardSwish": (13, "(float[2] x) => (float[2] y) { y = HardSigmoid(x) }"),
    "Attribute left out": (13, "(float[1,1,4] x) => (float[1,1,3] y) { y = MaxPool<kernel_shape=[2], strides=[1]>(x) }"),
    "Squeeze without axes": (13, "(float[1,2] x) => (float[2] y) <int64[1] a = {0}> { y = Squeeze(x, a) }"),
    "Less": (13, "(float[2] x) => (bool[2] y) { y = Greater(x, x) }"),
    "Global pool of three axes or more": (13, "(float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalMaxPool(x) }"),
    "Recurrent operator without last state": (
        14,
        "(float[1,1,1] x, float[1,4,1] w) => (float[1,1,1,1] y, float[1,1,1] h, float[1,1,1] c) "
        "{ y, h, c = LSTM<hidden_size=1>(x, w, w) }",
    ),
    "Recurrent operator without all steps": (
        14,
        "(float[1,1,1] x, float[1,1,1] w) => (float[1,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
    ),
    "Recurrent operator without a first state": (
        14,
        "(float[1,1,1] x, float[1,1,1] w) => (float[1,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w, , , w) }",
    ),
    "Last state of a recurrent operator": (
        14,
        "(float[1,1,1] x, float[1,1,1] w) => (float[1,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
    ),
    "Recurrent operator with the batch first": (
        14,
        "(float[1,1,1] x, float[1,1,1] w) => (float[1,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
    ),
    "Bidirectional recurrent operator": (
        14,
        '(float[1,1,1] x, float[1,1,1] w) => (float[1,1,1,1] y) { y = RNN<hidden_size=1, direction="reverse">(x, w, w) }',
    ),
    "Recurrent operator in reverse": (
        14,
        "(float[1,1,1] x, float[1,1,1] w) => (float[1,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
    ),
    "Last state of a recurrent operator in reverse": (
        14,
        '(float[N,1,1] x, float[1,1,1] w) => (float[N,1,1,1] y) { y = RNN<hidden_size=1, direction="reverse">(x, w, w) }',
    ),
    "Recurrent operator of an open batch": (
        14,
        "(float[T,1,1] x, float[1,1,1] w) => (float[T,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
    ),
    "Recurrent operator of an open number of steps": (
        14,
        "(float[1,N,1] x, float[1,1,1] w) => (float[1,1,N,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
    ),
    "Global pool of open lengths": (13, "(float[N,C,4,4] x) => (float[N,C,1,1] y) { y = GlobalMaxPool(x) }"),
    "Recurrent operator without a bias": (
        14,
        "(float[1,1,1] x, float[1,1,1] w, float[1,2] b) => (float[1,1,1,1] y) { y = RNN<hidden_size=1>(x, w, w, b) }",
    ),
    "Gemm with beta 0": (13, "(float[2,2] x) => (float[2,2] y) { y = Gemm<beta=0.0>(x, x) }"),
    "Where by a constant condition": (
        13,
        "(float[2] x) => (float[2] y) <float[2] f = {0,1}, float h = {0}> { c = Greater(f, h) y = Where(c, x, h) }",
    ),
    "Gemm with transA": (13, "(float[2,2] x) => (float[2,2] y) { y = Gemm<transA=0, transB=1>(x, x) }"),
    "AveragePool with count_include_pad": (13, "(float[1,1,4] x) => (float[1,1,3] y) { y = AveragePool<kernel_shape=[2]>(x) }"),
    "AveragePool that leaves padding out, exported by pytorch": (
        13,
        "(float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<kernel_shape=[2], pads=[1,1]>(x) }",
    ),
    "Window along one axis with unequal padding": (
        13,
        "(float[1,1,4] x) => (float[1,1,4] y) <float[1,1,3] w = {1,2,3}> { y = Conv<pads=[1,1]>(x, w) }",
    ),
    "ConvTranspose along one axis": (
        13,
        "(float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> { y = ConvTranspose(x, w) }",
    ),
    "ConvTranspose along three axes": (
        13,
        "(float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> { y = ConvTranspose(x, w) }",
    ),
    "ConvTranspose with dilations": (
        13,
        "(float[1,1,4] x) => (float[1,1,5] y) <float[1,1,2] w = {1,2}> { y = ConvTranspose<dilations=[1]>(x, w) }",
    ),
    "ConvTranspose with unequal padding": (
        13,
        "(float[1,1,4] x) => (float[1,1,3] y) <float[1,1,2] w = {1,2}> { y = ConvTranspose<pads=[1,1]>(x, w) }",
    ),
    "LpPool with padding": (13, "(float[1,1,4] x) => (float[1,1,3] y) { y = LpPool<kernel_shape=[2], pads=[0,0]>(x) }"),
    "Pad by negative numbers": (13, "(float[2] x) => (float[3] y) <int64[2] p = {1,0}> { y = Pad(x, p) }"),
    "Pad by copies, not of an image": (
        13,
        '(float[1,2,3,4] x) => (float[1,2,3,5] y) <int64[8] p = {0,0,0,0,0,0,0,1}> { y = Pad<mode="edge">(x, p) }',
    ),
    "TopK of all elements": (13, "(float[3] x) => (float[2] y, int64[2] i) <int64[1] k = {2}> { y, i = TopK(x, k) }"),
    "Unsqueeze of several axes": (13, "(float[2] x) => (float[1,2] y) <int64[1] a = {0}> { y = Unsqueeze(x, a) }"),
    "auto_pad SAME_LOWER": (13, "(float[1,1,4] x) => (float[1,1,3] y) <float[1,1,2] w = {1,2}> { y = Conv(x, w) }"),
    "auto_pad SAME_UPPER": (
        13,
        '(float[1,1,4] x) => (float[1,1,4] y) <float[1,1,2] w = {1,2}> { y = Conv<auto_pad="SAME_LOWER">(x, w) }',
    ),
    "ConvTranspose with disputed auto_pad": (
        13,
        '(float[1,1,4] x) => (float[1,1,4] y) <float[1,1,2] w = {1,2}> { y = ConvTranspose<auto_pad="SAME_UPPER">(x, w) }',
    ),
    "Resize to the nearest, half_pixel, floor": (
        13,
        "(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1,1,2,2}> { y = Resize(x, , s) }",
    ),
    "Resize with antialias": (
        18,
        "(float[1,1,4,4] x) => (float[1,1,2,2] y) <float[4] s = {1,1,0.5,0.5}> { y = Resize<antialias=1>(x, , s) }",
    ),
    "Resize cubic, half_pixel": (
        13,
        '(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1,1,2,2}> { y = Resize<mode="linear">(x, , s) }',
    ),
    "Reduce over three axes or more": (13, "(float[2,3,4] x) => (float[1,1,1] y) { y = ReduceMean(x) }"),
    "Reduce over all axes, which it names": (13, "(float[2,3] x) => (float[2,1] y) { y = ReduceMean<axes=[-1]>(x) }"),
    "LRN with a bias that is no whole number": (13, "(float[1,2,3] x) => (float[1,2,3] y) { y = LRN<size=3, bias=2.0>(x) }"),
    "LayerNormalization with a scale that is spread": (
        17,
        "(float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization(x, s) }",
    ),
    "Quantized product with a scale for each channel": (
        13,
        "(uint8[1,1,2,2] x) => (uint8[1,1,2,2] y) <float s = {0.05}, uint8 p = {3}, int8[1,1,1,1] w = {8}, int8 z = {0}> "
        "{ y = QLinearConv(x, s, p, w, s, z, s, p) }",
    ),
    "Quantization without a zero point": (
        13,
        "(float[2] x) => (uint8[2] y) <float s = {0.5}, uint8 p = {0}> { y = QuantizeLinear(x, s, p) }",
    ),
    "GatherElements with fewer indices than data on another axis": (
        13,
        "(float[2,4] x) => (float[2,1] y) <int64[2,1] i = {0, 3}> { y = GatherElements<axis=1>(x, i) }",
    ),
    "Compress of an open shape without an axis": (
        13,
        "(float[2,3] x) => (float[K] y) <bool[2] c = {0, 1}> { y = Compress(x, c) }",
    ),
    "If of unlike ranks": (
        13,
        "(float[N] x, bool c) => (float[N] y) { y = If(c) <then_branch = t () => (float[N] a) { a = Neg(x) }, "
        "else_branch = e () => (float[N] b) { b = Abs(x) }> }",
    ),
    "If of open lengths": (
        13,
        "(float[2] x, bool c) => (float[2] y) { y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) }, "
        "else_branch = e () => (float[2] b) { b = Abs(x) }> }",
    ),
    "PRelu with a slope of one axis": (
        13,
        "(float[2,3] x) => (float[2,3] y) <float[3] s = {1,2,3}> { y = PRelu(x, s) }",
    ),
    "Div by what follows from open shapes": (
        13,
        "(float[N,3] x, float[N,3] z) => (float[N,3] y) { s = Shape(x) n = Cast<to=1>(s) p = ReduceMax<keepdims=0>(z) y = Div(x, p) }",
    ),
    "Div of integers of 8 bits": (13, "(int32[2] x) => (int32[2] y) { y = Div(x, x) }"),
    "Reshape of an open first axis to lengths for another": (
        13,
        "(float[N,3] x) => (float[3] y) <int64[1] s = {3}> { y = Reshape(x, s) }",
    ),
    "ArgMax without keepdims": (13, "(float[2,3] x) => (int64[2,1] y) { y = ArgMax<axis = 1>(x) }"),
    "Unsqueeze or Squeeze of an open first axis": (
        13,
        "(float[N,3] x) => (float[N,1,3] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
    ),
    "Concat of an input of the model and a stored value": (
        13,
        "(float[2] x) => (float[4] y) <float[2] w = {1,2}> { r = Relu(x) y = Concat<axis=0>(r, w) }",
    ),
    "Tile": (13, "(float[2] x) => (float[2] y) <int64[1] r = {1}> { y = Tile(x, r) }"),
    "NonMaxSuppression without a threshold of overlaps": (
        11,
        "(float[1,2,4] b, float[1,1,2] s) => (int64[N,3] y) <int64[1] k = {3}, float[1] t = {0.5}> "
        "{ y = NonMaxSuppression(b, s, k, t) }",
    ),
    "Reduction over axes of length 1": (13, "(float[1,2] x) => (float[1,1] y) { y = ReduceL1<axes=[0,1]>(x) }"),
    "ReduceLogSumExp of large numbers": (13, "(float[1,2] x) => (float[1,1] y) { y = ReduceLogSum(x) }"),
    "Conv of one element with padding": (
        13,
        "(float[1,1,4] x) => (float[1,1,4] y) <float[1,1,2] w = {1,2}> { y = Conv<pads=[0,1]>(x, w) }",
    ),
    "Resize of a region": (13, "(float[1,1,4] x) => (float[1,1,8] y) <float[3] s = {1,1,2}> { y = Resize(x, , s) }"),
    "Einsum of a diagonal": (12, '(float[2,2] x) => (float[2,2] y) { y = Einsum<equation="i j,j k->i k">(x, x) }'),
    "Einsum with an ellipsis": (12, '(float[2,2] x) => (float[2,2] y) { y = Einsum<equation="ij,jk">(x, x) }'),
    "Transpose of one axis": (13, "(float[2,3] x) => (float[3,2] y) { y = Transpose(x) }"),
    "Order of floats that spreads its first operand": (
        13,
        "(float[1] x, float[2,3] z) => (bool[2,3] y) { y = Greater(x, z) }",
    ),
    "Where that spreads its last operand": (
        13,
        "(bool[3] c, float[3] x, float[2,3] z) => (float[2,3] y) { y = Where(c, x, z) }",
    ),
    "Sigmoid of float64 that is multiplied": (13, "(double[3] x) => (double[3] y) { y = Sigmoid(x) }"),
    "Conv along one axis": (
        13,
        "(float[1,1,4,4] x, float[1,1,2,2] w) => (float[1,1,3,3] y) { y = Conv(x, w) }",
    ),
    "LSTM with its last cell state alone": (
        14,
        "(float[2,1,1] x, float[1,4,1] w) => (float[1,1,1] h) { absent, h = LSTM<hidden_size = 1>(x, w, w) }",
    ),
    "ConvTranspose with output_shape": (
        13,
        "(float[1,1,4] x) => (float[1,1,5] y) <float[1,1,2] w = {1,2}> { y = ConvTranspose(x, w) }",
    ),
}


@pytest.mark.parametrize("form", FREE)
def test_what_has_not_the_form_keeps_its_bytes(form: str, tmp_path: Path) -> None:
    opset, text = FREE[form]
    proto = model(f"agraph {text}", opset)
    assert converted(proto, form, tmp_path).graph.node == proto.graph.node


CANNOT = {
    "updates": (
        "Scatter of more updates than elements along the axis",
        "(float[1] x, int64[65] i, float[65] u) => (float[1] y) { y = ScatterElements(x, i, u) }",
        "65 updates of 1 elements",
    ),
    "letters": (
        "Einsum with capital letters",
        f'(float[{",".join("1" * 27)}] x) => (float[1] y) {{ y = Einsum<equation = "{"abcdefghijklmnopqrstuvwxyzA"}->A">(x) }}',
        "it has 27 letters, and there are 26 small ones",
    ),
    "sum": (
        "Sum of Erf that is scaled before it is multiplied",
        "(float[2] x, float o) => (float[2] y) <float r = {1.5}, float h = {0.5}> "
        "{ d = Div(x, r) e = Erf(d) s = Add(e, o) m = Mul(h, s) y = Mul(x, m) }",
        "what is added to Erf is computed at run time",
    ),
    "bias": (
        "LRN with a bias that is no whole number",
        "(float[1,2,3] x) => (float[1,2,3] y) { y = LRN<size=3, bias=-0.5>(x) }",
        "its bias is -0.5",
    ),
    "read": (
        "Split with a part of length 0",
        "(float[2] x) => (float[2] y, float[0] z) <int64[2] s = {2,0}> { y, z = Split(x, s) }",
        "the empty part 'z' is read",
    ),
    "unknown": (
        "Split without sizes",
        "(float[N] x) => (float[a] y, float[b] z) { y, z = Split(x) }",
        "the axis dimension 'N' of 'x' is unknown",
    ),
    "run time": (
        "Split sizes computed at run time",
        "(float[4] x, int64[2] s) => (float[a] y, float[b] z) { y, z = Split(x, s) }",
        "the sizes 's' are computed at run time",
    ),
    "axes": (
        "Squeeze axes computed at run time",
        "(float[1,2] x, int64[1] a) => (float[2] y) { y = Squeeze(x, a) }",
        "the axes 'a' are computed at run time",
    ),
    "lengths": (
        "Squeeze without axes",
        "(float[1,N] x) => (float[a] y) { y = Squeeze(x) }",
        "the shape (1, N) of 'x' is not fully known",
    ),
    "kernel": (
        "Attribute left out",
        "(float[1,1,4] x, float[1,1,K] w) => (float[1,1,a] y) { y = Conv(x, w) }",
        "the shape (1, 1, K) of 'w' is not fully known",
    ),
    "batch": (
        "Recurrent operator without a first state",
        "(float[1,N,1] x, float[1,1,1] w) => (float[1,1,N,1] y) { y = RNN<hidden_size=1>(x, w, w) }",
        "the axis dimension 'N' of 'x' is unknown",
    ),
    "string": ("Cast to bool", "(string[2] x) => (bool[2] y) { y = Cast<to=9>(x) }", "strings cannot be compared with 0"),
    "odd": (
        "ConvTranspose with output_shape",
        "(float[1,1,3] x) => (float[1,1,4] y) <float[1,1,3] w = {1,2,3}> { y = ConvTranspose<output_shape=[4]>(x, w) }",
        "output_shape [4] needs a padding of [1], which is odd or negative",
    ),
    "cell": (
        "Last state of a recurrent operator",
        "(float[3,1,1] x, float[1,4,1] w) => (float[1,1,1] y) { a, h, y = LSTM<hidden_size=1>(x, w, w) }",
        "the last cell state 'y' is read",
    ),
    "reverse": (
        "Last state of a recurrent operator",
        '(float[3,1,1] x, float[1,1,1] w) => (float[1,1,1] y) { a, y = RNN<hidden_size=1, direction="reverse">(x, w, w) }',
        "it does not run forward to the end of all sequences",
    ),
    "lengths of sequences": (
        "Recurrent operator in reverse",
        "(float[3,1,1] x, float[1,1,1] w, int32[1] s) => (float[3,1,1,1] y) "
        '{ y = RNN<hidden_size=1, direction="reverse">(x, w, w, , s) }',
        "it has sequence_lens, and runs backward",
    ),
    "steps": (
        "Recurrent operator in reverse",
        '(float[T,1,1] x, float[1,1,1] w) => (float[T,1,1,1] y) { y = RNN<hidden_size=1, direction="reverse">(x, w, w) }',
        "the axis dimension 'T' of 'x' is unknown",
    ),
    "parameters": (
        "Bidirectional recurrent operator",
        "(float[3,1,1] x, float[2,1,1] w) => (float[3,2,1,1] y) "
        '{ y = RNN<hidden_size=1, direction="bidirectional", activations=["Elu", "Tanh"], activation_alpha=[0.5]>(x, w, w) }',
        "its activations have parameters",
    ),
    "reflect": (
        "Pad by negative numbers",
        '(float[4] x) => (float[3] y) <int64[2] p = {-1,0}> { y = Pad<mode="reflect">(x, p) }',
        "the padding is negative, and computed at run time or given for some axes only",
    ),
    "kernel that contradicts the weights": (
        "ConvTranspose with dilations",
        "(float[1,1,3] x) => (float[1,1,N] y) <float[1,1,2] w = {1,2}> { y = ConvTranspose<dilations=[2], kernel_shape=[3]>(x, w) }",
        "kernel_shape is [3], and the shape of the weights [1, 1, 2]",
    ),
    "batch of a pad": (
        "Pad by copies, not of an image",
        '(float[1,2,3,4] x) => (float[2,2,3,4] y) <int64[8] p = {1,0,0,0,0,0,0,0}> { y = Pad<mode="edge">(x, p) }',
        "it pads by edge, and not the last two of four axes",
    ),
    "automatic": (
        "AveragePool with count_include_pad",
        '(float[1,1,4] x) => (float[1,1,2] y) { y = AveragePool<kernel_shape=[3], auto_pad="VALID", pads=[1,1], count_include_pad=1>(x) }',
        "the padding is automatic, or it has ceil_mode or dilations",
    ),
    "size": (
        "AveragePool that leaves padding out, exported by pytorch",
        "(float[1,1,N] x) => (float[1,1,M] y) { y = AveragePool<kernel_shape=[2], pads=[1,1]>(x) }",
        "the axis dimension 'N' of 'x' is unknown",
    ),
    "repeats": (
        "Tile",
        "(float[2] x, int64[1] r) => (float[N] y) { y = Tile(x, r) }",
        "the repeats 'r' are computed at run time",
    ),
    "many": ("Tile", "(float[2] x) => (float[0] y) <int64[1] r = {0}> { y = Tile(x, r) }", "it repeats an axis 0 times"),
    "scales of rows": (
        "Quantized product with a scale for each channel",
        "(uint8[1,2,2] x, int8[1,2,3] w) => (uint8[1,2,3] y) <float s = {0.1}, uint8 p = {3}, float[1,1,3] r = {0.1,0.2,0.3}, "
        "int8[1,1,3] z = {0,0,0}> { y = QLinearMatMul(x, s, p, w, r, z, s, p) }",
        "nothing shows that its scales are float, and one for all or a vector of one for each column",
    ),
    "a vector": (
        "Quantized product with a scale for each channel",
        "(uint8[1,2] x, int8[2] w) => (uint8[1] y) <float s = {0.1}, uint8 p = {3}, float[2] r = {0.1,0.2}, int8[2] z = {0,0}> "
        "{ y = QLinearMatMul(x, s, p, w, r, z, s, p) }",
        "it has several scales for a vector",
    ),
    "integers": (
        "ReduceLogSumExp of large numbers",
        "(int32[2,3] x) => (int32[2,1] y) { y = ReduceLogSumExp<axes=[1]>(x) }",
        "it adds powers of integers",
    ),
    "open": (
        "Einsum of a diagonal",
        '(float[N,N] x) => (float[N] y) { y = Einsum<equation="ii->i">(x) }',
        "the diagonal 'i' of 'x' is of unknown length",
    ),
    "left out": (
        "Einsum with an ellipsis",
        '(float[2,3,3] x) => (float[3,3] y) { y = Einsum<equation="...ij->ij">(x) }',
        "it has more axes behind an ellipsis than letters are left, or leaves them out",
    ),
    "spread": (
        "Einsum with an ellipsis",
        '(float[1,3] x, float[2,3] z) => (float[2,3] y) { y = Einsum<equation="...i,...i->...i">(x, z) }',
        "axes behind an ellipsis may have to be repeated",
    ),
    "wide": (
        "Pow by 3",
        "(float[2] x) => (float[1,2] y) <float[1,1] e = {3}> { y = Pow(x, e) }",
        "the exponent has more axes than the base",
    ),
}


@pytest.mark.parametrize(("form", "text", "reason"), CANNOT.values(), ids=CANNOT)
def test_what_cannot_be_avoided_is_refused(form: str, text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnconvertibleError) as caught:
        proto = model(f"agraph {text}", 13)
        proto.producer_name = "pytorch"
        converted(proto, form, tmp_path)
    assert f"NPU 1 computes it wrongly ({form}): {reason}" in str(caught.value)


def test_skip_leaves_the_form(tmp_path: Path) -> None:
    proto = model("agraph (float[2] x) => (float[2] y) { y = Max(x, x, x) }", 13)
    options = for_a_runtime("Three or more operands", tmp_path, skip=["elementwise.two_by_two"])
    assert convert_version(proto, options=options).model.graph.node == proto.graph.node


def test_each_form_of_an_operator_is_looked_at(tmp_path: Path) -> None:
    """Resize has several, which one function avoids; the profile names two."""
    other = '[[quirk]]\nform = "Resize cubic, half_pixel"\nevidence = "by documentation"\n'
    (tmp_path / "npu.toml").write_text(PROFILE.format("Resize cubic, asymmetric") + other, encoding="utf-8")
    cubic = '(float[1,1,4,N] x) => (float[1,1,8,M] y) <float[4] s = {1,1,2,2}> { y = Resize<mode="cubic">(x, , s) }'
    with pytest.raises(UnconvertibleError, match=r"computes it wrongly .Resize cubic, half_pixel.: the axis dimension 'N' of 'x'"):
        convert_version(model(f"agraph {cubic}", 13), 13, options=Options(for_runtimes=[str(tmp_path / "npu.toml")]))


RANGES = ("exact", "last bits", "refused")
"""Words with which a rule says for which types and numbers it is right."""


@pytest.mark.parametrize(
    "rule", [rule for rule in registry if rule.kind == "avoid"], ids=lambda rule: f"{rule.form}-{rule.op_type}"
)
def test_each_avoidance_says_for_what_it_is_exact(rule: Rule) -> None:
    text = rule.apply.__doc__ or ""
    assert any(word in text for word in RANGES)
