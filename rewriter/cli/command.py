"""The command line: it turns arguments into options, and the outcome into text and an exit status.

Importing onnx takes most of the start-up time, so only code that needs onnx imports it: --help, --version and errors in options do
without it.
"""

from __future__ import annotations

import io
import os
import re
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from ..errors import INTERNAL_ERROR, UNUSABLE, PathConflictError, RuleError, SplitRewriteError, UnconvertibleError, status_and_line
from ..report.formats import FORMATS, files_in
from ..suggestions import closest, did_you_mean
from .explain import EXPLAIN, explain
from .help import EPILOG, HELP, Command, print_short_help
from .information import list_rules, list_runtimes, print_version
from .inspect import INSPECT, inspect
from .many import inputs_of_many
from .options import job_options
from .parameters import (
    Arrays,
    Bound,
    Choice,
    Declaration,
    File,
    Opset,
    RecordFile,
    ReportFile,
    RuleName,
    RuntimeName,
    Shape,
    Size,
)
from .probe import PROBE, probe
from .project_file import Defaults, project_defaults
from .reproduce import REPRODUCE, reproduce_command
from .run import Run, check_streams, only_destination, readable_input, run_job
from .terminal import PROGRAM, lean_imports, one_line, open_streams, say, unwind_on_signals, use_colors

INTERRUPTED = 130

_OF_ONE = ", ".join(f"{format.suffix} {format.use}" for format in FORMATS if format.use)
_OF_MANY = ", ".join(f"{format.suffix} {format.use_for_many}" for format in FORMATS if format.use_for_many)


@click.command(
    PROGRAM,
    cls=Command,
    help=HELP,
    epilog=EPILOG,
    options_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["--help"], "max_content_width": 110},
)
@click.argument("source", metavar="INPUT", type=File())
@click.argument("destination", metavar="[INPUT...] [OUTPUT]", required=False, type=File())
@click.argument("more", metavar="", nargs=-1, type=File())
@click.option("-o", "--output", type=File(), metavar="OUTPUT", help="The file or folder to write to, instead of the last argument.")
@click.option("--no-clobber", is_flag=True, help="Never replace a file: it is an error if OUTPUT exists.")
@click.option("--in-place", is_flag=True, help="Replace each INPUT by its result; all arguments are INPUTs.")
@click.option(
    "-t", "--target-opset", "--opset", type=Opset(), metavar="N|latest", help="Opset of the result; default: that of INPUT."
)
@click.option(
    "--minimal",
    is_flag=True,
    help="Change nothing that need not be changed for the target or runtime: simplify only where nothing else converts the model. "
    "--ir-version alone implies it.",
)
@click.option(
    "--for",
    "for_runtimes",
    type=RuntimeName(),
    multiple=True,
    metavar="RUNTIME",
    help="Convert for this runtime: choose an opset and IR version that it loads, and avoid what it refuses or computes "
    "wrongly. For example openvino-2024.2, TensorRT==8.6, ort (the installed release) or ./profile.toml. Repeatable, for a "
    "result that suits all of them.",
)
@click.option("--no-fallback", is_flag=True, help="With --for: refuse nodes that the runtime would leave to the CPU.")
@click.option(
    "--list-runtimes",
    type=RuntimeName(),
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=list_runtimes,
    metavar="[RUNTIME]",
    help="List the known runtimes, or all that is known about one, or about a release of it, with sources.",
)
@click.option(
    "--ml-opset",
    type=click.IntRange(1),
    metavar="N",
    help="Convert operators of ai.onnx.ml to this version of that domain: TreeEnsemble… between 1, 3 and 5, LabelEncoder between "
    "1, 2 and 4.",
)
@click.option(
    "--ir-version",
    type=int,
    metavar="N",
    help="IR version of the result, and of INPUT if it states none; default: that of INPUT, lowered with the opset.",
)
@click.option(
    "--overwrite-input-shape",
    "--input-shape",
    "overwrite_input_shape",
    type=Shape(),
    multiple=True,
    metavar="NAME:1,3,224,224",
    help="Fix the shape of an input in the model, and with it all shapes that depend on it, outputs included. NAME may be "
    "left out if there is only one input. Repeatable.",
)
@click.option(
    "--static",
    is_flag=True,
    help="Let all shapes of the result be fixed: what computes with shapes is stored, and each Loop, Scan and If that is known to "
    "run is written out. What keeps a shape open is an error.",
)
@click.option(
    "--declare",
    type=Declaration(),
    multiple=True,
    metavar="NAME:float[N,64]",
    help="State the type of a value that shape inference cannot find, such as an output of a custom operator. Repeatable.",
)
@click.option("--only", type=RuleName(), multiple=True, metavar="RULE", help="Use only this rule or module of rules. Repeatable.")
@click.option("--skip", type=RuleName(), multiple=True, metavar="RULE", help="Do not use this rule or module of rules. Repeatable.")
@click.option(
    "--list-rules",
    type=RuleName(),
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=list_rules,
    metavar="[WORD]",
    help="List all rules, or those with this word in their name, operators or description.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; list what cannot be converted, and which opsets are in reach.")
