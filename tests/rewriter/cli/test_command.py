"""The command line: how it says what cannot be converted; then what it prints, writes and leaves alone. Its errors are in tests/system/errors/."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from helpers import Ended, model
from storage_models import runnable, to_external

from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.conversion import driver
from split_rewrite.rewriter.execution import loadable
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Worker
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


Cli = Callable[..., Ended]


@pytest.fixture
def cli_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process, in a folder of models."""
    monkeypatch.chdir(tmp_path)
    onnx.save(named(SPLIT, "cut"), "m.onnx")

    def run(*arguments: str) -> Ended:
        status = command.run(arguments)
        return Ended(status, *capsys.readouterr())

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_node_in_the_way_gets_a_line(cli_in: Cli, tmp_path: Path) -> None:
    onnx.save(named(TOO_YOUNG, "vowel", "digit", opset=20), "young.onnx")
    before = contents(tmp_path)
    status, out, err = cli_in("young.onnx", "o.onnx", "--target-opset", "18")
    assert (status, out) == (1, "")
    first, *others = err.splitlines()
    assert first == "error: 2 nodes cannot be converted:"
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


def test_a_wrong_rule_is_found_by_the_comparison(cli_in: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_rules, "equal_sizes", lambda dimension, parts: [3, 1, 3])
    onnx.save(model(SPLIT.replace("float[N, 3] b, float[N, 1] c", "float[N, K] b, float[N, L] c")), "m.onnx")
    before = contents(tmp_path)
    status, out, err = cli_in("m.onnx", "o.onnx", "-t", "17")
    assert (status, out) == (3, "")
    hint = "--compare nodes compares each changed node alone, --input-data your own inputs, --keep-different keeps the result"
    assert re.fullmatch(rf"error: outputs differ \(onnxruntime .*\): output 'b' differs: .*\. Hint: {hint}\n", err)
    assert contents(tmp_path) == before
    err = cli_in("m.onnx", "o.onnx", "-t", "17", "--compare", "nodes").err
    assert re.fullmatch(r"error: .*\. Hint: --keep-different keeps the result\n", err)


def test_a_result_that_differs_is_kept_beside_the_output(cli_in: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_rules, "equal_sizes", lambda dimension, parts: [3, 1, 3])
    proto = model(SPLIT.replace("float[N, 3] b, float[N, 1] c", "float[N, K] b, float[N, L] c"))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(2048, dtype=np.float32), "w"))
    onnx.save(proto, "m.onnx")
    Path("o.onnx").write_bytes(b"mine")
    status, out, err = cli_in("m.onnx", "o.onnx", "-t", "17", "--keep-different", "--external-data", "split")
    assert (status, out) == (3, "")
    assert re.fullmatch(r"error: outputs differ .*\. Hint: .* your own inputs; the result is in o\.different\.onnx\n", err)
    assert Path("o.onnx").read_bytes() == b"mine"
    assert set(contents(tmp_path)) == {"m.onnx", "o.onnx", "o.different.onnx", "o.different.onnx.data"}
    session = onnxruntime.InferenceSession("o.different.onnx", providers=["CPUExecutionProvider"])
    assert [value.shape for value in session.run(None, {"x": np.zeros((2, 7), np.float32)})] == [(2, 3), (2, 1), (2, 3)]


def test_what_keep_different_would_replace(cli_in: Cli, tmp_path: Path) -> None:
    onnx.save(model(SPLIT), "o.different.onnx")
    ended = cli_in("o.different.onnx", "o.onnx", "-t", "17", "--keep-different")
    assert (ended.status, ended.err.splitlines()[-1]) == (
        2,
        "error: o.different.onnx: the file of --keep-different would replace INPUT, o.different.onnx; choose another name",
    )
    ended = cli_in("m.onnx", "o.onnx", "-t", "17", "--keep-different", "--no-clobber")
    assert (ended.status, ended.err) == (2, "error: o.different.onnx: exists, and no file is to be replaced (no-clobber)\n")
    Path("in").mkdir()
    for name in ("a.onnx", "a.different.onnx"):
        onnx.save(model(SPLIT), f"in/{name}")
    ended = cli_in("in", "out/", "-t", "17", "--keep-different")
    assert (ended.status, ended.out) == (2, "")
    assert "would replace the result of in/a.different.onnx" in ended.err


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
    assert "comparison  node by node: 1 node equal, 1 distinct, 1 " in auto.out
    assert Path("auto.onnx").exists()


