"""The budget of a comparison: what is planned by estimates, and what the clock ends."""

from __future__ import annotations

import time

import pytest

from split_rewrite.rewriter.execution.budget import Budget

SECOND = 1e9


def test_the_default_is_a_second_or_five_times_running_both_models_once() -> None:
    budget = Budget()
    budget.weigh(0.1 * SECOND)
    assert budget.seconds == 1.0
    budget.weigh(2 * SECOND)
    assert budget.seconds == 10.5


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
    with budget.timed():
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


def test_the_clock_ends_a_budget_after_twice_of_it_and_four_seconds_at_least_unless_the_user_states_it() -> None:
    budget = Budget()
    budget.charge(3.5)
    assert budget.clock == 4 and budget.seconds_left == 0.5 and budget.part(2).seconds_left == 0.25
    budget.weigh(2 * SECOND)
    assert budget.clock == 20 and budget.part(2).clock == 20
    assert Budget(1).clock == 1


def test_processor_time_counts_within_timed_alone_and_once() -> None:
    budget = Budget(1)
    _work(0.02)
    assert budget.seconds_left == 1
    with budget.timed(), budget.part(1).timed():
        _work(0.02)
    assert 0.5 < budget.seconds_left <= 0.98
    assert budget.seconds_left == budget.seconds_left  # the clock stands


def test_a_part_has_an_equal_share_and_what_it_leaves_is_for_the_others() -> None:
    budget = Budget(8)
    first = budget.part(4)
    assert first.affords(0.1 * SECOND) == 10
    first.spend(0.4 * SECOND)
    assert budget.left == 3.6 * SECOND and budget.part(3).left == 1.2 * SECOND
    first.weigh(5 * SECOND)
    assert first.left == 0.6 * SECOND, "the user stated the budget"


def test_a_part_gets_what_its_own_models_take_and_the_whole_grows_by_it() -> None:
    budget = Budget()
    for number in range(100):
        part = budget.part(100 - number)
        part.weigh(0.02 * SECOND)
        part.spend(0.05 * SECOND)
        assert part.seconds == pytest.approx(0.1)
    assert budget.seconds == pytest.approx(10)


def test_the_first_tries_of_a_part_count() -> None:
    budget = Budget()
    part = budget.part(1)
    for once in (0.1, 0.3, 0.2, 0.3, 0.3):
        part.weigh(once * SECOND)
    assert part.seconds == budget.seconds == pytest.approx(3)


def test_a_part_may_take_half_of_the_time_that_is_left() -> None:
    budget = Budget(4)
    part = budget.part(10)
    part.charge(1)
    assert (part.seconds_left, budget.seconds_left) == (1.5, 3)
    budget.charge(3)
    assert part.is_over and str(part) == "the budget of 4 s"


def _work(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
