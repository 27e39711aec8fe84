"""Conversions for a runtime of which nothing is known but that it computes one form wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
from helpers import convert_version

from split_rewrite.rewriter import Options

PROFILE = """title = "NPU"
[[release]]
from = "1"
to = "1"
evidence = "by documentation"
[[quirk]]
form = "{}"
evidence = "by documentation"
"""


def for_a_runtime(form: str, folder: Path, skip: Sequence[str] = ()) -> Options:
    """A conversion for a runtime of which nothing is known but that it computes `form` wrongly."""
    path = folder / "npu.toml"
    path.write_text(PROFILE.format(form), encoding="utf-8")
    return Options(for_runtimes=[str(path)], skip=skip)


def converted(proto: onnx.ModelProto, form: str, folder: Path) -> onnx.ModelProto:
    """`proto` at its own opset, for a runtime that computes `form` wrongly."""
    return convert_version(proto, proto.opset_import[0].version, options=for_a_runtime(form, folder)).model
