"""The subcommand `reproduce`, which writes the smallest model that fails as a given one does."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..report.formats import STREAM
from ..sizes import shown_size
from .options import job_options
from .parameters import OnceCommand
from .run import progress_bar, readable_input
from .terminal import PROGRAM, lean_imports, one_line, say

if TYPE_CHECKING:
    from ..conversion.options import Options
    from ..reproducing.reproducing import Reproduction

REPRODUCE = "reproduce"
"""The first argument that starts the subcommand `reproduce`. A model of this name has to be written ./reproduce."""
SUCCEEDS = 1
"""The exit status if there is nothing to reproduce."""
_OUTPUT = "reproduced.onnx"
_HELP = """Write the smallest model that fails as MODEL does, to report a problem without showing the model.

Give the options with which the conversion failed. The result has the nodes that are needed for the same refusal, difference or
message of a runtime, other names, and generated weights; how it fails, and the command that shows it, are printed. OUTPUT is
reproduced.onnx by default. The exit status is 1 where MODEL is converted without an error.
"""
_OPTIONS = (
    *("target_opset", "minimal", "for_runtimes", "no_fallback", "ir_version", "overwrite_input_shape", "declare", "only", "skip"),
    *(
        "assume_opset",
        "strict",
        "require_valid",
        "semantics",
        "allow",
        "standard",
        "modernize",
        "quantization",
        "static",
        "ml_opset",
        "unpack_at_run_time",
        "external_data",
    ),
    *(
        "compare",
        "compare_budget",
        "runtime",
        "verify_with",
        "python",
        "verify",
        "test_input_shape",
        "input_data",
        "custom_ops",
        "seed",
    ),
    *("rtol", "atol", "quiet", "verbose"),
)
"""The options of the program that decide how a conversion ends."""


def reproduce_command(command: click.Command) -> click.Command:
    """The subcommand, with those options of `command`, the program, that decide how a conversion ends."""
    taken = [option for option in command.params if option.name in _OPTIONS]
    others = {option.name: option.default for option in command.params if option.name not in _OPTIONS}

    def run(source: str, destination: str | None, output: str | None, **given: Any) -> None:
        status = _reproduce(source, output or destination or _OUTPUT, click.get_current_context().obj, {**others, **given})
        raise click.exceptions.Exit(status)

    files = [parameter for parameter in command.params if parameter.name in ("source", "output")]
    model = click.Argument(["destination"], metavar="[OUTPUT]", required=False)
    return OnceCommand(
        f"{PROGRAM} {REPRODUCE}",
        params=[*files, model, *taken],
        callback=run,
        help=_HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )


def _reproduce(source: str, output: str, arguments: Sequence[str], given: dict[str, Any]) -> int:
    """Write the reproduction, print how it fails, and return the exit status. `arguments` are what the user wrote."""
    if output == STREAM:
        raise click.UsageError("reproduce writes a file: name OUTPUT.")
    with readable_input(source) as file:
        options, target = job_options(
            file, {**given, "dry_run": False, "no_clobber": False, "keep_different": False, "certify": False}
        )
        _check_files(file, output, given, options)
        with lean_imports():
            from ..reproducing.reproducing import reproduce
            from ..storage import write_bytes
        with progress_bar(hidden=given["quiet"]) as hide:
            found = reproduce(file, target, given["compare"], options)
            hide()
    if found is None:
        say(one_line(f"{source} is converted without an error: there is nothing to reproduce"))
        return SUCCEEDS
    write_bytes(found.proto.SerializeToString(), output)
    if not given["quiet"]:
        files = (source, output, "-o", "--output", f"-o{output}", f"--output={output}")
        for line in _lines(found, output, [each for each in arguments if each not in files]):
            say(one_line(line))
    return 0


def _check_files(file: str | os.PathLike[str], output: str, given: dict[str, Any], options: Options) -> None:
    """Raises SplitRewriteError where OUTPUT would replace something that is read, or cannot be written."""
    from ..conversion.options import files_of_options
    from ..storage import DATA_OF_INPUT, INPUT, INPUT_DATA, REPRODUCTION, NamedFile, check_apart, check_destinations, data_paths

    read = [NamedFile(INPUT, file), *(NamedFile(DATA_OF_INPUT, path) for path in data_paths(file))]
    read += [*(NamedFile(INPUT_DATA, loaded.file) for loaded in given["input_data"]), *files_of_options(options)]
    files = [*read, NamedFile(REPRODUCTION, output)]
    check_apart(files)
    check_destinations(files)


def _lines(found: Reproduction, output: str, options: Sequence[str]) -> list[str]:
    left, before = found.nodes
    stays = f", but for {', '.join(found.kept)}: with others, it may not fail in the same way" if found.kept else ""
    return [
        f"reduced to {left:,} of {before:,} node{'s' * (before != 1)}, and fails in the same way:",
        *(f"  {line}" for line in str(found.error).splitlines()),
        f"weights are generated{stays}",
        _about_names(found),
        f"wrote {output} ({shown_size(os.path.getsize(output))}); this shows it:",
        f"  {shlex.join([PROGRAM, *options, output, 'out.onnx'])}",
    ]


def _about_names(found: Reproduction) -> str:
    if not found.is_renamed:
        return "names are NOT all replaced: with others, it does not fail in the same way"
    named = f", but for {', '.join(found.named)}, which the options name" if found.named else ""
    return f"names are replaced{named}"
