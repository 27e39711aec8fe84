"""Outputs that cannot be written: the whole message, as docs/errors.md lists it, and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from documentation import unseen
from failures import (
    Row,
    a_file_among_the_pages,
    a_link_into_another_folder,
    a_report_that_leads_to_data,
    a_result_is_too_big,
    assert_fails,
    files_end_early,
    prepare,
    the_disk_is_full,
)
from library_failures import LIBRARY

UNWRITABLE: dict[str, Row] = {
    "not-to-be-replaced": Row(
        "m.onnx weights.onnx --no-clobber", "weights.onnx: exists, and no file is to be replaced (no-clobber)"
    ),
    "kept-at-a-uri": Row(
        "m.onnx s3://zoo/new/ --keep-different",
        "s3://zoo/new/m.onnx: --keep-different writes no file to a URI; name a local folder",
    ),
    "no-folder-for-the-record": Row(
        "m.onnx new/ --resume no/run.jsonl", "no/run.jsonl: the report cannot be written: No such file or directory"
    ),
    "in-no-folder": Row("m.onnx nowhere/o.onnx", "nowhere/o.onnx: the folder nowhere does not exist"),
    "is-a-fifo": Row("m.onnx fifo", "fifo: exists and is not a regular file"),
    "name-too-long": Row(f"m.onnx {'o' * 260}", f"{'o' * 260}: cannot be written: File name too long"),
    "disk-full": Row("m.onnx o.onnx", "o.onnx: cannot be written: No space left on device", the_disk_is_full),
    "data-of-the-input": Row(
        "beside.onnx w.bin", "w.bin: OUTPUT would replace the external data of INPUT, w.bin; choose another name"
    ),
    "report-by-a-link": Row(
        "m.onnx o.onnx --report later.json",
        "later.json: is a link to o.onnx.data, which is not a .json file; choose another name",
        a_report_that_leads_to_data,
    ),
    "name-is-not-unicode": Row(
        "weights.onnx o\udcff.onnx --external-data split",
        "'o\\udcff.onnx.data' cannot be the name of a data file: it is not valid Unicode",
    ),
    "name-is-a-path-elsewhere": Row(
        "weights.onnx c:o.onnx --external-data split",
        "'c:o.onnx.data' cannot be the name of a data file: it is an absolute path; external data has to lie in the model's folder",
    ),
    "link-into-another-folder": Row(
        "weights.onnx leads/away.onnx --external-data split",
        "leads/away.onnx: is a link into another folder, and runtimes look for data files beside the link; name …",
        a_link_into_another_folder,
    ),
    "link-to-itself": Row("m.onnx loop.onnx", "loop.onnx: cannot be written: Too many levels of symbolic links"),
    "report-is-a-pipe": Row("m.onnx o.onnx --report pipe.json", "pipe.json: exists and is not a regular file"),
    "kept-in-another-folder": Row(
        "beside.onnx folder/o.onnx --external-data keep",
        "external data can only be kept if the result is written to the folder of the input",
    ),
    "too-big-for-one-file": Row(
        "weights.onnx o.onnx --external-data inline",
        "the result has more than the 2 GiB that one file can hold; split its data off",
        a_result_is_too_big,
    ),
    "page-that-is-none": Row(
        "m.onnx lone.onnx folder --report r.html",
        f"{Path('r_pages', '00001.html')}: is not a page of an earlier run, and a page would replace it; choose another name",
        a_file_among_the_pages,
    ),
    "data-file-ends-early": Row(
        "beside.onnx o.onnx --external-data copy", "a data file became shorter while it was being copied", files_end_early
    ),
}


@pytest.mark.parametrize("row", UNWRITABLE.values(), ids=UNWRITABLE)
def test_unwritable(folder: Path, monkeypatch: pytest.MonkeyPatch, row: Row) -> None:
    prepare(folder, row.arguments)
    row.circumstance(monkeypatch)
    assert_fails(folder, row.arguments, 2, row.message)


def test_no_message_is_missing() -> None:
    messages = [*(row.message for row in UNWRITABLE.values()), *(message for _, message in LIBRARY.values())]
    assert unseen("The output cannot be written (status 2)", messages) == set()
