"""Which rules --only and --skip let run."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter import ArgumentError
from split_rewrite.rewriter.engine.registry import registry
from split_rewrite.rewriter.engine.selection import Selection, require_known

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("only", "skip", "allowed"),
    [
        ((), (), True),
        (("split",), (), True),
        (("split.sizes_to_input",), (), True),
        (("split.count_equal_parts",), (), False),
        ((), ("split",), False),
        (("split",), ("split.sizes_to_input",), False),
        ((), ("split.count_equal_parts",), True),
        (("SPLIT",), (), True),
        ((), ("Split.Sizes_to_input",), False),
    ],
)
def test_a_rule_is_named_by_itself_or_by_its_module(only: tuple[str, ...], skip: tuple[str, ...], allowed: bool) -> None:
    assert Selection.of(only, skip).allows("split.sizes_to_input") is allowed


def test_the_case_of_operators_in_names_does_not_matter() -> None:
    assert not Selection.of((), ("Expansion.gelu",)).allows("expansion.Gelu")


def test_an_unknown_name() -> None:
    rules = [rule for rule in registry if rule.name.startswith("split.")]
    require_known("--only", ["SPLIT", "Split.Sizes_To_Input", "expansion.Gelu"], rules)
    with pytest.raises(ArgumentError, match=r"^--skip: there is no rule 'Splitt'; did you mean 'split'"):
        require_known("--skip", ["Splitt"], rules)
