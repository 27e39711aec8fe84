"""Fused products as ONNX's own operators, beside onnxruntime's kernels; of FusedMatMulActivation there is none, so beside numpy."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused, shown
from drawing import normal
from helpers import run

from split_rewrite.rewriter import convert_version


def test_a_vector_that_would_be_transposed():
    message = refused("y = com.microsoft.FusedMatMul <transA = 1> (a, b)", {"a": normal(2), "b": normal(2, 4)}, "float[4] y")
    assert "transA of FusedMatMul needs a matrix, and 'a' has rank 1" in message


@pytest.mark.parametrize("op", ["FusedMatMul", "TransposeMatMul"])
def test_a_matrix_that_onnxruntime_does_not_transpose_for_a_vector(op: str) -> None:
    message = refused(f"y = com.microsoft.{op} <transA = 1> (a, b)", {"a": normal(3, 2), "b": normal(3)}, "float[2] y")
    assert f"onnxruntime does not transpose the matrix of a {op} that it multiplies by a vector" in message


def test_an_unknown_attribute():
    message = refused('y = com.microsoft.FusedMatMul <activation = "Relu"> (x, x)', {"x": normal(2, 2)}, "float[2,2] y")
    assert "FusedMatMul of onnxruntime has no attribute activation of this type" in message


@pytest.mark.parametrize("late", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("alpha", [1.0, 0.125])
def test_it_computes_the_same(alpha, transposed, late):
    a, b = normal(2, 5, 3, 4), normal(2, 5, 4, 6)
    for number in (0, 1):
        operand = (a, b)[number]
        operand = operand.swapaxes(-1, -2) if transposed[number] else operand
        operand = operand.transpose(2, 0, 1, 3) if late[number] else operand
        a, b = (operand, b) if number == 0 else (a, operand)
    attributes = (
        f"alpha = {alpha}, transA = {transposed[0]}, transB = {transposed[1]}, transBatchA = {late[0]}, transBatchB = {late[1]}"
    )
    node = f"y = com.microsoft.FusedMatMul <{attributes}> (a, b)"
    result = assert_standard(node, {"a": a, "b": b}, "float[2,5,3,6] y", rtol=1e-5, atol=1e-5)
    assert operators(result).count("Transpose") == sum(bool(one or other) for one, other in zip(transposed, late, strict=True))


@pytest.mark.parametrize("shapes", [((3, 4), (4, 6)), ((4,), (4, 6)), ((2, 3, 4), (4,)), ((4,), (4,))])
def test_it_computes_the_same_for_other_ranks(shapes):
    a, b = normal(*shapes[0]), normal(*shapes[1])
    node = "y = com.microsoft.FusedMatMul <alpha = 3.0> (a, b)"
    assert_standard(node, {"a": a, "b": b}, f"{shown(np.asarray(a @ b))} y", rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transposed", [(0, 0), (1, 1)])
def test_transposed_product(transposed):
    inputs = {"a": normal(2, 4, 3) if transposed[0] else normal(2, 3, 4), "b": normal(5, 4) if transposed[1] else normal(4, 5)}
    node = f"y = com.microsoft.TransposeMatMul <alpha = 0.5, transA = {transposed[0]}, transB = {transposed[1]}> (a, b)"
    assert_standard(node, inputs, "float[2,3,5] y", rtol=1e-5, atol=1e-5)


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


ACTIVATED = {
    'activation = "Relu"': lambda x: np.maximum(x, 0),
    'activation = "LeakyRelu", activation_alpha = 0.2': lambda x: np.where(x < 0, 0.2 * x, x),
    'activation = "Softmax", activation_axis = 1': lambda x: softmax(x, 1),
}


@pytest.mark.parametrize("activation", ACTIVATED)
def test_activated_product(activation):
    a, b = normal(2, 3, 4), normal(4, 5)
    node = f"y = com.microsoft.FusedMatMulActivation <alpha = 0.5, {activation}> (a, b)"
    proto = contrib_model(node, {"a": a, "b": b}, "float[2,3,5] y")
    for target in (18, 13):
        result = convert_version(proto, target, compare="off", options=STANDARD).model
        np.testing.assert_allclose(run(result, {"a": a, "b": b})[0], ACTIVATED[activation](0.5 * (a @ b)), rtol=1e-5, atol=1e-5)
