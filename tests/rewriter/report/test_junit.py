"""The report on a run as JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from runs import entry, run

from split_rewrite.rewriter.report.junit import junit
from split_rewrite.rewriter.report.totals import Totals

pytestmark = pytest.mark.quick


def test_each_model_is_a_test_case() -> None:
    suite = ElementTree.fromstring(junit(run()))[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "time")} == {
        "tests": "6",
        "failures": "3",
        "errors": "1",
        "time": "3.000",
    }
    good, warned, bad, split, *_ = suite
    assert (good.get("classname"), good.get("name"), len(good)) == ("zoo", "good one.onnx", 0)
    assert warned[0].tag == "system-out" and warned[0].text == "it is odd"
    (proved,) = ElementTree.fromstring(junit(Totals([entry(1, "a.onnx", certified="certified: 1 of 1 outputs proved")])))[0]
    assert proved[0].text == "certified: 1 of 1 outputs proved"
    assert (bad[0].tag, bad[0].get("message")) == ("error", "zoo/bad.onnx: is no <model>\\x07")
    assert (split[0].tag, split[0].get("type")) == ("failure", "not convertible")
    assert len((split[0].text or "").splitlines()) == 2, "all blockers"
