"""The command line: what it refuses, with which words and exit status; then what it prints, writes and leaves alone."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from helpers import model
from split_rewrite.rewriter import cli, driver
from split_rewrite.rules import split as split_rules

SPLIT = """
split_in_three (float[N, 7] x) => (float[N, 3] a, float[N, 3] b, float[N, 1] c) {
    a, b, c = Split <axis = 1, num_outputs = 3> (x)
}"""
TWO_INPUTS = """
two (float[N, 4] x, float[M, 4] data) => (float[N, 2] a, float[N, 2] b, float[M, 4] c) {
    a, b = Split <axis = 1, num_outputs = 2> (x)
    c = Identity (data)
}"""
TOO_YOUNG = """
matches (string[N] x) => (bool[N] y, bool[N] z) {
    y = RegexFullMatch <pattern = "[aeiou]"> (x)
    z = RegexFullMatch <pattern = "[0-9]"> (x)
}"""
FOREIGN = """
<ir_version: 8, opset_import: ["" : 18, "com.example" : 1]>
foreign (float[N, 7] x) => (float[N, 3] a, float[N, 3] b, float[N, 1] c) <float[N, 7] y> {
    y = com.example.Mystery (x)
    a, b, c = Split <axis = 1, num_outputs = 3> (y)
}"""


def named(text: str, *names: str, opset: int = 18) -> onnx.ModelProto:
    """A model whose nodes have these names, for which the parser of onnx 1.17 has no syntax."""
    proto = model(text, opset)
    for node, name in zip(proto.graph.node, names, strict=True):
        node.name = name
    return proto


def two_inputs() -> onnx.ModelProto:
    proto = model(TWO_INPUTS)
    proto.graph.input[1].name = proto.graph.node[1].input[0] = "data:0"
    return proto


class Ended(NamedTuple):
    status: int
    out: str
    err: str


Cli = Callable[..., Ended]


@pytest.fixture
def cli_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process, in a folder of models."""
    monkeypatch.chdir(tmp_path)
    onnx.save(named(SPLIT, "cut"), "m.onnx")

    def run(*arguments: str) -> Ended:
        status = cli.run(arguments)
        return Ended(status, *capsys.readouterr())

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


