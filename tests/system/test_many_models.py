"""The command line for many models: what it refuses before anything starts, and what comes of each model."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import onnx
import pytest
from helpers import command_line, model

GOOD = "g (float[6] x) => (float[2] a, float[4] b) { s = Constant<value_ints: ints = [2, 4]> () a, b = Split<axis = 0>(x, s) }"
CASES = 'g (string[2] x) => (string[2] y) { [cut] y = StringNormalizer<case_change_action = "UPPER">(x) }'
BOTH = """g (string[2] x) => (string[2] y, bool[2] w) {
    [cut] y = StringNormalizer<case_change_action = "UPPER">(x)
    [search] w = RegexFullMatch<pattern = "a">(x)
}"""


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """One model that converts, two that the target cannot express, one that cannot be read."""
    monkeypatch.chdir(tmp_path)
    Path("zoo/deep").mkdir(parents=True)
    onnx.save(model(GOOD), "zoo/good.onnx")
    onnx.save(model(CASES), "zoo/deep/cases.onnx")
    onnx.save(model(BOTH, 20, 9), "zoo/deep/both.onnx")
    Path("zoo/bad.onnx").write_bytes(b"no model")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zoo/"], "Missing argument 'OUTPUT': name the folder to write to, or say --in-place."),
        (["zoo", "-o", "out", "--in-place"], "--in-place writes where the models are: leave -o and --dry-run out."),
        (["zoo", "-o", "out", "--dry-run"], "--dry-run writes nothing: leave OUTPUT out."),
        (["zoo", "out", "--report", "r.json"], "--report: of many models FILE.jsonl has a line for each"),
        (["zoo", "out", "--overwrite-input-shape", "1,2"], "put NAME: before the shape; each model has inputs of its own"),
        (["zoo", "out", "--memory", "much"], "expected a size like 4GB or 512M, not 'much'"),
        (["zoo", "-", "out"], "- reads one model, but there are several inputs; @- reads a list of paths from standard input"),
        (["zoo", "zoo/good.onnx", "zoo/bad.onnx"], "zoo/bad.onnx: is not a folder; name one for the results of several models"),
        (["zoo", "out", "--resume", "zoo/good.onnx"], "expected a name that ends with .jsonl, not 'zoo/good.onnx'"),
        (["a://b/c.onnx", "out"], "a://b/c.onnx: "),
        (["--text", "zoo/good.onnx", "zoo/bad.onnx"], "--text prints one model."),
        (["--text", "zoo/bad.onnx"], "zoo/bad.onnx: is text, not an ONNX model"),
    ],
)
def test_refuses(zoo, arguments, message):
    before = sorted(zoo.rglob("*"))
    ended = command_line(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert message in ended.err and ended.err.count("\n") == 1
    assert sorted(zoo.rglob("*")) == before


def test_one_input_and_one_output_say_what_they_always_did(zoo):
    assert command_line("zoo/good.onnx", "a.onnx", "-o", "b.onnx").err.startswith("error: OUTPUT is given twice")
    assert command_line("zoo/good.onnx", "a.onnx", "--dry-run").err.startswith("error: --dry-run writes nothing")
    assert command_line("zoo/good.onnx").err.startswith("error: Missing argument 'OUTPUT': name the file to write.")
    ended = command_line("zoo/good.onnx", "a.onnx", "-t", "5")
    assert (ended.status, ended.out.splitlines()[0]) == (0, "opset       18 → 5")


def test_every_report(zoo):
    reports = ["run.jsonl", "run.xml", "run.html", "run.sarif"]
    ended = command_line("-t", "5", "zoo", "out", *(part for name in reports for part in ("--report", name)))
    assert ended.status == 2
    assert sorted(ended.err.splitlines()) == [
        "error: zoo/bad.onnx: is text, not an ONNX model; it may say what went wrong when the model was downloaded or exported",
        "error: zoo/deep/both.onnx: StringNormalizer 'cut' (main graph) 10→9: older operators cannot change or ignore the case "
        "of letters (and 1 more)",
        "error: zoo/deep/cases.onnx: StringNormalizer 'cut' (main graph) 10→9: older operators cannot change or ignore the case of letters",
    ]
    assert [line.split() for line in ended.out.splitlines()[1:4]] == [
        ["converted", "1"],
        ["not", "convertible", "2"],
        ["unusable", "1"],
    ]
    assert "        2        1  StringNormalizer 10→9: older operators cannot change or ignore the case of letters" in ended.out
    assert sorted(str(path) for path in Path("out").rglob("*.onnx")) == ["out/zoo/good.onnx"]

    documents = {entry["source"]: entry for entry in map(json.loads, Path("run.jsonl").read_text().splitlines())}
    assert {source: entry["exit_status"] for source, entry in documents.items()} == {
        "zoo/bad.onnx": 2,
        "zoo/good.onnx": 0,
        "zoo/deep/both.onnx": 1,
        "zoo/deep/cases.onnx": 1,
    }
    suite = ElementTree.parse("run.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "1")
    assert [(case.get("name"), [end.tag for end in case]) for case in suite] == [
        ("bad.onnx", ["error"]),
        ("good.onnx", []),
        ("both.onnx", ["failure"]),
        ("cases.onnx", ["failure"]),
    ]
    (run,) = json.loads(Path("run.sarif").read_text())["runs"]
    places = [entry["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for entry in run["results"]]
    assert places == ["zoo/bad.onnx", "zoo/deep/both.onnx", "zoo/deep/both.onnx", "zoo/deep/cases.onnx"]
    assert {entry["ruleId"] for entry in run["results"]} == {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    page = Path("run.html").read_text()
    assert page.index("StringNormalizer 10→9") < page.index("RegexFullMatch ") < page.index('id="models"')
    assert 'href="run_pages/00003.html"' in page and "Cannot be converted" in Path("run_pages/00003.html").read_text()


def test_a_page_replaces_no_file_that_is_no_page(zoo):
    Path("run_pages").mkdir()
    Path("run_pages/00002.html").write_text("mine")
    ended = command_line("-t", "13", "zoo", "out", "--report", "run.html")
    assert ended.status == 2
    assert (
        ended.err
        == f"error: {Path('run_pages/00002.html')}: is not a page of an earlier run, and a page would replace it; choose another name\n"
    )
    assert Path("run_pages/00002.html").read_text() == "mine"
    assert not Path("out").exists()
    Path("run_pages/00002.html").unlink()
    for _ in range(2):  # pages of an earlier run are replaced
        assert command_line("-t", "13", "zoo", "out", "--report", "run.html", "-q").status == 2
        assert len(os.listdir("run_pages")) == 4


def test_a_report_of_an_earlier_run_stays_where_nothing_starts(zoo):
    Path("run.jsonl").write_text("{}\n")
    Path("k_pages").write_text("mine")
    assert command_line("-t", "13", "zoo", "out", "--report", "run.jsonl", "--report", "k.html").status == 2
    assert (Path("run.jsonl").read_text(), Path("k_pages").read_text()) == ("{}\n", "mine")


def test_in_place_and_resumed(zoo):
    Path("zoo/deep/both.onnx").unlink()
    assert command_line("-t", "13", "--in-place", "zoo", "--resume", "run.jsonl", "-q").status == 2
    assert onnx.load("zoo/good.onnx").opset_import[0].version == 13
    first = Path("run.jsonl").read_text()
    stamp = os.stat("zoo/good.onnx").st_mtime_ns
    Path("run.jsonl").write_text(first + first[:50])  # as a kill leaves it
    ended = command_line("-t", "13", "--in-place", "zoo", "--resume", "run.jsonl")
    assert ["done", "before", "2"] in [line.split() for line in ended.out.splitlines()]
    again = Path("run.jsonl").read_text()
    sources = [json.loads(line)["source"] for line in again.splitlines()]
    assert sorted(sources) == sorted(json.loads(line)["source"] for line in first.splitlines()), "one line for each model"
    assert sources[-1] == "zoo/bad.onnx", "that was tried again"
    assert os.stat("zoo/good.onnx").st_mtime_ns == stamp
    ended = command_line("-t", "12", "--in-place", "zoo", "--resume", "run.jsonl")
    assert "done before" not in ended.out, "other options"
    onnx.save(model(GOOD), "zoo/good.onnx")
    ended = command_line("-t", "12", "--in-place", "zoo", "--resume", "run.jsonl")
    assert ["done", "before", "1"] in [line.split() for line in ended.out.splitlines()]
    assert onnx.load("zoo/good.onnx").opset_import[0].version == 12, "another model"


def test_a_dry_run_of_several_files(zoo):
    ended = command_line("--dry-run", "-t", "5", "zoo/good.onnx", "zoo/deep/cases.onnx", "--report", "-")
    assert ended.status == 1
    assert sorted(json.loads(line)["outcome"] for line in ended.out.splitlines()) == ["convertible", "not convertible"]
    assert not Path("out").exists()


def test_names_that_are_hard_to_write(zoo):
    names = ["with space.onnx", "new\nline.onnx", os.fsdecode(b"\xff.onnx"), "<b>&.onnx"]
    for name in names:
        onnx.save(model(GOOD), Path("zoo/good.onnx"))
        os.link("zoo/good.onnx", os.path.join("zoo/deep", name))
    ended = command_line(
        "-t", "13", "zoo/deep/with space.onnx", *(f"zoo/deep/{name}" for name in names), "out", "--resume", "r.jsonl"
    )
    if ended.status:  # a data file needs a name that is valid Unicode
        (refused,) = ended.err.splitlines()
        assert "udcff.onnx" in refused
        names.remove(os.fsdecode(b"\xff.onnx"))
    assert sorted(os.listdir("out")) == sorted(names)
    ended = command_line(
        "-t", "13", *(f"zoo/deep/{name}" for name in names), "out", "--resume", "r.jsonl", "--report", "r.html", "--report", "r.xml"
    )
    assert ["done", "before", str(len(names))] in [line.split() for line in ended.out.splitlines()]
    ElementTree.parse("r.xml")
    assert "&lt;b&gt;&amp;.onnx" in Path("r.html").read_text()


def test_a_kill_loses_at_most_the_models_at_work(zoo):
    Path("many").mkdir()
    for number in range(40):
        onnx.save(model(GOOD), f"many/n{number:02}.onnx")
    command = [
        sys.executable,
        "-m",
        "split_rewrite.rewriter",
        "-t",
        "13",
        "many",
        "out",
        "--resume",
        "run.jsonl",
        "-q",
        "-j",
        "2",
    ]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while running.poll() is None and not (Path("run.jsonl").exists() and Path("run.jsonl").read_bytes().count(b"\n") >= 3):
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    recorded = Path("run.jsonl").read_bytes().count(b"\n")
    made = [path for path in Path("out").rglob("*.onnx") if not path.name.startswith(".")]
    for path in made:
        onnx.checker.check_model(onnx.load(path))
    assert 3 <= recorded < 40 and recorded <= len(made) <= recorded + 2
    ended = command_line("-t", "13", "many", "out", "--resume", "run.jsonl", "-j", "2")
    assert ended.status == 0, ended.err
    assert ["done", "before", str(recorded)] in [line.split() for line in ended.out.splitlines()]
    sources = [json.loads(line)["source"] for line in Path("run.jsonl").read_text().splitlines()]
    assert len(sources) == len(set(sources)) == 40


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_report_that_cannot_be_written(zoo):
    ended = command_line("-t", "13", "zoo/good.onnx", "out/", "--resume", "no/such/run.jsonl")
    assert (ended.status, ended.err) == (2, "error: no/such/run.jsonl: the report cannot be written: No such file or directory\n")
    Path("full.jsonl").symlink_to("/dev/full")
    ended = command_line("-t", "13", "zoo/good.onnx", "out/", "--report", "full.jsonl")
    assert ended.status == 2
    assert "full.jsonl: the report cannot be written" in ended.err


def test_text_shows_weights_as_digests(zoo):
    proto = model(
        "g (float[2000] x) => (float[2000] y) <float[2] small = {1, 2}> { c = Constant<value_ints: ints = [0]> () y = Add(x, w) }"
    )
    proto.graph.initializer.append(onnx.helper.make_tensor("w", 1, [2000], [0.5] * 2000))
    onnx.save(proto, "typed.onnx")
    proto.graph.initializer[1].CopyFrom(onnx.helper.make_tensor("w", 1, [2000], b"\0\0\0\x3f" * 2000, raw=True))
    onnx.save(proto, "external.onnx", save_as_external_data=True, location="w.bin")
    typed, external = (command_line("--text", name) for name in ("typed.onnx", "external.onnx"))
    assert typed.status == external.status == 0
    assert typed.out == external.out, "the same model, its bytes elsewhere"
    assert "y = Add (x, w)" in typed.out and "small = " in typed.out
    (line,) = [line for line in typed.out.splitlines() if line.startswith("weights")]
    assert line == "weights w = float[2000] sha256:" + hashlib.sha256(b"\0\0\0\x3f" * 2000).hexdigest()


def test_the_shell_completes(zoo):
    def completions(words: str) -> set[str]:
        place = str(len(words.split()) - 1)
        environment = os.environ | {"_SPLIT_REWRITE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": place}
        done = subprocess.run(
            [sys.executable, "-m", "split_rewrite.rewriter"], env=environment, capture_output=True, text=True, check=False
        )
        return set(done.stdout.split())

    assert completions("split-rewrite --ti") == {"plain,--timeout"}
    assert completions("split-rewrite zo") == {"file,zo"}
    assert completions("split-rewrite --for openvino-2024.") >= {"plain,openvino-2024.2", "plain,openvino-2024.6"}
    assert completions("split-rewrite --for tra") == {"plain,tract", "plain,tract-0.23"} | completions("split-rewrite --for trans")
    assert completions("split-rewrite --for trt") == {"plain,trt"}
    assert completions("split-rewrite --for jetpack-6") == {"plain,jetpack-6.0", "plain,jetpack-6.1", "plain,jetpack-6.2.1"}
    assert completions("split-rewrite --for triton-26.0") >= {"plain,triton-26.02", "plain,triton-26.07"}
    assert completions("split-rewrite --for ./my") == {"file,./my"}
    assert completions("split-rewrite --verify-with open") == {"plain,openvino", "plain,opencv"}
    assert "plain,split.sizes_to_attribute" in completions("split-rewrite --skip split.")
    assert completions("split-rewrite --compare r") == {"plain,required"}
    assert completions("split-rewrite --report r") == {"file,r"}


def test_one_model_takes_one_process(zoo):
    command = [sys.executable, "-m", "split_rewrite.rewriter", "-t", "13", "zoo/good.onnx", "out/"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[0].endswith(", 1 process at most")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_sees_how_many_are_done_and_how_fast(zoo):
    mine, terminal = os.openpty()
    command = [sys.executable, "-m", "split_rewrite.rewriter", "-t", "13", "zoo/good.onnx", "zoo/bad.onnx", "out"]
    done = subprocess.run(command, stderr=terminal, stdout=subprocess.DEVNULL, check=False)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the end of a pseudo-terminal
        while part := os.read(mine, 4096):
            shown += part
    os.close(mine)
    assert done.returncode == 2
    assert b"2/2" in shown and b"a second" in shown
    assert shown.count(b"error:\x1b[0m zoo/bad.onnx: ") == 1


def test_a_resumed_run_links_the_pages_of_the_earlier_one_and_keeps_one_line_for_each_model(zoo):
    arguments = ("-t", "13", "zoo/good.onnx", "zoo/deep/cases.onnx", "out/", "--resume", "run.jsonl", "--report", "run.html", "-q")
    command_line(*arguments)
    lines = Path("run.jsonl").read_text().splitlines()
    pages = {name: (Path("run_pages") / name).read_bytes() for name in ("00001.html", "00002.html")}
    onnx.save(model(GOOD.replace("g (", "other (")), "zoo/good.onnx")
    command_line(*arguments)
    again = Path("run.jsonl").read_text().splitlines()
    assert len(again) == len(lines) == 2 and len({json.loads(line)["source"] for line in again}) == 2
    overview = Path("run.html").read_text()
    assert 'href="run_pages/00001.html"' in overview and 'href="run_pages/00002.html"' in overview
    assert (Path("run_pages") / "00002.html").read_bytes() == pages["00002.html"], "what was done before is not written again"
    assert sorted(path.name for path in Path("run_pages").iterdir()) == ["00001.html", "00002.html"]
    command_line("-t", "13", "zoo/bad.onnx", *arguments[2:])
    names = [json.loads(line).get("page") for line in Path("run.jsonl").read_text().splitlines()]
    assert len(names) == len(set(names)) == 3, "a new model gets a page of its own"
