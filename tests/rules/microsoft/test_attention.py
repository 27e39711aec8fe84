"""Attention of onnxruntime as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import normal
from helpers import convert_version, run

NAMES = ("x", "w", "b", "m", "p", "a", "n")
WEIGHTS = {"w": normal(6, 24), "b": normal(24)}
X = normal(2, 3, 6)
PAST = {"p": normal(2, 2, 2, 2, 4)}
PRESENT = ("y, z", "float[2,3,8] y, float[2,2,2,5,4] z")
PLAIN = ("y", "float[2,3,8] y")


def node_of(given: Mapping[str, object], attributes: str = "", outputs: str = "y") -> str:
    names = [name if name in given else "ABSENT" for name in NAMES]
    while names[-1] == "ABSENT":
        names.pop()
    listed = ", ".join(filter(None, ["num_heads = 2", attributes]))
    return f"{outputs} = com.microsoft.Attention <{listed}> ({', '.join(names)})"


def whole(*rows: object) -> np.ndarray:
    return np.array(rows, np.int32)


# -- what is refused


@pytest.mark.parametrize(
    ("attributes", "more", "message"),
    [
        ("do_rotary = 1", {}, "positions that only onnxruntime's kernel for CUDA knows"),
        ("past_present_share_buffer = 1", {"p": normal(2, 2, 2, 6, 4), "n": whole(2)}, "keeps past and present in one buffer"),
        ("", PAST, "Attention has past keys, and onnxruntime requires the output present then"),
        ("", {"m": np.ones((2, 1, 3, 3), np.int32)}, "Attention with a mask of 4 dimensions runs on CUDA only"),
        ("", {"m": whole(1, 2, 3)}, "Attention takes no mask_index of 3 numbers for 2 sequences"),
        ("qkv_hidden_sizes = [6, 6, 12]", {"outputs": "y, z"}, "past keys and values, of the widths [6, 12], in one tensor"),
        ("qkv_hidden_sizes = [8, 7, 9]", {}, "Attention cannot divide the widths [8, 7, 9] among 2 heads"),
    ],
)
def test_what_is_not_written(attributes, more, message):
    outputs = more.get("outputs", "y")
    given = {"x": X} | WEIGHTS | {name: array for name, array in more.items() if name != "outputs"}
    assert message in refused(node_of(given, attributes, outputs), given)


def test_ends_or_starts_of_an_unknown_number_of_sequences():
    given = {"x": X} | WEIGHTS | {"m": whole(2, 3, 1, 0)}
    proto = contrib_model(node_of(given), given, "float[2,3,8] y")
    proto.graph.input[3].type.tensor_type.shape.dim[0].dim_param = "n"
    with pytest.raises(Exception, match="whose length says whether it holds ends, or ends and starts"):
        convert_version(proto, 13, options=STANDARD)


# -- what is written


def test_without_options_it_is_what_exporters_write():
    given = {"x": X}
    result = assert_standard(node_of(given | WEIGHTS), given, "float[2,3,8] y", constants=WEIGHTS, rtol=1e-5, atol=1e-6)
    assert sorted(operators(result)) == sorted([*["Reshape", "Transpose"] * 4, *["MatMul"] * 3, "Add", "Mul", "Softmax", "Split"])


CASES = {
    "without a bias": ({"x": X, "w": normal(6, 24)}, "", *PLAIN),
    "wider values": ({"x": X, "w": normal(6, 28), "b": normal(28)}, "qkv_hidden_sizes = [8, 8, 12]", "y", "float[2,3,12] y"),
    "a scale": ({"x": X} | WEIGHTS, "scale = 0.3", *PLAIN),
    "a past": ({"x": X} | WEIGHTS | PAST, "", *PRESENT),
    "a present without a past": ({"x": X} | WEIGHTS, "", "y, z", "float[2,3,8] y, float[2,2,2,3,4] z"),
    "causal": ({"x": X} | WEIGHTS, "unidirectional = 1", *PLAIN),
    "causal, past": ({"x": X} | WEIGHTS | PAST, "unidirectional = 1", *PRESENT),
    "mask": ({"x": X} | WEIGHTS | {"m": whole([1, 1, 0], [0, 1, 1])}, "mask_filter_value = -2.0", *PLAIN),
    "all masked": ({"x": X} | WEIGHTS | {"m": whole([0, 0, 0], [0, 1, 1])}, "unidirectional = 1", *PLAIN),
    "mask, past": (
        {"x": X} | WEIGHTS | PAST | {"m": whole([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])},
        "unidirectional = 1",
        *PRESENT,
    ),
    "no mask for each sequence": ({"x": X} | WEIGHTS | {"m": whole([1], [0])}, "", *PLAIN),
    "no mask for all": ({"x": X} | WEIGHTS | {"m": whole([0])}, "", *PLAIN),
    "ends": ({"x": X} | WEIGHTS | {"m": whole(2, 3)}, "", *PLAIN),
    "ends, past": ({"x": X} | WEIGHTS | PAST | {"m": whole(4, 5)}, "", *PRESENT),
    "ends and starts": ({"x": X} | WEIGHTS | {"m": whole(2, 3, 1, 9)}, "", *PLAIN),
    "ends and more": ({"x": X} | WEIGHTS | {"m": whole(2, 3, 0, 2, 5, 0, 3, 6)}, "", *PLAIN),
    "mask of each query": ({"x": X} | WEIGHTS | {"m": whole(*[[[1, 0, 1], [1, 1, 0], [0, 0, 0]]] * 2)}, "", *PLAIN),
    "all masked, and added to": ({"x": X} | WEIGHTS | {"m": np.zeros((2, 3), np.int32), "a": normal(2, 2, 3, 3)}, "", *PLAIN),
    "added": ({"x": X} | WEIGHTS | {"a": normal(1, 2, 3, 3)}, "unidirectional = 1", *PLAIN),
}


@pytest.mark.parametrize(("given", "attributes", "outputs", "declared"), CASES.values(), ids=CASES)
def test_it_computes_the_same(given, attributes, outputs, declared):
    assert_standard(node_of(given, attributes, outputs), given, declared, targets=(18, 13, 9), rtol=1e-5, atol=1e-6, compare="off")


@pytest.mark.parametrize("case", ["causal", "causal, past", "mask, past", "ends", "ends, past", "added"])
def test_with_lengths_of_run_time(case):
    given, attributes, outputs, declared = CASES[case]
    proto = contrib_model(node_of(given, attributes, outputs), given, declared)
    free = {"x": ("batch", "length"), "p": (None, "batch", None, "past"), "a": (None, None, "length", "length")}
    free["m"] = ("batch", *[f"m{axis}" for axis in range(1, 3)])
    for value in proto.graph.input:
        for dim, symbol in zip(value.type.tensor_type.shape.dim, free.get(value.name, ()), strict=False):
            if symbol:
                dim.dim_param = symbol
    for value in proto.graph.output:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}{axis}"
    result = convert_version(proto, 13, options=STANDARD).model
    for wanted, got in zip(run(proto, given), run(result, given), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_float16():
    given = {name: array.astype(np.float16) for name, array in ({"x": X} | WEIGHTS).items()}
    assert_standard(node_of(given, "unidirectional = 1"), given, "float16[2,3,8] y", rtol=1e-2, atol=1e-2, compare="off")
