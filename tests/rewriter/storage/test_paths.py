"""Which file a path leads to, and that a text gets there completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from split_rewrite.rewriter import SplitRewriteError
from split_rewrite.rewriter.storage.paths import check_destination, different_path, identity_of, place_of, write_text

pytestmark = pytest.mark.quick


def test_all_paths_to_a_file_are_one(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    file.touch()
    os.link(file, link)
    assert identity_of(file) == identity_of(link) == identity_of(tmp_path / "." / "a")
    with open(file) as opened:
        assert identity_of(opened.fileno()) == identity_of(file)


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ("out.onnx", "out.different.onnx"),
        ("sub/v1.2.onnx", "sub/v1.2.different.onnx"),
        ("out.onnx.gz", "out.different.onnx.gz"),
        ("out", "out.different"),
    ],
)
def test_where_a_result_is_kept_that_differs(output: str, kept: str) -> None:
    assert different_path(output) == Path(kept)


def test_a_file_that_is_not_there_yet_is_known_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert identity_of(tmp_path / "new") == place_of(tmp_path / "sub" / ".." / "new")
    assert place_of(tmp_path / "new") != place_of(tmp_path / "other")


def test_a_text_replaces_another_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    write_text("new", path)
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_where_no_file_can_be_is_told_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(SplitRewriteError):
        check_destination(tmp_path / "none" / "m.onnx")
    with pytest.raises(SplitRewriteError, match="is a folder"):
        check_destination(tmp_path)
    check_destination(tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
