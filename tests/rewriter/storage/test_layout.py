"""Where payloads go, before anything is written."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.errors import ArgumentError
from split_rewrite.rewriter.storage import wire
from split_rewrite.rewriter.storage.layout import PAGE, Layout, lay_out
from split_rewrite.rewriter.storage.skeleton import Skeleton


def laid_out(mode: str, *lengths: int) -> Layout:
    """The layout of a model with float tensors of these lengths, in memory."""
    source = model("g (float[N] x) => (float[N] y) { y = Relu (x) }", 13)
    for number, length in enumerate(lengths):
        source.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(length, np.float32), f"w{number}"))
    return lay_out(Skeleton.of(source), mode, "out.data", same_folder=True)


@pytest.mark.parametrize("mode", ["", "all", "split:", "split:-1", "split:1k", "copy:5"])
def test_an_unknown_mode_is_refused(mode: str) -> None:
    with pytest.raises(ArgumentError, match="expected auto, keep, copy, inline, split or split:BYTES"):
        laid_out(mode, 4)


@pytest.mark.parametrize(("mode", "bytes_of_data"), [("inline", 0), ("auto", 0), ("split", 1024), ("split:1025", 0)])
def test_a_tensor_of_the_size_that_is_split_off_goes_to_the_data_file(mode: str, bytes_of_data: int) -> None:
    assert wire.length_of(laid_out(mode, 256).data) == bytes_of_data


def test_payloads_of_a_page_begin_on_one_and_smaller_ones_on_64_bytes() -> None:
    layout = laid_out("split:4", 1, 1, PAGE // 4)
    assert wire.length_of(layout.data) == 2 * PAGE
    assert [wire.length_of([piece]) for piece in layout.data] == [4, 60, 4, PAGE - 68, PAGE]
