"""Which rules --only and --skip let run."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.engine.selection import Selection

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
    ],
)
def test_a_rule_is_named_by_itself_or_by_its_module(only: tuple[str, ...], skip: tuple[str, ...], allowed: bool) -> None:
    assert Selection(frozenset(only), frozenset(skip)).allows("split.sizes_to_input") is allowed
