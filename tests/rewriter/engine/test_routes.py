"""What may happen to the nodes of an operator between two opsets."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.engine.registry import registry
from split_rewrite.rewriter.engine.restrictions import UNRESTRICTED
from split_rewrite.rewriter.engine.routes import Routes
from split_rewrite.rewriter.engine.selection import Selection

pytestmark = pytest.mark.quick

FLOAT = frozenset({"tensor(float)"})


@pytest.fixture(name="routes")
def any_types() -> Routes:
    return Routes(registry, Selection(), UNRESTRICTED, None)


def test_nothing_happens_to_an_operator_that_stays_the_same(routes: Routes) -> None:
    assert routes.find("Tanh", 13, 18, made=False) is None


def test_the_first_step_that_is_not_free(routes: Routes) -> None:
    route = routes.find("Split", 18, 2, made=False)
    assert route is not None and route.step is not None
    assert (route.step.transition.newer, route.step.transition.up) == (18, False)


def test_an_operator_that_the_target_does_not_have(routes: Routes) -> None:
    route = routes.find("Gelu", 20, 13, made=False)
    assert route is not None and route.step is not None
    assert route.step.transition.older is None


def test_a_step_that_only_takes_types_away_is_free_for_a_model_without_them() -> None:
    """Tanh of opset 13 takes bfloat16, that of 12 does not."""
    for types, is_free in ((FLOAT, True), (FLOAT | {"tensor(bfloat16)"}, False)):
        route = Routes(registry, Selection(), UNRESTRICTED, types).find("Tanh", 13, 12, made=False)
        assert (route is None) is is_free


def test_what_the_user_wrote_is_not_simplified_where_little_is_to_change() -> None:
    routes = Routes(registry, Selection(is_minimal=True), UNRESTRICTED, None)
    assert routes.find("SequenceAt", 18, 18, made=False) is None
    written_by_a_rule = routes.find("SequenceAt", 18, 18, made=True)
    assert written_by_a_rule is not None and written_by_a_rule.simplifications
