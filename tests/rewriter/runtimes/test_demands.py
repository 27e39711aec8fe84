"""What several runtimes demand together."""

from __future__ import annotations

from pathlib import Path

import pytest

from split_rewrite.rewriter import ArgumentError
from split_rewrite.rewriter.runtimes.demands import Demands, demands_of
from split_rewrite.rewriter.runtimes.naming import find_profile

pytestmark = pytest.mark.quick

PROFILE = """title = "{}"
[[release]]
from = "1"
evidence = "tried"
{}
"""


def demands(folder: Path, *facts: str) -> Demands:
    """The demands of runtimes A, B, … with these facts."""
    names = []
    for title, text in zip("ABC", facts, strict=False):
        path = folder / f"{title}.toml"
        path.write_text(PROFILE.format(title, text))
        names.append(str(path))
    found = demands_of(names)
    assert found is not None
    return found


def test_nobody_demands_nothing() -> None:
    assert demands_of([]) is None


def test_the_model_keeps_its_opset_where_all_take_it(tmp_path: Path) -> None:
    both = demands(tmp_path, "opset = { min = 9, max = 15 }", "opset = { max = 13, best = 11 }")
    assert both.candidates(10) == [10, 11, 9, 12, 13]
    assert both.candidates(12) == [11, 10, 9, 12, 13], "above the best one"
    assert both.candidates(18) == [11, 10, 9, 12, 13]


def test_a_target_that_one_of_them_refuses(tmp_path: Path) -> None:
    both = demands(tmp_path, "opset = { min = 9, max = 15 }", "opset = { max = 13 }")
    both.require_opset(13)
    with pytest.raises(ArgumentError, match=r"--target-opset 14: A .* loads opsets 9 to 15; B .* loads opset 13 and older"):
        both.require_opset(14)


def test_runtimes_that_no_opset_suits(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="--for: no opset suits all"):
        demands(tmp_path, "opset = { min = 14 }", "opset = { max = 13 }")


def test_what_both_neighbours_do_is_said_once() -> None:
    title = "OpenVINO 2024.4 (taken for 2024.3 and 2024.6)"
    forms = Demands([find_profile("openvino-2024.4")]).restrictions.forms
    assert forms["AveragePool with dilations", "AveragePool"] == f"{title} computes it wrongly (AveragePool with dilations)"
    assert ("Reduce axes as an input", "ReduceL1") in forms, "of 2024.3 alone"


def test_warnings_are_about_names_each_once() -> None:
    found = demands_of(["openvino-2024.4", "OV 2024.4", "openvino-2024.6"])
    assert found is not None and len(found.warnings_about([])) == 1
