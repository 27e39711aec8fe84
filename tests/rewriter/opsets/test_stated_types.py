"""The types that a model states, and those that its values can have."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.opsets.stated_types import possible_types, stated_types
from split_rewrite.rewriter.structure.survey import Survey

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("literal", "kind"), [("int = 1", "int64"), ("ints = [1]", "int64"), ("float = 1.0", "float"), ("floats = [1.0]", "float")]
)
def test_a_literal_brings_its_type_into_a_model(literal: str, kind: str) -> None:
    survey = Survey(model(f"g () => (bool y) {{c = Constant<value_{literal}>() y = IsNaN(c)}}", 13))
    assert f"tensor({kind})" in (possible_types(survey.graphs, survey.operators, set()) or ())


def survey(text: str) -> Survey:
    return Survey(model(text, 18))


def test_types_come_from_inputs_constants_attributes_and_operators() -> None:
    found = survey("g (float[4] x) => (int64[1] y) <double w = {1.0}> {h = Cast<to = 6>(x) y = Shape(h)}")
    types = possible_types(found.graphs, found.operators, set()) or frozenset()
    assert {kind for kind in types if kind.startswith("tensor(")} == {
        f"tensor({name})" for name in ("float", "double", "int32", "int64")
    }
    assert "seq(tensor(float))" in types and "optional(seq(tensor(double)))" in types
    assert stated_types(found.graphs, found.operators) == {"float", "double", "int32"}


def test_another_domain_may_make_any_type_unless_its_functions_are_here() -> None:
    found = survey("g (float[4] x) => (float[4] y) {y = Relu(x)}")
    assert possible_types(found.graphs, [*found.operators, "my::Op"], set()) is None
    assert possible_types(found.graphs, [*found.operators, "my::Op"], {"my"}) is not None


def test_a_type_that_the_caller_of_a_function_sets_is_unknown() -> None:
    found = survey("g (float[4] x) => (float[4] y) {y = Cast<to = 1>(x)}")
    attribute = found.graphs[0].node[0].attribute[0]
    attribute.ref_attr_name = "to"
    assert possible_types(found.graphs, found.operators, set()) is None