REFUSED = {
    "no-arguments": ("", "Missing argument 'INPUT'"),
    "no-output": ("m.onnx", "Missing argument 'OUTPUT': name the file to write"),
    "empty-output": ("m.onnx --output=", "Missing argument 'OUTPUT'"),
    "output-twice": ("m.onnx o.onnx -o p.onnx", "OUTPUT is given twice, as an argument and by -o"),
    "three-files": ("m.onnx o.onnx p.onnx", "Got unexpected extra argument"),
    "no-such-option": ("m.onnx o.onnx --fast", "No such option"),
    "quiet-and-verbose": ("m.onnx o.onnx -q -v", "-q and -v exclude each other"),
    "input-missing": ("nosuch.onnx o.onnx", "nosuch.onnx: cannot be read: No such file or directory"),
    "input-is-a-folder": ("folder o.onnx", "folder: is a folder; name the .onnx file in it"),
    "input-empty": ("empty.onnx o.onnx", "empty.onnx: is empty"),
    "input-truncated": ("cut.onnx o.onnx", "cut.onnx: is damaged or no ONNX model"),
    "input-is-text": ("text.onnx o.onnx", "text.onnx: "),
    "input-invalid": ("invalid.onnx o.onnx -t 13", "Split 'cut' (main graph) is invalid: it has neither split nor num_outputs"),
    "attribute-of-wrong-type": ("text_axis.onnx o.onnx", "the input is not a valid model: Mismatched attribute type"),
    "operator-not-utf8": ("latin.onnx o.onnx", "the operator b'Spl\\xeft' is not valid UTF-8"),
    "output-in-no-folder": ("m.onnx nowhere/o.onnx", "the folder nowhere does not exist"),
    "output-is-a-folder": ("m.onnx folder", "folder: is a folder; name the file to write"),
    "opset-0": ("m.onnx o.onnx -t 0", "the target opset 0 is unknown"),
    "opset-negative": ("m.onnx o.onnx -t -1", "the target opset -1 is unknown"),
    "opset-too-new": ("m.onnx o.onnx -t 99", "the target opset 99 is unknown"),
    "opset-no-number": ("m.onnx o.onnx --opset abc", "expected a number or 'latest', not 'abc'"),
    "ir-version-too-low": ("m.onnx o.onnx --ir-version 2", "--ir-version 2: this model needs at least IR version 3"),
    "ir-version-too-new": ("m.onnx o.onnx --ir-version 99", "--ir-version 99: the installed onnx knows IR versions up to"),
    "only-no-such-rule": ("m.onnx o.onnx --only nosuch", "there is no rule 'nosuch': --list-rules shows all"),
    "skip-no-such-rule": ("m.onnx o.onnx --skip split.nosuch", "there is no rule 'split.nosuch'"),
    "compare-no-such-way": ("m.onnx o.onnx --compare maybe", "'maybe' is not one of 'auto', 'model', 'nodes', 'required', 'off'"),
    "runtime-no-such": ("m.onnx o.onnx --runtime tensorrt", "'tensorrt' is not one of"),
    "rtol-negative": ("m.onnx o.onnx --rtol -1", "expected a number from 0 on, or OUTPUT:NUMBER, not '-1'"),
    "rtol-nan": ("m.onnx o.onnx --rtol nan", "expected a number from 0 on, or OUTPUT:NUMBER, not 'nan'"),
    "atol-infinite": ("m.onnx o.onnx --atol inf", "expected a number from 0 on, or OUTPUT:NUMBER, not 'inf'"),
    "seed-negative": ("m.onnx o.onnx --seed -1", "Invalid value for '--seed'"),
    "external-data-no-such-way": ("m.onnx o.onnx --external-data away", "not 'away'"),
    "external-data-size": ("m.onnx o.onnx --external-data split:1k", "not 'split:1k'"),
    "shape-no-number": ("m.onnx o.onnx --test-input-shape x:2,q", "expected whole numbers as in 1,3,224,224, not 'q'"),
    "shape-empty": ("m.onnx o.onnx --test-input-shape=", "expected NAME:1,3,224,224, not ''"),
    "shape-no-name": ("m.onnx o.onnx --test-input-shape :2,7", "expected NAME:1,3,224,224, not ':2,7'"),
    "shape-no-such-input": ("m.onnx o.onnx --test-input-shape y:2,7", "--test-input-shape y: no such input; the inputs are x"),
    "shape-wrong-rank": ("m.onnx o.onnx --test-input-shape 7", "shape [7] does not fit the declared float32[N,7]"),
    "shape-wrong-size": ("m.onnx o.onnx --test-input-shape x:2,8", "shape [2,8] does not fit the declared float32[N,7]"),
    "shape-negative": ("m.onnx o.onnx --test-input-shape x:-1,7", "shape [-1,7] does not fit the declared float32[N,7]"),
    "shape-twice": ("m.onnx o.onnx --test-input-shape x:2,7 --test-input-shape 3,7", "input 'x' is given twice"),
    "shape-of-which-input": ("two.onnx o.onnx --test-input-shape 2,7", "put NAME: before the shape; the inputs are x, data:0"),
    "fixed-shape-no-such-input": ("m.onnx o.onnx --overwrite-input-shape y:2,7", "there is no input 'y'; inputs are x"),
    "fixed-shape-wrong-rank": ("m.onnx o.onnx --overwrite-input-shape x:7", "input 'x' has rank 2, and 1 dimensions"),
    "fixed-shape-known-size": ("m.onnx o.onnx --overwrite-input-shape x:2,8", "dimension 1 of input 'x' is 7, not 8"),
    "fixed-shape-negative": ("m.onnx o.onnx --overwrite-input-shape x:-1,7", "-1 is no dimension of input 'x'"),
    "fixed-shape-of-which-input": ("two.onnx o.onnx --overwrite-input-shape 2,7", "the inputs are x, data:0"),
    "data-no-name": ("m.onnx o.onnx --input-data good.npy", "expected NAME:FILE.npy or FILE.npz, not 'good.npy'"),
    "data-no-array-file": ("m.onnx o.onnx --input-data x:m.onnx", "expected NAME:FILE.npy or FILE.npz, not 'x:m.onnx'"),
    "data-missing": ("m.onnx o.onnx --input-data x:nosuch.npy", "nosuch.npy: No such file or directory"),
    "data-npz-missing": ("m.onnx o.onnx --input-data nosuch.npz", "nosuch.npz: No such file or directory"),
    "data-empty": ("m.onnx o.onnx --input-data x:empty.npy", "empty.npy cannot be read: "),
    "data-garbage": ("m.onnx o.onnx --input-data x:garbage.npy", "garbage.npy cannot be read: "),
    "data-npz-garbage": ("m.onnx o.onnx --input-data garbage.npz", "garbage.npz cannot be read: "),
    "data-npz-truncated": ("m.onnx o.onnx --input-data cut.npz", "cut.npz cannot be read: "),
    "data-objects": ("m.onnx o.onnx --input-data x:objects.npy", "objects.npy cannot be read: "),
    "data-npy-in-npz": ("m.onnx o.onnx --input-data array.npz", "the contents are not what the ending of the name says"),
    "data-no-such-input": ("m.onnx o.onnx --input-data y:good.npy", "--input-data y: no such input; the inputs are x"),
    "data-wrong-type": ("m.onnx o.onnx --input-data x:double.npy", "float64 does not fit the declared float32[N,7]"),
    "data-wrong-shape": ("m.onnx o.onnx --input-data x:flat.npy", "shape [14] does not fit the declared float32[N,7]"),
}


