"""--verify-with: what another runtime makes of the result is an error where it differs, and so is a runtime that does not run it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import fake_adapters
import numpy as np
import onnx
import pytest
from helpers import Ended, command_line, model

from split_rewrite.rewriter import ArgumentError, CompareError, Options, Tolerance, convert_version
from split_rewrite.rewriter.execution.other_runtimes import Target
from split_rewrite.rewriter.python_words import in_python
from split_rewrite.rewriter.runtimes.verifying import bounds_of

CHAIN = "agraph (float[N,3] x) => (float[N,3] y) { [start] a = Neg(x) [middle] b = Abs(a) c = Neg(b) y = Sigmoid(c) }"


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(fake_adapters.__file__).parent)


def verify(folder: Path, adapter: str, *more: str) -> Ended:
    onnx.save(model(CHAIN, 13), folder / "in.onnx")
    files = (str(folder / "in.onnx"), str(folder / "out.onnx"))
    return command_line("-t", "17", *files, "--verify-with", f"fake_adapters:{adapter}", *more)


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        ("Refuse", "fake_adapters:Refuse refuses the result: RuntimeError: first line no Relu here"),
        ("Crash", "fake_adapters:Crash crashes on the result: ended by signal 11"),
        ("Silent", "fake_adapters:Silent refuses the result: its process ended without a result and without an error"),
        ("Empty", "fake_adapters:Empty refuses the result: it gave 0 of 1 output, and no error"),
        ("WrongAbs", "; it begins with Abs 'middle'"),
        ("Hiding", "; it begins with Sigmoid 'y', or before it: fake_adapters:Hiding does not show all values"),
    ],
)
def test_a_runtime_that_fails_or_differs_is_an_error_in_a_line_and_nothing_is_written(
    tmp_path: Path, adapter: str, message: str
) -> None:
    ended = verify(tmp_path, adapter, "--compare", "off")
    assert (ended.status, ended.out) == (3, "")
    assert ended.err.startswith("error: ") and ended.err.endswith(f"{message}\n") and ended.err.count("\n") == 1
    assert not (tmp_path / "out.onnx").exists()


def test_a_runtime_that_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("split_rewrite.rewriter.runtimes.verifying.Target", partial(Target, seconds=3))
    ended = verify(tmp_path, "Hang")
    assert ended.err == "error: fake_adapters:Hang hangs on the result: not finished within 3 s\n" and ended.status == 3


def test_what_agrees_is_reported(tmp_path: Path) -> None:
    ended = verify(tmp_path, "Right")
    assert ended.status == 0 and (tmp_path / "out.onnx").exists()
    (line,) = (line for line in ended.out.splitlines() if line.startswith("verified"))
    assert f"equal in fake_adapters:Right {onnx.__version__} on " in line and "rtol 0.001, atol 0.0001" in line


def test_in_the_library_of_a_model_in_memory() -> None:
    proto = model(CHAIN, 13)
    options = Options(verify_with="fake_adapters:Right", tolerance=Tolerance(rtol=0.5))
    verified = convert_version(proto, 17, options=options).report.verified
    assert [(each.rtol, each.atol, each.as_original) for each in verified] == [(0.5, 1e-4, False)]
    with pytest.raises(CompareError, match="it begins with Abs 'middle'"):
        convert_version(proto, 17, options=Options(verify_with="fake_adapters:WrongAbs"))
    assert proto == model(CHAIN, 13)


def test_a_runtime_that_computes_halves_otherwise_is_right_where_it_gives_what_it_gives_of_the_original() -> None:
    proto = model(CHAIN.replace("float[", "float16["), 13)
    report = convert_version(proto, 17, options=Options(verify_with="fake_adapters:WrongAbs")).report
    (verified,), (warning,) = report.verified, report.warnings
    assert "it rounds 8-bit or 16-bit numbers otherwise than the installed onnxruntime, and gives other outputs" in warning
    assert verified.as_original and str(verified).startswith("equal to the original there, not to that in onnxruntime:")


def test_what_onnxruntime_cannot_run_cannot_be_verified() -> None:
    proto = model("agraph (float[2] x) => (float[2] y) { y = RandomNormalLike(x) }", 13)
    with pytest.raises(CompareError, match=r"the result cannot be verified with fake_adapters:Right: RandomNormalLike .* random"):
        convert_version(proto, options=Options(verify_with="fake_adapters:Right"))


def test_an_input_that_is_no_array_of_numbers_cannot_be_given() -> None:
    proto = model("agraph (string[2] x) => (string[2] y) { y = Identity(x) }", 13)
    with pytest.raises(CompareError, match="the input 'x' is not a NumPy array of numbers"):
        convert_version(proto, options=Options(verify_with="fake_adapters:Right"))


@pytest.mark.parametrize("adapter", ["onnxruntime", "fake_adapters:Right"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("g (float[2] x) => (string[2] y) { y = Cast <to = 8> (x) }", "an array of strings"),
        ("g (float[2] x) => (bfloat16[2] y) { y = Cast <to = 16> (x) }", "an array of a type that NumPy lacks"),
        ("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct (x) }", "a sequence"),
        ("g (float[2] x) => (optional(float[2]) y) { y = Optional <type : type_proto = float[2]> () }", "an empty optional"),
        (
            "g (float[1,2] x) => (seq(map(int64,float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [5, 6]> (x) }",
            "a sequence",
        ),
    ],
)
def test_an_output_that_is_no_array_of_numbers_cannot_be_verified(tmp_path: Path, adapter: str, text: str, kind: str) -> None:
    onnx.save(model(text, 15), tmp_path / "in.onnx")
    files = [str(tmp_path / name) for name in ("in.onnx", "out.onnx")]
    ended = command_line(*files, "--minimal", "--compare", "off", "--verify-with", adapter)
    told = f"error: the result cannot be verified with {adapter}: its output 'y' is {kind}, not an array of numbers\n"
    assert (ended.status, ended.err) == (3, told)


def test_an_adapter_that_gives_no_array_of_numbers_is_told(tmp_path: Path) -> None:
    ended = verify(tmp_path, "Wordy")
    assert (ended.status, ended.out) == (3, "")
    assert ended.err == "error: fake_adapters:Wordy refuses the result: TypeError: output 0 is not an array of numbers\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--verify-with", "nothing"),
            "'nothing' is not a runtime that can be run from here (these can: onnxruntime, openvino, opencv, mnn, ncnn, tract, tinygrad; or ",
        ),
        (
            ("--verify-with", "./mine.py:Class"),
            "'./mine.py:Class' is no adapter: name the module as an import does: 'package.module:Class'",
        ),
        (("--verify-with", "mnn", "--python", "/nowhere/python"), "--python /nowhere/python: No such file or directory"),
        (("--verify-with", "mnn", "--python", "/bin/ls"), "--python /bin/ls: it is not a Python interpreter"),
        (
            ("--python", "/usr/bin/python3"),
            "python: this is the environment of the runtime that verify_with or for_runtimes names; set one of them, too",
        ),
    ],
)
def test_what_cannot_be_meant_is_told_before_the_model_is_read(options: tuple[str, ...], message: str) -> None:
    ended = command_line("/nowhere/in.onnx", "/nowhere/out.onnx", *options)
    assert ended.status == 2 and ended.err.splitlines()[0].startswith(f"error: {message}")
    with pytest.raises(ArgumentError) as caught:
        convert_version(model(CHAIN, 13), options=Options(**dict(zip(map(keyword, options[::2]), options[1::2], strict=True))))
    assert str(caught.value).startswith(in_python(message))


def keyword(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def test_the_tolerance_is_that_of_the_profile_unless_the_user_says_another() -> None:
    assert bounds_of("openvino", None, None) == (1e-3, 1e-4)
    assert bounds_of("openvino", None, 0.5) == (1e-3, 0.5)
    assert bounds_of("module:class", None, None) == (1e-3, 1e-4)


def test_integers_are_given_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([5], np.int64))
    onnx.save(model("agraph (int64[1] x) => (int64[1] y) { y = Abs(x) }", 13), tmp_path / "in.onnx")
    files = [str(tmp_path / name) for name in ("in.onnx", "out.onnx")]
    ended = command_line(*files, "--input-data", str(tmp_path / "x.npz"), "--verify-with", "fake_adapters:WrongAbs")
    assert ended.status == 0
    np.savez(tmp_path / "x.npz", x=np.array([-5], np.int64))
    ended = command_line(*files, "--input-data", str(tmp_path / "x.npz"), "--verify-with", "fake_adapters:WrongAbs")
    assert ended.status == 3 and "is -5 instead of 5 at element 0; it begins with Abs 'y'" in ended.err