def test_a_comparison_of_whole_models_that_cannot_be_made_is_a_warning(cli_in: Cli) -> None:
    onnx.save(model(FOREIGN), "foreign.onnx")
    whole = cli_in("foreign.onnx", "whole.onnx", "-t", "13", "--compare", "model")
    assert whole.status == 0
    assert re.fullmatch("warning: the result was not compared: onnxruntime cannot run the original: [^\n]+\n", whole.err)
    assert "comparison  not possible: see the warning" in whole.out
    required = cli_in("foreign.onnx", "required.onnx", "-t", "13", "--compare", "required")
    assert (required.status, required.err) == (0, "")
    assert "comparison  node by node: 1 node equal, 1 distinct, 1 " in required.out


FAILURES = {
    "bug": (KeyError("x"), 3, "internal error: KeyError: 'x'; please report it (-v shows where it is from)"),
    "recursion": (RecursionError("maximum"), 2, "error: the model is nested too deeply"),
    "memory": (MemoryError(), 2, "error: out of memory"),
    "disk-full": (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "o.onnx"), 2, "error: o.onnx: No space left on device"),
    "interrupt": (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
}


@pytest.mark.parametrize(("error", "status", "line"), FAILURES.values(), ids=FAILURES)
def test_whatever_happens_is_one_line(
    cli_in: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, line: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(driver, "convert_path", fail)
    assert cli_in("m.onnx", "o.onnx") == (status, "", f"{line}\n")


def test_only_verbose_shows_a_traceback(cli_in: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "convert_path", None)
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
        "nodes       1, unchanged\n"
        "operators   counts unchanged\n"
        "rules       split.sizes_to_attribute  1 node\n"
        "            split.spell_out_parts     1 node\n"
        f"check       passed: onnx.checker {runtime}, full check\n"
        r"comparison  equal, exact, max difference 0, proved for the shapes tried \(onnxruntime \S+\)" + "\n"
        r"wrote o\.onnx \(\d+ bytes\) in \d+\.\d s" + "\n",
        out,
    )
    split = onnx.load("o.onnx").graph.node[0]
    assert onnx.helper.get_node_attr_value(split, "split") == [3, 3, 1]


def test_the_table_counts_operators_that_came_or_went(cli_in: Cli) -> None:
    onnx.save(model("g (float[N, 7] x) => (float[N, 7] y) { y = Gelu(x) }", opset=20), "gelu.onnx")
    out = cli_in("gelu.onnx", "o.onnx", "-t", "19", "--compare", "off").out
    assert re.search(r"^operators .*\n(?: .*\n)*? *Gelu +1 → 0  gelu\.in_elementary_functions$", out, re.MULTILINE)
    assert re.search(r"^ +Erf +0 → 1  from Gelu$", out, re.MULTILINE)
    assert "\ncomparison  off\nwrote o.onnx (" in out


def test_nothing_to_do_comes_back_equal(cli_in: Cli) -> None:
    status, out, _ = cli_in("m.onnx", "o.onnx")
    assert status == 0
    assert out.startswith(
        "opset       18, unchanged\nIR version  8, unchanged\nnodes       1, unchanged\noperators   counts unchanged\n"
    )
    assert "\nrules       none needed\n" in out
    assert Path("o.onnx").read_bytes() == Path("m.onnx").read_bytes()


def test_quiet_says_nothing(cli_in: Cli) -> None:
    onnx.save(model(FOREIGN), "foreign.onnx")
    assert cli_in("foreign.onnx", "o.onnx", "-t", "13", "-q") == (0, "", "")
    assert cli_in("nosuch.onnx", "o.onnx", "-q").err.startswith("error: ")


