"""Conversions for a runtime of which nothing is known but the operators that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run
from onnx import ModelProto

from split_rewrite import rewriter
from split_rewrite.rewriter import Options, UnconvertibleError

PROFILE = """title = "NPU"
{head}
[[release]]
from = "1"
evidence = "by documentation"
operators_allowed = {operators}
{rules}
"""


def for_a_list(folder: Path, operators: Sequence[str], rules: str = "", head: str = "") -> Options:
    """A conversion for a runtime that allows `operators` under `rules`, which are TOML."""
    path = folder / "npu.toml"
    path.write_text(PROFILE.format(head=head, operators=list(operators), rules=rules), encoding="utf-8")
    return Options(for_runtimes=[str(path)])


def refused_for(folder: Path, allowed: Sequence[str], proto: ModelProto, rules: str = "") -> str:
    """Why the model cannot be written with the operators `allowed`."""
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(proto, 13, options=for_a_list(folder, allowed, rules))
    return str(caught.value)


Row = tuple[str, list[str], str, str, str]
"""A form: its rule, the operators and rules of a list, a model in ONNX's text format, and the graph that is written for it."""


def assert_fits(row: Row, folder: Path) -> None:
    """Assert that the rule of `row` writes its model at opset 13 as the row says, and that onnxruntime computes the same."""
    rule, allowed, rules, before, after = row
    options = for_a_list(folder, allowed, rules)
    assert_rewrites(before, after, rule, 13, 13, options)
    compared = rewriter.convert_version(model(before, 13), 13, options=options, compare="required").report.comparison
    assert compared is not None and compared.status == "equal"


ZEROS = np.array([0.0, -0.0, 2, -3, np.inf, -np.inf], np.float32)


def same_as_written(folder: Path, allowed: Sequence[str], text: str, feeds: Mapping[str, np.ndarray], rules: str = "") -> list[str]:
    """Assert that the model of opset 13, written with the operators `allowed`, gives what it gave, to the last bit but for rounding.

    Returns the operators of the result.
    """
    original = model(text, 13)
    options = replace(for_a_list(folder, allowed, rules), verify=False)
    result = convert_version(original, 13, options=options).model
    for wanted, found in zip(run(original, dict(feeds)), run(result, dict(feeds)), strict=True):
        assert (wanted.shape, wanted.dtype) == (found.shape, found.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert np.array_equal(np.signbit(found), np.signbit(wanted))
    return [node.op_type for node in result.graph.node]
