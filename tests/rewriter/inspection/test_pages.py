"""What an inspection looks like in a terminal, as JSON and as a page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from helpers import model

from split_rewrite.rewriter.inspection.difference import Difference
from split_rewrite.rewriter.inspection.inspecting import Inspection, inspect_model
from split_rewrite.rewriter.inspection.pages import (
    as_json,
    as_page,
    as_text,
    differences_as_json,
    differences_as_page,
    differences_as_text,
)
from split_rewrite.rewriter.inspection.suitability import Suitability


@pytest.fixture(scope="module")
def found() -> Inspection:
    return inspect_model(model("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }"))


def test_a_line_for_each_fact_and_runtime(found: Inspection) -> None:
    lines = list(as_text(found))
    assert lines[0].split() == ["opset", "18"]
    assert "inputs      x  float[N,4]" in lines
    assert any(line.startswith("NVIDIA TensorRT") for line in lines)


def test_sizes_have_the_units_of_conversions(found: Inspection) -> None:
    lines = list(as_text(replace(found, parameters={"float": (3000, 12_000), "int8": (12, 12)})))
    assert "parameters  float: 3,000 in 12.0 kB" in lines and "            int8: 12 in 12 bytes" in lines


REASONS = {
    "the-runtime-and-the-hint": (
        "Abs 'a' (main graph): NPU 1 does not allow it: it is not among the operators; there is no other. Hint: no (and 1,200 more)",
        "Abs 'a': it is not among the operators (and 1,200 more)",
    ),
    "a-defect": (
        "Div 'd' (body of 'l'): NPU 1 computes it wrongly (Div of integers): it divides. Hint: choose another runtime",
        "Div 'd' (body of 'l'): it computes it wrongly (Div of integers): it divides",
    ),
    "long": (f"Abs '{'n' * 300}' (main graph): NPU 1 refuses it", f"Abs '{'n' * 74}…"),
    "short": ("opset 17, 3 on the CPU", "opset 17, 3 on the CPU"),
}


@pytest.mark.parametrize(("reason", "shown"), REASONS.values(), ids=REASONS)
def test_a_terminal_shows_how_a_reason_begins_and_reports_all_of_it(found: Inspection, reason: str, shown: str) -> None:
    row = Suitability("npu-1", "NPU 1", "not", reason, "by source")
    inspection = replace(found, runtimes=[row])
    assert list(as_text(inspection))[-1] == f"NPU 1    not       {shown} (by source)"
    assert json.loads(as_json("m.onnx", inspection))["runtimes"][0]["reason"] == reason


def test_json_has_all_of_it(found: Inspection) -> None:
    document = json.loads(as_json("m.onnx", found))
    assert (document["schema"], document["input"], document["opset"]) == ("split-rewrite/inspection", "m.onnx", 18)
    assert document["operators"] == {"ai.onnx": {"Relu": 1}} and document["inputs"] == [{"name": "x", "type": "float[N,4]"}]
    assert {row["answer"] for row in document["runtimes"]} <= {"as it is", "with --for", "not"}


def test_a_page_escapes_what_it_shows(found: Inspection) -> None:
    page = as_page("<m>.onnx", found)
    assert "<m>" not in page and "&lt;m&gt;.onnx" in page and "</html>" in page


def test_differences_are_counted() -> None:
    rows = [Difference("added", "Relu", "<r>", ""), Difference("changed", "Add", "a", "inputs x → y")]
    assert list(differences_as_text(rows))[-1] == "1 added, 0 removed, 1 changed"
    assert list(differences_as_text([])) == ["no difference"]
    assert json.loads(differences_as_json("a", "b", rows))["differences"][0]["name"] == "<r>"
    assert "&lt;r&gt;" in differences_as_page("a", "b", rows)
