"""The registry of rules: one for each transition, several simplifications for an operator."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.engine.registry import EVERY_OPERATOR, Registry, Rule, registry


def test_every_rule_says_in_one_line_what_it_does():
    for rule in registry:
        assert rule.summary and rule.summary.endswith((".", ":")), rule.name


@pytest.mark.parametrize("kind", ["upgrade", "downgrade", "decompose"])
def test_two_rules_for_the_same_are_an_error(kind):
    own = Registry()
    own.add(Rule("one.rule", kind, "Split", 18, lambda node: None, True, ""))
    with pytest.raises(ValueError, match=r"two rules for .*: one\.rule and another\.rule"):
        own.add(Rule("another.rule", kind, "Split", 18, lambda node: None, True, ""))


def test_several_simplifications_of_one_operator_are_none():
    own = Registry()
    for name in ("one.rule", "another.rule"):
        own.add(Rule(name, "simplify", "Split", 13, lambda node: None, True, ""))
    assert [rule.name for rule in own.simplifications("Split")] == ["one.rule", "another.rule"]


def test_a_form_of_every_operator_is_avoided_first_in_each():
    own = Registry()
    own.add(Rule("pow.by_three", "avoid", "Pow", 7, lambda node: None, True, "", form="Pow by 3"))
    own.add(Rule("constants.fold", "avoid", EVERY_OPERATOR, 9, lambda node: None, True, "", form="On constants"))
    assert [rule.name for rule in own.avoidances("Pow")] == ["constants.fold", "pow.by_three"]
    assert [rule.name for rule in own.avoidances("Relu")] == ["constants.fold"]
    assert own.operators_with("Pow by 3") == {"Pow"}
    assert {"Pow", "Relu", "Split"} < own.operators_with("On constants")
    assert own.operators_with("a form that nobody knows") == frozenset()