@click.option(
    "--report",
    multiple=True,
    type=ReportFile(),
    metavar=f"FILE{'|'.join(format.suffix for format in FORMATS)}|-",
    help=f"Also write a report: {_OF_ONE}, - for JSON on standard output. For many models: {_OF_MANY}. Repeatable.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many models to convert at a time; default: one for each core.",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="The time that one model may take.")
@click.option(
    "--memory",
    type=Size(),
    metavar="SIZE",
    help="The memory that all models together may take, such as 4GB: large ones do not run at the same time.",
)
@click.option(
    "--resume",
    type=RecordFile(),
    metavar="FILE.jsonl",
    help="Skip the models that this report lists as done, unless model or options have changed, and add the others to it.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Convert on the Dask cluster of this scheduler, such as tcp://host:8786.")
@click.option(
    "--assume-opset", type=click.IntRange(min=1), metavar="N", help="Opset of INPUT, if the file declares a wrong one or none."
)
@click.option("--strict", is_flag=True, help="Treat warnings about nodes as errors.")
@click.option(
    "--require-valid",
    is_flag=True,
    help="Refuse what onnx.checker refuses, even if runtimes take it. Without this, it is repaired.",
)
@click.option(
    "--semantics",
    type=Choice(["specification", "onnxruntime"]),
    help="Which meaning counts for nodes on which the specification and onnxruntime disagree (docs/semantics.md). By "
    "default such nodes stay as they are, or the model is refused.",
)
@click.option(
    "--allow",
    type=Choice(["float32-for-bfloat16", "int32-inputs"]),
    multiple=True,
    help="Allow a change: float32-for-bfloat16 computes in float32 what the model computes in bfloat16, if the target lacks that "
    "type; int32-inputs lets inputs of int64 be of int32, for devices without int64. Repeatable.",
)
@click.option(
    "--standard",
    is_flag=True,
    help="Let the result have ONNX's own operators only: onnxruntime's own (com.microsoft) become nodes of these, and any other "
    "is an error. With --for, this happens by itself for a runtime without onnxruntime's operators.",
)
@click.option(
    "--modernize",
    is_flag=True,
    help="Write operators of the target opset for nodes that spell them out: LayerNormalization (17), Gelu (20), RMSNormalization "
    "and Attention (23). Last bits may change. A runtime of --for whose operators are listed keeps its own forms.",
)
@click.option(
    "--quantization",
    type=Choice(["qdq", "qoperator"]),
    help="Write quantized operators in one form: qdq, real numbers between DequantizeLinear and QuantizeLinear, "
    "or qoperator, 8-bit integers: QLinearConv, QLinearMatMul and, without --standard, onnxruntime's own. Results may be a step "
    "apart.",
)
@click.option(
    "--unpack-at-run-time",
    is_flag=True,
    help="Keep weights of types that the target lacks (int4, float8, …) packed in the file, and unpack them in the graph.",
)
@click.option(
    "--external-data",
    default="auto",
    show_default=True,
    metavar="auto|keep|copy|inline|split[:BYTES]",
    help="""Where the weights go.

    \b
    auto    keep if OUTPUT is in the folder of INPUT, else copy
    keep    external data stays in its files
    copy    external data goes to OUTPUT.data (OUTPUT.1.data if that exists)
    inline  all data goes into OUTPUT
    split   tensors of at least BYTES (default 1024) go to OUTPUT.data
    """,
)
@click.option(
    "--compare",
    type=Choice(["auto", "model", "nodes", "required", "off"]),
    default="auto",
    show_default=True,
    help="How INPUT and OUTPUT are run and compared. auto: as whole models if they have at most 256 MiB and 10,000 nodes, "
    "else (or if that fails to run) each distinct change of a node; model: only as whole models; nodes: only node by node; "
    "required: like auto, and an error if anything could not be compared; off: not at all.",
)
@click.option(
    "--runtime",
    type=Choice(["auto", "onnxruntime", "reference", "both"]),
    default="auto",
    show_default=True,
    help="Which runtime runs INPUT and OUTPUT. auto: onnxruntime if it is installed and supports the model, else "
    "onnx.reference; both: each of the two, and both have to find the outputs equal.",
)
@click.option(
    "--verify-with",
    type=RuntimeName(("onnxruntime", "openvino", "opencv", "mnn", "ncnn", "tract", "tinygrad")),
    default="",
    metavar="RUNTIME|MODULE:CLASS",
    help="Also run OUTPUT in this runtime, and compare it with INPUT in onnxruntime; if it differs or does not run, that is an "
    "error. One of onnxruntime, openvino, opencv, mnn, ncnn, tract, tinygrad, or a class of your own (docs/runtimes.md).",
)
@click.option(
    "--python",
    type=File(),
    default="",
    metavar="FILE",
    help="The Python interpreter of the environment that has the runtime of --verify-with or --for; default: this one.",
)
@click.option(
    "--no-verify",
    "verify",
    flag_value=False,
    default=True,
    help="With --for: do not run OUTPUT in the runtime, even if it is installed.",
)
@click.option(
    "--test-input-shape",
    type=Shape(),
    multiple=True,
    metavar="NAME:1,3,224,224",
    help="Shape of an input in the comparison. NAME may be left out if there is only one input. Repeatable.",
)
@click.option(
    "--compare-budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="The time that the comparison may take; default: one second, or five times loading and running both models once.",
)
@click.option(
    "--custom-ops",
    type=File(),
    multiple=True,
    metavar="FILE",
    help="A shared library with custom operators for onnxruntime, or a .py file with some for onnx.reference, with which INPUT and "
    "OUTPUT are run (docs/embedding.md). Repeatable.",
)
@click.option(
    "--certify",
    is_flag=True,
    help="Also prove, as far as a solver can, that the result is the same for all lengths of open dimensions. Needs "
    "pip install 'split-rewrite[certify]'.",
)
@click.option(
    "--keep-different",
    is_flag=True,
    help="If the comparison fails, write the result to NAME.different.onnx beside OUTPUT. The exit status is 3 all the same.",
)
@click.option(
    "--input-data",
    type=Arrays(),
    multiple=True,
    metavar="NAME:FILE.npy|FILE.npz",
    help="Inputs for the comparison; those not given are random. Each .npz is a sample; an .npy is part of every sample. "
    "Repeatable.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed of the random comparison inputs."
)
@click.option(
    "--rtol",
    type=Bound(),
    multiple=True,
    metavar="[OUTPUT:]X",
    help="Relative tolerance, for all outputs or one. Default: 0, or if a rule is not exact, 4096 eps for float64, 1024 for "
    "float32, 16 for float16, 8 for bfloat16. Repeatable.",
)
@click.option(
    "--atol",
    type=Bound(),
    multiple=True,
    metavar="[OUTPUT:]X",
    help="Absolute tolerance, for all outputs or one. Default: 0, or 512, 128, 4, 2 eps likewise. Repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors and reasons.")
