"""Numbers of releases, and ranges of them."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.runtimes.releases import Range, parse_release

pytestmark = pytest.mark.quick


def test_numbers() -> None:
    assert parse_release("2024.2.0") == (2024, 2, 0)
    for wrong in ("", "1.x", "v1", "1..2", "\u0661"):
        with pytest.raises(ValueError, match="is not a release number"):
            parse_release(wrong)


@pytest.mark.parametrize(
    ("release", "is_in"),
    [((1, 1), False), ((1, 2), True), ((1, 2, 9), True), ((1, 9), True), ((2,), True), ((2, 0, 5), True), ((3,), False)],
)
def test_only_the_stated_numbers_of_a_bound_count(release: tuple[int, ...], is_in: bool) -> None:
    assert (release in Range((1, 2), (2,))) is is_in


def test_no_bound_has_everything() -> None:
    assert (0,) in Range() and (99,) in Range((1,), None) and (99,) not in Range(None, (1,))


def test_overlaps() -> None:
    assert Range((1,), (2,)).overlaps(Range((2, 5), (3,)))
    assert Range((2, 5), (3,)).overlaps(Range((1,), (2,)))
    assert not Range((1,), (2,)).overlaps(Range((3,), None))
