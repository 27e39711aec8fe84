"""The report on a run as SARIF."""

from __future__ import annotations

import json

import pytest
from runs import entry, run

from split_rewrite.rewriter.report.sarif import sarif
from split_rewrite.rewriter.report.totals import Totals

pytestmark = pytest.mark.quick


def test_each_blocker_warning_and_failure_is_a_result() -> None:
    (found,) = json.loads(sarif(run()))["runs"]
    said = [(result["ruleId"], result["level"]) for result in found["results"]]
    assert said == [
        ("conversion-warning", "warning"),
        ("unusable-model", "error"),
        ("Split/18-to-17", "error"),
        ("Split/18-to-17", "error"),
        ("Split/18-to-17", "error"),
        ("Gelu/18-to-17", "error"),
        ("failed-conversion", "error"),
    ]
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == list(dict.fromkeys(rule for rule, _ in said))


def test_what_is_proved_is_information() -> None:
    (found,) = json.loads(sarif(Totals([entry(1, "a.onnx", certified="certified: 1 of 1 outputs proved")])))["runs"]
    (result,) = found["results"]
    assert (result["kind"], result["level"]) == ("informational", "none"), "no alert"
    assert result["message"] == {"text": "certified: 1 of 1 outputs proved"}


def test_paths_become_uris_and_uris_stay() -> None:
    (found,) = json.loads(sarif(run()))["runs"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in found["results"]]
    assert places[0] == "zoo/warned.onnx"
    assert "s3://zoo/two.onnx" in places
    nodes = [result["locations"][0].get("logicalLocations") for result in found["results"]]
    assert nodes[2] == [{"fullyQualifiedName": "main graph/a"}] and nodes[0] is None
