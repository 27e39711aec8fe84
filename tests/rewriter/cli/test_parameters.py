"""The values of options, as click reads them, and what it says of wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from split_rewrite.rewriter.cli.parameters import Arrays, Bound, Choice, Declaration, Opset, RecordFile, ReportFile, Shape, Size

pytestmark = pytest.mark.quick

RIGHT = [
    (Opset(), "13", 13),
    (Opset(), "latest", "latest"),
    (Opset(), "Latest", "latest"),
    (Choice(["auto", "Model"]), "AUTO", "auto"),
    (Choice(["auto", "Model"]), "model", "Model"),
    (Bound(), "1e-3", (None, 0.001)),
    (Bound(), "a:b:0.5", ("a:b", 0.5)),
    (Shape(), "x:1,3", ("x", (1, 3))),
    (Shape(), "1,3", (None, (1, 3))),
    (Shape(), "x:", ("x", ())),
    (Size(), "4GB", 4 << 30),
    (Declaration(), "a:b:float[N]", ("a:b", "float[N]")),
    (ReportFile(), "-", "-"),
    (ReportFile(), "run.sarif", "run.sarif"),
    (RecordFile(), "run.jsonl", "run.jsonl"),
]
WRONG = [
    (Opset(), "newest", "a number or 'latest'"),
    (Choice(["auto", "required"]), "require", "not one of auto, required; did you mean 'required'?"),
    (Choice(["auto", "required"]), "x", "not one of auto, required"),
    (Bound(), "-1", "a number from 0 on"),
    (Bound(), ":1", "a number from 0 on"),
    (Bound(), "nan", "a number from 0 on"),
    (Shape(), ":1,3", "NAME:1,3,224,224"),
    (Shape(), "x:1,a", "whole numbers as in 1,3,224,224"),
    (Size(), "many", "a size like 4GB"),
    (Declaration(), "float", "NAME:float"),
    (ReportFile(), "run.txt", "should end with one of .json"),
    (RecordFile(), "run.json", "ends with .jsonl"),
    (RecordFile(), "-", "ends with .jsonl"),
    (Arrays(), "x.npy", "NAME:FILE.npy or FILE.npz"),
]


@pytest.mark.parametrize(("kind", "text", "value"), RIGHT)
def test_values(kind: click.ParamType, text: str, value: Any) -> None:
    assert kind.convert(text, None, None) == value


@pytest.mark.parametrize(("kind", "text", "message"), WRONG)
def test_wrong_values(kind: click.ParamType, text: str, message: str) -> None:
    with pytest.raises(click.BadParameter) as wrong:
        kind.convert(text, None, None)
    assert message in wrong.value.message


def test_arrays_of_one_file_or_of_many(tmp_path: Path) -> None:
    array = np.arange(3)
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "all.npz", a=array, b=array)
    one = Arrays().convert(f"x:{tmp_path / 'x.npy'}", None, None)
    many = Arrays().convert(str(tmp_path / "all.npz"), None, None)
    assert (list(one.arrays), one.is_sample) == (["x"], False)
    assert (sorted(many.arrays), many.is_sample) == (["a", "b"], True)
