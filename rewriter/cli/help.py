"""The help: each option with its section and an example, a short text for -h, and how both are laid out."""

from __future__ import annotations

from typing import NamedTuple

import click

from .parameters import OnceCommand
from .terminal import PROGRAM, say

HELP = """Convert the ONNX model INPUT to another opset and write it to OUTPUT.

Several INPUTs (files, folders, globs, URIs, or a list of them: @list.txt, @- for standard input) are written to the
folder OUTPUT; one that cannot be converted does not stop the others.

OUTPUT is written only after the whole model was converted, passed onnx.checker and, where a runtime can run it, gave
the same numbers as INPUT. It may be INPUT itself. A - stands for standard input or output. Without --target-opset the
opset stays the same. Sequences with known elements are removed and constant Splits are folded, unless --minimal is given.
"""

EPILOG = """\b
Examples:
  split-rewrite --target-opset 13 model.onnx model13.onnx
  split-rewrite -t latest model.onnx -o newest.onnx --compare required
  split-rewrite --dry-run -t 13 model.onnx
  split-rewrite --for openvino-2024.2 model.onnx model-openvino.onnx
  split-rewrite explain "Unsupported model IR version: 10, max supported IR version: 9"
  split-rewrite inspect model.onnx
  split-rewrite reproduce model.onnx small.onnx -t 9
  split-rewrite probe openvino --help
  split-rewrite -t 11 net.onnx net11.onnx --input-shape x:1,3,224,224
  split-rewrite --standard -t 17 optimized.onnx portable.onnx
  split-rewrite -t 17 gpt.onnx gpt17.onnx --input-data gpt-inputs.npz
  split-rewrite -t 13 a.onnx b.onnx zoo/ out/ --resume run.jsonl --report run.html

\b
Defaults:
  The table [tool.split-rewrite] of the nearest pyproject.toml can set options: target-opset = 13, compare = "required".

\b
Limits:
  A node that cannot be expressed exactly at the target stops the conversion; all such nodes are listed.
  Operators of domains other than ai.onnx stay as they are, except for those of onnxruntime with --standard, or with
  --for a runtime that lacks them.
  Target opsets go from 1 to the newest that the installed onnx knows; latest is the newest of them that the
  installed onnxruntime loads too.
  The comparison runs a few random inputs; --input-data gives it real ones.

\b
Exit status:
  0  converted, checked, and compared (or a warning says why that was not possible)
  1  the model cannot be expressed at the target
  2  wrong usage, an invalid model, or a file that cannot be read or written
  3  the result failed the check or the comparison
  Of several models, the worst status counts.
"""


class Entry(NamedTuple):
    """What the help and the documentation say about one option, beside its own text.

    `example` are arguments for models in the folder. `short` is the text for -h, which has
    only the options that have one.
    """

    option: str
    example: str
    short: str = ""


SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Model and target": (
        Entry("--target-opset", "-t 13 model.onnx out.onnx", "opset of the result; default: unchanged"),
        Entry("--output", "-t 13 model.onnx -o out.onnx", "write here instead of to the last argument"),
        Entry("--in-place", "-t 13 --in-place model.onnx", "replace each INPUT by its result"),
        Entry("--dry-run", "-t 13 --dry-run model.onnx", "write nothing; say what can be converted, and how far"),
        Entry("--no-clobber", "-t 13 --no-clobber model.onnx new.onnx"),
        Entry("--minimal", "-t 18 --minimal model.onnx new.onnx"),
        Entry("--modernize", "-t 23 --modernize model.onnx new.onnx", "write newer operators for what spells them out"),
        Entry("--assume-opset", "-t 13 --assume-opset 18 model.onnx out.onnx"),
        Entry("--ir-version", "-t 13 --ir-version 8 model.onnx out.onnx"),
        Entry("--ml-opset", "--ml-opset 3 trees.onnx out.onnx"),
        Entry("--external-data", "-t 13 --external-data split model.onnx out.onnx", "where the weights go"),
    ),
    "Runtime": (
        Entry("--for", "--for openvino-2024.2 model.onnx out.onnx", "suit this runtime, such as tensorrt-8.6"),
        Entry("--no-fallback", "--for onnxruntime --no-fallback model.onnx out.onnx"),
        Entry("--standard", "-t 13 --standard model.onnx out.onnx", "replace onnxruntime's own operators by ONNX's"),
        Entry("--quantization", "-t 17 --quantization qdq model.onnx out.onnx"),
        Entry("--list-runtimes", "--list-runtimes openvino-2024.2"),
        Entry("--verify-with", "-t 13 --verify-with onnxruntime model.onnx out.onnx", "also run the result in this runtime"),
        Entry("--no-verify", "--for onnxruntime --no-verify model.onnx out.onnx"),
        Entry("--python", "-t 13 --verify-with onnxruntime --python ./python model.onnx out.onnx"),
    ),
    "Shapes and types": (
        Entry("--overwrite-input-shape", "-t 13 --input-shape x:2,4 model.onnx out.onnx", "fix the shape of an input"),
        Entry("--static", "-t 13 --static --input-shape x:2,4 model.onnx out.onnx"),
        Entry("--declare", "-t 13 --declare m:float[N,4] custom.onnx out.onnx", "state a type that cannot be inferred"),
        Entry("--semantics", "-t 13 --semantics onnxruntime model.onnx out.onnx"),
        Entry("--allow", "-t 13 --allow float32-for-bfloat16 model.onnx out.onnx"),
        Entry("--unpack-at-run-time", "-t 13 --unpack-at-run-time model.onnx out.onnx"),
    ),
    "Checking": (
        Entry("--compare", "-t 13 --compare required model.onnx out.onnx", "auto, model, nodes, required or off"),
        Entry("--compare-budget", "-t 13 --compare-budget 60 model.onnx out.onnx"),
        Entry("--custom-ops", "-t 13 --custom-ops operators.py --declare m:float[N,4] custom.onnx out.onnx"),
        Entry("--certify", "-t 13 --certify model.onnx out.onnx", "prove it for all shapes"),
        Entry("--keep-different", "-t 13 --keep-different model.onnx out.onnx"),
        Entry("--input-data", "-t 13 --input-data inputs.npz model.onnx out.onnx", "real inputs for the comparison"),
        Entry("--test-input-shape", "-t 13 --test-input-shape x:3,4 model.onnx out.onnx"),
        Entry("--runtime", "-t 13 --runtime both model.onnx out.onnx"),
        Entry("--rtol", "-t 13 --rtol 1e-4 model.onnx out.onnx"),
        Entry("--atol", "-t 13 --atol y:1e-5 model.onnx out.onnx"),
        Entry("--seed", "-t 13 --seed 7 model.onnx out.onnx"),
        Entry("--require-valid", "-t 13 --require-valid model.onnx out.onnx"),
        Entry("--strict", "-t 13 --strict model.onnx out.onnx"),
    ),
    "Rules": (
        Entry("--list-rules", "--list-rules split"),
        Entry("--only", "-t 13 --only split model.onnx out.onnx"),
        Entry("--skip", "-t 13 --skip sequences model.onnx out.onnx"),
    ),
    "Many models": (
        Entry("--jobs", "-t 13 -j 1 zoo/ out/"),
        Entry("--resume", "-t 13 --resume run.jsonl zoo/ out/", "continue an interrupted run of many models"),
        Entry("--timeout", "-t 13 --timeout 600 zoo/ out/"),
        Entry("--memory", "-t 13 --memory 4GB zoo/ out/"),
        Entry("--scheduler", "-t 13 --scheduler tcp://host:8786 zoo/ out/"),
    ),
    "Output": (
        Entry("--report", "-t 13 --report report.html model.onnx out.onnx", "write a report: .html, .json, .jsonl, …"),
        Entry("--text", "--text model.onnx"),
        Entry("--quiet", "-t 13 -q model.onnx out.onnx", "print only errors and reasons"),
        Entry("--verbose", "-t 13 -v model.onnx out.onnx", "print what changed at each node, and why"),
        Entry("--color", "-t 13 --color never model.onnx out.onnx"),
        Entry("--version", "--version"),
        Entry("--help", "--help"),
    ),
}
"""All options, in the order in which users need them."""
OTHERS = "Other options"
"""The section of options that have no entry."""
_COLUMN = 34
"""The column at which the texts of the short help begin."""


class Command(OnceCommand):
    """A command whose help has sections, and a short help beside the long one."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in sections(self, ctx).items():
            rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def sections(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """The options of `command` by section, in the order of `SECTIONS`."""
    by_name = {option.opts[-1]: option for option in command.get_params(context) if isinstance(option, click.Option)}
    by_name |= {name: option for option in list(by_name.values()) for name in option.opts}
    found = {title: [by_name[entry.option] for entry in rows if entry.option in by_name] for title, rows in SECTIONS.items()}
    placed = {id(option) for options in found.values() for option in options}
    rest = [option for option in dict.fromkeys(by_name.values()) if id(option) not in placed and not option.hidden]
    return found | ({OTHERS: rest} if rest else {})


def short_help(command: click.Command, context: click.Context) -> str:
    """The most needed options, each on one line, so that all fit a screen."""
    lines = [
        f"Usage: {PROGRAM} [OPTIONS] INPUT... OUTPUT",
        "Convert ONNX models to another opset, and check that they compute the same.",
        "",
    ]
    options = {name: option for group in sections(command, context).values() for option in group for name in option.opts}
    for entry in (entry for rows in SECTIONS.values() for entry in rows if entry.short and entry.option in options):
        names = _names(entry.option, options[entry.option])
        lines.append(f"  {names.ljust(_COLUMN - 2)}{entry.short}")
    more = "All options: --help. Runtimes: --list-runtimes. Rules: --list-rules."
    return "\n".join([*lines, "", more, "An error message of a runtime: split-rewrite explain MESSAGE."])


def print_short_help(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """The callback of -h."""
    if wanted and not context.resilient_parsing:
        say(short_help(context.command, context))
        context.exit()


def _names(long: str, option: click.Option) -> str:
    """The names of an option and its value, as "-t, --target-opset N|latest"; the value is left out where it is long."""
    letters = [name for name in option.opts if len(name) == 2]
    value = "" if option.is_flag else option.metavar or ""
    shown = f"{', '.join([*letters, long])} {value}".rstrip()
    return shown if len(shown) < _COLUMN - 3 else ", ".join([*letters, long])
