"""The reports of the gallery: what docs/gallery.md says is run, and gives these pages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from split_rewrite.rewriter.cli import command

ROOT = Path(__file__).resolve().parents[2]


def commands() -> dict[str, tuple[list[str], int]]:
    """The arguments of each command in docs/gallery.md with the exit status that the page says, by the name of its report."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    found = re.findall(r"^\$ split-rewrite (.*--report (\S+\.html).*)$", text, re.MULTILINE)
    return {report: (shlex.split(line), 1 if "--dry-run" in line else 0) for line, report in found}


def reports() -> dict[str, str]:
    """The pages, by the names of their files. Raises RuntimeError where a command ends otherwise than it should."""
    pages: dict[str, str] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "models", Path(folder, "models"))
        os.chdir(folder)  # so that reports name files as the commands do
        try:
            for name, (arguments, expected) in commands().items():
                status = command.run([*arguments, "--quiet"])
                if status != expected:
                    raise RuntimeError(f"docs/gallery.md: {name} ended with {status}, not {expected}")
                pages[name] = Path(name).read_text(encoding="utf-8")
        finally:
            os.chdir(before)
    return pages