@click.option("-v", "--verbose", is_flag=True, help="Print what each rule changed, and what was left unchanged and why.")
@click.option("--text", is_flag=True, help="Print INPUT as text, with digests in place of weights; for git's textconv.")
@click.option(
    "--color",
    type=Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    is_eager=True,
    expose_value=False,
    callback=lambda _, __, when: use_colors(when),
    help="Colour errors and warnings; auto: on a terminal, unless NO_COLOR is set.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Print the versions.")
@click.option(
    "-h",
    "short_help",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_short_help,
    hidden=True,
    help="Print the most needed options.",
)
def command(source: str, destination: str | None, more: Sequence[str], **given: Any) -> None:
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("-q and -v exclude each other.")
    if given["text"]:
        _print_text([source, *filter(None, [destination, *more])])
        return
    is_alone = not (destination or given["output"] or given["dry_run"] or given["in_place"])
    _check_no_command(source, may_be_one=is_alone or (len(more) == 1 and not given["output"]))
    many = inputs_of_many([source, *filter(None, [destination, *more])], given)
    if many is not None:
        raise click.exceptions.Exit(_convert_many(*many, given))
    begun = time.monotonic()
    output = only_destination(destination, given["output"], given["dry_run"])
    check_streams(source, output, given)
    with readable_input(source) as file:
        options, target = job_options(file, given)
        run = Run(source, file, output, given)
        try:
            report = run_job(run, target, options)
        except PathConflictError:
            raise  # what a report would replace
        except Exception as error:
            run.report_failure(error)
            raise
    run.report_end(time.monotonic() - begun)
    if report.blockers:
        raise click.exceptions.Exit(UnconvertibleError.exit_status)


