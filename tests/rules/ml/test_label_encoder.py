"""LabelEncoder of ai.onnx.ml in the forms of its versions."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, run
from onnx import ModelProto, TensorProto, helper, numpy_helper

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

WORDS = ["ape", "bee", "cat"]
CLASSES = {"classes_strings": WORDS, "default_int64": -7, "default_string": "none"}
TO_NUMBERS = {"keys_strings": ["bee", "cat", "ape"], "values_int64s": [1, 2, 0], "default_int64": -7}
TO_WORDS = {"keys_int64s": [2, 0, 1], "values_strings": ["cat", "ape", "bee"], "default_string": "none"}
TENSORS = {
    "keys_tensor": numpy_helper.from_array(np.array([1.5, 2.5], np.float32)),
    "values_tensor": numpy_helper.from_array(np.array([4, 5], np.int64)),
    "default_tensor": numpy_helper.from_array(np.array([-7], np.int64)),
}
FLOATS = {"keys_floats": [float("nan"), 1.5], "values_int64s": [4, 5]}
SAMPLES = {
    TensorProto.STRING: np.array(["bee", "cat", "dog", "ape"], object),
    TensorProto.INT64: np.array([1, 2, 3, 0]),
    TensorProto.FLOAT: np.array([1.5, 0, 2.5], np.float32),
}


def encoder(version: int, source: int, result: int, **attributes: object) -> ModelProto:
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    ends = [helper.make_tensor_value_info(name, kind, ["N"]) for name, kind in (("x", source), ("y", result))]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]), opset_imports=imports, ir_version=8)


ACROSS = {
    "strings, numbered": (1, 2, TensorProto.STRING, TensorProto.INT64, CLASSES),
    "numbers of strings": (1, 4, TensorProto.INT64, TensorProto.STRING, CLASSES),
    "keys that are numbered": (2, 1, TensorProto.STRING, TensorProto.INT64, TO_NUMBERS),
    "values that are numbered": (4, 1, TensorProto.INT64, TensorProto.STRING, TO_WORDS),
    "tensors": (4, 2, TensorProto.FLOAT, TensorProto.INT64, TENSORS),
    "a word twice": (1, 2, TensorProto.STRING, TensorProto.INT64, CLASSES | {"classes_strings": ["ape", "bee", "ape"]}),
    "a default of another type": (2, 1, TensorProto.STRING, TensorProto.INT64, TO_NUMBERS | {"default_float": 0.5}),
    "lists stay": (2, 4, TensorProto.STRING, TensorProto.INT64, TO_NUMBERS),
}
REFUSED = {
    "numbers that are not those of places": (2, 1, TO_NUMBERS | {"values_int64s": [1, 2, 5]}, "numbers strings from 0 on"),
    "a string twice": (2, 1, TO_NUMBERS | {"keys_strings": ["bee", "bee", "ape"]}, "numbers strings from 0 on"),
    "NaN downward": (4, 2, FLOATS, "a key of it is NaN, which runtimes find from version 4 of its domain on"),
    "NaN upward": (2, 4, FLOATS, "a key of it is NaN, which runtimes find from version 4 of its domain on"),
    "no UTF-8": (
        4,
        2,
        TENSORS | {"keys_tensor": helper.make_tensor("k", TensorProto.STRING, [2], [b"\xff", b"a"])},
        "is not UTF-8",
    ),
    "doubles": (4, 2, TENSORS | {"keys_tensor": numpy_helper.from_array(np.array([1.5, 2.5]))}, "labels of type double"),
}


@pytest.mark.parametrize(("source", "target", "attributes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(source: int, target: int, attributes: dict[str, object], message: str) -> None:
    kind = TensorProto.DOUBLE if "double" in message else TensorProto.FLOAT if "NaN" in message else TensorProto.STRING
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(encoder(source, kind, TensorProto.INT64, **attributes), options=Options(ml_opset=target))


@pytest.mark.parametrize(("version", "target", "source", "result", "attributes"), ACROSS.values(), ids=ACROSS)
def test_across(version: int, target: int, source: int, result: int, attributes: dict[str, object]) -> None:
    given = encoder(version, source, result, **attributes)
    converted = convert_version(given, options=Options(ml_opset=target)).model
    assert [(entry.domain, entry.version) for entry in converted.opset_import] == [("", 17), ("ai.onnx.ml", target)]
    inputs = {"x": SAMPLES[source]}
    np.testing.assert_array_equal(run(converted, inputs)[0], run(given, inputs)[0])


REWRITES = [
    (
        "ml.label_encoder",
        encoder(1, TensorProto.STRING, TensorProto.INT64, **CLASSES),
        """{ y = ai.onnx.ml.LabelEncoder <default_int64 = -7, keys_strings = ["ape","bee","cat"], values_int64s = [0,1,2]> (x) }""",
        2,
    ),
    (
        "ml.label_encoder",
        encoder(4, TensorProto.INT64, TensorProto.STRING, **TO_WORDS),
        """{ y = ai.onnx.ml.LabelEncoder <classes_strings = ["ape","bee","cat"], default_string = "none"> (x) }""",
        1,
    ),
]


@pytest.mark.parametrize(("rule", "before", "after", "version"), REWRITES)
def test_rewrites(rule: str, before: ModelProto, after: str, version: int) -> None:
    assert_rewrites(before, after, rule, 17, 17, Options(ml_opset=version))
