"""No run writes a file that it reads, or writes one twice: each pair of roles, under each spelling of the path that is written."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from helpers import command_line, model
from onnx import numpy_helper

from split_rewrite.rewriter import SplitRewriteError, convert_file, convert_many
from split_rewrite.rewriter.batch.inputs import plan
from split_rewrite.rewriter.storage import REPORT, NamedFile, conflicts, data_paths

ADD = "g (float[4] x) => (float[4] y) { y = Add(x, w) }"
PROFILE = 'title = "NPU"\n[[release]]\nfrom = "1.0"\nevidence = "tried with 1.0"\nopset = { max = 13 }\n'


def save_heavy(path: str, location: str) -> None:
    """A model whose weight is in the file `location`, named from the model's folder."""
    proto = model(ADD)
    weight = numpy_helper.from_array(np.ones(4, np.float32), "w")
    data = Path(path).parent / location
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_bytes(weight.raw_data)
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    proto.graph.initializer.append(weight)
    Path(path).write_bytes(proto.SerializeToString())


def save(path: str) -> None:
    proto = model(ADD)
    proto.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "w"))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, path)


class Role(NamedTuple):
    """`options` name the file `{}`; `make` makes it, where it is read. The ending of its name is `ending`, where that matters."""

    options: str
    make: Callable[[str], None] | None = None
    ending: str = ""


def a_list(path: str) -> None:
    Path(path).write_text("zoo/b.onnx\n")


def a_profile(path: str) -> None:
    Path(path).write_text(PROFILE)


def some_data(path: str) -> None:
    """The data of zoo/heavy.onnx, wherever it is below that folder."""
    save_heavy("zoo/heavy.onnx", os.path.relpath(path, "zoo"))


def samples(path: str) -> None:
    with open(path, "wb") as file:
        np.savez(file, x=np.ones(4, np.float32))


READ = {
    "a model": Role("{}", save),
    "external data": Role("zoo/heavy.onnx", some_data),
    "a list": Role("@{}", a_list),
    "a profile": Role("--for ./{}", a_profile, ".toml"),
    "samples": Role("--input-data {}", samples, ".npz"),
}
WRITTEN = {
    "a report .json": Role("--report {}", ending=".json"),
    "a report .html": Role("--report {}", ending=".html"),
    "a report .jsonl": Role("--report {}", ending=".jsonl"),
    "a report .xml": Role("--report {}", ending=".xml"),
    "a report .sarif": Role("--report {}", ending=".sarif"),
    "a record": Role("--resume {}", ending=".jsonl"),
    "a page": Role("--report zoo/run.html", ending=".html"),
    "a result": Role(""),
}
PAGE = "zoo/run_pages/00001.html"


def same(path: str) -> str:
    return path


def dotted(path: str) -> str:
    return f"./zoo/.././{path}"


def symlinked(path: str) -> str:
    link = Path("links", Path(path).name)
    link.symlink_to(Path("..", path))
    return str(link)


def hard_linked(path: str) -> str:
    link = Path("links", Path(path).name)
    os.link(path, link)
    return str(link)


def through_a_folder(path: str) -> str:
    Path("folder").symlink_to(Path(path).parent)
    return f"folder/{Path(path).name}"


SPELLINGS = (same, dotted, symlinked, hard_linked, through_a_folder)


def cases() -> Iterator[tuple[str, str, Callable[[str], str], bool]]:
    """A role that is read, one that is written, the spelling of the latter, and whether there are many models."""
    for reader, read in READ.items():
        for writer, written in WRITTEN.items():
            if read.ending not in ("", written.ending) and writer != "a result":
                continue  # a file has one ending
            for is_many in (False, True):
                if not is_many and (reader == "a list" or not (writer == "a result" or written.ending in (".json", ".html"))):
                    continue
                if (is_many and written.ending == ".json") or (not is_many and writer == "a page"):
                    continue
                for spelling in (same,) if writer == "a page" else SPELLINGS:
                    yield reader, writer, spelling, is_many


CASES = list(cases())


