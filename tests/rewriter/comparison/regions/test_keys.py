"""Regions that are run once for all have equal keys, and nothing that decides what a region computes is left out of them."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.regions.division import RegionFinder
from split_rewrite.rewriter.comparison.regions.keys import RegionKeys
from split_rewrite.rewriter.comparison.regions.observation import Observations, Runner
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.storage.skeleton import Skeleton

INPUTS = "float[n,8] x, float[n,8] w, float[m,8] v, double[n,8] d, float[4,8] f"
CONSTANTS = "<int64[2] s = {2, 6}, int64[2] t = {3, 5}>"


def keys(body: str, source: int, target: int, second: str = "float") -> list[Hashable]:
    """The keys of the regions that a conversion of the nodes `body` rewrites, then of the nodes that it leaves; `second` is the type of `c`."""
    original = model(f"g ({INPUTS}) => (float[i,j] a, {second}[k,l] c) {CONSTANTS} {{ {body} }}", source)
    result = convert_version(original, target, compare="off").model
    before = Original(Skeleton.of(original))
    finder = RegionFinder(before, result, {})
    made = RegionKeys(Observations(before, finder.pairs, [], Runner(Path(), [], Worker(), Budget(), None)))
    return [*map(made.of_region, finder.rewritten()), *map(made.of_node, finder.kept)]


DIFFERENT = {
    "constants": ("c, e = Split <axis = 1> (w, t)", "float"),
    "element-types": ("c, e = Split <axis = 1> (d, s)", "double"),
    "a-size-and-a-symbol": ("c, e = Split <axis = 1> (f, s)", "float"),
    "attributes": ("c, e = Split <axis = -1> (w, s)", "float"),
}


@pytest.mark.parametrize(("other", "second"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_regions_that_differ_have_different_keys(other: str, second: str) -> None:
    assert len(set(keys(f"a, b = Split <axis = 1> (x, s)\n {other}", 13, 12, second))) == 2


def test_names_do_not_count_nor_those_of_dimensions() -> None:
    assert len(set(keys("a, b = Split <axis = 1> (x, s)\n c, e = Split <axis = 1> (v, s)", 13, 12))) == 1


def test_nodes_that_stay_differ_by_what_they_read() -> None:
    same, other = "c = Mul (v, v)", "c = Mul (x, w)"
    assert len(set(keys(f"a = Mul (x, x)\n {same}", 13, 14))) == 1
    assert len(set(keys(f"a = Mul (x, x)\n {other}", 13, 14))) == 2
