"""Options of the command line become options of a conversion."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.cli.command import command
from split_rewrite.rewriter.cli.options import job_options
from split_rewrite.rewriter.cli.parameters import Loaded

pytestmark = pytest.mark.quick


def given(*arguments: str, **more: Any) -> dict[str, Any]:
    """The parsed options of a command line."""
    return command.make_context("split-rewrite", ["m.onnx", "o.onnx", *arguments]).params | more


def test_nothing_given_is_the_default() -> None:
    options, target = job_options(None, given())
    assert target is None
    assert (options.only, options.strict, options.runtime) == (frozenset(), False, "auto")


def test_what_is_given_arrives() -> None:
    options, target = job_options(
        None, given("-t", "13", "--skip", "split", "--declare", "a:float[N]", "--rtol", "y:0.5", "--atol", "1")
    )
    assert (target, options.skip, options.declare) == (13, {"split"}, {"a": "float[N]"})
    assert (dict(options.tolerance.rtol_of), options.tolerance.atol) == ({"y": 0.5}, 1.0)


def test_the_shape_of_the_only_input_needs_no_name(tmp_path) -> None:
    onnx.save(model("g (float[N] x) => (float[N] y) { y = Relu(x) }"), tmp_path / "m.onnx")
    options, _ = job_options(tmp_path / "m.onnx", given("--overwrite-input-shape", "4"))
    assert options.overwrite_input_shapes == {"x": (4,)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--declare", "a:float", "--declare", "a:int64"], "--declare: value 'a' is given twice"),
        (["--rtol", "1", "--rtol", "2"], "--rtol is given twice for all outputs"),
        (["--overwrite-input-shape", "x:1", "--overwrite-input-shape", "x:2"], "input 'x' is given twice"),
        (["--overwrite-input-shape", "1"], "put NAME: before the shape; each model has inputs of its own"),
    ],
)
def test_what_contradicts_itself(arguments: list[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        job_options(None, given(*arguments))


def test_single_arrays_are_part_of_every_sample() -> None:
    a, b = np.zeros(1), np.ones(1)
    loaded = [Loaded("one.npz", {"x": a}), Loaded("two.npz", {"x": b}), Loaded("z.npy", {"z": b})]
    options, _ = job_options(None, given(input_data=loaded))
    assert options.samples is not None
    assert [sorted(sample) for sample in options.samples.data] == [["x", "z"], ["x", "z"]]
    with pytest.raises(click.UsageError, match="input 'x' is given twice in one sample"):
        job_options(None, given(input_data=[*loaded, Loaded("x.npy", {"x": a})]))