def states(folder: Path) -> dict[str, str]:
    """Each file and link below `folder`, with what it holds."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(root, name)
            held = (
                os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            )
            found[str(path.relative_to(folder))] = held
    return found


@pytest.mark.parametrize(
    ("reader", "writer", "spelling", "is_many"),
    CASES,
    ids=[f"{r}-{w}-{s.__name__}-{'many' if m else 'one'}" for r, w, s, m in CASES],
)
def test_nothing_is_written_where_something_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, writer: str, spelling: Callable[[str], str], is_many: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    read, written = READ[reader], WRITTEN[writer]
    for folder in ("zoo/run_pages", "links", "out"):
        Path(folder).mkdir(parents=True)
    save("zoo/b.onnx")
    target = PAGE if writer == "a page" else f"zoo/file{read.ending or written.ending or '.onnx'}"
    assert read.make is not None
    read.make(target)
    spelled = spelling(target)
    arguments = ["-t", "13"] if reader != "a profile" else []
    own = read.options.format(target).split()
    inputs = [] if own[0].startswith("--") else own
    arguments += own if own[0].startswith("--") else []
    inputs = [*inputs, "zoo/b.onnx"] if is_many or not inputs else inputs
    if writer == "a result":
        # the result of a model of the same name is to go there; of one model, by the name itself
        other = f"other/{Path(spelled).name}"
        if is_many:
            save(other)
        arguments += [*inputs, *([other] if is_many else []), "-o", os.path.dirname(spelled) if is_many else spelled]
        if reader == "a model" and not is_many:
            return  # asked for: in place
    else:
        arguments += [*inputs, "-o", "out" if is_many else "out/o.onnx", *written.options.format(spelled).split()]
    before = states(tmp_path)
    ended = command_line(*arguments)
    assert states(tmp_path) == before
    assert (ended.status, ended.out) == (2, ""), ended.err
    assert ended.err.count("\n") == 1
    named = PAGE if writer == "a page" else spelled
    assert os.path.normpath(named) in [
        os.path.normpath(word) for word in ended.err.replace(":", " ").replace(";", " ").replace(",", " ").split()
    ]


# -- what is written twice, by its place or by the names that are kept for data files

TWICE = {
    "reports": ("zoo out --report r.xml --report ./r.xml", "./r.xml: a report would replace a report, r.xml"),
    "reports of one": ("zoo/b.onnx o.onnx --report r.html --report folder/../r.html", "r.html: a report would replace a report"),
    "report and record": (
        "zoo out --report r.jsonl --resume r.jsonl",
        "r.jsonl: the record of --resume would replace a report, r.jsonl",
    ),
    "report and page": (
        "zoo out --report r.html --report r_pages/00001.html",
        "r_pages/00001.html: the page of a model would replace a report, r_pages/00001.html",
    ),
    "report and result": (
        "zoo/b.onnx one.xml new/ --report new/one.xml",
        "new/one.xml: a report would replace the result of one.xml",
    ),
    "page and result": (
        "zoo 00002.html new/r_pages --report new/r.html",
        "00002.html: the page of a model would replace the result of",
    ),
    "results": ("zoo/b.onnx folder/b.onnx out", "out/b.onnx: would be the result of both zoo/b.onnx and folder/b.onnx"),
    "results in a new folder": ("zoo/b.onnx folder/b.onnx new/er/", "new/er/b.onnx: would be the result of both"),
    "result and data": (
        "zoo/b.onnx folder/b.onnx.data out --external-data split",
        "out/b.onnx.data: the result of folder/b.onnx.data would replace the data file of the result of zoo/b.onnx, out/b.onnx.data",
    ),
    "result and other data": (
        "zoo/b.onnx folder/b.onnx.3.data out",
        "replace the data file of the result of zoo/b.onnx, out/b.onnx.3.data",
    ),
    "data of another model that is missing": (
        "zoo/b.onnx out/lost.onnx out",
        "out/b.onnx.data: the data file of the result of zoo/b.onnx would replace the external data of out/lost.onnx, out/b.onnx.data",
    ),
    "a missing input": (
        "zoo/b.onnx out/b.onnx.data out",
        "the result of zoo/b.onnx would replace it, and it belongs to the input out/b",
    ),
    "hard links in place": (
        "--in-place zoo/b.onnx hard.onnx",
        "b.onnx: the result of zoo/b.onnx would replace it, and it belongs to",
    ),
    "a hard link of the input": ("zoo/b.onnx linked", "zoo/b.onnx: its result in the folder 'linked' would replace it"),
    "the data of an earlier result": (
        "zoo/b.onnx old.bin earlier",
        "earlier/old.bin: the result of old.bin would replace the external data of the earlier result of zoo/b.onnx, earlier/old.bin",
    ),
    "an input as data of another, in place": (
        "--in-place zoo/b.onnx folder/user.onnx folder/b.onnx",
        "folder/b.onnx: the result of folder/b.onnx would replace the external data of folder/user.onnx, folder/b.onnx",
    ),
    "a URI of this machine": ("zoo/b.onnx file://{here}/zoo", "its result in the folder 'file://"),
}


@pytest.mark.parametrize(("line", "message"), TWICE.values(), ids=TWICE)
def test_nothing_is_written_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "zoo/b.onnx",
        "zoo/c.onnx",
        "folder/b.onnx",
        "folder/b.onnx.data",
        "folder/b.onnx.3.data",
        "one.xml",
        "00002.html",
        "old.bin",
    ):
        save(name)
    for folder in ("out", "linked", "earlier"):
        Path(folder).mkdir()
    os.link("zoo/b.onnx", "linked/b.onnx")
    os.link("zoo/b.onnx", "hard.onnx")
    save_heavy("out/lost.onnx", "b.onnx.data")
    Path("out/b.onnx.data").unlink()
    save_heavy("earlier/b.onnx", "old.bin")
    save_heavy("folder/user.onnx", "of_user.bin")
    proto = onnx.load("folder/user.onnx", load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = "b.onnx"
    Path("folder/user.onnx").write_bytes(proto.SerializeToString())
    before = states(tmp_path)
    ended = command_line("-t", "13", *line.format(here=tmp_path).split())
    assert states(tmp_path) == before
    assert (ended.status, ended.out) == (2, ""), ended.err
    assert message in ended.err and ended.err.count("\n") == 1


def test_the_library_refuses_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save("other/w.bin")
    Path("zoo").mkdir()
    save_heavy("zoo/heavy.onnx", "w.bin")
    before = states(tmp_path)
    with pytest.raises(
        SplitRewriteError, match=r"zoo/w\.bin: the result of other/w\.bin would replace the external data of zoo/heavy"
    ):
        convert_many(["other/w.bin", "zoo/heavy.onnx"], 13, into="zoo")
    with pytest.raises(SplitRewriteError, match=r"zoo/w\.bin: OUTPUT would replace the external data of INPUT, zoo/w\.bin"):
        convert_file("zoo/heavy.onnx", "zoo/w.bin", 13)
    save_heavy("old.onnx", "old.bin")
    with pytest.raises(
        SplitRewriteError, match=r"old\.bin: a report would replace the external data of the model that OUTPUT replaces"
    ):
        convert_file("zoo/heavy.onnx", "old.onnx", 13, others=[NamedFile(REPORT, "old.bin")])
    Path("old.onnx").unlink()
    Path("old.bin").unlink()
    assert states(tmp_path) == before


# -- the same file under other names: URIs of this machine, standard input, letter case


@pytest.mark.parametrize(
    "spelling", ["file://{here}/zoo/b.onnx/", "local://{here}/zoo/b.onnx//", "file://~/zoo/b.onnx", "file://zoo/b.onnx"]
)
def test_a_uri_of_this_machine_is_the_path_that_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    save("zoo/b.onnx")
    save("other/zoo/b.onnx")
    uri = spelling.format(here=tmp_path)
    with pytest.raises(SplitRewriteError, match="its result in the folder 'zoo/' would replace it"):
        plan([uri], "zoo/")
    with pytest.raises(SplitRewriteError, match=r"zoo/b\.onnx: the result of other/zoo/b\.onnx would replace it"):
        plan([uri, "other/zoo"], str(tmp_path))
    (task,) = plan([uri, "zoo/b.onnx"], "out/")
    assert task.destination == "out/b.onnx"


def test_standard_input_is_a_file_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/b.onnx")
    save("model.json")
    a_list("list.jsonl")
    before = states(tmp_path)
    refused = {
        "list.jsonl @- out/ --report list.jsonl": "list.jsonl: a report would replace a list of inputs, standard input",
        "model.json - o.onnx --report model.json": "model.json: a report would replace INPUT, standard input",
    }
    for line, message in refused.items():
        source, *arguments = line.split()
        with open(source, "rb") as stream:
            ended = subprocess.run(
                [sys.executable, "-m", "split_rewrite.rewriter", "-t", "13", *arguments],
                stdin=stream,
                capture_output=True,
                text=True,
            )
        assert (ended.returncode, ended.stdout) == (2, "") and message in ended.stderr
        assert states(tmp_path) == before


def test_a_model_does_not_get_the_data_of_another_whose_name_differs_by_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/A.onnx")
    save_heavy("zoo/a.onnx", "A.onnx.data")
    Path("zoo/A.onnx.data").unlink()
    message = r"A\.onnx\.data: the data file of the result of zoo/A\.onnx would replace the external data of zoo/a\.onnx"
    if Path("zoo/A.onnx").read_bytes() != Path("zoo/a.onnx").read_bytes():
        with pytest.raises(SplitRewriteError, match=message):
            plan(["zoo"], None, in_place=True)
        plan(["zoo/A.onnx"], None, in_place=True)


def test_a_data_file_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/a.onnx")
    save("zoo/a.onnx.1.data/m.onnx")
    message = r"m\.onnx needs a folder where the data file of the result of zoo/a\.onnx, out/zoo/a\.onnx\.1\.data, would be"
    with pytest.raises(SplitRewriteError, match=message):
        plan(["zoo"], "out")
    assert len(plan(["zoo"], None, in_place=True)) == 2  # there the folder exists


def test_a_folder_beside_a_file_whose_name_differs_by_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/X.onnx")
    save("two/zoo/x.onnx/m.onnx")
    before = states(tmp_path)
    monkeypatch.setattr(conflicts, "_tells_spellings_apart", lambda path: False)
    with pytest.raises(
        SplitRewriteError, match=r"m\.onnx needs a folder where the result of zoo/X\.onnx, out/zoo/X\.onnx, would be"
    ):
        plan(["zoo", "two/zoo"], "out")
    monkeypatch.setattr(conflicts, "_tells_spellings_apart", lambda path: True)
    assert [task.destination for task in plan(["zoo", "two/zoo"], "out")] == ["out/zoo/X.onnx", "out/zoo/x.onnx/m.onnx"]
    with pytest.raises(SplitRewriteError, match="needs a folder where"):
        save("two/zoo/X.onnx/m.onnx") if Path("two/zoo/X.onnx").exists() else os.rename("two/zoo/x.onnx", "two/zoo/X.onnx")
        plan(["zoo", "two/zoo"], "out")
    os.rename("two/zoo/X.onnx", "two/zoo/x.onnx")
    assert states(tmp_path) == before


# -- the module of an adapter is read

ADAPTER = """
class Mine:
    package = "numpy"

    def load(self, path): ...

    def run(self, inputs): ...
