"""Which models are meant, and where their results go: what is refused first, then files, folders, globs and lists."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from split_rewrite.rewriter import SplitRewriteError
from split_rewrite.rewriter.batch import inputs
from split_rewrite.rewriter.batch.inputs import plan


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """A folder of empty files: which models are meant is a matter of names."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.onnx", "b.onnx", "zoo/b.onnx", "zoo/deep/c.onnx", "zoo/deep/note.txt", "zoo/.hidden.onnx", "zoo/.git/d.onnx"):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def places(inputs: list[str], into: str | None, in_place: bool = False) -> list[tuple[str, str | None]]:
    return [(task.source, task.destination) for task in plan(inputs, into, in_place)]


@pytest.mark.parametrize(
    ("inputs", "into", "message"),
    [
        (["zoo/b.onnx", "b.onnx"], "out", "out/b.onnx: would be the result of both zoo/b.onnx and b.onnx"),
        (["a.onnx", "zoo/deep/a.onnx"], "zoo/../out", "zoo/../out/a.onnx: would be the result of both"),
        (
            ["b.onnx", "a.onnx", "zoo/b.onnx"],
            "zoo",
            "zoo/b.onnx: the result of b.onnx would replace it, and it belongs to the input zoo/b.onnx",
        ),
        (["a.onnx", "zoo/a.onnx/../b.onnx", "a.onnx.data"], ".", "./a.onnx.data: the result of a.onnx would replace it"),
        (["a.onnx", "b.onnx"], "zoo/b.onnx", "zoo/b.onnx: is not a folder; name one for the results of several models"),
        (["zoo"], "a.onnx", "a.onnx: is not a folder"),
        (["no*.onnx"], "out", "no*.onnx: nothing matches"),
        (["@no.txt"], "out", "@no.txt: the list cannot be read: No such file or directory"),
        (["empty"], "out", "there are no models (.onnx files) in empty"),
    ],
)
def test_refuses(zoo, inputs, into, message):
    (zoo / "empty").mkdir()
    with pytest.raises(SplitRewriteError) as refused:
        plan(inputs, into)
    assert message in str(refused.value)


def test_refuses_a_result_over_the_input_of_another_model(zoo):
    (zoo / "other").mkdir()
    (zoo / "other/b.onnx").touch()
    with pytest.raises(SplitRewriteError, match="would"):
        plan(["other/b.onnx", "b.onnx"], ".")


def test_a_file_that_is_named_in_two_ways_is_one_task(zoo):
    (zoo / "link.onnx").symlink_to("a.onnx")
    assert [task.source for task in plan(["link.onnx", "b.onnx", "a.onnx"], None, in_place=True)] == ["link.onnx", "b.onnx"]
    assert places(["a.onnx", "../" + zoo.name + "/a.onnx"], "out") == [("a.onnx", "out/a.onnx")]


def test_a_list_that_does_not_end_is_refused(zoo, monkeypatch):
    (zoo / "list").write_text("a.onnx\n" * 20)
    monkeypatch.setattr(inputs, "_MOST_BYTES", 100)
    with pytest.raises(SplitRewriteError, match="@list: the list is longer than 0 MiB; split it"):
        plan(["@list"], "out")


def test_a_file_with_a_slash_behind_it_is_no_folder(zoo):
    with pytest.raises(SplitRewriteError, match=r"b\.onnx/: is not a folder; name one for the results of several models"):
        plan(["a.onnx"], "b.onnx/")


def test_one_file_to_another_file(zoo):
    assert places(["a.onnx"], "new.onnx") == [("a.onnx", "new.onnx")]
    assert places(["a.onnx"], "b.onnx") == [("a.onnx", "b.onnx")]


@pytest.mark.parametrize(
    ("inputs", "into"), [(["a.onnx"], "."), (["a.onnx", "zoo"], "."), (["zoo/."], "zoo"), (["zoo/b.onnx"], "zoo/deep/..")]
)
def test_refuses_a_folder_whose_results_would_replace_the_inputs(zoo, inputs, into):
    with pytest.raises(
        SplitRewriteError, match=r"onnx: its result in the folder '.*' would replace it; name another folder, or use --in-place"
    ):
        plan(inputs, into)
    assert plan(["a.onnx"], "a.onnx")[0].destination == "a.onnx"  # asked for by name


def test_one_file_into_a_folder(zoo):
    assert places(["a.onnx"], "zoo") == [("a.onnx", "zoo/a.onnx")]
    assert places(["a.onnx"], "new/") == [("a.onnx", "new/a.onnx")]


