"""The report that callers get: its text, and the document that it becomes."""

from __future__ import annotations

import pytest
from helpers import convert_version, model

from split_rewrite.rewriter import Report, check_convertible

pytestmark = pytest.mark.quick

GELU = "g (float[2] x) => (float[2] y) { y = Gelu (x) }"


def test_the_report_of_a_dry_run() -> None:
    report = check_convertible(model("g (string[4] x) => (string[4] y) { y = StringConcat (x, x) }", 20), 18)
    assert isinstance(report, Report) and "dry run  1 node cannot be converted" in str(report)
    assert report.to_dict()["outcome"] == "not convertible"


def test_the_report_of_a_conversion() -> None:
    report = convert_version(model(GELU, 20), 19, name="gelu").report
    assert "20 → 19" in str(report)
    document = report.to_dict()
    assert (document["outcome"], document["opset"]) == ("converted", {"before": 20, "after": 19})
    assert document["input"] == {"path": "gelu", "bytes": None, "sha256": None}