"""


@pytest.mark.parametrize("name", ["mine", "pack.mine"])
def test_the_module_of_an_adapter_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # whoever imports the module would write beside it
    save("zoo/b.onnx")
    file = Path(f"{name.replace('.', '/')}.py")
    file.parent.mkdir(exist_ok=True)
    Path(file.parent, "__init__.py").touch()
    file.write_text(ADAPTER)
    before = states(tmp_path)
    message = f"{file}: OUTPUT would replace the module of an adapter, {file.absolute()}; choose another name"
    for line in (f"probe --adapter {name}:Mine -o {file}", f"-t 13 zoo/b.onnx {file} --verify-with {name}:Mine"):
        ended = command_line(*line.split())
        assert (ended.status, ended.out) == (2, "") and message in ended.err
        assert states(tmp_path) == before


# -- what is refused leaves nothing behind


def test_a_record_that_cannot_be_resumed_changes_no_other_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/b.onnx")
    Path("bad.jsonl").write_text("hello\n")
    Path("old.jsonl").write_text('{"schema": "split-rewrite/report"}\n')
    before = states(tmp_path)
    reports = ["--report", "new.jsonl", "--report", "old.jsonl", "--report", "p.html"]
    for resume, message in (
        ("bad.jsonl", "bad.jsonl: line 1 is not the report of a model"),
        ("no/r.jsonl", "no/r.jsonl: the report cannot be written: No such file"),
    ):
        ended = command_line("-t", "13", "zoo", "out/", *reports, "--resume", resume)
        assert (ended.status, ended.out) == (2, "") and message in ended.err
        assert states(tmp_path) == before
    ended = command_line("-t", "13", "zoo", "out/", *reports, "--report", "no/n.jsonl", "--resume", "r.jsonl")
    assert ended.status == 2 and "no/n.jsonl: the report cannot be written: No such file" in ended.err
    assert states(tmp_path) == before


# -- what does no harm


def test_data_that_models_share_stays_when_they_are_converted_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zoo").mkdir()
    save_heavy("zoo/a.onnx", "a.onnx.data")
    Path("zoo/b.onnx").write_bytes(Path("zoo/a.onnx").read_bytes())
    data = Path("zoo/a.onnx.data").read_bytes()
    assert command_line("-t", "13", "--in-place", "zoo", "--compare", "off").status == 0
    assert command_line("-t", "14", "zoo", "zoo/new", "--compare", "off", "--report", "zoo/new.html").status == 0
    plan(["zoo"], "zoo/new")  # once more, over the earlier results
    assert Path("zoo/a.onnx.data").read_bytes() == data
    assert [onnx.load(f"zoo/{name}.onnx").opset_import[0].version for name in ("a", "b", "new/zoo/a", "new/zoo/b")] == [
        13,
        13,
        14,
        14,
    ]


def test_names_that_the_file_system_tells_apart_are_two_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one where it does not."""
    monkeypatch.chdir(tmp_path)
    save("one/A.onnx")
    save("two/a.onnx")
    Path("linked").mkdir()
    before = states(tmp_path)
    if not Path("one/a.onnx").exists():
        tasks = plan(["one/A.onnx", "two/a.onnx"], "out")
        assert [task.destination for task in tasks] == ["out/A.onnx", "out/a.onnx"]
    monkeypatch.setattr(conflicts, "_tells_spellings_apart", lambda path: False)
    with pytest.raises(SplitRewriteError, match=r"out/a\.onnx: would be the result of both one/A\.onnx and two/a\.onnx"):
        plan(["one/A.onnx", "two/a.onnx"], "out")
    assert states(tmp_path) == before


