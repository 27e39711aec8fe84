"""Names that are suggested for unknown ones."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.suggestions import closest, did_you_mean

pytestmark = pytest.mark.quick

NAMES = ["openvino", "opencv", "tensorrt", "onnxruntime"]


@pytest.mark.parametrize("given", ["quux", "", "tf"])
def test_a_name_that_resembles_nothing_gets_no_suggestion(given: str) -> None:
    assert closest(given, NAMES) == []
    assert did_you_mean(given, NAMES) == ""


@pytest.mark.parametrize(("given", "meant"), [("openvin", "openvino"), ("OpenVINO", "openvino"), ("tensort", "tensorrt")])
def test_the_most_similar_name_is_suggested(given: str, meant: str) -> None:
    assert closest(given, NAMES) == [meant]
    assert did_you_mean(given, NAMES) == f"; did you mean '{meant}'?"


def test_names_of_equal_similarity_are_all_suggested() -> None:
    assert did_you_mean("split_1", ["split_2", "split_3"]) == "; did you mean 'split_2' or 'split_3'?"