@pytest.fixture
def bad_files(tmp_path: Path) -> None:
    """What the rows above name, in the current folder."""
    whole = model(SPLIT).SerializeToString()
    onnx.save(two_inputs(), tmp_path / "two.onnx")
    onnx.save(model(SPLIT.replace("axis = 1", 'axis = "x"')), tmp_path / "text_axis.onnx")
    onnx.save(named(SPLIT.replace(", num_outputs = 3", ""), "cut"), tmp_path / "invalid.onnx")
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "cut.onnx").write_bytes(whole[:-20])
    (tmp_path / "latin.onnx").write_bytes(whole.replace(b"Split", b"Spl\xeft"))
    (tmp_path / "text.onnx").write_text("graph: see the attachment\n")
    (tmp_path / "empty.npy").touch()
    (tmp_path / "garbage.npy").write_bytes(bytes(range(200)))
    (tmp_path / "garbage.npz").write_bytes(bytes(range(200)))
    x = np.ones((2, 7), np.float32)
    np.save(tmp_path / "good.npy", x)
    np.save(tmp_path / "double.npy", x.astype(np.float64))
    np.save(tmp_path / "flat.npy", x.reshape(-1))
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    np.savez(tmp_path / "good.npz", x=x)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "good.npz").read_bytes()[:100])
    shutil.copy(tmp_path / "good.npy", tmp_path / "array.npz")


@pytest.mark.usefixtures("bad_files")
@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_wrong_usage_and_bad_input_get_one_line_and_no_file(
    cli_in: Cli, tmp_path: Path, arguments: str, message: str
) -> None:
    before = contents(tmp_path)
    status, out, err = cli_in(*arguments.split())
    assert (status, out) == (2, "")
    assert re.fullmatch(r"error: [^\n]+\n", err)
    assert message in err
    assert contents(tmp_path) == before


def test_every_node_in_the_way_gets_a_line(cli_in: Cli, tmp_path: Path) -> None:
    onnx.save(named(TOO_YOUNG, "vowel", "digit", opset=20), "young.onnx")
    before = contents(tmp_path)
    status, out, err = cli_in("young.onnx", "o.onnx", "--target-opset", "18")
    assert (status, out) == (1, "")
    first, *others = err.splitlines()
    assert first == "error: not converted, 2 nodes are in the way:"
    assert [line.partition(")")[0] for line in others] == [
        "  RegexFullMatch 'vowel' (main graph",
        "  RegexFullMatch 'digit' (main graph",
    ]
    assert all(" 20→19: " in line for line in others)
    assert contents(tmp_path) == before


def test_names_that_would_break_a_terminal_are_escaped(cli_in: Cli) -> None:
    onnx.save(named(TOO_YOUNG, "two\nlines \x1b[31m", "", opset=20), "young.onnx")
    err = cli_in("young.onnx", "o.onnx", "-t", "18").err
    assert "'two\\nlines \\x1b[31m'" in err
    assert len(err.splitlines()) == 3


