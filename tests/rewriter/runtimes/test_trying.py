"""The runtimes of --for: a result is run where they are installed, and the report says what is promised of the others."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest
from failures import a_rule_is_wrong
from helpers import command_line, model

from split_rewrite.rewriter import ArgumentError, CompareError, Options, convert_version
from split_rewrite.rewriter.execution.other_runtimes import Target
from split_rewrite.rewriter.runtimes import naming
from split_rewrite.rewriter.runtimes.naming import find_profile
from split_rewrite.rewriter.runtimes.trying import trials

onnxruntime = pytest.importorskip("onnxruntime")
SPLIT = "g (float[7] x) => (float[A] a, float[B] b, float[C] c) { a, b, c = Split<num_outputs = 3>(x) }"
HERE = Options(for_runtimes=["onnxruntime"])


def test_a_result_that_differs_there_is_an_error_although_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    a_rule_is_wrong(monkeypatch)
    with pytest.raises(CompareError, match=r"output 'b' of the result in onnxruntime .* \(--no-verify leaves out this run\)"):
        convert_version(model(SPLIT, 18), 17, compare="off", options=HERE)


def test_no_verify_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    a_rule_is_wrong(monkeypatch)
    report = convert_version(
        model(SPLIT, 18), 17, compare="off", options=Options(for_runtimes=["onnxruntime"], verify=False)
    ).report
    assert (report.verified, report.untried) == ((), ())


@pytest.mark.parametrize("python", ["", sys.executable])
def test_what_is_right_there_is_reported(python: str) -> None:
    options = Options(for_runtimes=["onnxruntime"], python=python)
    report = convert_version(model(SPLIT, 18), 17, compare="off", options=options).report
    assert [each.runtime for each in report.verified] == [f"onnxruntime {onnxruntime.__version__}"] and not report.untried


def test_what_the_comparison_ran_there_is_not_run_again() -> None:
    report = convert_version(model(SPLIT, 18), 17, options=HERE).report
    assert (report.verified, report.untried) == ((), ())
    assert report.comparison is not None and report.comparison.runtime.startswith("onnxruntime ")


def test_another_release_is_not_tried() -> None:
    assert trials([find_profile("onnxruntime-1.16")], "")[0].target is None
    assert trials([find_profile("tensorrt-8.6")], "")[0].target is None


def test_words_are_not_given_to_it() -> None:
    text = "g (string[2] x) => (string[2] y) { y = Identity(x) }"
    (promise,) = convert_version(model(text, 13), compare="off", options=HERE).report.untried
    assert promise.endswith("loaded here, and not run: its inputs or outputs are not arrays of numbers")


ONE_HOT = "g (int32[3] i, int32 d, int32[2] v) => (int32[a,b] y) { y = OneHot(i, d, v) }"


@pytest.mark.parametrize("compare", ["off", "auto"])
def test_a_result_that_it_refuses_is_an_error_although_the_original_runs_nowhere(compare: str) -> None:
    with pytest.raises(
        CompareError, match=r"^onnxruntime refuses the result: .*OneHot\(11\).* \(--no-verify leaves out this run\)"
    ):
        convert_version(model(ONE_HOT, 13), compare=compare, options=HERE)
    left_out = convert_version(model(ONE_HOT, 13), compare="off", options=Options(for_runtimes=["onnxruntime"], verify=False))
    assert not left_out.report.untried


def test_a_result_that_it_loads_is_not_refused_because_the_original_does_not_run() -> None:
    text = "g (float[2,3,1] x, float[1,4,1] w, float[1,4,4] r) => (float[2,3,1,4] y) { y = RNN <hidden_size = 4, layout = 1> (x, w, r) }"
    (promise,) = convert_version(model(text, 14), compare="off", options=HERE).report.untried
    assert "loaded here, and not run: onnxruntime cannot run the original" in promise


@pytest.mark.parametrize("function", ["", ' <domain: "own", opset_import: ["" : 13]> f (a) => (r) { r = Neg(a) }'])
def test_operators_of_a_domain_of_ones_own_are_not_loaded(function: str) -> None:
    head = '<ir_version: 8, opset_import: ["" : 13, "own" : 1]> g (float[2] x) => (float[2] y) '
    text = f"{head}{{ h = own.f(x) y = own.Op(h) }}{function}" if function else f"{head}{{ y = own.Op(x) }}"
    (promise,) = convert_version(onnx.parser.parse_model(text), compare="off", options=HERE).report.untried
    assert "not tried here: onnxruntime cannot run the original" in promise


def test_the_last_line_says_what_the_promise_rests_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("split_rewrite.rewriter.runtimes.trying.installed_release", lambda *_: None)
    onnx.save(model("g (float[1,3] x) => (float[1,3] y) { y = Relu(x) }", 18), tmp_path / "in.onnx")
    ended = command_line("--for", "tensorrt-8.6", "--for", "opencv-4.12", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"))
    first, second = ended.out.splitlines()[-3:-1]
    assert first == "promised    NVIDIA TensorRT 8.6: by documentation and source, not tried here"
    assert second.endswith(
        "not tried here; with opencv-python-headless 4.12 installed here, or in the environment of --python, it is run there"
    )


def test_another_environment_says_which_release_is_meant_and_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "installed_version", lambda target: "4.12.0.88" if target.adapter == "opencv" else "")
    naming._version_in.cache_clear()
    profile = find_profile("opencv", python="/elsewhere/python")
    assert (profile.name, profile.warning) == ("opencv-4.12.0.88", "")
    assert find_profile("openvino", python="/elsewhere/python").warning.startswith("no release of OpenVINO was named")
    (trial,) = trials([find_profile("openvino-2024.2")], "/elsewhere/python")
    assert trial.target is None
    assert trial.advice == "; openvino 2024.2 is not installed in the environment of /elsewhere/python"
    naming._version_in.cache_clear()


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match=r"^python /nowhere/python: No such file"):
        convert_version(model(SPLIT, 18), options=Options(for_runtimes=["onnxruntime"], python="/nowhere/python"))