def test_broken_models_have_no_data_and_are_no_obstacle(tmp_path: Path) -> None:
    save_heavy(str(tmp_path / "m.onnx"), "w.bin")
    whole = (tmp_path / "m.onnx").read_bytes()
    for cut in range(len(whole)):
        (tmp_path / "cut.onnx").write_bytes(whole[:cut])
        (tmp_path / "flipped.onnx").write_bytes(whole[:cut] + bytes([whole[cut] ^ 255]) + whole[cut + 1 :])
        for name in ("cut.onnx", "flipped.onnx"):
            assert all(isinstance(path, Path) for path in data_paths(tmp_path / name))
    assert data_paths(tmp_path / "m.onnx") == [tmp_path / "w.bin"]
    assert data_paths(tmp_path) == data_paths(tmp_path / "nothing") == []


# -- what cannot be read is an entry of the report


@pytest.mark.parametrize("arguments", [["zoo"], ["zoo/**/*.onnx"]])
def test_what_cannot_be_read_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/b.onnx")
    save("zoo/shut/c.onnx")
    if "*" not in arguments[0]:
        Path("zoo/broken.onnx").symlink_to("nowhere.onnx")
    scandir = os.scandir

    def refusing(path: str = ".") -> Iterator[os.DirEntry[str]]:
        if isinstance(path, str) and os.path.basename(os.path.normpath(path)) == "shut":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    ended = command_line("-t", "13", *arguments, "out/", "--report", "run.jsonl", "--compare", "off")
    found = {os.path.normpath(entry["source"]): entry for entry in map(json.loads, Path("run.jsonl").read_text().splitlines())}
    unread = {"zoo/shut"} if "*" in arguments[0] else {"zoo/shut", "zoo/broken.onnx"}
    assert found.keys() == {"zoo/b.onnx"} | unread
    assert {name for name, entry in found.items() if entry["exit_status"] == 2} == unread
    assert ended.status == 2
    assert "zoo/shut: cannot be read: Permission denied" in ended.err
    assert onnx.load(next(Path("out").rglob("b.onnx"))).opset_import[0].version == 13
    assert f"{1 + len(unread)} models in" in ended.out


