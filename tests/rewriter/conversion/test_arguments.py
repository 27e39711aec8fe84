"""Arguments of the library: a slip is told at once, in a class that Python programmers expect, and in one short line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import helpers
import numpy as np
import onnx
import onnx_ir as ir
import pytest

from split_rewrite import rewriter
from split_rewrite.rewriter import (
    ArgumentError,
    CompareError,
    ConvertOpset,
    InvalidModelError,
    Options,
    Samples,
    SplitRewriteError,
    Tolerance,
    check_convertible,
    convert_file,
    convert_version,
    convert_versions,
    simplify,
)
from split_rewrite.rules import split as split_rules

LONGEST = 300
UNEVEN = "g (float[7] x) => (float[3] a, float[K] b, float[L] c) {a, b, c = Split<num_outputs = 3>(x)}"


def large() -> onnx.ModelProto:
    """A model of more than a megabyte, which no message may hold."""
    proto = helpers.model(UNEVEN)
    proto.doc_string = "secret" * 200_000
    return proto


def refused(call: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refusal:
        call()
    text = str(refusal.value)
    assert message in text
    assert len(text) <= LONGEST and "secret" not in text


KINDS = "a path, a ModelProto, an onnx_ir.Model or a torch ONNXProgram"
TYPES = {
    "bytes": (large().SerializeToString(), "not bytes: onnx.load_model_from_string reads a serialized model"),
    "bytearray": (bytearray(large().SerializeToString()), "not bytes"),
    "none": (None, f"model has to be {KINDS}, not None"),
    "number": (13, f"model has to be {KINDS}, not int"),
    "graph": (large().graph, "GraphProto"),
    "graph of onnx_ir": (ir.from_proto(large()).graph, "not onnx_ir.Graph"),
    "list": (["m.onnx"], "not list"),
}


@pytest.mark.parametrize(("model", "message"), TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("function", [convert_version, check_convertible])
def test_what_is_no_model(function: Callable[..., object], model: object, message: str) -> None:
    refused(lambda: function(model, 13), TypeError, message)


def test_an_open_file(tmp_path: Path) -> None:
    onnx.save(large(), tmp_path / "m.onnx")
    with open(tmp_path / "m.onnx", "rb") as file:
        refused(lambda: convert_version(file, 13), TypeError, "not an open file (_io.BufferedReader): pass its path")  # type: ignore[arg-type]


class Unmounted:
    """A path that cannot say what it is."""

    def __fspath__(self) -> str:
        raise OSError("gone")


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    refused(lambda: convert_version(tmp_path, 13), InvalidModelError, "is a folder; name the .onnx file in it")
    refused(lambda: convert_version(tmp_path / "none.onnx", 13), InvalidModelError, "none.onnx")
    refused(lambda: convert_version("m" * 1_200_000, 13), ArgumentError, "model is not a path: 'mmm")
    refused(lambda: convert_version("a\0b", 13), ArgumentError, "model is not a path")
    refused(lambda: convert_version("a\ud800b", 13), ArgumentError, "model is not a path")
    refused(lambda: convert_version(Unmounted(), 13), TypeError, "Unmounted fails: gone")
    refused(lambda: convert_file(b"m.onnx", "o.onnx", 13), TypeError, "source has to be a path (str or os.PathLike), not bytes")  # type: ignore[arg-type]
    refused(lambda: convert_file("m.onnx", None, 13), TypeError, "destination has to be a path (str or os.PathLike), not None")  # type: ignore[arg-type]
    refused(lambda: convert_file(large(), "o.onnx", 13), TypeError, "source has to be a path")  # type: ignore[arg-type]


def test_further_files_and_functions(tmp_path: Path) -> None:
    onnx.save(large(), tmp_path / "m.onnx")

    def call(**given: object) -> None:
        convert_file(tmp_path / "m.onnx", tmp_path / "o.onnx", 13, **given)  # type: ignore[arg-type]

    for others, shown in ((["x"], "'x'"), ("x", "'x'"), (3, "3"), (None, "None"), ([None], "None")):
        message = f"others has to be a sequence of NamedFile, as NamedFile('my file', path), not of {shown}"
        refused(lambda: call(others=others), TypeError, message)  # noqa: B023
        refused(lambda: check_convertible(large(), 13, others=others), TypeError, message)  # type: ignore[arg-type] # noqa: B023
    assert Options(samples=Samples(data=[{"x": np.float32(1)}])).samples is not None  # type: ignore[dict-item]
    refused(lambda: call(announce=3), TypeError, "announce has to be a function or None, not 3")
    refused(lambda: convert_version("", 13), ArgumentError, "model is not a path: ''")
    assert not (tmp_path / "o.onnx").exists()


def test_options_that_contradict_each_other() -> None:
    refused(lambda: Options(only=["split", "casts"], skip=["Split"]), ArgumentError, "only and skip both name split")
    refused(
        lambda: Options(minimal=True, modernize=True), ArgumentError, "minimal and modernize exclude each other: modernize changes"
    )


def test_what_a_generator_of_targets_raises() -> None:
    def targets() -> Iterator[int]:
        yield 13
        raise KeyError("mine")

    refused(lambda: convert_versions(large(), targets()), KeyError, "mine")


def test_what_progress_raises_leaves_simplify() -> None:
    def stop(stage: str, done: int, total: int) -> None:
        raise KeyError("mine")

    refused(lambda: simplify(large(), progress=stop), KeyError, "mine")


def test_an_error_of_simplify_holds_no_model() -> None:
    with pytest.raises(InvalidModelError) as caught:
        simplify(helpers.model("g (float[2] x) => (float[2] y) { y = Foo(x) }"))
    trace, held = caught.value.__traceback__, []
    while trace is not None:
        held += [value for value in trace.tb_frame.f_locals.values() if isinstance(value, onnx.ModelProto)]
        trace = trace.tb_next
    assert not held


TARGETS = {
    "more digits than Python shows": (10**5000, ArgumentError, "target_opset is too large"),
    "text": ("13", TypeError, "target_opset has to be an integer or None, not '13'"),
    "long text": ("13" * 1000, TypeError, "target_opset has to be an integer or None, not '1313"),
    "latest": ("latest", TypeError, "not 'latest'; onnx.defs.onnx_opset_version() is onnx's newest"),
    "true": (True, TypeError, "target_opset has to be an integer or None, not True"),
    "float": (13.0, TypeError, "target_opset has to be an integer or None, not 13.0"),
    "array": (np.array([13, 14]), TypeError, "target_opset has to be an integer or None, not numpy.ndarray"),
    "zero": (0, ArgumentError, "the target opset 0 is unknown"),
    "negative": (-1, ValueError, "the target opset -1 is unknown"),
    "too new": (99, SplitRewriteError, "the target opset 99 is unknown"),
}


@pytest.mark.parametrize(("target", "kind", "message"), TARGETS.values(), ids=TARGETS)
def test_targets(target: object, kind: type[Exception], message: str) -> None:
    refused(lambda: convert_version(large(), target), kind, message)  # type: ignore[arg-type]
    refused(lambda: check_convertible(large(), target), kind, message)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16])
def test_integers_of_numpy_are_integers(kind: type[np.integer]) -> None:
    proto = helpers.model("g (float[7] x) => (float[7] y) {y = Relu(x)}")
    assert convert_version(proto, kind(17), compare="off").model.opset_import[0].version == 17  # type: ignore[arg-type]
    shapes = {"x": np.array([7], kind)}
    assert Options(ir_version=kind(8), overwrite_input_shapes=shapes) == Options(ir_version=8, overwrite_input_shapes={"x": (7,)})  # type: ignore[arg-type]


WORDS = "has to be 'auto', 'model', 'nodes', 'required' or 'off'"
COMPARES = {
    "typo": ("modle", ArgumentError, f"compare {WORDS}, not 'modle'"),
    "false": (False, TypeError, f"compare {WORDS}, not False"),
    "none": (None, TypeError, f"compare {WORDS}, not None"),
    "long": ("x" * 10_000, ValueError, f"compare {WORDS}, not 'xxx"),
}


@pytest.mark.parametrize(("compare", "kind", "message"), COMPARES.values(), ids=COMPARES)
def test_how_to_compare(compare: object, kind: type[Exception], message: str, tmp_path: Path) -> None:
    for function in (convert_version, rewriter.round_trip):
        refused(lambda: function(large(), 13, compare=compare), kind, message)  # type: ignore[operator] # noqa: B023
    refused(lambda: convert_file("m.onnx", tmp_path / "o.onnx", 13, compare=compare), kind, message)  # type: ignore[arg-type]


OPTIONS = {
    "an opset beyond all": ({"assume_opset": 2**70}, ArgumentError, "assume_opset is too large"),
    "a negative opset": ({"assume_opset": -1}, ArgumentError, "assume_opset has to be 1 or more, not -1"),
    "no seed": ({"samples": Samples(seed=None)}, TypeError, "samples.seed has to be an integer, not None"),  # type: ignore[arg-type]
    "no array": ({"samples": Samples(data=[{"x": [1, 2]}])}, TypeError, "samples.data for x has to be a numpy array, not list"),  # type: ignore[list-item]
    "no way to write data": (
        {"external_data": "nope"},
        ArgumentError,
        "external_data: expected auto, keep, copy, inline, split or",
    ),
    "no size of data": ({"external_data": "split:-1"}, ArgumentError, "external_data: expected auto, keep, copy, inline, split or"),
    "a name for names": ({"skip": "split"}, TypeError, "skip has to be a collection of names of rules, not 'split'"),
    "no names": ({"only": [1]}, TypeError, "each of only has to be the name of a rule, not 1"),
    "a rule for rules": (
        {"rules": "com.microsoft"},
        TypeError,
        "rules has to be a collection of onnxscript's RewriteRules, of functions",
    ),
    "a function for rules": (
        {"rules": large},
        TypeError,
        "rules has to be a collection of onnxscript's RewriteRules, of functions",
    ),
    "no rules": (
        {"rules": [1]},
        TypeError,
        "each of rules has to be a RewriteRule, a function or the name by which a package offers some, not 1",
    ),
    "strict": ({"strict": "yes"}, TypeError, "strict has to be True or False, not 'yes'"),
    "ir version": ({"ir_version": "8"}, TypeError, "ir_version has to be an integer or None, not '8'"),
    "runtime": ({"runtime": "ort"}, ArgumentError, "runtime has to be 'auto', 'onnxruntime', 'reference' or 'both', not 'ort'"),
    "shape": (
        {"overwrite_input_shapes": {"x": 3}},
        TypeError,
        "overwrite_input_shapes['x'] has to be a sequence of dimensions, not 3",
    ),
    "dimension": ({"overwrite_input_shapes": {"x": ["N"]}}, TypeError, "has to be an integer, not 'N'"),
    "shapes": ({"overwrite_input_shapes": [1, 3]}, TypeError, "has to be a mapping of input names to dimensions, not list"),
    "declare": ({"declare": {"a": 1}}, TypeError, "declare['a'] has to be a type as in 'float[N,64]', not 1"),
    "declarations": ({"declare": "a:float"}, TypeError, "declare has to be a mapping of names of values to types, not 'a:float'"),
    "samples": ({"samples": {"x": 1}}, TypeError, "samples has to be Samples or None, not dict"),
    "tolerance": ({"tolerance": 1e-3}, TypeError, "tolerance has to be a Tolerance, not 0.001"),
    "bound": ({"tolerance": Tolerance(rtol="1e-3")}, TypeError, "tolerance.rtol has to be a number or None, not '1e-3'"),  # type: ignore[arg-type]
    "negative bound": ({"tolerance": Tolerance(atol=-1)}, ArgumentError, "tolerance.atol has to be a number from 0 on, not -1"),
    "bound that is NaN": (
        {"tolerance": Tolerance(rtol_of={"y": math.nan})},
        ArgumentError,
        "tolerance.rtol_of['y'] has to be a number from 0 on, not nan",
    ),
    "shapes of samples": ({"samples": Samples(3)}, TypeError, "samples.shapes has to be a mapping of input names to dimensions"),  # type: ignore[arg-type]
    "one sample": (
        {"samples": Samples(data={"x": np.ones(2)})},  # type: ignore[arg-type]
        TypeError,
        "samples.data has to be a sequence of samples, each a mapping of input names to arrays, not dict",
    ),
    "seed": ({"samples": Samples(seed=-1)}, ArgumentError, "samples.seed has to be 0 or more, not -1"),
    "external data": ({"external_data": None}, TypeError, "external_data has to be a str, not None"),
}


@pytest.mark.parametrize(("given", "kind", "message"), OPTIONS.values(), ids=OPTIONS)
def test_options(given: dict[str, object], kind: type[Exception], message: str) -> None:
    refused(lambda: Options(**given), kind, message)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [large(), ir.from_proto(large())], ids=["ModelProto", "onnx_ir"])
def test_a_file_is_converted_from_a_file(given: object, tmp_path: Path) -> None:
    refused(lambda: convert_file(given, tmp_path / "o.onnx", 13), TypeError, "source has to be a path (str or os.PathLike), not ")  # type: ignore[arg-type]


def test_what_a_pass_is_made_of() -> None:
    refused(lambda: ConvertOpset("13"), TypeError, "target_opset has to be an integer or None, not '13'")  # type: ignore[arg-type]
    refused(lambda: ConvertOpset(99), ArgumentError, "the target opset 99 is unknown")
    refused(lambda: ConvertOpset(13, compare="modle"), ArgumentError, f"compare {WORDS}, not 'modle'")  # type: ignore[arg-type]
    refused(lambda: ConvertOpset(13, options={}), TypeError, "options has to be Options or None, not dict")  # type: ignore[arg-type]


def test_names_of_rules_in_any_collection() -> None:
    assert Options(skip=["split"]) == Options(skip=frozenset({"split"}))  # type: ignore[arg-type]


def test_options_that_are_none() -> None:
    refused(
        lambda: convert_version(large(), 13, options={"strict": True}), TypeError, "options has to be Options or None, not dict"
    )  # type: ignore[arg-type]


def test_a_list_of_inputs_is_cut() -> None:
    inputs = ", ".join(f"float[N] {'secretly' * 20}{index}" for index in range(100))
    proto = helpers.model(f"g ({inputs}) => (float[1] y) {{y = Constant<value_floats = [1.0]>()}}")
    with pytest.raises(ArgumentError) as refusal:
        convert_version(proto, 13, options=Options(overwrite_input_shapes={"z": (1,)}))
    assert len(str(refusal.value)) < 1000 and str(refusal.value).endswith("… (100 in all)")


@pytest.mark.parametrize("function", [convert_version, lambda proto, _: rewriter.simplify(proto), rewriter.round_trip])
def test_the_library_compares_unless_told_not_to(function: Callable[..., object]) -> None:
    proto = helpers.model("g (float[7] x) => (float[7] y) {y = Relu(x)}")
    comparison = function(proto, 17).report.comparison  # type: ignore[attr-defined]
    assert comparison.status == "equal"


def test_a_wrong_rule_is_found_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_rules, "equal_sizes", lambda dimension, parts: [3, 1, 3])
    refused(lambda: convert_version(helpers.model(UNEVEN), 17), CompareError, "outputs differ (onnxruntime ")
    assert convert_version(helpers.model(UNEVEN), 17, compare="off").report.comparison is None
