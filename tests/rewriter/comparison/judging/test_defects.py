"""The rows of facts and the conditions of defects know each other."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.comparison.judging.cases import Case, Values
from split_rewrite.rewriter.comparison.judging.defects import DEFECTS
from split_rewrite.rewriter.opsets import facts

pytestmark = pytest.mark.quick

WORDS = ("ort-wrong", "reference-wrong", "disputed", "lax")
NAMED = {name for word in WORDS for op_type in facts.with_word(word) for name in facts.of(op_type).names(word)}


def test_each_defect_is_that_of_a_row() -> None:
    assert set(DEFECTS) == NAMED


@pytest.mark.parametrize("name", sorted(DEFECTS))
def test_a_text_names_the_operator_and_nothing_else(name: str) -> None:
    assert "{" not in DEFECTS[name].text.format(op="Twist")


def test_a_defect_of_a_type_needs_a_value_of_it() -> None:
    text = "g ({}[2] x) => ({}[2] y) {{y = Pad(x, p)}}"
    for kind, is_wrong in (("string", True), ("float", False)):
        proto = model(text.format(kind, kind).replace("Pad(x, p)", "Pad<pads = [0, 0]>(x)"), 2)
        case = Case(proto.graph.node[0], 2, Values(proto))
        assert DEFECTS["strings_padded_with_0"].concerns(case) is is_wrong
