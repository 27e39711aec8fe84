"""The budget of a comparison: what is planned by estimates, and what the clock ends."""

from __future__ import annotations

import time

from split_rewrite.rewriter.execution.budget import Budget

SECOND = 1e9


def test_the_default_is_a_second_or_five_times_running_both_models_once() -> None:
    budget = Budget()
    budget.weigh(0.1 * SECOND)
    assert budget.seconds == 1.0
    budget.weigh(2 * SECOND)
    assert budget.seconds == 10.0


def test_a_stated_budget_does_not_depend_on_the_models() -> None:
    budget = Budget(0.5)
    budget.weigh(2 * SECOND)
    assert budget.seconds == 0.5 and str(budget) == "the budget of 0.5 s"


def test_half_of_it_is_planned_by_estimates() -> None:
    budget = Budget(10)
    assert budget.affords(1 * SECOND) == 5
    budget.spend(3 * SECOND)
    assert budget.affords(1 * SECOND) == 2 and budget.affords(1 * SECOND, share=0.5) == 1
    budget.spend(3 * SECOND)
    assert budget.left == 0 and budget.affords(1) == 0


def test_what_a_child_took_is_charged_and_sleep_is_not() -> None:
    budget = Budget(1)
    time.sleep(0.05)
    assert budget.seconds_left > 0.96
    budget.charge(0.99)
    assert 0 <= budget.seconds_left <= 0.01 or budget.is_over
    budget.charge(0.1)
    assert budget.is_over


def test_a_difference_has_the_same_budget_once_more_but_not_twice() -> None:
    budget = Budget(4)
    budget.spend(2 * SECOND)
    budget.charge(5)
    budget.renew()
    assert budget.affords(1 * SECOND) == 2 and not budget.is_over
    budget.charge(5)
    budget.renew()
    assert budget.is_over
