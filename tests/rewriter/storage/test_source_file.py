"""Data files are plain files in the model's folder, and a file that changes while it is read is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from split_rewrite.rewriter.errors import InvalidModelError
from split_rewrite.rewriter.storage.source_file import data_file, location_problem, model_file

REFUSED = {
    "": "is not a file name",
    "w\0": "is not a file name",
    "/etc/passwd": "is an absolute path",
    "C:\\w": "is an absolute path",
    "../w": "leaves the model's folder",
    "a\\..\\..\\w": "leaves the model's folder",
    "a/../../b/w": "leaves the model's folder",
}


@pytest.mark.parametrize(("location", "problem"), REFUSED.items())
def test_a_location_outside_the_model_s_folder_is_refused(tmp_path: Path, location: str, problem: str) -> None:
    assert problem in location_problem(location)
    with pytest.raises(InvalidModelError, match=problem):
        data_file(tmp_path, location)


def test_a_detour_inside_the_folder_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "w").write_bytes(b"data")
    assert location_problem("a/../w") == ""
    assert data_file(tmp_path, "a/../w").path.read_bytes() == b"data"
    with pytest.raises(InvalidModelError, match="there is no such file"):
        data_file(tmp_path, "b/../w")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InvalidModelError, match="is a symbolic link"):
        data_file(tmp_path, "b/../w")


def test_a_file_that_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidModelError, match=r"data file 'w': there is no such file in"):
        data_file(tmp_path, "w")
    with pytest.raises(InvalidModelError, match="is not a regular file"):
        data_file(tmp_path, "folder")
    with pytest.raises(InvalidModelError, match=r"is a folder; name the \.onnx file in it"):
        model_file(tmp_path / "folder")


def test_links_of_data_files_are_refused_and_those_of_models_followed(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"data")
    try:
        (tmp_path / "symbolic").symlink_to("w")
        os.link(tmp_path / "w", tmp_path / "hard")
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(InvalidModelError, match="is a symbolic link"):
        data_file(tmp_path, "symbolic")
    with pytest.raises(InvalidModelError, match="has several hard links"):
        data_file(tmp_path, "hard")
    assert model_file(tmp_path / "symbolic").read(0, 4) == b"data"


def test_a_part_is_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "w").write_bytes(b"0123456789")
    file = data_file(tmp_path, "folder/w")
    assert (file.size, file.read(2, 3)) == (10, b"234")


def test_a_file_that_changed_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"0123456789")
    file = data_file(tmp_path, "w")
    path.write_bytes(b"0123")
    with pytest.raises(InvalidModelError, match="changed on disk while it was being converted; try again"):
        file.read(0, 4)


def test_a_missing_model_is_a_file_not_found_error_too(tmp_path: Path) -> None:
    (tmp_path / "gpt2.onnx").touch()
    with pytest.raises(FileNotFoundError, match=r"gtp2\.onnx: there is no such file; did you mean 'gpt2\.onnx'\?$") as caught:
        model_file(tmp_path / "gtp2.onnx")
    assert isinstance(caught.value, InvalidModelError)