def _check_no_command(source: str, may_be_one: bool) -> None:
    """Raises click.UsageError where INPUT is no file but a word in the place of a command: alone, before two files, or similar to
    one.
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", source) or os.path.lexists(source):
        return
    option = source.casefold()
    hint = f"; did you mean '--{option}'?" if option in ("help", "version") else did_you_mean(source, _SUBCOMMANDS)
    if may_be_one or hint:
        known = f"; the commands are {', '.join(_SUBCOMMANDS)}"
        raise click.UsageError(f"{source}: there is no such file or command{hint or known}")


def _convert_many(inputs: Sequence[str], into: str | None, given: dict[str, Any]) -> int:
    """Convert several models; returns the exit status."""
    if files_in(given["report"], lambda format: not format.is_for_many):
        raise click.UsageError("--report: of many models FILE.jsonl has a line for each; FILE.json is for one.")
    options, target = job_options(None, given)
    with lean_imports():
        from ..batch.command import Wanted, convert_all
        from ..batch.task import Request

    wanted = Wanted(
        inputs,
        into,
        given["in_place"],
        given["jobs"],
        given["scheduler"],
        given["resume"],
        given["report"],
        [loaded.file for loaded in given["input_data"]],
        given["quiet"],
        given["verbose"],
    )
    request = Request(target, given["compare"], options, given["timeout"], given["memory"])
    try:
        return convert_all(wanted, request, lambda text, is_error: say(one_line(text), sys.stderr if is_error else None), say)
    except KeyboardInterrupt:
        say(f"interrupted; {_how_to_go_on(given)}", sys.stderr)
        return INTERRUPTED


def _how_to_go_on(given: dict[str, Any]) -> str:
    """What becomes of an interrupted run of many models."""
    if given["dry_run"]:
        return "run the command again"
    if given["resume"]:
        return f"run the same command again to continue; {given['resume']} lists what is done"
    return "finished results stay; with --resume run.jsonl an interrupted run can be continued"


def _print_text(paths: Sequence[str]) -> None:
    if len(paths) > 1:
        raise click.UsageError("--text prints one model.")
    with lean_imports():
        from ..report.text_form import text_form
        from ..storage import read
    say(text_form(read(paths[0])))


def run(arguments: Sequence[str]) -> int:
    """Run the program with `arguments`, without the program's name; returns the exit status."""
    use_colors("auto")
    context, defaults = None, _NO_DEFAULTS
    try:
        chosen = _SUBCOMMANDS.get(arguments[0], command) if arguments else command
        rest = arguments if chosen is command else arguments[1:]
        defaults = project_defaults(command, os.curdir) if chosen is command else defaults
        with chosen.make_context(chosen.name, list(rest), default_map=dict(defaults.values), obj=list(rest)) as context:
            chosen.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (Exception, KeyboardInterrupt) as error:
        verbose = context is not None and context.params["verbose"]
        status, lines = _explain(error, verbose, defaults)
        with suppress(SplitRewriteError):  # the exit status says it, too
            for line in lines:
                say(one_line(line), sys.stderr)
        if verbose and _is_bug(error, status):
            traceback.print_exc()
        return status
    return 0


