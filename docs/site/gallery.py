"""The reports of the gallery: what docs/gallery.md says is run, and gives these pages."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from split_rewrite.rewriter import cli

ROOT = Path(__file__).resolve().parents[2]


def commands() -> dict[str, tuple[list[str], int]]:
    """The arguments of each command in docs/gallery.md with the exit status that the page says, by the name of its report."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    found = re.findall(r"^\$ split-rewrite (.*--report (\S+\.html).*)$", text, re.MULTILINE)
    return {report: (shlex.split(line), 1 if "--dry-run" in line else 0) for line, report in found}


def reports() -> dict[str, str]:
    """The pages, by the names of their files. Raises RuntimeError where a command ends otherwise than it should."""
    pages: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (arguments, expected) in commands().items():
            status = cli.run([*(_placed(each, Path(folder)) for each in arguments), "--quiet"])
            if status != expected:
                raise RuntimeError(f"docs/gallery.md: {name} ended with {status}, not {expected}")
            pages[name] = Path(folder, name).read_text(encoding="utf-8")
    return pages


def _placed(argument: str, folder: Path) -> str:
    """The argument, with models from the tree, and outputs in `folder`."""
    if argument.startswith("models/"):
        return str(ROOT / argument)
    return str(folder / argument) if argument.endswith((".onnx", ".html")) else argument
