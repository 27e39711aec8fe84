"""MultiHeadAttention of onnxruntime as ONNX's own operators, beside onnxruntime's kernel, and by numpy where it has none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import normal
from helpers import convert_version, run

NAMES = ("q", "k", "v", "b", "m", "a", "pk", "pv", "n", "i")
LOWEST = np.finfo(np.float32).min


def node_of(given: Mapping[str, object], attributes: str = "", outputs: str = "y", operator: str = "MultiHeadAttention") -> str:
    """The text of a node that has the `given` ones of its inputs."""
    names = [name if name in given else "ABSENT" for name in NAMES]
    while names[-1] == "ABSENT":
        names.pop()
    listed = ", ".join(filter(None, ["num_heads = 2", attributes]))
    return f"{outputs} = com.microsoft.{operator} <{listed}> ({', '.join(names)})"


def parts(queries: int = 3, keys: int = 3, width: int = 8, batch: int = 2) -> dict[str, np.ndarray]:
    return {"q": normal(batch, queries, 8), "k": normal(batch, keys, 8), "v": normal(batch, keys, width)}


def whole(*rows: object) -> np.ndarray:
    return np.array(rows, np.int32)


PAST = {"pk": normal(2, 2, 2, 4), "pv": normal(2, 2, 2, 4)}
PRESENT = ("y, w, z", "float[2,3,8] y, float[2,2,5,4] w, float[2,2,5,4] z")

# -- what is refused


def test_a_buffer_that_past_and_present_share():
    given = parts(1, 1) | {"pk": normal(2, 2, 6, 4), "pv": normal(2, 2, 6, 4), "n": whole(3)}
    assert "MultiHeadAttention with past_sequence_length keeps past and present in one buffer" in refused(node_of(given), given)


def test_beams_in_a_buffer():
    given = parts(1, 1) | {"i": np.zeros((1, 2, 6), np.int32)}
    assert "MultiHeadAttention with cache_indirection keeps past and present in one buffer" in refused(node_of(given), given)


def test_a_past_that_no_output_gives_on():
    given = parts() | PAST
    assert "onnxruntime only computes with them if the present ones are outputs" in refused(node_of(given), given)


def test_a_bias_of_packed_keys():
    given = {"q": normal(2, 3, 8), "k": normal(2, 5, 2, 2, 4), "b": normal(24)}
    assert "MultiHeadAttention has no bias where keys and values are one input" in refused(node_of(given), given)


def test_packed_queries_in_three_dimensions():
    given = {"q": normal(2, 3, 24)}
    assert "queries, keys and values in 5 dimensions" in refused(node_of(given), given)


def test_an_attribute_that_the_kernel_does_not_have():
    given = parts()
    assert "MultiHeadAttention of onnxruntime has no attribute is_causal" in refused(node_of(given, "is_causal = 1"), given)


# -- what is written


def test_without_options_it_is_what_exporters_write():
    given = parts()
    result = assert_standard(node_of(given), given, "float[2,3,8] y", rtol=1e-5, atol=1e-6)
    assert sorted(operators(result)) == sorted(
        [*["Reshape", "Transpose"] * 4, *["MatMul"] * 2, "Mul", "Softmax"],
    )


BIAS = {"b": normal(24)}
CASES = {
    "more keys than queries": (parts(3, 5), "", "y", "float[2,3,8] y"),
    "wider values": (parts(width=12) | {"b": normal(28)}, "", "y", "float[2,3,12] y"),
    "a scale": (parts(), "scale = 0.7", "y", "float[2,3,8] y"),
    "scores": (parts(), "", "y, ABSENT, ABSENT, w", "float[2,3,8] y, float[2,2,3,3] w"),
    "masked scores": (parts() | {"m": whole([1, 1, 0], [0, 1, 1])}, "", "y, ABSENT, ABSENT, w", "float[2,3,8] y, float[2,2,3,3] w"),
    "a past": (parts() | PAST, "", *PRESENT),
    "presents without a past": (parts(), "", "y, w, z", "float[2,3,8] y, float[2,2,3,4] w, float[2,2,3,4] z"),
    "keys with heads": ({"q": normal(2, 3, 8), "k": normal(2, 2, 5, 4), "v": normal(2, 2, 5, 4)}, "", "y", "float[2,3,8] y"),
    "causal": (parts(), "unidirectional = 1", "y", "float[2,3,8] y"),
    "causal, more keys": (parts(3, 5), "unidirectional = 1", "y", "float[2,3,8] y"),
    "causal, fewer keys": (parts(5, 3), "unidirectional = 1", "y", "float[2,5,8] y"),
    "causal, past": (parts() | PAST, "unidirectional = 1", *PRESENT),
    "mask": (parts() | {"m": whole([1, 1, 0], [0, 1, 1])}, "", "y", "float[2,3,8] y"),
    "odd marks": (parts() | {"m": whole([1, -1, 2], [0, 5, 1])}, "", "y", "float[2,3,8] y"),
    "all masked": (parts() | {"m": whole([0, 0, 0], [0, 1, 1])}, "", "y", "float[2,3,8] y"),
    "all masked, and added to": (parts() | {"m": np.zeros((2, 3), np.int32), "a": normal(2, 2, 3, 3)}, "", "y", "float[2,3,8] y"),
    "filter": (parts() | {"m": whole([1, 1, 0], [0, 1, 1])}, "mask_filter_value = -3.0", "y", "float[2,3,8] y"),
    "causal mask": (parts() | {"m": whole([0, 1, 1], [0, 0, 1])}, "unidirectional = 1", "y", "float[2,3,8] y"),
    "lowest filter": (
        parts() | {"m": whole([0, 1, 1], [0, 0, 0])},
        "unidirectional = 1, mask_filter_value = -3.4028234663852886e38",
        "y",
        "float[2,3,8] y",
    ),
    "mask of past and new keys": (parts() | PAST | {"m": whole([1, 1, 0, 1, 1], [0, 1, 1, 1, 0])}, "", *PRESENT),
    "ends": (parts() | {"m": whole(2, 3)}, "", "y", "float[2,3,8] y"),
    "ends outside": (parts() | {"m": whole(0, 4)}, "", "y", "float[2,3,8] y"),
    "ends and more": (parts() | {"m": whole(2, 3, 0, 2, 5, 0, 3, 6)}, "", "y", "float[2,3,8] y"),
    "mask of each query": (parts() | {"m": whole(*[[[1, 0, 1], [0, 1, 0], [0, 0, 0]]] * 2)}, "", "y", "float[2,3,8] y"),
    "added to one": (parts() | {"a": normal(1, 1, 3, 3)}, "", "y", "float[2,3,8] y"),
    "added to each": (parts() | {"a": normal(2, 2, 3, 3)}, "", "y", "float[2,3,8] y"),
    "all at once": (
        parts() | PAST | BIAS | {"m": whole([1, 1, 0, 1, 1], [0, 1, 1, 1, 0]), "a": normal(1, 2, 3, 5)},
        "unidirectional = 1",
        *PRESENT,
    ),
}


@pytest.mark.parametrize(("given", "attributes", "outputs", "declared"), CASES.values(), ids=CASES)
def test_it_computes_the_same(given, attributes, outputs, declared):
    assert_standard(node_of(given, attributes, outputs), given, declared, targets=(18, 13, 9), rtol=1e-5, atol=1e-6, compare="off")


@pytest.mark.parametrize(("given", "attributes", "outputs", "declared"), CASES.values(), ids=CASES)
def test_with_lengths_of_run_time(given, attributes, outputs, declared):
    proto = contrib_model(node_of(given, attributes, outputs), given, declared)
    free = {"q": (0, 1), "k": (0, 1), "v": (0, 1), "a": (2, 3), "pk": (0, 2), "pv": (0, 2), "m": (0, 1, 2)}
    for value in proto.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if axis in free.get(value.name, ()):
                dim.dim_param = f"{value.name}{axis}"
    for value in proto.graph.output:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}{axis}"
    result = convert_version(proto, 13, options=STANDARD).model
    for wanted, got in zip(run(proto, given), run(result, given), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("number", [-np.inf, LOWEST])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("attributes", ["", "unidirectional = 1"])
def test_a_row_that_is_masked(number, first, attributes):
    added = normal(1, 1, 3, 3)
    added[0, 0, 1, first:] = number
    given = parts() | {"a": added, "m": whole([1, 1, 0], [0, 1, 1])}
    assert_standard(node_of(given, attributes), given, "float[2,3,8] y", rtol=1e-5, atol=1e-6, compare="off")


@pytest.mark.parametrize("mask", [{}, {"m": whole([1, 1, 0], [0, 1, 1])}])
def test_float16(mask):
    given = {name: array.astype(np.float16) for name, array in (parts() | BIAS).items()} | mask
    node = node_of(given, "unidirectional = 1")
    assert_standard(node, given, "float16[2,3,8] y", rtol=2e-3, atol=2e-3, compare="off")


def test_zeros_in_a_constant_bias_are_not_added():
    bias = normal(24)
    bias[8:16] = 0
    given = parts()
    result = assert_standard(
        node_of(given | {"b": bias}), given, "float[2,3,8] y", constants={"b": bias}, rtol=1e-5, atol=1e-6, compare="off"
    )
    assert operators(result).count("Add") == 2


# -- what no kernel for CPUs runs


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of [batch, length, heads, size]."""
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result = weights / weights.sum(-1, keepdims=True) @ v
    return result.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


def assert_gives(given: Mapping[str, np.ndarray], expected: np.ndarray, operator: str = "MultiHeadAttention") -> None:
    proto = contrib_model(node_of(given, operator=operator), given, "float[2,3,8] y")
    (got,) = run(convert_version(proto, 13, options=STANDARD).model, dict(given))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bias", [{}, BIAS])
def test_queries_keys_and_values_in_one(bias):
    packed = normal(2, 3, 2, 3, 4)
    added = bias["b"].reshape(3, 2, 4) if bias else np.zeros((3, 2, 4), np.float32)
    assert_gives({"q": packed} | bias, attention(*(packed[:, :, :, index] + added[index] for index in range(3))))


def test_keys_and_values_in_one():
    q, packed = normal(2, 3, 8), normal(2, 5, 2, 2, 4)
    assert_gives({"q": q, "k": packed}, attention(q.reshape(2, 3, 2, 4), packed[:, :, :, 0], packed[:, :, :, 1]))
