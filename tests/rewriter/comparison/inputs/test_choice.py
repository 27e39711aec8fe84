"""One choice of inputs: what it changes of another one, and the values that it gives."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, TypeProto, helper

from split_rewrite.rewriter.comparison.inputs.choice import Choice, Filler, SampleError, array_of_values
from split_rewrite.rewriter.comparison.inputs.deciding import Style
from split_rewrite.rewriter.comparison.inputs.readers import Reading


def filled(declared: TypeProto, choice: Choice, dims: tuple[int, ...] = (50,)) -> np.ndarray:
    return Filler(np.random.default_rng(0), choice, Reading(), {}, has_usual_floats=False).fill(declared, dims)


def test_the_last_size_of_a_dimension_counts() -> None:
    choice = Choice().with_size("n", 3).with_size("m", 2).with_size("n", 4)
    assert choice.sizes == (("m", 2), ("n", 4))


def test_integers_are_those_of_the_choice() -> None:
    integers = helper.make_tensor_type_proto(TensorProto.INT32, [50])
    assert set(filled(integers, Choice())) == {0, 1, 2, 3}
    assert set(filled(integers, Choice(integers="binary"))) == {0, 1}
    assert set(filled(integers, Choice(integers="zeros"))) == {0}


def test_odd_samples_hold_odd_numbers_among_floats_alone() -> None:
    odd = Choice(style=Style("nan", "ends"))
    assert odd.is_odd and not odd._replace(decides="integers").is_odd
    floats = filled(helper.make_tensor_type_proto(TensorProto.FLOAT, [50]), odd)
    assert np.isnan(floats).any() and not np.isnan(floats).all()


def test_a_type_that_cannot_be_filled() -> None:
    with pytest.raises(SampleError, match="inputs of type no type cannot be made"):
        filled(TypeProto(), Choice())


def test_settled_values_stay_within_their_type() -> None:
    made = array_of_values((300.0, -1.0), (2,), helper.make_tensor_type_proto(TensorProto.UINT8, [2]))
    assert made.tolist() == [255, 0]
