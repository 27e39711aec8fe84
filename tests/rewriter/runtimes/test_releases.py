"""Numbers of releases, and ranges of them."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.runtimes.releases import Range, known_near, leading_release, parse_release

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


@pytest.mark.parametrize(
    ("version", "release"), [("1.20.0rc1", (1, 20, 0)), ("4.12.0.88", (4, 12, 0, 88)), ("2.1+cpu", (2, 1)), ("unknown", None)]
)
def test_the_release_of_a_package(version: str, release: tuple[int, ...] | None) -> None:
    assert leading_release(version) == release


def test_no_bound_has_everything() -> None:
    assert (0,) in Range() and (99,) in Range((1,), None) and (99,) not in Range(None, (1,))


def test_overlaps() -> None:
    assert Range((1,), (2,)).overlaps(Range((2, 5), (3,)))
    assert Range((2, 5), (3,)).overlaps(Range((1,), (2,)))
    assert not Range((1,), (2,)).overlaps(Range((3,), None))


@pytest.mark.parametrize(
    ("release", "near"),
    [
        ((10, 1, 3), [(10, 1, 3)]),
        ((10, 8), [(10, 1), (10, 15)]),
        ((9,), [(8, 6), (10, 0)]),
        ((11, 2), [(11, 2)]),
        ((12,), [(11,)]),
        ((7, 9), [(8, 6)]),
        ((10,), [(10, 1), (10, 15)]),
        ((8,), [(8, 6)]),
        ((11,), [(11,)]),
    ],
)
def test_the_nearest_known_releases(release: tuple[int, ...], near: list[tuple[int, ...]]) -> None:
    """Those of a series, of which only the first number is named, count as one."""
    known = [Range((8, 6), (8, 6)), Range((10, 0), (10, 1)), Range((10, 15), (10, 15)), Range((11,), (11,))]
    assert list(known_near(release, known)) == list(known_near(release, known[::-1])) == near


def test_where_nothing_is_known_nothing_is_near() -> None:
    assert known_near((1,), []) == ()