def test_a_wrong_rule_is_found_by_the_comparison(
    cli_in: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_rules, "equal_sizes", lambda dimension, parts: [3, 1, 3])
    onnx.save(model(SPLIT.replace("float[N, 3] b, float[N, 1] c", "float[N, K] b, float[N, L] c")), "m.onnx")
    before = contents(tmp_path)
    status, out, err = cli_in("m.onnx", "o.onnx", "-t", "17")
    assert (status, out) == (3, "")
    assert re.fullmatch(r"error: the result computes something else \(onnxruntime .*\): output 'b' differs: .*\n", err)
    assert contents(tmp_path) == before


UNKNOWN = """
<ir_version: 8, opset_import: ["" : 18, "com.example" : 1]>
unknown (float[N] x) => (float[N] y, float[N] z) {
    m = com.example.Mystery (x)
    y = HardSwish (m)
    z = HardSwish (x)
}"""


def test_a_comparison_that_cannot_be_made_is_a_warning_or_an_error(cli_in: Cli) -> None:
    """HardSwish is defined anew in 22, and nothing says of what type its input is."""
    onnx.save(model(UNKNOWN), "unknown.onnx")
    required = cli_in("unknown.onnx", "required.onnx", "-t", "22", "--compare", "required")
    assert required.status == 3
    assert required.err.startswith("error: the result could not be compared: the whole models could not be compared: ")
    assert not Path("required.onnx").exists()
    auto = cli_in("unknown.onnx", "auto.onnx", "-t", "22")
    assert auto.status == 0
    assert re.fullmatch("warning: the result was compared in part: the whole models could not be compared: [^\n]+\n", auto.err)
    assert "1 of 2 distinct changes could not be compared: 1 × HardSwish (the type of 'm' is unknown)" in auto.err
    assert "comparison  node by node: 1 node equal, 1 distinct (" in auto.out
    assert Path("auto.onnx").exists()


def test_a_comparison_of_whole_models_that_cannot_be_made_is_a_warning(cli_in: Cli) -> None:
    onnx.save(model(FOREIGN), "foreign.onnx")
    whole = cli_in("foreign.onnx", "whole.onnx", "-t", "13", "--compare", "model")
    assert whole.status == 0
    assert re.fullmatch("warning: the result was not compared: onnxruntime cannot run the original: [^\n]+\n", whole.err)
    assert "comparison  not possible: see the warning" in whole.out
    required = cli_in("foreign.onnx", "required.onnx", "-t", "13", "--compare", "required")
    assert (required.status, required.err) == (0, "")
    assert "comparison  node by node: 1 node equal, 1 distinct (" in required.out


FAILURES = {
    "bug": (KeyError("x"), 3, "internal error: KeyError: 'x'; please report it (-v shows where it is from)"),
    "recursion": (RecursionError("maximum"), 2, "error: the model is nested too deeply"),
    "memory": (MemoryError(), 2, "error: out of memory"),
    "disk-full": (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "o.onnx"), 2, "error: o.onnx: No space left on device"),
    "interrupt": (KeyboardInterrupt(), 130, "interrupted"),
}


