"""STFT below opset 17, against onnxruntime's and numpy's."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param(
            "g (float[1,128,1] x, int64 s) => (float[A,B,C,2] y) { y = STFT (x, s) }",
            "without window and frame_length has no meaning",
            id="no length",
        ),
        pytest.param(
            "g (float[1,128,P] x, float[16] w) => (float[A,B,C,2] y) <int64 s = {8}> { y = STFT (x, s, w) }",
            "the axis dimension 'P' of 'x' is unknown",
            id="real or complex",
        ),
        pytest.param(
            "g (float[1,128,2] x, float[16] w) => (float[A,B,C,2] y) <int64 s = {8}> { y = STFT (x, s, w) }",
            "a one-sided STFT is of a real signal",
            id="one side of complex",
        ),
        pytest.param(
            "g (float[1,16,1] x) => (float[1,7,4,2] y) <int64 s = {2}, int64 n = {4}> { y = STFT (x, s, , n) }",
            "it gives 3 frequencies, and the model declares 4",
            id="declared as if it had both sides",
        ),
    ],
)
def test_refused(text, reason):
    assert reason in refusal(model(text, 17), 16)


@pytest.mark.parametrize("target", [16, 9, 7])
@pytest.mark.parametrize("dims", ["2,100,1", "B,L,1"])
@pytest.mark.parametrize("step", [1, 8, 13])
@pytest.mark.parametrize("onesided", [0, 1])
def test_constant_sizes(onesided, step, dims, target):
    text = f"g (float[{dims}] x) => (float[A,F,C,2] y) <int64 s = {{{step}}}, int64 n = {{16}}>"
    proto = model(f"{text} {{ y = STFT <onesided={onesided}> (x, s, , n) }}", 17)
    x = RNG.standard_normal((2, 100, 1)).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(x[:, :, 0].astype(np.float64), 16, axis=1)[:, ::step]
    expected = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    got = run(convert_version(proto, target).model, {"x": x})[0]
    np.testing.assert_allclose(got, np.stack([expected.real, expected.imag], axis=-1), rtol=0, atol=2e-5)


@pytest.mark.parametrize("target", [16, 8])
@pytest.mark.parametrize("step", [5, 16])
def test_window_and_step_at_run_time(step, target):
    proto = model("g (float[1,128,1] x, int64 s, float[16] w) => (float[A,F,C,2] y) { y = STFT (x, s, w) }", 17)
    x = RNG.standard_normal((1, 128, 1)).astype(np.float32)
    given = {"x": x, "s": np.array(step), "w": np.hanning(16).astype(np.float32)}
    assert_same(proto, target, given, rtol=0, atol=2e-5)


def test_complex_signal():
    text = "g (float[1,64,2] x) => (float[A,F,C,2] y) <int64 s = {4}, int64 n = {12}> { y = STFT <onesided=0> (x, s, , n) }"
    x = RNG.standard_normal((1, 64, 2)).astype(np.float32)
    signal = x[..., 0].astype(np.float64) + 1j * x[..., 1]
    expected = np.fft.fft(np.lib.stride_tricks.sliding_window_view(signal, 12, axis=1)[:, ::4])
    got = run(convert_version(model(text, 17), 13).model, {"x": x})[0]
    np.testing.assert_allclose(got, np.stack([expected.real, expected.imag], axis=-1), rtol=0, atol=2e-5)


@pytest.mark.parametrize("target", [16, 9, 7])
@pytest.mark.parametrize("size", [1, 16, 31])
@pytest.mark.parametrize("parts, onesided", [(1, 1), (1, 0), (2, 0)])
@pytest.mark.parametrize("by_window", [False, True], ids=["frame_length", "window"])
def test_a_length_at_run_time(by_window, parts, onesided, size, target):
    given, operands = ("float[W] w", "x, s, w") if by_window else ("int32 w", "x, s, , n")
    names = "n = Cast <to = 7> (w)" if not by_window else ""
    text = f"g (float[2,L,{parts}] x, int64 s, {given}) => (float[A,F,C,2] y) {{ {names} y = STFT <onesided={onesided}> ({operands}) }}"
    x = RNG.standard_normal((2, 100, parts)).astype(np.float32)
    window = np.linspace(0.5, 2, size, dtype=np.float32)
    signal = x[..., 0].astype(np.float64) + (1j * x[..., 1] if parts == 2 else 0)
    frames = np.lib.stride_tricks.sliding_window_view(signal, size, axis=1)[:, ::7] * (window if by_window else 1)
    expected = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    feeds = {"x": x, "s": np.array(7), "w": window if by_window else np.array(size, np.int32)}
    got = run(convert_version(model(text, 17), target).model, feeds)[0]
    np.testing.assert_allclose(got, np.stack([expected.real, expected.imag], axis=-1), rtol=0, atol=4e-5)


REWRITES = [
    (
        "stft.transform_frames",
        17,
        16,
        "g (float[1,4,1] x, float[2] w) => (float[1,3,2,2] y) <int64 step = {1}> { y = STFT (x, step, w) }",
        """
            <int64[3,2] places = {0, 1, 1, 2, 2, 3}, int64[1] axis = {1}, int64[3] form = {1, 3, 2},
             float[2,4] roots = {1, -0, 1, -0, 1, -0, -1, -0}, int64[4] form_2 = {1, 3, 2, 2}>
            {
              frames = Gather <axis = 1> (x, places)
              window = Unsqueeze (w, axis)
              weighted = Mul (frames, window)
              shaped = Reshape (weighted, form)
              product = MatMul (shaped, roots)
              y = Reshape (product, form_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [16, 9])
def test_a_real_signal_without_an_axis_for_its_part(target):
    """torch writes it so, and runtimes take it."""
    text = "g (float[2,100] x, float[16] w) => (float[A,B,C,2] y) <int64 s = {8}> { y = STFT (x, s, w) }"
    inputs = {"x": RNG.normal(size=(2, 100)).astype(np.float32), "w": RNG.random(16, np.float32)}
    result = convert_version(model(text, 17), target).model
    np.testing.assert_allclose(run(result, inputs)[0], run(model(text, 17), inputs)[0], rtol=1e-4, atol=1e-4)
