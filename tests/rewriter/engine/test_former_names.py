"""Former names of rules, which reports and scripts have, still choose the rules that they chose."""

from __future__ import annotations

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import SplitRewriteError, UnconvertibleError
from split_rewrite.rewriter.conversion.options import Options
from split_rewrite.rewriter.engine.former_names import MODULES, RULES, current_names
from split_rewrite.rewriter.engine.registry import registry

pytestmark = pytest.mark.quick

ROUND = model("g (float[4] x) => (float[4] y) {y = Round(x)}", 11)


def test_a_name_that_never_was_is_refused() -> None:
    with pytest.raises(SplitRewriteError, match=r"there is no rule 'decompose_rounding\.split': --list-rules shows all"):
        convert_version(ROUND, 10, options=Options(skip=frozenset({"decompose_rounding.split"})))


@pytest.mark.parametrize("name", ["decompose_rounding", "decompose_rounding.nearest_even", "round", "round.nearest_even"])
def test_former_and_present_names_exclude_the_same_rule(name: str) -> None:
    with pytest.raises(UnconvertibleError, match=r"rule round\.nearest_even is needed here"):
        convert_version(ROUND, 10, options=Options(skip=frozenset({name})))


def test_former_modules_lead_to_modules_that_exist() -> None:
    modules = {rule.name.partition(".")[0] for rule in registry}
    assert {module for now in MODULES.values() for module in now} <= modules
    assert modules.isdisjoint(MODULES), "a present name would never be found"


def test_names_of_today_stay() -> None:
    assert current_names(["split", "split.sizes_to_input"]) == {"split", "split.sizes_to_input"}


def test_former_rules_lead_to_rules_that_exist() -> None:
    present = {rule.name for rule in registry}
    assert set(RULES.values()) <= present
    assert present.isdisjoint(RULES), "a present name would never be found"


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("is_nan.neither_below_one_nor_above_zero", {"is_nan.compare_with_zero_and_one"}),
        ("group_normalization.in_its_own_words", {"group_normalization.normalize_groups"}),
        ("decompose_strings.keep_what_is_no_stopword", {"string_normalizer.drop_stopwords"}),
    ],
)
def test_a_former_rule_is_found_by_its_present_name(former: str, present: set[str]) -> None:
    assert current_names([former]) == present