def test_a_list_that_names_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list").write_text("@list\n")
    assert "@list: there are more than 500 lists; does one name itself?" in command_line("@list", "out", "-t", "13").err


@pytest.mark.parametrize("pattern", ["zoo", "zoo/*/*.onnx", "zoo/**/*.onnx", "zoo/**"])
def test_a_uri_of_this_machine_is_searched_as_a_path_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.chdir(tmp_path)
    save("zoo/deep/b.onnx")
    save("zoo/shut/c.onnx")
    os.mkfifo("zoo/deep/pipe.onnx")
    shut = tmp_path / "zoo/shut"
    scandir = os.scandir

    def refusing(path: str = ".") -> Iterator[os.DirEntry[str]]:
        if isinstance(path, str) and os.path.normpath(path).endswith("zoo/shut"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    here = f"file://{tmp_path}"
    found = {os.path.normpath(task.source): task.problem for task in plan([pattern], "out/")}
    assert found == {
        "zoo/deep/b.onnx": "",
        "zoo/deep/pipe.onnx": "zoo/deep/pipe.onnx: is not a regular file",
        "zoo/shut": "zoo/shut: cannot be read: Permission denied",
    }
    at_uri = {task.source: task.problem for task in plan([f"{here}/{pattern}"], "out/")}
    assert at_uri == {
        f"{here}/zoo/deep/b.onnx": "",
        f"{here}/zoo/deep/pipe.onnx": f"{here}/zoo/deep/pipe.onnx: is not a regular file",
        f"{here}/zoo/shut": f"file://{shut}: cannot be read: Permission denied",
    }
