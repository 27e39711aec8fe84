"""What a report says as data: how often which operators are there, which grew, and what the user has to be told."""

from __future__ import annotations

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter.engine.outcome import Remark
from split_rewrite.rewriter.report.data import ReportData, remarks_of

pytestmark = pytest.mark.quick

TWO_GELU = "g (float[2] x) => (float[2] z) { y = Gelu (x) z = Gelu (y) }"


def test_a_report_of_nothing() -> None:
    data = ReportData(18, 18, 8, 8)
    assert data.warnings == [] and data.growth == [] and data.changed_operators == {} and not data.applied


def test_what_became_of_operators() -> None:
    report = convert_version(model(TWO_GELU, 20), 19).report
    assert report.changed_operators["Gelu"] == (2, 0) and report.changed_operators["Erf"] == (0, 2)
    assert report.reasons["Erf"] == "from Gelu"
    (grown,) = report.growth
    assert grown[:2] == ("Gelu", 2) and grown[2] == sum(report.operators_after.values())


def test_one_message_about_many_nodes_is_one_warning() -> None:
    remarks = [Remark("warning", "Cast", name, "main graph", "rounds") for name in "abc"]
    data = ReportData(18, 18, 8, 8, remarks=(*remarks, Remark("left", "Cast", "d", "main graph", "stays")), notes=("a note",))
    assert data.warnings == ["a note", "Cast 'a' (main graph) and 2 more: rounds"]
    assert [remark.node for remark in remarks_of(data, "left")] == ["d"]
