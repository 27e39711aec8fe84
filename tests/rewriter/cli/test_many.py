"""Which command lines are about many models, and where their results go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from split_rewrite.rewriter.cli.command import command
from split_rewrite.rewriter.cli.many import inputs_of_many

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo").mkdir()
    (tmp_path / "m.onnx").touch()


def asked(*arguments: str) -> tuple[Any, ...] | None:
    given = command.make_context("split-rewrite", list(arguments)).params
    paths = [given["source"], *filter(None, [given["destination"], *given["more"]])]
    return inputs_of_many(paths, given)


@pytest.mark.parametrize(
    "arguments",
    [["m.onnx", "o.onnx"], ["m.onnx", "-o", "o.onnx"], ["m.onnx", "--dry-run"], ["m.onnx", "o.onnx", "--report", "r.html"]],
)
def test_one_model(arguments: list[str]) -> None:
    assert asked(*arguments) is None


@pytest.mark.parametrize(
    ("arguments", "inputs", "into"),
    [
        (["m.onnx", "n.onnx", "out"], ["m.onnx", "n.onnx"], "out"),
        (["m.onnx", "zoo/"], ["m.onnx"], "zoo/"),
        (["zoo", "new"], ["zoo"], "new"),
        (["zoo", "--in-place"], ["zoo"], None),
        (["m.onnx", "new", "--jobs", "2"], ["m.onnx"], "new"),
        (["m.onnx", "new", "--report", "r.xml"], ["m.onnx"], "new"),
        (["@list.txt", "-o", "new"], ["@list.txt"], "new"),
        (["zoo", "--dry-run"], ["zoo"], None),
    ],
)
def test_many_models(arguments: list[str], inputs: list[str], into: str | None) -> None:
    found = asked(*arguments)
    assert found is not None and (list(found[0]), found[1]) == (inputs, into)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zoo"], "name the folder to write to, or say --in-place"),
        (["zoo", "--in-place", "-o", "new"], "leave -o and --dry-run out"),
        (["zoo", "--dry-run", "-o", "new"], "leave OUTPUT out"),
    ],
)
def test_contradictions(arguments: list[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        asked(*arguments)
