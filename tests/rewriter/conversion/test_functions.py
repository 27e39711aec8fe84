"""The functions of the library: what they return is data, and a call keeps to its limits."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import types
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite import rewriter
from split_rewrite.rewriter import (
    Blocker,
    CompareError,
    ConversionResult,
    ConvertOpset,
    InvalidModelError,
    Options,
    OutOfTimeError,
    Samples,
    Tolerance,
    UnconvertibleError,
    check_convertible,
    convert_file,
    convert_version,
    convert_versions,
    explain,
    round_trip,
    simplify,
)
from split_rewrite.rewriter.process import child

SPLIT = "g (float[7] x) => (float[3] a, float[3] b, float[1] c) {a, b, c = Split<num_outputs = 3>(x)}"
STRINGS = "g (string[4] x) => (string[4] y) {y = StringConcat(x, x)}"
ENDLESS = """g (float[4] x) => (float[4] y, float[2] a, float[2] b) {
    n = Constant<value = int64 {4611686018427387904}>() t = Constant<value = bool {1}>()
    y = Loop(n, t, x) <body = b (int64 i, bool c, float[4] p) => (bool d, float[4] q) {d = Identity(c) q = Relu(p)}>
    a, b = Split<num_outputs = 2>(x)}"""
PLAIN = (str, bytes, int, float, bool, type(None))


def refused() -> UnconvertibleError:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(STRINGS, 20), 18, name="strings")
    return caught.value


def reachable(value: Any, seen: set[int]) -> Iterator[Any]:
    """Everything that can be reached from `value` by attributes, items and tracebacks."""
    if id(value) in seen or isinstance(value, (*PLAIN, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)):
        return
    seen.add(id(value))
    yield value
    parts: list[Any] = list(vars(value).values()) if hasattr(value, "__dict__") else []
    if dataclasses.is_dataclass(value):
        parts += [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        parts += [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        parts += value
    if isinstance(value, BaseException):
        parts += [value.args, value.__cause__, value.__context__, value.__traceback__]
    if isinstance(value, types.TracebackType):
        own = "/tests/" not in value.tb_frame.f_code.co_filename
        parts += [*(value.tb_frame.f_locals.values() if own else ()), value.tb_next]
    for part in parts:
        yield from reachable(part, seen)


def test_results_hold_nothing_of_the_model() -> None:
    dry = check_convertible(model(STRINGS, 20), 18)
    for kept in (convert_version(model(SPLIT, 18), 12).report, dry, *dry.blockers, refused()):
        found = {f"{type(each).__module__}.{type(each).__qualname__}" for each in reachable(kept, set())}
        allowed = (
            "builtins.",
            "split_rewrite.rewriter.report.",
            "split_rewrite.rewriter.engine.outcome.",
            "split_rewrite.rewriter.errors.",
        )
        others = {name for name in found if not name.startswith(allowed)}
        assert {
            name
            for name in others
            if not name.startswith(("split_rewrite.rewriter.comparison.", "split_rewrite.rewriter.engine.reach."))
        } == set()


def public_objects() -> dict[str, Any]:
    """An object of each public class."""
    result = convert_version(model(SPLIT, 18), 12)
    error = refused()
    explained = explain("No Op registered for Gelu with domain_version of 17")
    assert explained is not None
    objects: dict[str, Any] = {
        "Blocker": error.blockers[0],
        "ConversionResult": result,
        "ConvertOpset": ConvertOpset(13, timeout=5.0),
        "Explanation": explained,
        "Options": Options(skip=["split"], declare={"a": "float[2]"}),
        "Remedy": explained.remedies[0],
        "Report": result.report,
        "Samples": Samples(seed=3),
        "Tolerance": Tolerance(rtol=0.1),
        "UnconvertibleError": error,
    }
    for name in rewriter.__all__:
        value = getattr(rewriter, name)
        if isinstance(value, type) and issubclass(value, Exception) and name not in objects:
            objects[name] = value("what is wrong: all of it")
    return objects


def test_every_public_object_survives_pickle_and_other_processes() -> None:
    objects = public_objects()
    classes = {name for name in rewriter.__all__ if isinstance(getattr(rewriter, name), type)}
    assert classes - objects.keys() == {"ModelReport"}  # the runs of many models send these all the time
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        there = executor.submit(copy.copy, objects).result()
    for name, value in objects.items():
        for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), there[name]):
            assert type(again) is type(value)
            assert str(again) == str(value) or name in ("ConversionResult", "Samples", "ConvertOpset")
    assert pickle.loads(pickle.dumps(objects["UnconvertibleError"])).blockers == objects["UnconvertibleError"].blockers


def test_reports_are_data() -> None:
    report = convert_version(model(SPLIT, 18), 12, name="uneven").report
    assert dataclasses.asdict(report)["operators_before"] == {"Split": 1}
    document = report.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert (document["outcome"], document["input"]["path"]) == ("converted", "uneven")
    dry = check_convertible(model(STRINGS, 20), 18).to_dict()
    assert (dry["outcome"], dry["output"], dry["blockers"][0]["code"]) == ("not convertible", None, "form.newer-operator")
    assert refused().to_dict()["input"]["path"] == "strings"


def test_a_result_is_one_line() -> None:
    result = convert_version(model(SPLIT, 18), 12, name="uneven")
    assert repr(result) == "<ConversionResult: 'uneven', ModelProto, opset 18 to 12, 2 changes>"
    assert repr(result.report) == "<Report: 'uneven', opset 18 to 12, 2 changes>"
    assert isinstance(result, ConversionResult) and isinstance(result.model, onnx.ModelProto)


JOINED = """g (string[6] x) => (string[3] a, string[3] b) {
    y = StringConcat(x, x)
    a, b = Split<num_outputs = 2>(y)
}"""


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (13, "target_opsets has to be a collection of opsets, not 13"),
        ("13", "target_opsets has to be a collection of opsets, not '13'"),
        ([13, None], "each opset of target_opsets has to be an integer, not None"),
        ([13, 2**40], "the target opset 1099511627776 is unknown"),
    ],
)
def test_wrong_targets_are_refused_before_any_work(targets: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        convert_versions(model(JOINED, 20), targets)


def test_several_targets_give_what_each_gives_alone(tmp_path: Path) -> None:
    given = model(JOINED, 20)
    before = given.SerializeToString()
    onnx.save(given, tmp_path / "in.onnx")
    for source in (given, tmp_path / "in.onnx"):
        found = convert_versions(source, iter([22, 9, 20, 22]), name="joined")
        assert list(found) == [22, 9, 20]
        refused = found[9]
        assert isinstance(refused, UnconvertibleError) and refused.model == "joined"
        assert [blocker.op_type for blocker in refused.blockers] == ["StringConcat"]
        for target in (22, 20):
            result = found[target]
            assert isinstance(result, ConversionResult)
            assert result.model == convert_version(given, target).model and result.report.target_opset == target
            assert result.report.comparison is not None and result.report.comparison.status == "equal"
    assert given.SerializeToString() == before


def test_a_result_that_differs_leaves_the_other_targets_alone() -> None:
    text = "g (float[4] x) => (float[4] y) { y = Gelu(x) }"
    found = convert_versions(model(text, 20), [21, 13], options=Options(tolerance=Tolerance(rtol=0, atol=0)))
    assert isinstance(found[21], ConversionResult) and isinstance(found[13], CompareError)


def test_an_invalid_model_is_refused_whatever_the_targets() -> None:
    with pytest.raises(InvalidModelError, match="not a valid model"):
        convert_versions(model("g (float[6] x) => (float[6] y) { y = Relu(z) }", 13), [9, 18])


def test_several_targets_of_an_onnx_ir_model_share_its_tensors() -> None:
    onnx_ir = pytest.importorskip("onnx_ir")
    weights = onnx_ir.tensor(np.arange(2048, dtype=np.float32).reshape(4, 512), name="w")
    given = onnx_ir.from_proto(
        model(
            "g (float[2,4] x, float[4,512] w) => (float[2,256] a, float[2,256] b) { y = MatMul(x, w)  a, b = Split<axis = 1>(y) }",
            13,
        )
    )
    given.graph.initializers["w"] = given.graph.inputs.pop()
    given.graph.initializers["w"].const_value = weights
    found = convert_versions(given, [11, 18])
    for result in found.values():
        assert isinstance(result, ConversionResult) and result.model.graph.initializers["w"].const_value is weights
    assert given.graph.opset_imports[""] == 13


def none_left() -> bool:
    """Whether no child is at work."""
    return not any(each._is_busy for each in child._children)


CALLS = {
    "convert_version": lambda path, **limits: convert_version(path, 13, **limits),
    "convert_file": lambda path, **limits: convert_file(path, path.with_name("out.onnx"), 13, **limits),
    "simplify": lambda path, **limits: simplify(path, **limits),
    "round_trip": lambda path, **limits: round_trip(path, 13, **limits),
    "convert_versions": lambda path, **limits: convert_versions(path, [13], **limits),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_timeout_holds_while_a_model_runs(tmp_path: Path, call: Any) -> None:
    onnx.save(model(ENDLESS, 18), tmp_path / "in.onnx")
    with pytest.raises(OutOfTimeError, match=r"^not finished within 2 s$") as caught:
        call(tmp_path / "in.onnx", timeout=2, options=Options(compare_budget=60))
    assert caught.value.model.endswith("in.onnx") and isinstance(caught.value, TimeoutError)
    assert none_left() and [path.name for path in tmp_path.iterdir()] == ["in.onnx"]


def test_raising_in_progress_cancels_while_a_model_runs(tmp_path: Path) -> None:
    heard: list[str] = []

    def cancel(what: str, done: int, total: int) -> None:
        heard.append(what)
        if heard.count("comparing") > 5:
            raise StopAsyncIteration("enough")

    with pytest.raises(StopAsyncIteration, match="enough"):
        convert_version(model(ENDLESS, 18), 13, progress=cancel)
    assert list(dict.fromkeys(heard)) == ["reading", "checking the input", "converting", "checking the result", "comparing"]
    assert none_left()


def test_a_dry_run_and_a_pass_keep_to_their_time() -> None:
    with pytest.raises(OutOfTimeError):
        check_convertible(model(SPLIT, 18), 13, timeout=1e-6)
    onnx_ir = pytest.importorskip("onnx_ir")
    with pytest.raises(OutOfTimeError):
        ConvertOpset(13, timeout=1e-6).call(onnx_ir.from_proto(model(SPLIT, 18)))


def test_log_records_carry_the_name(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "split_rewrite"):
        convert_version(model(SPLIT, 18), 12, compare="off", name="uneven")
    (record,) = caplog.records
    assert record.getMessage() == "uneven: converted: opset 18 to 12" and record.__dict__["model"] == "uneven"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"timeout": "5"}, "timeout has to be a number"),
        ({"progress": 5}, "progress has to be a function"),
        ({"name": 5}, "name has"),
    ],
)
def test_wrong_limits_are_type_errors(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        convert_version(model(SPLIT, 18), 12, **limits)


def test_blockers_may_come_without_a_hint() -> None:
    assert Blocker("Split", "s", "main graph", "", "odd").code == "other"


def test_errors_among_several_results_keep_no_model() -> None:
    """Nothing that their tracebacks lead to holds the model."""
    source = model("g (string[2] x) => (string[2] y) { y = StringConcat (x, x) }", 20)
    found = rewriter.convert_versions(source, [9, 13], compare="off")
    for error in found.values():
        assert isinstance(error, rewriter.UnconvertibleError)
        frame = error.__traceback__
        while frame is not None:
            assert not frame.tb_frame.f_locals
            frame = frame.tb_next