def test_quiet_gives_the_reasons_of_a_dry_run(cli_in: Cli) -> None:
    onnx.save(named(TOO_YOUNG, "vowel", "digit", opset=20), "young.onnx")
    status, out, err = cli_in("young.onnx", "--dry-run", "-q", "-t", "18")
    assert (status, out) == (1, "")
    assert [line.partition(" (")[0] for line in err.splitlines()] == [
        "cannot be converted: RegexFullMatch 'vowel'",
        "cannot be converted: RegexFullMatch 'digit'",
    ]


def test_no_clobber_keeps_what_is_there(cli_in: Cli, tmp_path: Path) -> None:
    Path("o.onnx").write_bytes(b"mine")
    Path("link.onnx").symlink_to("nowhere")
    for there in ("o.onnx", "link.onnx"):
        ended = cli_in("m.onnx", there, "-t", "13", "--no-clobber")
        assert (ended.status, ended.out) == (2, "")
        assert ended.err == f"error: {there}: exists, and no file is to be replaced (no-clobber)\n"
    assert Path("o.onnx").read_bytes() == b"mine"
    assert cli_in("m.onnx", "new.onnx", "-t", "13", "--no-clobber").status == 0


def test_where_the_weights_went(cli_in: Cli, tmp_path: Path) -> None:
    proto = runnable()
    Path("w.bin").write_bytes(to_external(proto, "w.bin"))
    onnx.save(proto, "weights.onnx")
    assert re.search(r"^weights     stay in w\.bin \(\d.*\)$", cli_in("weights.onnx", "kept.onnx").out, re.MULTILINE)
    Path("sub").mkdir()
    out = cli_in("weights.onnx", "sub/copy.onnx").out
    assert re.search(r"^weights     in copy\.onnx\.data \(\d.*\)$", out, re.MULTILINE)


def test_verbose_names_each_change_and_output(cli_in: Cli) -> None:
    lines = cli_in("m.onnx", "-o", "o.onnx", "-v", "--opset", "13").out.splitlines()
    assert lines[:2] == [
        "split.spell_out_parts: Split 'cut' (main graph)",
        "output 'a' float32[3,3]: max difference 0 absolute, 0 relative",
    ]


def test_one_warning_for_what_is_true_of_many_nodes(cli_in: Cli) -> None:
    text = """
    g (int64[N] i, int64[M] j) => (float[N, 4] y, float[M, 4] z) {
        depth = Constant <value = int64[1] {4}> ()
        values = Constant <value = float[2] {0.0, 1.0}> ()
        y = OneHot (i, depth, values)
        z = OneHot (j, depth, values)
    }"""
    onnx.save(named(text, "depth", "values", "first", "second", opset=10), "onehot.onnx")
    arguments = ("onehot.onnx", "o.onnx", "-t", "11", "--compare", "off")
    status, out, err = cli_in(*arguments, "-v")
    assert status == 0
    assert re.fullmatch(r"warning: OneHot 'first' \(main graph\) and 1 more: [^\n]+\n", err)
    assert len(re.findall(r"^warning: OneHot '(?:first|second)'", out, re.MULTILINE)) == 2
    strict = cli_in(*arguments, "--strict")
    assert (strict.status, strict.out) == (1, "")
    assert strict.err.startswith("error: 2 nodes cannot be converted:\n  OneHot 'first' (main graph): ")


def test_what_happens_to_empty_tensors_is_a_detail(cli_in: Cli) -> None:
    """allowzero=1 with a shape that the input decides: what opset 13 cannot do is an error there, not another result."""
    text = "g (float[N, 4] x, int64[2] shape) => (float[A, B] y) { y = Reshape <allowzero = 1> (x, shape) }"
    onnx.save(named(text, "first"), "reshape.onnx")
    arguments = ("reshape.onnx", "o.onnx", "-t", "13", "--compare", "off")
    assert cli_in(*arguments).err == ""
    assert "empty tensors: Reshape 'first' (main graph): it fails at run time if two dimensions" in cli_in(*arguments, "-v").out
    assert cli_in(*arguments, "--strict").status == 1


