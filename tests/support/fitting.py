"""Conversions for a runtime of which nothing is known but the operators that it allows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from split_rewrite.rewriter import Options

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
