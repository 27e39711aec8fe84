"""Numbers of bytes as text."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.sizes import shown_size

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (9950, "10 kB"),
        (701_000, "701 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (12_345_678, "12 MB"),
        (1_500_000_000, "1.5 GB"),
        (3_000_000_000_000, "3.0 TB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    assert shown_size(count) == shown
