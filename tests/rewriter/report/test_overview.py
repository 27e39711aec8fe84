"""The overview page of a run."""

from __future__ import annotations

import re

import pytest
from runs import entry, run

from split_rewrite.rewriter.report.overview import MOST_NAMED, overview
from split_rewrite.rewriter.report.totals import Totals

pytestmark = pytest.mark.quick


def test_models_are_counted_and_linked_to_their_pages_the_worst_first() -> None:
    page = overview(run(), {1: "run_pages/00001.html"}, 2.0)
    assert "<h1>2 of 6 models without errors</h1>" in page and "exit status 3" in page
    assert '<a href="run_pages/00001.html"><code><bdi>zoo/good one.onnx</bdi></code></a>' in page
    table = page[page.index('id="models"') :]
    names = re.findall(r"<bdi>(.*?)</bdi>", table)
    assert names[0] == "zoo/crash.onnx" and names[-1] == "zoo/warned.onnx"
    assert "is no &lt;model&gt;" in table


def test_obstacles_name_few_of_their_models() -> None:
    many = [each._replace(number=number) for number in range(40) for each in run().entries if each.number == 4]
    page = overview(Totals(many), {}, 1.0)
    obstacles = page[page.index('id="obstacles"') : page.index('id="models"')]
    assert obstacles.count("<bdi>") == MOST_NAMED
    assert "and 10 more" in obstacles


def test_a_run_without_blockers_has_no_such_section() -> None:
    page = overview(Totals([entry(1, "m.onnx")]), {}, 1.0)
    assert 'id="obstacles"' not in page and "<h1>1 of 1 model without errors</h1>" in page
