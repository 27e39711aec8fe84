"""onnx.reference in the child: what is not believed of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.execution.messages import Failure
from split_rewrite.rewriter.execution.model_client import Worker


@pytest.mark.parametrize(
    ("text", "feeds"),
    [
        (
            'g (string[1] x) => (string[2] y) <int64[2] pads = {0, 1}, string nothing = {""}> {y = Pad (x, pads)}',
            {"x": np.array(["a"], object)},
        ),
        (
            "g (string[2] x, string[1,2] z) => (string[2] y) <int64[1,1] at = {0}> {y = ScatterND (x, at, z)}",
            {"x": np.array(["a", "b"], object), "z": np.array([["c", "d"]], object)},
        ),
    ],
    ids=["a number", "an array"],
)
def test_onnx_reference_is_not_believed_where_it_gives_more_than_strings(text: str, feeds: dict, tmp_path: Path) -> None:
    onnx.save(model(text, 18), tmp_path / "m.onnx")
    with Worker() as worker:
        failure = worker.run(tmp_path / "m.onnx", feeds, "onnx.reference")
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message) == ("runtime", "it puts more than strings into output 'y'")
