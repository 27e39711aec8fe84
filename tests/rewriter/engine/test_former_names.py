"""Former names of rules, which reports and scripts have, still choose the rules that they chose."""

from __future__ import annotations

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import SplitRewriteError, UnconvertibleError
from split_rewrite.rewriter.driver import Options
from split_rewrite.rewriter.engine.former_names import MODULES, current_names
from split_rewrite.rewriter.engine.registry import registry

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
