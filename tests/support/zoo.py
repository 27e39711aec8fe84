"""Models for runs of many: one that is converted, one that is refused."""

from __future__ import annotations

from pathlib import Path

from split_rewrite.rewriter import (
    ModelReport,
)

GOOD = "g (float[6] x) => (float[2] a, float[4] b) { s = Constant<value_ints: ints = [2, 4]> () a, b = Split<axis = 0>(x, s) }"


REFUSED = 'g (string[2] x) => (string[2] y) { [cut] y = StringNormalizer<case_change_action = "UPPER">(x) }'


def by_name(reports) -> dict[str, ModelReport]:
    return {Path(report.source).name: report for report in reports}