_SUBCOMMANDS = {INSPECT: inspect, EXPLAIN: explain, REPRODUCE: reproduce_command(command), PROBE: probe}
"""The commands that the first argument may name."""
_NO_DEFAULTS = Defaults({})
_FIRST_LETTERS = 4
"""The characters, with the dashes, that an unknown option shares with those that click finds similar and that are suggested."""
_MOST_OPTIONS = 3
"""The number of options that are suggested at most for an unknown one."""


def _explain(error: BaseException, verbose: bool = False, defaults: Defaults = _NO_DEFAULTS) -> tuple[int, list[str]]:
    """The exit status for `error`, and the lines to print about it."""
    if isinstance(error, UnconvertibleError):
        from ..report.summary import grouped

        count = len(error.blockers)
        nodes = "1 node" if count == 1 else f"{count:,} nodes"
        blockers = map(str, error.blockers) if verbose else grouped(error.blockers)
        return error.exit_status, [f"error: {nodes} cannot be converted:", *(f"  {line}" for line in blockers)]
    if isinstance(error, click.ClickException):
        return UNUSABLE, [f"error: {_usage_message(error)} ({_where_from(error, defaults) or '--help shows the usage'})"]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, ["interrupted; nothing was written"]
    if type(error).__name__ == "VersionError":  # of protobuf, when onnx is imported
        return UNUSABLE, [
            f"error: onnx cannot be imported, as protobuf is too old for it: pip install -U protobuf ({_sentence(error)})"
        ]
    status, line = status_and_line(error)
    if _is_bug(error, status):
        request = "" if isinstance(error, RuleError) else "; please report it"
        return status, [f"internal error: {line}{request} (-v shows where it is from)"]
    return status, [f"error: {line}"]


def _usage_message(error: click.ClickException) -> str:
    """What click says about wrong usage; of an unknown option, options that begin as it does are suggested before similar ones."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error.format_message()
    given = error.option_name
    options = [name for option in error.ctx.command.get_params(error.ctx) for name in option.opts if name.startswith("--")]
    similar = [f"--{name}" for name in closest(given.lstrip("-"), [name.lstrip("-") for name in options])]
    meant = [name for name in options if name.startswith(given)][:_MOST_OPTIONS] or similar
    meant = meant or [name for name in error.possibilities or () if name.startswith(given[:_FIRST_LETTERS])]
    hint = f"; did you mean {' or '.join(map(repr, meant))}?" if meant else "."
    return f"No such option '{given}'{hint}"


def _sentence(error: BaseException) -> str:
    """The first sentence of the message."""
    return str(error).partition(". ")[0]


def _where_from(error: click.ClickException, defaults: Defaults) -> str:
    """The project's file, if the value that is wrong is from there."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None or error.param.name is None:
        return ""
    is_default = error.ctx.get_parameter_source(error.param.name) == ParameterSource.DEFAULT_MAP
    return f"[tool.{PROGRAM}] in {defaults.file}" if is_default else ""


def _is_bug(error: BaseException, status: int) -> bool:
    """Whether `error`, which ends the program with `status`, is a bug of this program."""
    return isinstance(error, RuleError) or (status == INTERNAL_ERROR and not isinstance(error, SplitRewriteError))


def main() -> NoReturn:
    """The entry point of the `split-rewrite` command."""
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to fail
    completion = f"_{PROGRAM.upper().replace('-', '_')}_COMPLETE"
    if completion in os.environ:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(command, {}, PROGRAM, completion, os.environ[completion]))
    unwind_on_signals()
    status = INTERRUPTED
    with suppress(KeyboardInterrupt):  # one that comes before or after all that `run` does
        status = run(sys.argv[1:])
    _leave(status)


def _leave(status: int) -> NoReturn:
    """End the process at once: the interpreter's usual shutdown takes as long as a tenth of a start."""
    if child := sys.modules.get("split_rewrite.rewriter.process.child"):
        child.close_children()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever wrote has heard of it
            stream.flush()
    os._exit(status)
