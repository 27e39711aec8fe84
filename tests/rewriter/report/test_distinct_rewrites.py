"""Rewrites that differ in names alone are one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pages
from onnx import numpy_helper

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.conversion.driver import dry_run
from split_rewrite.rewriter.report.distinct_rewrites import distinct_rewrites

GROWTH = """g (float[2,3] x, float[7] z) => (float[2,3] y, float[2,3] w, float[4] a, float[3] b, float[3] c, float[3] d, float[1] e) {
    y = Gelu(x) w = Gelu(y) a, b = Split<num_outputs = 2>(z) c, d, e = Split<num_outputs = 3>(z)}"""


def test_equal_rewrites_are_one_whatever_they_are_called(tmp_path: Path) -> None:
    model = pages.helpers.model(
        """g (float[7] x) => (float[4] a, float[3] b, float[4] c, float[3] d, float[3] e, float[4] f) {
            a, b = Split<num_outputs = 2>(x) c, d = Split<num_outputs = 2>(x) e, f = Split<axis = 0>(x, z)}"""
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array([3, 4], np.int64), "z"))
    found = distinct_rewrites(dry_run(model, 12, options=Options()).rewrites)
    assert [(rewrite.count, [place[1] for place in rewrite.places]) for rewrite in found] == [(2, ["a", "c"]), (1, ["e"])]


def test_what_adds_most_nodes_comes_first_whatever_its_attributes() -> None:
    found = distinct_rewrites(dry_run(pages.helpers.model(GROWTH, 20), 12, options=Options()).rewrites)
    assert [[node.op_type for node in rewrite.before] for rewrite in found] == [["Gelu"], ["Split"], ["Split"]]
    assert found[0].count == 2 and found[0].added == 2 * (len(found[0].after) - 1) > 0
    softmax = "g (float[2,3,4] x) => (float[2,3,4] y) {a = Unsqueeze(x, p) b = Squeeze(a, p) c = Unsqueeze(b, q) y = Squeeze(c, q)}"
    proto = pages.helpers.model(softmax, 13)
    proto.graph.initializer.extend(numpy_helper.from_array(np.array([axis], np.int64), name) for axis, name in ((0, "p"), (1, "q")))
    found = distinct_rewrites(dry_run(proto, 12, options=Options()).rewrites)
    assert [(rewrite.count, len(rewrite.variants)) for rewrite in found] == [(2, 2), (2, 2)]
