"""A small sample of the exhaustive run, and what the harness finds and does not find. The long form is `tests/fuzz/exhaustive.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import enumeration
import exhaustive
import helpers
import numpy as np
import onnx
import pytest
from enumeration import Case, cases, versions
from exhaustive import FINDINGS

from split_rewrite.rewriter import Tolerance

EXACT = Tolerance()
SAMPLE = 30
"""Versions of operators, of each of which one model is tried."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with exhaustive.private_folder() as path:
        yield path


def _case(text: str, opset: int = 13, **feeds: np.ndarray) -> Case:
    proto = helpers.model(text, opset=opset)
    return Case("Text-1:0", proto.graph.node[0].op_type, opset, proto, feeds, {})


def test_a_sample_is_right_or_refused():
    everything = [(name, version) for name, own in versions().items() for version in own]
    chosen = Random(0).sample(everything, SAMPLE)
    findings = [finding for entry in chosen for finding in exhaustive.explore(*entry, seed=0, limit=1)]
    assert [finding for finding in findings if finding.outcome in FINDINGS] == []
    assert sum(finding.outcome == "converted" for finding in findings) > len(findings) / 3


def test_every_operator_is_enumerated():
    everything = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "" and not schema.deprecated}
    assert everything - versions().keys() == enumeration.NOT_ENUMERATED & everything


def test_a_model_does_not_depend_on_how_many_there_are():
    few, many = ([case.model for case in cases("ReduceSum", 13, 0, limit)] for limit in (4, 8))
    assert few == many[:4]


def test_no_pair_of_choices_is_left_out():
    seen = {(case.choice["attribute keepdims"], case.choice["form"]) for case in cases("ReduceMax", 13, 0, 60)}
    assert seen == {(flag, form) for flag in (None, 0, 1) for form in enumeration.FORMS}


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        pytest.param("y = Relu(x)", "converted", id="same"),
        pytest.param("y = Abs(x)", "wrong", id="negative"),
        pytest.param("one = Constant<value = float {1}>()\n t = Mul(x, one)\n y = Relu(t)", "converted", id="nan-is-nan"),
        pytest.param("zero = Constant<value = float {0}>()\n y = Max(x, zero)", "converted", id="max"),
        pytest.param("zero = Constant<value = float {0}>()\n t = Greater(x, zero)\n y = Where(t, x, zero)", "wrong", id="nan"),
    ],
)
def test_a_result_is_right_where_it_gives_what_the_original_gives(folder, result, outcome):
    graph = "g (float[4] x) => (float[4] y) {%s}"
    case = _case(graph % "y = Relu(x)", x=np.array([-1, 2, np.nan, np.inf], np.float32))
    original = exhaustive.run_original(case, folder)
    assert exhaustive.judge(original, helpers.model(graph % result, opset=13), EXACT, folder)[0] == outcome


def test_elements_about_which_the_runtimes_disagree_are_not_judged(folder):
    """Of a division by zero onnx.reference makes 0 or refuses it, onnxruntime dies of it or not: here, both are made up."""
    case = _case("g (float[2] x) => (float[2] y) {y = Relu(x)}", x=np.array([-1, 2], np.float32))
    arrays = {"onnxruntime": [np.array([0, 2], np.float32)], "onnx.reference": [np.array([5, 2], np.float32)]}
    other = helpers.model("g (float[2] x) => (float[2] y) {y = Abs(x)}", opset=13)
    settled = exhaustive.settled_elements(list(arrays.values()))
    assert exhaustive.judge(exhaustive.Original(case, arrays, settled), other, EXACT, folder) == ("converted", "")
    agreed = [np.ones(2, bool)]
    assert exhaustive.judge(exhaustive.Original(case, arrays, agreed), other, EXACT, folder)[0] == "wrong"


@pytest.mark.parametrize(
    ("terms", "result", "outcome"),
    [
        pytest.param([1, -1, 5], 0, "wrong", id="usual-numbers"),
        pytest.param([1e30, -1e30, 5], 1e28, "wrong", id="more-than-rounding"),
        pytest.param([1e37, 1e37, 5], np.inf, "wrong", id="no-overflow"),
        pytest.param([np.inf, 1, 5], 6, "wrong", id="infinite-term"),
        pytest.param([1e30, -1e30, 5], 0, "converted", id="cancels-out"),
        pytest.param([3e38, 3e38, -3e38], 3e38, "converted", id="overflows-in-one-order"),
    ],
)
def test_what_the_order_of_a_sum_makes_is_not_judged(folder, terms, result, outcome):
    graph = "g (float[3] x) => (float[1] y) {%s}"
    case = _case(graph % "y = ReduceSum(x)", x=np.array(terms, np.float32))
    with np.errstate(all="ignore"):
        total = [np.array([np.sum(case.feeds["x"][::-1])], np.float32)]
    original = exhaustive.Original(case, dict.fromkeys(exhaustive.ENGINES, total), [np.ones(1, bool)])
    other = helpers.model(graph % f"y = Constant<value = float[1] {{{result}}}>()", opset=13)
    assert exhaustive.judge(original, other, EXACT, folder)[0] == outcome


@pytest.mark.parametrize("kind", enumeration.VALUES)
@pytest.mark.parametrize("dtype", ["float", "float16", "bfloat16", "int8", "uint64", "bool", "string", "complex64", "float8e4m3fn"])
def test_values_that_decide_have_the_type_and_shape_asked_for(dtype, kind):
    array = enumeration.deciding_values(np.random.default_rng(0), dtype, (2, 3, 8), kind)
    assert array.shape == (2, 3, 8)
    assert array.dtype == enumeration.numpy_dtype(enumeration.elem_type(dtype))


def test_special_values_have_both_ends_and_what_is_no_number():
    array = enumeration.deciding_values(np.random.default_rng(0), "float", (200,), "special")
    assert np.isnan(array).any()
    assert {np.inf, -np.inf, np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal} <= set(array.tolist())
