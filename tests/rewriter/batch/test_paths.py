"""Paths and sizes on the command line."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.batch.paths import is_for_many, is_local_uri, local_path, names_many, parse_size


@pytest.mark.parametrize(("text", "size"), [("4GB", 4 << 30), ("512M", 512 << 20), ("1.5 GiB", 3 << 29), ("1000", 1000)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "0", "4 apples", "1e9"])
def test_no_sizes(text):
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("m.onnx", "m.onnx"),
        ("file:///zoo/", "/zoo"),
        ("file:///", "/"),
        ("local://zoo/m.onnx", "zoo/m.onnx"),
        ("s3://zoo/m.onnx", "s3://zoo/m.onnx"),
    ],
)
def test_the_place_in_this_system_that_a_uri_leads_to(path: str, local: str) -> None:
    assert local_path(path) == local


def test_a_uri_inside_another_file_is_not_local() -> None:
    assert is_local_uri("file:///a.onnx")
    assert not is_local_uri("zip://a.onnx::file:///b.zip")


def test_what_stands_for_many_models(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo").mkdir()
    (tmp_path / "a[1].onnx").touch()
    assert [path for path in ("zoo", "@list.txt", "*.onnx", "a[1].onnx", "none.onnx") if names_many(path)] == [
        "zoo",
        "@list.txt",
        "*.onnx",
    ]
    assert is_for_many(["m.onnx"], "new/") and is_for_many(["s3://zoo/m.onnx"], None)
    assert not is_for_many(["m.onnx"], "o.onnx")
