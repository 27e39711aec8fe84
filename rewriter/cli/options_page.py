"""Writes the documentation page of all options, with an example for each, from the program itself:

python -m split_rewrite.rewriter.cli.options_page docs/options.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from .command import command
from .help import SECTIONS, sections
from .terminal import PROGRAM

_HEAD = """# Options

This page is generated from the program. `split-rewrite -h` shows the most needed options, `split-rewrite --help` all of them.
"""
_DEFAULTS = """## Defaults

The table `[tool.split-rewrite]` of the nearest `pyproject.toml`, in the working directory or above it, can set options by their
long names. What is given on the command line wins, and an option that does not exist is an error.

```toml
[tool.split-rewrite]
target-opset = 13
for = ["openvino-2024.2", "./mynpu.toml"]  # a path is relative to this file
compare = "required"
strict = true
```

Options about one run (`--output`, `--in-place`, `--dry-run`, `--report`, `--resume`, …) and those that name a program to run
(`--custom-ops`, `--python`, a class for `--verify-with`) can only be given on the command line.

## Shell completion

Options, their values, runtimes, rules and files are completed after:

```sh
eval "$(_SPLIT_REWRITE_COMPLETE=bash_source split-rewrite)"  # in ~/.bashrc; zsh_source and fish_source exist, too
```

## Colours

Errors and warnings are coloured on a terminal. `NO_COLOR=1` or `--color never` turns that off, `--color always` keeps it in a pipe.
"""


def page() -> str:
    """The text of the page."""
    with click.Context(command, info_name=PROGRAM) as context:
        return "\n".join([_HEAD, *_sections(context), _DEFAULTS])


def _sections(context: click.Context) -> Iterator[str]:
    examples = {entry.option: entry.example for rows in SECTIONS.values() for entry in rows}
    for title, options in sections(command, context).items():
        yield f"## {title}\n"
        for option in options:
            yield from _option(option, next((examples[name] for name in option.opts if name in examples), ""))


def _option(option: click.Option, example: str) -> Iterator[str]:
    names = sorted(option.opts, key=len)
    words = option.metavar or ("" if option.is_flag or not isinstance(option.type, click.Choice) else "|".join(option.type.choices))
    yield f"### {', '.join(f'`{name}`' for name in names)}\n"
    if words:
        yield f"Value: `{words}`\n"
    text, _, listing = (option.help or "").partition("\b")
    yield " ".join(text.split()) + (f" Default: `{option.default}`." if option.show_default else "") + "\n"
    if listing:
        yield "\n".join(["```text", *(line.strip() for line in listing.strip().splitlines()), "```\n"])
    if example:
        yield f"```sh\n{PROGRAM} {example}\n```\n"


def main(path: Path) -> None:
    path.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