@pytest.mark.parametrize(("error", "status", "line"), FAILURES.values(), ids=FAILURES)
def test_whatever_happens_is_one_line(
    cli_in: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, line: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(driver, "convert_file", fail)
    assert cli_in("m.onnx", "o.onnx") == (status, "", f"{line}\n")


def test_only_verbose_shows_a_traceback(cli_in: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "convert_file", None)
    assert "Traceback" not in cli_in("m.onnx", "o.onnx").err
    assert "Traceback" in cli_in("m.onnx", "o.onnx", "-v").err


# -- what it does


def test_the_table(cli_in: Cli) -> None:
    status, out, err = cli_in("m.onnx", "o.onnx", "--target-opset", "12")
    assert (status, err) == (0, "")
    runtime = re.escape(onnx.__version__)
    assert re.fullmatch(
        "opset       18 → 12\n"
        "IR version  8 → 7\n"
        "operators   none changed in number\n"
        "rules       split.sizes_to_attribute  1 node\n"
        "            split.spell_out_parts     1 node\n"
        f"check       passed: onnx.checker {runtime}, full check\n"
        r"comparison  equal, exact, max difference 0 \(onnxruntime \S+\)" + "\n",
        out,
    )
    split = onnx.load("o.onnx").graph.node[0]
    assert onnx.helper.get_node_attr_value(split, "split") == [3, 3, 1]


def test_the_table_counts_operators_that_came_or_went(cli_in: Cli) -> None:
    onnx.save(model("g (float[N, 7] x) => (float[N, 7] y) { y = Gelu(x) }", opset=20), "gelu.onnx")
    out = cli_in("gelu.onnx", "o.onnx", "-t", "19", "--compare", "off").out
    assert re.search(r"^operators .*\n(?: .*\n)*? *Gelu +1 → 0$", out, re.MULTILINE)
    assert out.endswith("\ncomparison  off\n")


def test_nothing_to_do_comes_back_equal(cli_in: Cli) -> None:
    status, out, _ = cli_in("m.onnx", "o.onnx")
    assert status == 0
    assert out.startswith("opset       18, unchanged\nIR version  8, unchanged\noperators   none changed in number\n")
    assert "\nrules       none needed\n" in out
    assert Path("o.onnx").read_bytes() == Path("m.onnx").read_bytes()


def test_quiet_says_nothing(cli_in: Cli) -> None:
    onnx.save(model(FOREIGN), "foreign.onnx")
    assert cli_in("foreign.onnx", "o.onnx", "-t", "13", "-q") == (0, "", "")
    assert cli_in("nosuch.onnx", "o.onnx", "-q").err.startswith("error: ")


def test_verbose_names_each_change_and_output(cli_in: Cli) -> None:
    lines = cli_in("m.onnx", "-o", "o.onnx", "-v", "--opset", "13").out.splitlines()
    assert lines[:2] == [
        "split.spell_out_parts: Split 'cut' (main graph)",
        "output 'a' float32[3,3]: max difference 0 absolute, 0 relative",
    ]


def test_one_warning_for_what_is_true_of_many_nodes(cli_in: Cli) -> None:
    """allowzero=1 with a shape that the input decides: what opset 13 cannot do is an error there, not another result."""
    text = """
    g (float[N, 4] x, int64[2] shape) => (float[A, B] y, float[C, D] z) {
        y = Reshape <allowzero = 1> (x, shape)
        z = Reshape <allowzero = 1> (x, shape)
    }"""
    onnx.save(named(text, "first", "second"), "reshape.onnx")
    arguments = ("reshape.onnx", "o.onnx", "-t", "13", "--compare", "off")
    status, out, err = cli_in(*arguments, "-v")
    assert status == 0
    assert re.fullmatch(r"warning: Reshape 'first' \(main graph\) and 1 more: [^\n]+\n", err)
    assert len(re.findall(r"^caution: Reshape '(?:first|second)'", out, re.MULTILINE)) == 2
    strict = cli_in(*arguments, "--strict")
    assert (strict.status, strict.out) == (1, "")
    assert strict.err.startswith("error: not converted, 2 nodes are in the way:\n  Reshape 'first' (main graph): ")


def test_the_input_may_be_the_output(cli_in: Cli, tmp_path: Path) -> None:
    assert cli_in("m.onnx", "m.onnx", "-t", "13").status == 0
    assert onnx.load("m.onnx").opset_import[0].version == 13
    assert list(contents(tmp_path)) == ["m.onnx"]


def test_the_same_input_gives_the_same_bytes(cli_in: Cli) -> None:
    for name in ("a.onnx", "b.onnx"):
        assert cli_in("m.onnx", name, "-t", "17").status == 0
    assert Path("a.onnx").read_bytes() == Path("b.onnx").read_bytes()


def test_latest_is_the_newest_opset_of_onnx(cli_in: Cli) -> None:
    assert cli_in("m.onnx", "o.onnx", "-t", "latest", "--compare", "off").status == 0
    assert onnx.load("o.onnx").opset_import[0].version == driver.latest_opset()


def test_ir_version(cli_in: Cli) -> None:
    assert "IR version  8 → 9\n" in cli_in("m.onnx", "o.onnx", "--ir-version", "9", "--compare", "off").out
    assert onnx.load("o.onnx").ir_version == 9


def test_an_excluded_rule_is_in_the_way(cli_in: Cli) -> None:
    for options in (["--skip", "split.spell_out_parts"], ["--only", "split.sizes_to_attribute"], ["--skip", "split"]):
        status, _, err = cli_in("m.onnx", "o.onnx", "-t", "13", *options)
        assert status == 1
        assert "rule split.spell_out_parts is needed here, and --only or --skip excludes it" in err


def test_shapes_and_data_for_the_comparison(cli_in: Cli) -> None:
    """A name may hold colons: the last one is the separator."""
    onnx.save(two_inputs(), "two.onnx")
    np.save("x.npy", np.ones((5, 4), np.float32))
    given = ["--input-data", "x:x.npy", "--test-input-shape", "data:0:6,4"]
    out = cli_in("two.onnx", "o.onnx", "-t", "13", "-v", *given).out
    assert "output 'a' float32[5,2]: " in out
    assert "output 'c' float32[6,4]: " in out
    np.savez("both.npz", **{"x": np.ones((2, 4), np.float32), "data:0": np.ones((9, 4), np.float32)})
    out = cli_in("two.onnx", "o.onnx", "-t", "13", "-v", "--input-data", "both.npz").out
    assert "output 'a' float32[2,2]: " in out
    assert "output 'c' float32[9,4]: " in out


def test_the_shape_of_the_only_input_needs_no_name(cli_in: Cli) -> None:
    assert "output 'a' float32[5,3]: " in cli_in("m.onnx", "o.onnx", "-v", "-t", "13", "--test-input-shape", "5,7").out
    assert cli_in("m.onnx", "o.onnx", "--overwrite-input-shape", "2,7").status == 0
    dims = onnx.load("o.onnx").graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [2, 7]


def test_help_states_examples_limits_and_exit_statuses(cli_in: Cli) -> None:
    status, out, err = cli_in("--help")
    assert (status, err) == (0, "")
    assert out.startswith("Usage: split-rewrite [OPTIONS] INPUT [OUTPUT]\n")
    for part in ("Examples:\n", "Limits:\n", "Exit status:\n", "--target-opset, --opset N|latest", "--test-input-shape"):
        assert part in out


def test_list_rules(cli_in: Cli) -> None:
    lines = cli_in("--list-rules").out.splitlines()
    assert lines == sorted(lines)
    rule = re.compile(r"split\.sizes_to_input +upgrade +13 +Split: The attribute split becomes an input")
    assert any(map(rule.match, lines))


# -- the real process


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


@pytest.mark.parametrize("package", ["split_rewrite", "split_rewrite.rewriter"])
def test_both_packages_run(package: str) -> None:
    done = python("-m", package, "--version")
    assert re.fullmatch(r"split-rewrite \S+ \(onnx \S+\)\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")


HEAVY = ("onnxscript", "onnx_ir", "onnxruntime", "onnx.reference", "torch")
IMPORTS = {
    "help": ("from split_rewrite.rewriter.cli import run; run(['--help'])", (*HEAVY, "onnx", "numpy")),
    "version": ("from split_rewrite.rewriter.cli import run; run(['--version'])", (*HEAVY, "onnx", "numpy")),
    "list-rules": ("from split_rewrite.rewriter.cli import run; run(['--list-rules'])", HEAVY),
    "library": ("from split_rewrite.rewriter import convert_version, Options", HEAVY),
}


@pytest.mark.parametrize(("program", "unwanted"), IMPORTS.values(), ids=IMPORTS)
def test_imports_only_what_is_needed(program: str, unwanted: tuple[str, ...]) -> None:
    done = python("-c", f"{program}\nimport sys\nprint([name for name in {unwanted} if name in sys.modules], file=sys.stderr)")
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_terminal_without_arrows(tmp_path: Path) -> None:
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = python("-m", "split_rewrite", "m.onnx", "o.onnx", "-t", "13", "--compare", "off", cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("opset       18 \\u2192 13\n")


def test_a_reader_that_left_is_no_error(tmp_path: Path) -> None:
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "split_rewrite", "m.onnx", "o.onnx", "--compare", "off"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "o.onnx").exists()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("signal_name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_leaves_no_files(tmp_path: Path, signal_name: str, status: int) -> None:
    """The signal comes when the result is staged and not yet in its place. Background jobs of a shell ignore SIGINT: not here."""
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    program = (
        "import os, signal, sys, time\n"
        "from split_rewrite.rewriter import cli, driver\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def compare(*_):\n"
        "    assert len(os.listdir()) == 2\n"
        f"    os.kill(os.getpid(), signal.{signal_name})\n"
        "    time.sleep(60)\n"
        "driver._compare = compare\n"
        "sys.argv = ['split-rewrite', 'm.onnx', 'o.onnx', '-t', '13']\n"
        "cli.main()\n"
    )
    done = python("-c", program, cwd=tmp_path)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["m.onnx"]