def test_the_input_may_be_the_output(cli_in: Cli, tmp_path: Path) -> None:
    assert cli_in("m.onnx", "m.onnx", "-t", "13").status == 0
    assert onnx.load("m.onnx").opset_import[0].version == 13
    assert list(contents(tmp_path)) == ["m.onnx"]


def test_the_same_input_gives_the_same_bytes(cli_in: Cli) -> None:
    for name in ("a.onnx", "b.onnx"):
        assert cli_in("m.onnx", name, "-t", "17").status == 0
    assert Path("a.onnx").read_bytes() == Path("b.onnx").read_bytes()


def test_latest_is_the_newest_opset_that_onnxruntime_loads(cli_in: Cli) -> None:
    assert cli_in("m.onnx", "o.onnx", "-t", "latest", "--compare", "off").status == 0
    newest = max(opset for opset in range(21, onnx.defs.onnx_opset_version() + 1) if loads(opset))
    assert onnx.load("o.onnx").opset_import[0].version == newest


def loads(opset: int) -> bool:
    try:
        onnxruntime.InferenceSession(model("g (float[1] x) => (float[1] y) {y = Identity(x)}", opset).SerializeToString())
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return False
    return True


@pytest.fixture
def an_old_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An onnxruntime that takes opsets up to 22, as 1.20 does."""

    def run(worker: Worker, path: Path, inputs: dict[str, object], runtime: str = "onnxruntime") -> Outputs | Failure:
        if onnx.load(path).opset_import[0].version > 22:
            return Failure("unsupported", "under development and support for this is limited")
        return Outputs(("y",), (inputs["x"],), "onnxruntime 1.20")

    monkeypatch.setattr(Worker, "run", run)
    loadable._newest_loadable.cache_clear()
    yield
    loadable._newest_loadable.cache_clear()


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 23, reason="the installed onnx has no opset 23")
def test_latest_goes_no_further_than_onnxruntime(cli_in: Cli, an_old_onnxruntime: None) -> None:
    assert cli_in("m.onnx", "o.onnx", "-t", "latest", "--compare", "off").err == ""
    assert onnx.load("o.onnx").opset_import[0].version == 22
    status, _, err = cli_in("m.onnx", "o.onnx", "-t", "23", "--compare", "off")
    assert (status, err) == (0, "warning: the installed onnxruntime does not load opset 23, but 22 and older\n")
    assert cli_in("o.onnx", "p.onnx", "--compare", "off").err == "", "it had that opset before"


@pytest.mark.usefixtures("an_old_onnxruntime")
def test_without_onnxruntime_latest_is_the_newest_opset_of_onnx(cli_in: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli_in("m.onnx", "o.onnx", "-t", "latest", "--compare", "off").err == ""
    assert onnx.load("o.onnx").opset_import[0].version == onnx.defs.onnx_opset_version()


def test_ir_version(cli_in: Cli) -> None:
    assert "IR version  8 → 9\n" in cli_in("m.onnx", "o.onnx", "--ir-version", "9", "--compare", "off").out
    assert onnx.load("o.onnx").ir_version == 9


def test_an_excluded_rule_is_in_the_way(cli_in: Cli) -> None:
    for options in (["--skip", "split.spell_out_parts"], ["--only", "split.sizes_to_attribute"], ["--skip", "split"]):
        status, _, err = cli_in("m.onnx", "o.onnx", "-t", "13", *options)
        assert status == 1
        assert "rule split.spell_out_parts is needed here, and --only or --skip excludes it" in err


def test_a_rule_that_is_excluded_and_not_needed_is_not_in_the_way(cli_in: Cli) -> None:
    """Sizes that are written out need no rule between 18 and 17, whatever is skipped; nor does a Relu with --only split."""
    sizes = "g (float[7] x) => (float[3] a, float[4] b) <int64[2] s = {3, 4}> {a, b = Split(x, s)}"
    onnx.save(model(sizes), "sizes.onnx")
    assert cli_in("sizes.onnx", "o.onnx", "-t", "17", "--skip", "split", "--compare", "off").status == 0
    assert onnx.load("o.onnx").graph.node == onnx.load("sizes.onnx").graph.node
    refused = cli_in("sizes.onnx", "p.onnx", "-t", "12", "--skip", "split", "--compare", "off")
    assert refused.status == 1
    assert "rule split.sizes_to_attribute is needed here" in refused.err


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
    assert out.startswith("Usage: split-rewrite [OPTIONS] INPUT [INPUT...] [OUTPUT]")
    for part in ("Examples:\n", "Limits:\n", "Exit status:\n", "--target-opset, --opset N|latest", "--test-input-shape"):
        assert part in out


def test_list_rules(cli_in: Cli) -> None:
    lines = cli_in("--list-rules").out.splitlines()
    assert (
        sum(line.startswith("resizes.gather_nearest ") and "  Resize: " in line for line in lines) == 1
    )  # registered for many forms
    assert lines == sorted(lines)
    rule = re.compile(r"split\.sizes_to_input +upgrade +13 +Split: The attribute split becomes an input")
    assert any(map(rule.match, lines))


# -- the real process


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def test_the_package_runs() -> None:
    done = python("-m", "split_rewrite.rewriter", "--version")
    assert re.fullmatch(r"split-rewrite \S+ \(onnx \S+, onnxruntime \S+\)\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")


HEAVY = ("onnxscript", "onnx_ir", "onnxruntime", "onnx.reference", "torch")
IMPORTS = {
    "help": ("from split_rewrite.rewriter.cli.command import run; run(['--help'])", (*HEAVY, "onnx", "numpy")),
    "version": ("from split_rewrite.rewriter.cli.command import run; run(['--version'])", (*HEAVY, "onnx", "numpy")),
    "list-rules": ("from split_rewrite.rewriter.cli.command import run; run(['--list-rules'])", HEAVY),
    "library": ("from split_rewrite.rewriter import convert_version, Options", HEAVY),
}


@pytest.mark.parametrize(("program", "unwanted"), IMPORTS.values(), ids=IMPORTS)
def test_imports_only_what_is_needed(program: str, unwanted: tuple[str, ...]) -> None:
    done = python("-c", f"{program}\nimport sys\nprint([name for name in {unwanted} if name in sys.modules], file=sys.stderr)")
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_terminal_without_arrows(tmp_path: Path) -> None:
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = python("-m", "split_rewrite.rewriter", "m.onnx", "o.onnx", "-t", "13", "--compare", "off", cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("opset       18 \\u2192 13\n")


def test_a_reader_that_left_is_no_error(tmp_path: Path) -> None:
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "split_rewrite.rewriter", "m.onnx", "o.onnx", "--compare", "off"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "o.onnx").exists()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("signal_name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_leaves_no_files(tmp_path: Path, signal_name: str, status: int) -> None:
    """The signal comes when the result is staged and not yet in its place. Background jobs of a shell ignore SIGINT, nohup SIGHUP: not here."""
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    program = (
        "import os, signal, sys, time\n"
        "from split_rewrite.rewriter.cli import command\nfrom split_rewrite.rewriter.conversion import comparing\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "def compare(*_):\n"
        "    assert len(os.listdir()) == 2\n"
        f"    os.kill(os.getpid(), signal.{signal_name})\n"
        "    time.sleep(60)\n"
        "comparing._compare = compare\n"
        "sys.argv = ['split-rewrite', 'm.onnx', 'o.onnx', '-t', '13']\n"
        "command.main()\n"
    )
    done = python("-c", program, cwd=tmp_path)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["m.onnx"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("module", ["click", "onnx.onnx_cpp2py_export"])
@pytest.mark.parametrize(
    "arguments", [["m.onnx", "o.onnx", "-t", "13"], ["m.onnx", "n.onnx", "out", "-t", "13"], ["--text", "m.onnx"]]
)
def test_a_signal_during_the_start_ends_it_silently(tmp_path: Path, module: str, signal_name: str, arguments: list[str]) -> None:
    """An exception in the midst of an import would be a traceback, or a crash of the native code that imports."""
    for name in ("m.onnx", "n.onnx"):
        onnx.save(named(SPLIT, "cut"), tmp_path / name)
    program = (
        "import os, runpy, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        f"            os.kill(os.getpid(), signal.{signal_name})\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"sys.argv = ['split-rewrite', *{arguments!r}]\n"
        "runpy.run_module('split_rewrite.rewriter', run_name='__main__')\n"
    )
    done = python("-c", program, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (-getattr(signal, signal_name), "", "")
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "n.onnx"]


# -- what is lost to nobody: paths that are read and written, streams, and ends at any moment


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """The command line as a process of its own, in a folder of models, by a shell."""
    onnx.save(named(SPLIT, "cut"), tmp_path / "m.onnx")
    main = f"{shlex.quote(sys.executable)} -m split_rewrite.rewriter"

    def run(line: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        line = line.replace("split-rewrite", f"{main} -t 13 --compare off")
        return subprocess.run(["bash", "-c", line], capture_output=True, cwd=tmp_path, check=False, timeout=60, **options)

    return run


CONFLICTS = {
    "report-as-output": ("m.onnx a.json --report a.json", "a.json: a report would replace OUTPUT, a.json; choose another name"),
    "report-as-input": ("m.json o.onnx --report ./m.json", "./m.json: a report would replace INPUT, m.json; choose another name"),
    "report-as-input-of-a-dry-run": (
        "m.json --dry-run --report m.json",
        "m.json: a report would replace INPUT, m.json; choose another name",
    ),
    "reports-that-are-one-file": (
        "m.onnx o.onnx --report r.json --report ./r.json",
        "./r.json: a report would replace a report, r.json; choose another name",
    ),
    "reports-that-differ-by-case": (
        "m.onnx o.onnx --report r.json --report R.json",
        "R.json: a report would replace a report, r.json; choose another name",
    ),
    "report-as-data": (
        "split.onnx o.onnx --report w.json",
        "w.json: a report would replace the external data of INPUT, w.json; choose another name",
    ),
    "report-as-data-of-a-dry-run": (
        "split.onnx --dry-run --report w.json",
        "w.json: a report would replace the external data of INPUT, w.json; choose another name",
    ),
    "report-as-a-link-to-the-input": (
        "m.onnx o.onnx --report link.json",
        "link.json: a report would replace INPUT, m.onnx; choose another name",
    ),
    "report-as-a-hard-link-to-the-input": (
        "m.onnx o.onnx --report hard.json",
        "hard.json: a report would replace INPUT, m.onnx; choose another name",
    ),
    "report-as-a-link-to-the-data-of-the-output": (
        "m.onnx o.onnx --external-data split:1 --report later.json",
        "later.json: is a link to o.onnx.data, which is not a .json file; choose another name",
    ),
    "report-of-several-as-a-link-to-the-data-of-an-output": (
        "m.onnx split.onnx out --external-data split:1 --report later.jsonl",
        "later.jsonl: is a link to out/m.onnx.data, which is not a .jsonl file; choose another name",
    ),
    "output-as-data": (
        "split.onnx w.json",
        "w.json: OUTPUT would replace the external data of INPUT, w.json; choose another name",
    ),
    "output-as-data-by-another-path": (
        "split.onnx ../{folder}/w.json",
        "../{folder}/w.json: OUTPUT would replace the external data of INPUT, w.json; choose another name",
    ),
    "output-as-inputs": (
        "m.onnx x.npz --input-data x.npz",
        "x.npz: OUTPUT would replace a file of --input-data, x.npz; choose another name",
    ),
    "output-as-one-input": (
        "m.onnx ./x.npy --input-data x:x.npy",
        "./x.npy: OUTPUT would replace a file of --input-data, x.npy; choose another name",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), CONFLICTS.values(), ids=CONFLICTS)
def test_no_file_is_read_and_written(cli_in: Cli, tmp_path: Path, arguments: str, message: str) -> None:
    proto = runnable()
    Path("w.json").write_bytes(to_external(proto, "w.json"))
    Path("split.onnx").write_bytes(proto.SerializeToString())
    Path("m.json").write_bytes(Path("m.onnx").read_bytes())
    Path("link.json").symlink_to("m.onnx")
    os.link("m.onnx", "hard.json")
    Path("later.json").symlink_to("o.onnx.data")
    Path("later.jsonl").symlink_to("out/m.onnx.data")
    np.savez("x.npz", x=np.ones((2, 7), np.float32))
    np.save("x.npy", np.ones((2, 7), np.float32))
    before = contents(tmp_path)
    ended = cli_in(*arguments.format(folder=tmp_path.name).split(), "-t", "20")
    assert ended == (2, "", f"error: {message.format(folder=tmp_path.name)}\n")
    assert contents(tmp_path) == before


def test_a_model_that_is_its_own_data_is_not_replaced(cli_in: Cli, tmp_path: Path) -> None:
    proto = runnable()
    to_external(proto, "own.onnx")
    Path("own.onnx").write_bytes(proto.SerializeToString())
    before = contents(tmp_path)
    assert "own.onnx: OUTPUT would replace the external data of INPUT" in cli_in("own.onnx", "own.onnx").err
    assert contents(tmp_path) == before


def test_models_that_differ_by_case_are_two(cli_in: Cli, tmp_path: Path) -> None:
    """Where the file system says that they are."""
    assert cli_in("m.onnx", "M.onnx", "-t", "13", "--compare", "off").status == 0
    assert onnx.load("M.onnx").opset_import[0].version == 13


def test_what_is_no_longer_needed_is_said_and_kept(cli_in: Cli, tmp_path: Path) -> None:
    proto = runnable()
    Path("w.bin").write_bytes(to_external(proto, "w.bin"))
    Path("split.onnx").write_bytes(proto.SerializeToString())
    ended = cli_in("split.onnx", "split.onnx", "--external-data", "inline", "--report", "r.json")
    note = "split.onnx no longer needs w.bin, which may be needed by another model"
    assert (ended.status, ended.err) == (0, f"warning: {note}\n")
    assert json.loads(Path("r.json").read_text())["data_files"] == [note]
    assert Path("w.bin").exists()


def test_the_report_of_a_conversion_in_place_tells_before_from_after(cli_in: Cli) -> None:
    before = hashlib.sha256(Path("m.onnx").read_bytes()).hexdigest()
    assert cli_in("m.onnx", "m.onnx", "-t", "13", "--report", "r.json").status == 0
    after = hashlib.sha256(Path("m.onnx").read_bytes()).hexdigest()
    document = json.loads(Path("r.json").read_text())
    assert before != after
    assert (document["input"]["sha256"], document["output"]["sha256"]) == (before, after)


def test_a_report_through_a_link(cli_in: Cli) -> None:
    Path("real.json").write_text("old")
    Path("real.json").chmod(0o600)
    Path("link.json").symlink_to("real.json")
    assert cli_in("m.onnx", "o.onnx", "--report", "link.json", "-q").status == 0
    assert os.readlink("link.json") == "real.json"
    assert json.loads(Path("real.json").read_text())["outcome"] == "converted"
    assert Path("real.json").stat().st_mode & 0o777 == 0o600


def test_a_report_that_cannot_be_written_stops_the_conversion(cli_in: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is known only by trying, as on a full disk. An error that came before is still said."""
    before = contents(tmp_path)
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if str(target).endswith(".html"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    error = "error: r.html: cannot be written: No space left on device\n"
    assert cli_in("m.onnx", "m.onnx", "-t", "13", "--report", "r.html") == (2, "", error)
    assert contents(tmp_path) == before
    both = cli_in("m.onnx", "o.onnx", "-t", "17", "--skip", "split", "--report", "r.html", "--report", "r.json")
    assert both.status == 1
    assert error in both.err and "error: 1 node cannot be converted" in both.err
    assert json.loads(Path("r.json").read_text())["outcome"] == "not convertible"


STREAMS = {
    "full": ("split-rewrite m.onnx o.onnx > /dev/full", "No space left on device"),
    "full-for-a-report": ("split-rewrite m.onnx o.onnx -q --report - > /dev/full", "No space left on device"),
    "full-for-a-model": ("split-rewrite m.onnx - > /dev/full", "No space left on device"),
    "closed": ("split-rewrite m.onnx o.onnx >&-", "Bad file descriptor"),
    "closed-for-a-model": ("split-rewrite m.onnx - >&-", "Bad file descriptor"),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(("line", "reason"), STREAMS.values(), ids=STREAMS)
def test_an_output_stream_that_takes_nothing(process, tmp_path: Path, line: str, reason: str) -> None:
    done = process(line)
    assert done.returncode == 2
    assert done.stderr.decode().endswith(f"error: standard output: cannot be written: {reason}\n")
    assert os.listdir(tmp_path) == ["m.onnx"]


def test_standard_output_is_not_the_input(process, tmp_path: Path) -> None:
    before = contents(tmp_path)
    done = process("split-rewrite m.onnx o.onnx >> m.onnx")
    message = "standard output: the text on standard output would replace INPUT, m.onnx; choose another name"
    assert (done.returncode, done.stderr.decode()) == (2, f"error: {message}\n")
    assert contents(tmp_path) == before


def test_streams_that_nobody_needs_may_be_closed(process, tmp_path: Path) -> None:
    """And the files of the conversion are not taken for them."""
    assert process("split-rewrite m.onnx o.onnx -q <&- >&- 2>&-").returncode == 0
    assert onnx.load(tmp_path / "o.onnx").opset_import[0].version == 13


PIPES = {
    "through": "cat m.onnx | split-rewrite - - > o.onnx",
    "in": "split-rewrite - o.onnx < m.onnx",
    "out": "split-rewrite m.onnx -o - | cat > o.onnx",
    "fifo": "mkfifo p; timeout 50 cat m.onnx > p & split-rewrite p o.onnx; rm p",
    "of-a-shell": "split-rewrite <(cat m.onnx) o.onnx",
    "by-its-path": "cat m.onnx | split-rewrite /dev/stdin o.onnx",
    "only-input": "cat m.onnx | split-rewrite - o.onnx --test-input-shape 2,7 --compare model",
}


@pytest.mark.parametrize("line", PIPES.values(), ids=PIPES)
def test_pipes(process, tmp_path: Path, line: str) -> None:
    expected = process("split-rewrite m.onnx expected.onnx")
    done = process(line)
    assert done.returncode == 0, done.stderr
    summary = done.stdout + done.stderr
    assert summary.replace(b"off", b"")[:60] == expected.stdout.replace(b"off", b"")[:60]
    assert (tmp_path / "o.onnx").read_bytes() == (tmp_path / "expected.onnx").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["expected.onnx", "m.onnx", "o.onnx"]


def test_a_report_on_a_pipe(process, tmp_path: Path) -> None:
    done = process("cat m.onnx | split-rewrite - o.onnx --report -")
    document = json.loads(done.stdout)
    data = (tmp_path / "m.onnx").read_bytes()
    assert document["input"] == {"path": "-", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_a_pipe_has_no_external_data(process, tmp_path: Path) -> None:
    proto = runnable()
    (tmp_path / "w.bin").write_bytes(to_external(proto, "w.bin"))
    (tmp_path / "split.onnx").write_bytes(proto.SerializeToString())
    done = process("split-rewrite - o.onnx < split.onnx")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"has external data, but the folder of the model is not known" in done.stderr
    assert process("split-rewrite split.onnx - > o.onnx").returncode == 0
    assert all(tensor.data_location == 0 for tensor in onnx.load(tmp_path / "o.onnx").graph.initializer)


def test_an_old_protobuf_is_named() -> None:
    class VersionError(Exception):
        """As that of google.protobuf.runtime_version, which raises it when onnx is imported."""

    error = VersionError(
        "Detected incompatible versions when loading onnx.proto: gencode 6.31.1 runtime 5.29.6. Runtime version cannot be older."
    )
    assert command._explain(error) == (
        2,
        [
            "error: onnx cannot be imported, as protobuf is too old for it: pip install -U protobuf "
            "(Detected incompatible versions when loading onnx.proto: gencode 6.31.1 runtime 5.29.6)"
        ],
    )
