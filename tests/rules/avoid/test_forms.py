"""Each form that is avoided: what cannot be is refused and named; what can be is gone, and computes the same in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, model, run

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.runtimes.probe_models import Probe, probes
from split_rewrite.rewriter.runtimes.probing import NO_FORMS

PROFILE = """title = "NPU"
[[release]]
from = "1"
to = "1"
evidence = "by documentation"
[[quirk]]
form = "{}"
evidence = "by documentation"
"""
PROBES = [probe for probe in probes() if probe.form not in NO_FORMS]


def for_a_runtime(form: str, folder: Path, skip: Sequence[str] = ()) -> Options:
    """A conversion for a runtime of which nothing is known but that it computes `form` wrongly."""
    path = folder / "npu.toml"
    path.write_text(PROFILE.format(form), encoding="utf-8")
    return Options(for_runtimes=[str(path)], skip=skip)


def converted(proto: onnx.ModelProto, form: str, folder: Path) -> onnx.ModelProto:
    """`proto` at its own opset, for a runtime that computes `form` wrongly."""
    return convert_version(proto, proto.opset_import[0].version, options=for_a_runtime(form, folder)).model


REFUSED = {
    "Reduce axes as an input": "the axes are an input",
    "Reduce axes as an attribute at opset 13 to 17": "the axes are an attribute",
    "Cast of a float to an integer": "a float is cast to an integer",
    "Div of integers": "integers are divided",
    "AveragePool with dilations": "it has dilations",
    "MaxPool with dilations": "it has dilations",
    "Resize of opset 10": "it is of opset 10",
    "Upsample, linear": "its mode is linear",
    "Pad before opset 11": "it pads with a value",
    "ConvTranspose with disputed auto_pad": "auto_pad SAME_LOWER needs a padding of [1, 1], which is odd or negative",
    "GRU with linear_before_reset 0": "linear_before_reset is 0",
    "ScatterElements with reduction": "it has a reduction",
    "ScatterND with reduction": "it has a reduction",
    "Mod with fmod": "fmod is 1",
    "GlobalLpPool": "there is no other form of it",
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
    for expected, got in zip(run(probe.model, inputs), run(result, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-5)  # onnxruntime has coordinates of a Resize in float32


FREE = {
    "Softmax before opset 13, axis not last": (11, "(float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"),
    "Reduce axes as an input": (18, "(float[2,3] x) => (float[1,1] y) { y = ReduceMean(x) }"),
    "Reduce axes as an attribute at opset 13 to 17": (
        12,
        "(float[2,3] x) => (float[2] y) { y = ReduceL1<axes=[1], keepdims=0>(x) }",
    ),
    "Reduce with noop_with_empty_axes": (18, "(float[2,3] x) => (float[1,1] y) { y = ReduceMean(x) }"),
    "Negative index": (13, "(float[2,3] x) => (float[1] y) <int64[1,2] i = {0,1}> { y = GatherND(x, i) }"),
    "Shape with start or end": (15, "(float[2,3] x) => (int64[2] y) { y = Shape(x) }"),
    "Split by num_outputs, uneven": (18, "(float[4] x) => (float[2] y, float[2] z) { y, z = Split<num_outputs=2>(x) }"),
    "Split without sizes": (13, "(float[4] x) => (float[2] y, float[2] z) <int64[2] s = {2,2}> { y, z = Split(x, s) }"),
    "Split with a part of length 0": (13, "(float[4] x) => (float[2] y, float[2] z) <int64[2] s = {2,2}> { y, z = Split(x, s) }"),
    "Split of bool": (13, "(float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }"),
    "GatherND of bool": (13, "(float[2] x) => (float[1] y) <int64[1,1] i = {0}> { y = GatherND(x, i) }"),
    "Constant without the attribute value": (
        13,
        "(float[2] x) => (float[2] y) { c = Constant<value = float {1}>() y = Add(x, c) }",
    ),
    "ConstantOfShape without value": (13, "(int64[1] s) => (float[n] y) { y = ConstantOfShape<value = float[1] {1}>(s) }"),
    "Cast to bool": (13, "(float[2] x) => (int64[2] y) { y = Cast<to=7>(x) }"),
    "Three operands or more": (13, "(float[2] x) => (float[2] y) { y = Max(x, x) }"),
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
    "Gemm with transA": (13, "(float[2,2] x) => (float[2,2] y) { y = Gemm<transA=0, transB=1>(x, x) }"),
    "AveragePool with count_include_pad": (13, "(float[1,1,4] x) => (float[1,1,3] y) { y = AveragePool<kernel_shape=[2]>(x) }"),
    "AveragePool that leaves padding out, exported by pytorch": (
        13,
        "(float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<kernel_shape=[2], pads=[1,1]>(x) }",
    ),
    "LpPool with padding": (13, "(float[1,1,4] x) => (float[1,1,3] y) { y = LpPool<kernel_shape=[2], pads=[0,0]>(x) }"),
    "Pad by negative numbers": (13, "(float[2] x) => (float[3] y) <int64[2] p = {1,0}> { y = Pad(x, p) }"),
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
    "reflect": (
        "Pad by negative numbers",
        '(float[4] x) => (float[3] y) <int64[2] p = {-1,0}> { y = Pad<mode="reflect">(x, p) }',
        "the padding is negative, and computed at run time or given for some axes only",
    ),
    "ceil": (
        "AveragePool with count_include_pad",
        "(float[1,1,4] x) => (float[1,1,3] y) { y = AveragePool<kernel_shape=[2], pads=[1,1], strides=[2], ceil_mode=1, count_include_pad=1>(x) }",
        "the padding is automatic, or ceil_mode is 1",
    ),
    "size": (
        "AveragePool that leaves padding out, exported by pytorch",
        "(float[1,1,N] x) => (float[1,1,M] y) { y = AveragePool<kernel_shape=[2], pads=[1,1]>(x) }",
        "the axis dimension 'N' of 'x' is unknown",
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
    options = for_a_runtime("Three operands or more", tmp_path, skip=["elementwise.two_by_two"])
    assert convert_version(proto, options=options).model.graph.node == proto.graph.node


def test_each_form_of_an_operator_is_looked_at(tmp_path: Path) -> None:
    """Resize has several, which one function avoids; the profile names two."""
    other = '[[quirk]]\nform = "Resize cubic, half_pixel"\nevidence = "by documentation"\n'
    (tmp_path / "npu.toml").write_text(PROFILE.format("Resize cubic, asymmetric") + other, encoding="utf-8")
    cubic = '(float[1,1,4,N] x) => (float[1,1,8,M] y) <float[4] s = {1,1,2,2}> { y = Resize<mode="cubic">(x, , s) }'
    with pytest.raises(UnconvertibleError, match=r"computes it wrongly .Resize cubic, half_pixel.: the axis dimension 'N' of 'x'"):
        convert_version(model(f"agraph {cubic}", 13), 13, options=Options(for_runtimes=[str(tmp_path / "npu.toml")]))


REWRITES = [
    (
        "bools.through_int32",
        "Split of bool",
        13,
        "g (bool[4] x) => (bool[2] y, bool[2] z) { y, z = Split(x) }",
        """
            {
              as_int32 = Cast <to = 6> (x)
              as_int32_2, as_int32_2_as_int32 = Split (as_int32)
              y = Cast <to = 9> (as_int32_2)
              z = Cast <to = 9> (as_int32_2_as_int32)
            }
        """,
    ),
    (
        "constants.plain_tensor",
        "Constant without the attribute value",
        13,
        "g (float[2] x) => (float[2] y) { t = Constant<value_float = 2.0>() y = Mul(x, t) }",
        "{ t = Constant <value = float {2}> () y = Mul (x, t) }",
    ),
    (
        "constants.state_value",
        "ConstantOfShape without value",
        13,
        "g (float[3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { c = ConstantOfShape(s) y = Add(c, x) }",
        "<int64[2] s = {2, 3}> { c = ConstantOfShape <value = float[1] {0}> (s) y = Add (c, x) }",
    ),
    (
        "constants.fold_scalar",
        "ConstantOfShape of a scalar",
        13,
        "g (float[3] x) => (float[3] y) <int64[0] s = {}> { c = ConstantOfShape<value = float[1] {2}>(s) y = Add(c, x) }",
        "{ c = Constant <value = float {2}> () y = Add (c, x) }",
    ),
    (
        "constants.fold_constants",
        "Operator on constants",
        13,
        "g (float[3] x) => (float[3] y) <float a = {1}, float b = {2}> { c = Add(a, b) y = Add(c, x) }",
        "{ c = Constant <value = float {3}> () y = Add (c, x) }",
    ),
    (
        "defaults.state_defaults",
        "Attribute left out",
        13,
        "g (float[2,1,3] x) => (float[2,1,1] y) { y = ReduceL1<axes = [2]>(x) }",
        "{ y = ReduceL1 <axes = [2], keepdims = 1> (x) }",
    ),
    (
        "defaults.state_window",
        "Attribute left out",
        13,
        "g (float[1,1,4,4] x, float[1,1,2,3] w) => (float[1,1,3,2] y) { y = Conv(x, w) }",
        "{ y = Conv <kernel_shape = [2, 3], strides = [1, 1]> (x, w) }",
    ),
    (
        "defaults.state_axes",
        "Squeeze without axes",
        13,
        "g (float[2,1,3,1] x) => (float[2,3] y) { y = Squeeze(x) }",
        "<int64[2] axes = {1, 3}> { y = Squeeze (x, axes) }",
    ),
    (
        "defaults.state_axes",
        "Squeeze without axes",
        11,
        "g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze(x) }",
        "{ y = Squeeze <axes = [1]> (x) }",
    ),
    (
        "recurrences.take_last_step",
        "Recurrent operator without all steps",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[1,2,1] h) { ABSENT, h = RNN<hidden_size = 1>(x, w, w) }",
        "<int64 last = {-1}> { all = RNN <hidden_size = 1> (x, w, w) h = Gather <axis = 0> (all, last) }",
    ),
    (
        "recurrences.take_last_step",
        "Recurrent operator without all steps",
        14,
        'g (float[3,2,1] x, float[1,1,1] w) => (float[1,2,1] h) { ABSENT, h = RNN<hidden_size = 1, direction = "reverse">(x, w, w) }',
        '{ all, h = RNN <hidden_size = 1, direction = "reverse"> (x, w, w) }',
    ),
    (
        "recurrences.state_outputs",
        "Recurrent operator without last state",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[3,1,2,1] y) { y = RNN<hidden_size = 1>(x, w, w) }",
        "{ y, last_hidden = RNN <hidden_size = 1> (x, w, w) }",
    ),
    (
        "recurrences.state_first",
        "Recurrent operator without a first state",
        14,
        "g (float[3,2,1] x, float[1,1,1] w) => (float[3,1,2,1] y) { y = RNN<hidden_size = 1>(x, w, w) }",
        "<float[1,2,1] first = {0, 0}> { y = RNN <hidden_size = 1> (x, w, w, , , first) }",
    ),
    (
        "windows.pool_two_axes",
        "Global pool of three axes or more",
        13,
        "g (float[1,2,3,4,5] x) => (float[1,2,1,1,1] y) { y = GlobalMaxPool(x) }",
        """
            <int64[4] plane = {1, 2, 3, 20}, int64[5] shape = {1, 2, 1, 1, 1}>
            {
              in_two_axes = Reshape (x, plane)
              of_two_axes = GlobalMaxPool (in_two_axes)
              y = Reshape (of_two_axes, shape)
            }
        """,
    ),
    (
        "elementwise.greater",
        "Less",
        13,
        "g (float[2] a, float[2] b) => (bool[2] y) { y = Less(a, b) }",
        "{ y = Greater (b, a) }",
    ),
    (
        "elementwise.two_by_two",
        "Three operands or more",
        13,
        "g (float[2] a, float[2] b, float[2] c) => (float[2] y) { y = Max(a, b, c) }",
        "{ of_two = Max (a, b) y = Max (of_two, c) }",
    ),
    (
        "elementwise.two_by_two",
        "Three operands or more",
        13,
        "g (float[2] a, float[2] b, float[2] c) => (float[2] y) { y = Mean(a, b, c) }",
        "<float count = {3}> { of_two = Sum (a, b) of_two_2 = Sum (of_two, c) y = Div (of_two_2, count) }",
    ),
    (
        "elementwise.multiply",
        "Pow by 3",
        13,
        "g (float[2] x) => (float[2] y) <float e = {3}> { y = Pow(x, e) }",
        "{ square = Mul (x, x) y = Mul (square, x) }",
    ),
    (
        "elementwise.is_not_zero",
        "Cast to bool",
        13,
        "g (float[2] x) => (bool[2] y) { y = Cast<to = 9>(x) }",
        "<float zero = {0}> { is_zero = Equal (x, zero) y = Not (is_zero) }",
    ),
    (
        "elementwise.transpose_first",
        "Gemm with transA",
        13,
        "g (float[3,2] a, float[3,2] b) => (float[2,2] y) { y = Gemm<transA = 1>(a, b) }",
        "{ transposed = Transpose <perm = [1, 0]> (a) y = Gemm (transposed, b) }",
    ),
    (
        "elementwise.by_definition",
        "Shrink",
        9,
        "g (float[2] x) => (float[2] y) { y = Shrink<bias = 0.5>(x) }",
        """
            <float NegLmbda = {-0.5}, float Lambd = {0.5}, float Zero = {0}>
            {
              InputLessThanNegLambda = Less (x, NegLmbda)
              InputAddBias = Add (x, Lambd)
              InputSubBias = Sub (x, Lambd)
              LambdaLessThanInput = Less (Lambd, x)
              InputSubBiasOrZero = Where (LambdaLessThanInput, InputSubBias, Zero)
              y = Where (InputLessThanNegLambda, InputAddBias, InputSubBiasOrZero)
            }
        """,
    ),
    (
        "indices.along_one_axis",
        "Negative index",
        13,
        "g (float[2,3] x) => (float[1,3] y) <int64[1,3] i = {-1, 0, -2}> { y = GatherElements(x, i) }",
        "<int64[1,3] from_the_front = {1, 0, 0}> { y = GatherElements (x, from_the_front) }",
    ),
    (
        "indices.along_many_axes",
        "Negative index",
        13,
        "g (float[2,3] x) => (float[2] y) <int64[2,2] i = {0, -1, -1, 0}> { y = GatherND(x, i) }",
        "<int64[2,2] from_the_front = {0, 2, 1, 0}> { y = GatherND (x, from_the_front) }",
    ),
    (
        "indices.of_classes",
        "Negative index",
        13,
        "g (float[2] v) => (float[2,3] y) <int64[2] i = {-1, 1}, int64 d = {3}> { y = OneHot(i, d, v) }",
        "<int64[2] from_the_front = {2, 1}, int64 d = {3}> { y = OneHot (from_the_front, d, v) }",
    ),
    (
        "reductions.leave_out_all_axes",
        "Reduce axes as an input",
        18,
        "g (float[2,3] x) => (float[1,1] y) <int64[2] a = {1, 0}> { y = ReduceMean(x, a) }",
        "{ y = ReduceMean (x) }",
    ),
    (
        "reductions.reduce_nothing",
        "Reduce with noop_with_empty_axes",
        18,
        "g (float[2] x) => (float[2] y) { y = ReduceSum <noop_with_empty_axes = 1>(x) }",
        "{ y = Identity (x) }",
    ),
    (
        "reductions.reduce_nothing",
        "Reduce with noop_with_empty_axes",
        18,
        "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceSum <noop_with_empty_axes = 1>(x, a) }",
        "<int64[1] a = {1}> { y = ReduceSum (x, a) }",
    ),
    (
        "reductions.fold_axes",
        "Squeeze axes computed at run time",
        13,
        "g (float[1,2] x) => (float[2] y) <int64 z = {0}, int64[1] v = {1}> { a = Reshape(z, v) y = Squeeze(x, a) }",
        "<int64[1] axes = {0}> { y = Squeeze (x, axes) }",
    ),
    (
        "softmaxes.of_a_matrix",
        "Softmax before opset 13, axis not last",
        11,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }",
        """
            <int64[3] shape = {2, 3, 4}>
            {
              matrix = Flatten <axis = 1> (x)
              of_matrix = Softmax <axis = 1> (matrix)
              y = Reshape (of_matrix, shape)
            }
        """,
    ),
    (
        "splits.state_uneven_sizes",
        "Split by num_outputs, uneven",
        18,
        "g (float[5] x) => (float[3] y, float[2] z) { y, z = Split<num_outputs = 2>(x) }",
        "<int64[2] split = {3, 2}> { y, z = Split (x, split) }",
    ),
    (
        "splits.state_all_sizes",
        "Split without sizes",
        13,
        "g (float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }",
        "<int64[2] split = {2, 2}> { y, z = Split (x, split) }",
    ),
    (
        "splits.drop_empty_parts",
        "Split with a part of length 0",
        13,
        "g (float[4] x) => (float[3] y, float[1] z) <int64[3] s = {3, 0, 1}> { y, none, z = Split(x, s) }",
        "<int64[2] split = {3, 1}> { y, z = Split (x, split) }",
    ),
    (
        "splits.fold_sizes",
        "Split sizes computed at run time",
        13,
        "g (float[3] x) => (float[1] y, float[2] z) <int64[1] one = {1}, int64[1] two = {2}> { s = Concat<axis = 0>(one, two) y, z = Split(x, s) }",
        "<int64[2] split = {1, 2}> { y, z = Split (x, split) }",
    ),
    (
        "windows.pad_first",
        "AveragePool with count_include_pad",
        13,
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<count_include_pad = 1, kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}> { padded = Pad (x, pads) y = AveragePool <kernel_shape = [2]> (padded) }",
    ),
    (
        "windows.pad_norm_first",
        "LpPool with padding",
        13,
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = LpPool<kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}> { padded = Pad (x, pads) y = LpPool <kernel_shape = [2]> (padded) }",
    ),
    (
        "elementwise.spell_out",
        "HardSigmoid that can be part of a HardSwish",
        13,
        "g (float[2] x) => (float[2] y) { y = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) }",
        "<float alpha = {0.16666667}, float beta = {0.5}, float zero = {0}, float one = {1}> "
        "{ scaled = Mul (x, alpha) line = Add (scaled, beta) y = Clip (line, zero, one) }",
    ),
    (
        "recurrences.state_outputs",
        "Recurrent operator without last state",
        14,
        "g (float[1,1,1] x, float[1,4,1] w) => (float[1,1,1,1] y) { y = LSTM<hidden_size = 1>(x, w, w) }",
        "{ y, h, c = LSTM <hidden_size = 1> (x, w, w) }",
    ),
    (
        "recurrences.take_last_state",
        "Last state of a recurrent operator",
        14,
        "g (float[3,1,1] x, float[1,1,1] w) => (float[3,1,1,1] y, float[1,1,1] h) { y, h = RNN<hidden_size = 1>(x, w, w) }",
        "<int64 last = {-1}> { y = RNN <hidden_size = 1> (x, w, w) h = Gather <axis = 0> (y, last) }",
    ),
    (
        "windows.weigh_padded",
        "AveragePool that leaves padding out, exported by pytorch",
        13,
        '<ir_version: 8, opset_import: ["" : 13], producer_name: "pytorch"> '
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}, float[5] factor = {2, 1, 1, 1, 2}> "
        "{ padded = Pad (x, pads) mean = AveragePool <kernel_shape = [2]> (padded) y = Mul (mean, factor) }",
    ),
    (
        "windows.state_lower_pads",
        "auto_pad SAME_LOWER",
        13,
        'g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,4] y) { y = Conv<auto_pad = "SAME_LOWER">(x, w) }',
        "{ y = Conv <pads = [1, 0]> (x, w) }",
    ),
    (
        "windows.state_upper_pads",
        "auto_pad SAME_UPPER",
        13,
        'g (float[1,1,4] x) => (float[1,1,2] y) { y = MaxPool<auto_pad = "SAME_UPPER", kernel_shape = [3], strides = [2]>(x) }',
        "{ y = MaxPool <kernel_shape = [3], strides = [2], pads = [0, 1]> (x) }",
    ),
    (
        "windows.state_upper_pads",
        "auto_pad SAME_UPPER",
        13,
        'g (float[1,1,3] x, float[1,1,4] w) => (float[1,1,6] y) { y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [2]>(x, w) }',
        "{ y = ConvTranspose <strides = [2], pads = [1, 1]> (x, w) }",
    ),
    (
        "resizes.gather_nearest",
        "Resize to the nearest, half_pixel, ceil",
        13,
        'g (float[2,3] x) => (float[2,6] y) <int64[2] s = {2, 6}> { y = Resize<nearest_mode = "ceil">(x, , , s) }',
        "<int64[6] indices = {0, 1, 1, 2, 2, 2}> { y = Gather <axis = 1> (x, indices) }",
    ),
    (
        "resizes.gather_cubic",
        "Resize cubic, align_corners",
        13,
        """g (float[1,2] x) => (float[1,3] y) <int64[2] s = {1, 3}> {
            y = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners">(x, , , s)
        }""",
        """
            <int64[3] before = {0, 0, 0}, float[1,3] outer = {0, -0.09375, 0}, int64[3] left = {0, 0, 1},
             float[1,3] most = {1, 0.59375, 1}, int64[3] right = {1, 1, 1}, float[1,3] inner = {0, 0.59375, 0}>
            {
              a = Gather <axis = 1> (x, before) weighed_a = Mul (a, outer)
              b = Gather <axis = 1> (x, left) weighed_b = Mul (b, most)
              c = Gather <axis = 1> (x, right) weighed_c = Mul (c, inner)
              weighed_d = Mul (c, outer)
              ab = Add (weighed_a, weighed_b) abc = Add (ab, weighed_c) y = Add (abc, weighed_d)
            }
        """,
    ),
    (
        "resizes.filter_by_gathers",
        "Resize with antialias",
        18,
        """g (float[1,2] x) => (float[1,1] y) <int64[2] s = {1, 1}> {
            y = Resize<mode = "linear", antialias = 1>(x, , , s)
        }""",
        """
            <int64[1] left = {0}, float[1,1] less = {0.125}, float[1,1] more = {0.375}, int64[1] right = {1}>
            {
              a = Gather <axis = 1> (x, left) outer_a = Mul (a, less) inner_a = Mul (a, more)
              b = Gather <axis = 1> (x, right) inner_b = Mul (b, more) outer_b = Mul (b, less)
              both = Add (outer_a, inner_a) three = Add (both, inner_b) y = Add (three, outer_b)
            }
        """,
    ),
    (
        "reductions.reduce_in_steps",
        "Reduce over three axes or more",
        13,
        "g (float[2,3,4,5] x) => (float[1,3,1,1] y) { y = ReduceMean<axes = [-1, 0, 2]>(x) }",
        "{ reduced = ReduceMean <axes = [2, 3], keepdims = 1> (x) y = ReduceMean <axes = [0], keepdims = 1> (reduced) }",
    ),
    (
        "reductions.reduce_in_steps",
        "Reduce over three axes or more",
        18,
        "g (float[2,3,4,5] x) => (float[3] y) <int64[3] a = {0, 2, 3}> { y = ReduceSumSquare<keepdims = 0>(x, a) }",
        """<int64[2] last = {2, 3}, int64[1] first = {0}>
        { reduced = ReduceSumSquare <keepdims = 0> (x, last) y = ReduceSum <keepdims = 0> (reduced, first) }""",
    ),
    (
        "reductions.name_no_axes",
        "Reduce over all axes, which it names",
        18,
        "g (float[2,3] x) => (float[1,1] y) <int64[2] a = {1, 0}> { y = ReduceMax<noop_with_empty_axes = 1>(x, a) }",
        "{ y = ReduceMax (x) }",
    ),
    (
        "windows.state_pads",
        "ConvTranspose with output_shape",
        13,
        "g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,3] y) { y = ConvTranspose<output_shape = [3]>(x, w) }",
        "{ y = ConvTranspose <pads = [1, 1]> (x, w) }",
    ),
    (
        "windows.cut_by_slice",
        "Pad by negative numbers",
        13,
        "g (float[3] x) => (float[3] y) <int64[2] p = {-1, 1}> { y = Pad(x, p) }",
        """
            <int64[1] starts = {1}, int64[1] ends = {9223372036854775807}, int64[2] pads = {0, 1}>
            {
              cut = Slice (x, starts, ends)
              y = Pad (cut, pads)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path, skip=["fold_split.literal_sizes"])  # which would come before splits.fold_sizes
    assert_rewrites(before, after, rule, opset, opset, options)