def test_a_folder_keeps_its_tree_and_its_name(zoo):
    assert places(["a.onnx", "zoo/"], "out") == [
        ("a.onnx", "out/a.onnx"),
        ("zoo/b.onnx", "out/zoo/b.onnx"),
        ("zoo/deep/c.onnx", "out/zoo/deep/c.onnx"),
    ]
    for folder in ("zoo/.", "zoo/./", "zoo/././."):
        assert places([folder], "out") == [("zoo/b.onnx", "out/b.onnx"), ("zoo/deep/c.onnx", "out/deep/c.onnx")]


def test_results_below_the_inputs_are_no_inputs(zoo):
    assert [source for source, _ in places(["zoo"], "zoo/deep")] == ["zoo/b.onnx"]


def test_globs_and_lists(zoo, monkeypatch):
    Path("list.txt").write_text("a.onnx\n\nzoo/*.onnx\na.onnx\n")
    expected = [("a.onnx", "out/a.onnx"), ("zoo/b.onnx", "out/b.onnx")]
    assert places(["@list.txt"], "out") == expected
    assert places(["a.on*", "zoo/b.*"], "out") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a.onnx\nzoo/b.onnx\n")))
    assert places(["@-"], "out") == expected


def test_a_file_that_is_named_twice_is_one_task(zoo):
    assert places(["a.onnx", "a.onnx", "*a.onnx"], "out") == [("a.onnx", "out/a.onnx")]


def test_names_with_spaces_newlines_and_other_bytes(zoo):
    names = ["with space.onnx", "with\nnewline.onnx", os.fsdecode(b"with \xff.onnx"), "[x]*.onnx"]
    Path("odd").mkdir()
    for name in names:
        Path("odd", name).touch()
    assert {task.name for task in plan(["odd"], "out")} == {f"odd/{name}" for name in names}
    Path("list").write_bytes(b"".join(os.fsencode(f"odd/{name}\0") for name in names))
    assert [task.source for task in plan(["@list"], "out")] == [f"odd/{name}" for name in names]


def test_in_place_and_dry_run(zoo):
    assert places(["a.onnx", "b.onnx"], None, in_place=True) == [("a.onnx", "a.onnx"), ("b.onnx", "b.onnx")]
    assert places(["a.onnx"], None) == [("a.onnx", None)]


def test_links_to_files_are_followed_and_links_to_folders_are_not(zoo):
    (zoo / "outside").mkdir()
    (zoo / "outside/o.onnx").touch()
    (zoo / "zoo/link.onnx").symlink_to(zoo / "outside/o.onnx")
    (zoo / "zoo/loop").symlink_to(zoo)
    assert [source for source, _ in places(["zoo"], "out")] == ["zoo/b.onnx", "zoo/link.onnx", "zoo/deep/c.onnx"]


@pytest.mark.parametrize("pattern", ["zoo/**/*.onnx", "zoo/*", "z*/*", "file://{here}/zoo/**/*.onnx", "file://{here}/zoo"])
@pytest.mark.parametrize("into", ["zoo/out", "file://{here}/zoo/out/"])
def test_earlier_results_below_the_inputs_are_no_inputs(zoo, pattern, into):
    pattern, into = pattern.format(here=zoo), into.format(here=zoo)
    first = places([pattern], into)
    (zoo / "zoo/out/deep").mkdir(parents=True)
    for name in ("b.onnx", "deep/c.onnx"):
        (zoo / "zoo/out" / name).touch()
    assert places([pattern], into) == first
    assert len(first) == 2


def test_models_of_a_glob_in_the_output_folder_itself_are_not_left_out(zoo):
    with pytest.raises(SplitRewriteError, match=r"zoo/b\.onnx: its result in the folder 'zoo' would replace it"):
        plan(["zoo/*.onnx"], "zoo")
    assert places(["zoo/*.onnx"], "new") == [("zoo/b.onnx", "new/b.onnx")]
    assert places(["zoo/deep/*.onnx"], ".") == [("zoo/deep/c.onnx", "./c.onnx")]


def test_a_uri_of_a_folder_needs_a_folder_for_its_results(zoo):
    assert places([f"file://{zoo}/zoo"], "out") == [
        (f"file://{zoo}/zoo/b.onnx", "out/zoo/b.onnx"),
        (f"file://{zoo}/zoo/deep/c.onnx", "out/zoo/deep/c.onnx"),
    ]
    assert places([f"file://{zoo}/zoo/deep/"], "out") == [(f"file://{zoo}/zoo/deep/c.onnx", "out/deep/c.onnx")]
    assert places([f"file://{zoo}/zoo/d*"], "out") == [(f"file://{zoo}/zoo/deep/c.onnx", "out/deep/c.onnx")]
    assert places([f"file://{zoo}/a.onnx"], "out") == [(f"file://{zoo}/a.onnx", "out")]
    with pytest.raises(SplitRewriteError, match=r"a\.onnx: is not a folder"):
        plan([f"file://{zoo}/zoo"], "a.onnx")
