"""What the command line prints of a run: equal blockers are one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import helpers
import onnx
import pytest

from split_rewrite.rewriter import convert_version
from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.report.summary import summary

STRINGS = "g (string[4] x) => (string[4] a, string[4] b) {a = StringConcat(x, x) b = StringConcat(a, x)}"


def test_equal_blockers_are_one_line(save, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = " ".join(f"v{i} = StringConcat({f'v{i - 1}' if i else 'x'}, x)" for i in range(30))
    arguments = ["-t", "18", save(f"g (string[4] x) => (string[4] v29) {{{chain}}}", 20), str(tmp_path / "out.onnx")]
    assert command.run(arguments) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: 30 nodes cannot be converted:"
    assert len(lines) == 2 and lines[1].endswith("(and 29 more like it; -v lists them)")
    assert command.run([*arguments, "-v"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 31


def test_few_blockers_are_all_named(save, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["-t", "18", save(STRINGS, 20), str(tmp_path / "out.onnx")]) == 1
    error = capsys.readouterr().err
    assert "StringConcat 'a'" in error and "StringConcat 'b'" in error


def test_what_a_dry_run_prints(save, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["-t", "18", "--dry-run", save(STRINGS, 20)]) == 1
    out = capsys.readouterr().out
    assert "dry run  2 nodes cannot be converted" in out
    assert "lowest   opset 20; blocked below by: StringConcat 'a'" in out
    assert f"highest  opset {onnx.defs.onnx_opset_version()}" in out


@pytest.mark.parametrize(
    ("rtol", "head"), [(0.0, "equal, max"), (0.5, "equal, within rtol 0.5 and atol 0, max")], ids=["exact", "tolerance"]
)
def test_the_line_says_what_a_verdict_rests_on(rtol: float, head: str) -> None:
    report = convert_version(helpers.model("g (float[2] x) => (float[2] y) { y = Relu (x) }", 13), 17).report
    (output,) = report.comparison.outputs
    excused = replace(
        report.comparison, outputs=(replace(output, max_abs=3.0, rtol=rtol),), reason="float64 is nearer", evidence="", runtime="r"
    )
    line = next(line for line in summary(replace(report, comparison=excused)).splitlines() if line.startswith("comparison"))
    assert line == f"comparison  {head} difference 3 (r); float64 is nearer"
