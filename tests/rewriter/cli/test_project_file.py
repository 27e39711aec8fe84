"""Defaults from pyproject.toml: what is refused, whose value wins, and which file counts."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import Ended, command_line, model
from wrong_tables import WRONG_TABLES

from split_rewrite.rewriter.cli.command import command
from split_rewrite.rewriter.cli.project_file import project_defaults

pytestmark = pytest.mark.quick

TEXT = "g (float[N, 4] x) => (float[N, 2] y, float[N, 2] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    onnx.save(model(TEXT, 18), "m.onnx")
    return tmp_path


def run(project: Path, table: str, *arguments: str) -> Ended:
    (project / "pyproject.toml").write_text(f"[tool.split-rewrite]\n{table}\n", encoding="utf-8")
    return command_line("m.onnx", "o.onnx", *arguments)


@pytest.mark.parametrize(("table", "message"), WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_what_cannot_be_set_is_told_with_the_file(project: Path, table: str, message: str) -> None:
    ended = run(project, table)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"error: {project / 'pyproject.toml'}: [tool.split-rewrite] {message}\n"


def test_a_value_that_an_option_does_not_take_is_told_with_the_file(project: Path) -> None:
    ended = run(project, 'compare = "maybe"')
    assert ended.status == 2
    assert ended.err.endswith(f" ([tool.split-rewrite] in {project / 'pyproject.toml'})\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[tool.split-rewrite", "is not valid TOML: "),
        ("tool.split-rewrite = 3", "[tool.split-rewrite] has to be a table of options"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(project: Path, content: str, message: str) -> None:
    (project / "pyproject.toml").write_text(content, encoding="utf-8")
    ended = command_line("m.onnx", "o.onnx")
    assert ended.status == 2 and "pyproject.toml" in ended.err and message in ended.err


def test_files_of_other_tools_are_nothing_to_us(project: Path) -> None:
    (project / "sub" / "pyproject.toml").write_text("[tool.black\n", encoding="utf-8")
    assert run(project, "target-opset = 13").status == 0
    assert onnx.load("o.onnx").opset_import[0].version == 13


def test_defaults_are_used_and_the_command_line_wins(project: Path) -> None:
    assert run(project, "target-opset = 13\nquiet = true") == (0, "", "")
    assert onnx.load("o.onnx").opset_import[0].version == 13
    assert run(project, "target-opset = 13", "-t", "11").status == 0
    assert onnx.load("o.onnx").opset_import[0].version == 11


def test_the_nearest_file_with_a_table_counts(project: Path) -> None:
    Path("pyproject.toml").write_text("[project]\nname = 'split-rewrite-user'\n", encoding="utf-8")
    assert run(project, "target-opset = 12").status == 0
    assert onnx.load("o.onnx").opset_import[0].version == 12
    Path("pyproject.toml").write_text("[tool.split-rewrite]\ntarget-opset = 11\n", encoding="utf-8")
    assert command_line("m.onnx", "o.onnx").status == 0
    assert onnx.load("o.onnx").opset_import[0].version == 11


def test_profiles_are_relative_to_the_file(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.split-rewrite]\nfor = ["npu.toml", "openvino"]\n', encoding="utf-8")
    found = project_defaults(command, ".")
    assert found.values == {"for_runtimes": [str(project / "npu.toml"), "openvino"]}
    assert found.file == str(project / "pyproject.toml")
