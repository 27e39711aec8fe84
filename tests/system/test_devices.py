"""Three devices that nobody has heard of: what their manuals allow is all that their models contain, by a checker of its own."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from allowed_checker import violations
from documentation import ROOT
from helpers import model

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

DEVICES = {path.stem: path for path in sorted((ROOT / "tests/system/devices").glob("*.toml"))}
IMAGE = "(float[1,3,8,8] x)"
WEIGHTS = "float[4,3,1,1] w = {1,2,3,4,5,6,7,8,9,1,2,3}, float[4] s = {1,2,1,2}, float[4] b = {0,1,0,1}, float[4] v = {1,4,1,4}"
MODELS = {
    "convolution": (
        f"g {IMAGE} => (float[1,4] y) <{WEIGHTS}> {{ c = Conv(x, w) n = BatchNormalization(c, s, b, s, v) h = HardSwish(n) "
        "g = GlobalAveragePool(h) y = Flatten(g) }",
        {"cnn", "transformer", "web"},
    ),
    "enlarged": (
        f'g {IMAGE} => (float[1,3,16,16] y) <float[4] f = {{1,1,2,2}}> {{ u = Resize<mode = "nearest">(x, , f) '
        "z = LeakyRelu<alpha = 0.25>(u) k = Identity(z) y = Softmax<axis = 1>(k) }",
        {"cnn", "transformer", "web"},
    ),
    "channels": (
        f"g {IMAGE} => (float[1,3,8,8] y) {{ p = AveragePool<kernel_shape = [1, 1]>(x) y = Softmax<axis = 1>(p) }}",
        {"cnn", "transformer", "web"},
    ),
    "block": (
        "g (float[1,4,8] x) => (float[1,4,8] y) <float[8] s = {1,2,1,2,1,2,1,2}, float[8] b = {0,1,0,1,0,1,0,1}, float[8,8] w = "
        "{1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1}> "
        "{ n = LayerNormalization(x, s, b) q = MatMul(n, w) t = Transpose<perm = [0, 2, 1]>(q) r = MatMul(q, t) p = Softmax<axis = 2>(r) "
        'a = MatMul(p, q) d = Add(a, x) e = Gelu<approximate = "tanh">(d) h, k = Split<axis = 2, num_outputs = 2>(e) y = Concat<axis = 2>(k, h) }',
        {"transformer", "web"},
    ),
    "picked": (
        "g (float[4,6] x) => (float[2,6] y) <int64[2] i = {0, 3}> { t = Gather(x, i) s = Shape(t) y = Reshape(t, s) }",
        {"cnn", "transformer", "web"},
    ),
    "open": ("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }", set()),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MODELS)
def test_what_fits_contains_only_what_is_allowed(device: str, name: str) -> None:
    text, fitting = MODELS[name]
    proto = model(text, 20 if "Gelu" in text else 17, 9)
    options = Options(for_runtimes=[str(DEVICES[device])])
    if device not in fitting:
        with pytest.raises(UnconvertibleError, match="does not allow it"):
            convert_version(proto, options=options)
        return
    result = convert_version(proto, options=options, compare="required")
    assert violations(result.model, DEVICES[device]) == []
    assert not result.report.warnings


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["equal_parts_opset13", "glu_opset13", "tinygpt_opset20"])
def test_models_fit_or_say_why(device: str, name: str) -> None:
    path: Path = ROOT / f"models/{name}.onnx"
    try:
        result = convert_version(path, options=Options(for_runtimes=[str(DEVICES[device])]), compare="off")
    except UnconvertibleError as error:
        assert all("does not allow it" in blocker.reason for blocker in error.blockers)
        return
    assert violations(onnx.ModelProto.FromString(result.model.SerializeToString()), DEVICES[device]) == []
