"""The command line: arguments become options, and what happened becomes text and an exit status.

Most of a start is the import of onnx, so onnx is imported by what needs it: --help, --version and a wrong option do not.
"""

from __future__ import annotations

import gc
import io
import os
import shutil
import signal
import stat
import sys
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click
from click.shell_completion import shell_complete

from .cli_many import inputs_of_many
from .cli_parameters import STREAM, Arrays, Bound, Declaration, File, Loaded, Opset, RecordFile, ReportFile, Shape, Size
from .errors import INTERNAL_ERROR, UNUSABLE, PathConflictError, SplitRewriteError, UnconvertibleError, status_and_line

if TYPE_CHECKING:
    from numpy import ndarray

    from .comparison.samples import Samples
    from .comparison.tolerance import Tolerance
    from .driver import Announce, Options
    from .report.summary import Report

_Path = str | os.PathLike[str]

PROGRAM = "split-rewrite"
LONGEST_LINE = 2000
INTERRUPTED = 130

_HELP = """Convert the ONNX model INPUT to another opset and write it to OUTPUT.

Several INPUTs, also folders, globs, lists (@list.txt, @-) and URIs, go into the folder OUTPUT; one that cannot be
converted stops none of the others.

OUTPUT appears only after the whole model was converted, passed onnx.checker and, where a runtime can run it, gave the
same numbers as INPUT. It may be INPUT itself. A - is standard input or output. Without --target-opset the opset stays;
sequences with known elements dissolve and constant Splits fold in any case.
"""

_EPILOG = """\b
Examples:
  split-rewrite --target-opset 13 model.onnx model13.onnx
  split-rewrite -t latest model.onnx -o newest.onnx --compare required
  split-rewrite --dry-run -t 13 model.onnx
  split-rewrite --for openvino-2024.2 model.onnx model-openvino.onnx
  split-rewrite probe openvino --help
  split-rewrite -t 11 net.onnx net11.onnx --overwrite-input-shape x:1,3,224,224
  split-rewrite -t 17 gpt.onnx gpt17.onnx --input-data gpt-inputs.npz
  split-rewrite -t 13 a.onnx b.onnx zoo/ out/ --resume run.jsonl --report run.html

\b
Limits:
  A node that the target cannot express exactly stops the conversion; all such nodes are listed.
  Operators of other domains than ai.onnx stay as they are.
  Target opsets go from 1 to the newest that the installed onnx knows; latest is the newest of them that the
  installed onnxruntime loads too.
  The comparison runs few, random inputs; --input-data gives it real ones.

\b
Exit status:
  0  converted, checked, and compared (or a warning says why that was not possible)
  1  the target cannot express the model
  2  wrong usage, or a file that cannot be read or written
  3  the result failed the check or the comparison
  of several models, that of the worst
"""


PROBE = "probe"
"""The first argument that asks for `probe`; a model of this name is ./probe."""
_PROBE_HELP = """Find out what RUNTIME, installed here or in the environment of --python, takes and computes wrongly.

About a hundred models of a few nodes are run, each in a child process. RUNTIME is onnxruntime, openvino, opencv, mnn, tract
or tinygrad. The profile that is printed can be given to --for.
"""


def _list_rules(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from .. import rules as _rules  # noqa: F401 - importing the rules registers them
    from .engine.conversion import MECHANISMS
    from .engine.registry import registry
    from .report.summary import rule_table

    _say(rule_table(registry, MECHANISMS))
    context.exit()


def _list_runtimes(context: click.Context, _: click.Parameter, name: str | None) -> None:
    if name is None or context.resilient_parsing:
        return
    from .runtimes.listing import about, overview

    _say(about(name) if name else overview())
    context.exit()


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import version

    _say(f"{PROGRAM} {version(PROGRAM)} (onnx {version('onnx')})")
    context.exit()


@click.command(
    PROGRAM,
    help=_HELP,
    epilog=_EPILOG,
    options_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.argument("source", metavar="INPUT", type=File())
@click.argument("destination", metavar="[INPUT...] [OUTPUT]", required=False, type=File())
@click.argument("more", metavar="", nargs=-1, type=File())
@click.option("-o", "--output", type=File(), metavar="OUTPUT", help="The file or folder to write to, instead of a last argument.")
@click.option("--in-place", is_flag=True, help="Write each result where its INPUT is; all arguments are INPUTs.")
@click.option("-t", "--target-opset", "--opset", type=Opset(), metavar="N|latest", help="Opset of the result; default: as INPUT.")
@click.option(
    "--for",
    "for_runtimes",
    multiple=True,
    metavar="RUNTIME",
    help="Be right in this runtime, as openvino-2024.2, onnxruntime (the installed one), or ./profile.toml: choose opset and IR "
    "version for it, and avoid what it refuses or computes wrongly. Repeatable: right in all.",
)
@click.option(
    "--list-runtimes",
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=_list_runtimes,
    metavar="[RUNTIME]",
    help="List what is known of all runtimes, or of one, and from where.",
)
@click.option(
    "--ir-version",
    type=int,
    metavar="N",
    help="IR version of the result; default: lowered on the way down to what the target's onnx release used.",
)
@click.option(
    "--overwrite-input-shape",
    type=Shape(),
    multiple=True,
    metavar="NAME:1,3,224,224",
    help="Fix the shape of an input in the model, and of all that it decides, outputs too; NAME may be left out if there is "
    "one input. Repeatable.",
)
@click.option(
    "--declare",
    type=Declaration(),
    multiple=True,
    metavar="NAME:float[N,64]",
    help="State the type of a value that shape inference cannot know, as behind a node of another domain. Repeatable.",
)
@click.option("--only", multiple=True, metavar="RULE", help="Use only these rules or modules of rules. Repeatable.")
@click.option("--skip", multiple=True, metavar="RULE", help="Do not use these rules or modules of rules. Repeatable.")
@click.option("--list-rules", is_flag=True, is_eager=True, expose_value=False, callback=_list_rules, help="List all rules.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list what cannot be converted, and how far the model can go.")
@click.option(
    "--report",
    multiple=True,
    type=ReportFile(),
    metavar="FILE.json|.html|.jsonl|.xml|.sarif|-",
    help="Also say what was done, or why not, as JSON (see docs/report.md) or as a page to look at; - is JSON on standard "
    "output. Of many models, .jsonl has a line for each, .html is an overview, .xml JUnit, .sarif for code scanning. Repeatable.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Convert so many models at a time; default: one for each core."
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="What one model may take.")
@click.option(
    "--memory", type=Size(), metavar="SIZE", help="What all models together may take, as 4GB: large ones do not run side by side."
)
@click.option(
    "--resume",
    type=RecordFile(),
    metavar="FILE.jsonl",
    help="Leave out what this report says is done, as long as model and options are the same, and add the rest to it.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Convert on the Dask cluster of this scheduler, as tcp://host:8786.")
@click.option("--assume-opset", type=click.IntRange(min=1), metavar="N", help="Opset of INPUT, where the file says a wrong one.")
@click.option("--strict", is_flag=True, help="Treat warnings about nodes as errors.")
@click.option(
    "--semantics",
    type=click.Choice(["specification", "onnxruntime"]),
    help="What nodes mean on which the two disagree (docs/semantics.md). Without it such nodes stay, or the model is refused.",
)
@click.option(
    "--external-data",
    default="auto",
    show_default=True,
    metavar="auto|keep|copy|inline|split[:BYTES]",
    help="""Where the weights go.

    \b
    auto    keep, if OUTPUT is in the folder of INPUT, else copy
    keep    external data stays in the files that it is in
    copy    external data goes to OUTPUT.data (OUTPUT.1.data if that exists)
    inline  all data goes into OUTPUT
    split   tensors of at least BYTES (default 1024) go to OUTPUT.data
    """,
)
@click.option(
    "--compare",
    type=click.Choice(["auto", "model", "nodes", "required", "off"]),
    default="auto",
    show_default=True,
    help="What to run, old against new: the whole model if it has at most 256 MiB and 10,000 nodes, else (or if that "
    "cannot be run) each distinct change of a node; only the model; only nodes; as auto, or fail; nothing.",
)
@click.option(
    "--runtime",
    type=click.Choice(["auto", "onnxruntime", "reference", "both"]),
    default="auto",
    show_default=True,
    help="What runs them; auto: onnxruntime where it is installed and able, else onnx.reference; both have to agree.",
)
@click.option(
    "--verify-with",
    default="",
    metavar="RUNTIME|MODULE:CLASS",
    help="Also run OUTPUT in onnxruntime, openvino, opencv, mnn, tract, tinygrad or by a class of your own (docs/runtimes.md), "
    "beside INPUT in onnxruntime; what differs there, or does not run, is an error.",
)
@click.option(
    "--python", default="", metavar="FILE", help="The Python of the environment that has that runtime; default: this one."
)
@click.option(
    "--test-input-shape",
    type=Shape(),
    multiple=True,
    metavar="NAME:1,3,224,224",
    help="Shape of an input in the comparison; NAME may be left out if there is one input. Repeatable.",
)
@click.option(
    "--input-data",
    type=Arrays(),
    multiple=True,
    metavar="NAME:FILE.npy|FILE.npz",
    help="Inputs of the comparison, random where not given. Each .npz is a sample; an .npy belongs to all. Repeatable.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed of the random comparison inputs."
)
@click.option(
    "--rtol",
    type=Bound(),
    multiple=True,
    metavar="[OUTPUT:]X",
    help="Relative tolerance, of all outputs or of one; default: 0. If a rule is not exact: 4096 eps of float64, 1024 of "
    "float32, 16 of float16, 8 of bfloat16. Repeatable.",
)
@click.option(
    "--atol",
    type=Bound(),
    multiple=True,
    metavar="[OUTPUT:]X",
    help="Absolute tolerance, likewise; 512, 128, 4, 2 eps. Repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Print what each rule changed, and what was left and why.")
@click.option("--text", is_flag=True, help="Print INPUT as text, its weights as digests; for git's textconv.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the versions.")
def command(source: str, destination: str | None, more: Sequence[str], **given: Any) -> None:
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("-q and -v exclude each other.")
    if given["text"]:
        _print_text([source, *filter(None, [destination, *more])])
        return
    many = inputs_of_many([source, *filter(None, [destination, *more])], given)
    if many is not None:
        raise click.exceptions.Exit(_convert_many(*many, given))
    output = _only_destination(destination, given["output"], given["dry_run"])
    _check_streams(source, output, given)
    with _input(source) as file:
        options, target = _options(file, given)
        run = _Run(source, file, output, given)
        try:
            report = _run_job(run, target, options)
        except PathConflictError:
            raise  # what a report would replace
        except Exception as error:
            run.report_failure(error)
            raise
    if report.blockers:
        raise click.exceptions.Exit(UnconvertibleError.exit_status)


def _convert_many(inputs: Sequence[str], into: str | None, given: dict[str, Any]) -> int:
    """Convert them all; the exit status."""
    if any(path.endswith(".json") for path in given["report"]):
        raise click.UsageError("--report: of many models FILE.jsonl has a line for each; FILE.json is for one.")
    options, target = _options(None, given)
    from .batch.command import Wanted, convert_all
    from .batch.task import Request

    wanted = Wanted(
        inputs,
        into,
        given["in_place"],
        given["jobs"],
        given["scheduler"],
        given["resume"],
        given["report"],
        given["quiet"],
        given["verbose"],
    )
    request = Request(target, given["compare"], options, given["timeout"], given["memory"])
    return convert_all(wanted, request, lambda text, is_error: _say(_one_line(text), sys.stderr if is_error else None), _say)


def _print_text(paths: Sequence[str]) -> None:
    if len(paths) > 1:
        raise click.UsageError("--text prints one model.")
    with _lean_imports():
        from .report.text_form import text_form
        from .storage import read
    _say(text_form(read(paths[0])))


@click.command(
    f"{PROGRAM} {PROBE}",
    help=_PROBE_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.argument("runtime", metavar="RUNTIME", required=False)
@click.option("--adapter", metavar="MODULE:CLASS", help="A class of your own that runs models; docs/runtimes.md says how.")
@click.option(
    "--python", "interpreter", metavar="FILE", help="The Python of the environment that has the runtime; default: this one."
)
@click.option("-o", "--output", metavar="FILE.toml", help="Write the profile there, for --for; default: print it.")
@click.option("-v", "--verbose", is_flag=True, help="Print what became of each model.")
def probe(runtime: str | None, adapter: str | None, interpreter: str | None, output: str | None, verbose: bool) -> None:
    if (runtime is None) == (adapter is None):
        raise click.UsageError("name a RUNTIME, or --adapter MODULE:CLASS.")
    from .report.summary import aligned
    from .runtimes.probing import as_table, as_toml, probe_runtime
    from .runtimes.running import Target

    name = runtime or str(adapter)
    with _progress_bar(hidden=False):
        findings = probe_runtime(Target(name, interpreter or sys.executable))
    for line in aligned(as_table(findings)) if verbose else ():
        _say(_one_line(line))
    text = as_toml(name, findings)
    if output is None:
        _say(text, sys.stdout)
        return
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


def _check_streams(source: str, output: str | None, given: dict[str, Any]) -> None:
    """Raises: click.UsageError where standard input or output cannot be what - asks of it."""
    if source == STREAM and os.isatty(0):
        raise click.UsageError("INPUT is -, and standard input is a terminal: give it a model.")
    if output != STREAM:
        return
    if os.isatty(1):
        raise click.UsageError("OUTPUT is -, and standard output is a terminal: send it to a file or a program.")
    if STREAM in given["report"]:
        raise click.UsageError("OUTPUT and --report are both -: only one can be standard output.")
    if given["external_data"] not in ("auto", "inline"):
        raise click.UsageError("OUTPUT is -, and a model there has all its data inside: --external-data can only be inline.")


@contextmanager
def _input(source: str) -> Iterator[str | os.PathLike[str]]:
    """The file to read: INPUT, or a copy of what comes through a pipe."""
    with _lean_imports():
        from . import driver as _driver  # noqa: F401 - with all that it imports
        from .storage import spooled, spooled_stream
    with spooled_stream(0, "standard input") if source == STREAM else spooled(source) as file:
        yield file


@contextmanager
def _progress_bar(hidden: bool) -> Iterator[Callable[[], None]]:
    """Shows what takes long, on a terminal; call the result to take it away."""
    if hidden or not sys.stderr.isatty():
        yield lambda: None
        return
    from .progress import listening
    from .progress_bar import Bar

    with Bar(sys.stderr) as bar, listening(bar.update):
        yield bar.close


def _only_destination(destination: str | None, output: str | None, dry_run: bool) -> str | None:
    """The file to write; None for a dry run."""
    if destination is not None and output is not None:
        raise click.UsageError("OUTPUT is given twice, as an argument and by -o.")
    chosen = destination if output is None else output
    if dry_run and chosen:
        raise click.UsageError("--dry-run writes nothing: leave OUTPUT out.")
    if not dry_run and not chosen:
        raise click.UsageError("Missing argument 'OUTPUT': name the file to write.")
    return chosen


def _options(source: _Path | None, given: dict[str, Any]) -> tuple[Options, int | None]:
    """The options of the job, and the target opset."""
    from . import child_call

    if source is not None:  # of many models, each is checked by the process that converts it
        child_call.prepare()  # it gets ready while this process imports onnx
    with _lean_imports():
        from .comparison.loadable import latest_opset
        from .driver import Options

    compares = (given["compare"] != "off" or given["verify_with"]) and not given["dry_run"]
    options = Options(
        assume_opset=given["assume_opset"],
        ir_version=given["ir_version"],
        only=frozenset(given["only"]),
        skip=frozenset(given["skip"]),
        strict=given["strict"],
        semantics=given["semantics"],
        overwrite_input_shapes=_by_name(given["overwrite_input_shape"], "--overwrite-input-shape", source),
        declare=_declarations(given["declare"]),
        runtime=given["runtime"],
        samples=_samples(source, given) if compares else None,
        tolerance=_tolerance(given),
        external_data=given["external_data"],
        for_runtimes=given["for_runtimes"],
        verify_with=given["verify_with"],
        python=given["python"],
    )
    target = given["target_opset"]
    return options, latest_opset() if target == "latest" else target


class _Run:
    """The files of one run, and the messages about it."""

    def __init__(self, source: str, file: _Path, output: str | None, given: dict[str, Any]) -> None:
        """`source` and `output` are as the user gave them; `file` is the one to read."""
        from .storage import INPUT_DATA, REPORT, STDOUT, NamedFile

        self.file = file
        self.output = output
        self.given = given
        self.others = [NamedFile(REPORT, path) for path in given["report"] if path != STREAM]
        self.others += [NamedFile(INPUT_DATA, loaded.file) for loaded in given["input_data"]]
        if stat.S_ISREG(os.fstat(1).st_mode):
            self.others.append(NamedFile(STDOUT, "standard output", 1))
        self._source = source

    def report_success(self, report: Report, written: _Path | None) -> None:
        """Say what was done. `written` is the result, which goes to its place only after this, and not at all where this fails."""
        for path in self.given["report"]:
            self._write_report(path, report, written, None)
        if not self.given["quiet"] and STREAM not in self.given["report"]:
            _print_report(report, self.given["verbose"], sys.stderr if self.output == STREAM else None)

    def report_failure(self, error: Exception) -> None:
        for path in self.given["report"]:
            try:
                self._write_report(path, None, None, error)
            except SplitRewriteError as another:
                if str(another) != str(error):
                    _say(f"error: {another}", sys.stderr)

    def _write_report(self, path: str, report: Report | None, written: _Path | None, failure: Exception | None) -> None:
        from .report.json_document import ModelFile, dump, make_document, without_unprintable
        from .report.page import make_page
        from .storage import write_text

        report = report and without_unprintable(report)
        status = _explain(failure)[0] if failure else UnconvertibleError.exit_status if report and report.blockers else 0
        source = ModelFile(self._source, os.fspath(self.file))
        result = None if self.output is None else ModelFile(self.output, os.fspath(written or self.output))
        what = (source, result, report, failure, status)
        text = make_page(*what) if path.endswith(".html") else dump(make_document(*what))
        if path == STREAM:
            _say(text)
        else:
            write_text(f"{text}\n", path)


def _run_job(run: _Run, target: int | None, options: Options) -> Report:
    from .driver import check_convertible

    with _progress_bar(hidden=run.given["quiet"]) as hide:

        def announce(report: Report, written: _Path | None) -> None:
            hide()
            run.report_success(report, written)

        if run.output is None:
            report = check_convertible(run.file, target, options=options, others=run.others)
            announce(report, None)
            return report
        if run.output == STREAM:
            return _convert_to_stdout(run, target, options, announce)
        return _convert(run, run.output, target, options, announce)


def _convert(run: _Run, output: _Path, target: int | None, options: Options, announce: Announce) -> Report:
    from .driver import convert_file

    compare = run.given["compare"]
    return convert_file(run.file, output, target, compare=compare, options=options, others=run.others, announce=announce)


def _convert_to_stdout(run: _Run, target: int | None, options: Options, announce: Announce) -> Report:
    with TemporaryDirectory(prefix=f"{PROGRAM}-") as folder:
        path = os.path.join(folder, "model.onnx")
        report = _convert(run, path, target, replace(options, external_data="inline"), announce)
        try:
            with open(path, "rb") as model:
                shutil.copyfileobj(model, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            _discard(sys.stdout)
            raise SplitRewriteError(f"standard output: cannot be written: {error.strerror or error}") from error
        return report


@contextmanager
def _lean_imports() -> Iterator[None]:
    """Modules stay to the end: the collector need not look for garbage in them, now or at the end (12 % of a start).

    And numpy's BLAS starts no threads: they spin for 0.1 s of processor time, and nothing here multiplies matrices.
    """
    inherited = os.environ.get(_BLAS_THREADS)
    os.environ.setdefault(_BLAS_THREADS, "1")
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(100_000)  # looking after every 700 objects would cost 5 % of the conversion of a million nodes
        gc.enable()
        if inherited is None:
            del os.environ[_BLAS_THREADS]


_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def _samples(source: _Path | None, given: dict[str, Any]) -> Samples:
    from .comparison.samples import Samples

    return Samples(
        shapes=_by_name(given["test_input_shape"], "--test-input-shape", source),
        data=_samples_of(given["input_data"]),
        seed=given["seed"],
    )


def _samples_of(loaded: Iterable[Loaded]) -> list[dict[str, ndarray[Any, Any]]]:
    """Each .npz file with the .npy files, which belong to all; one sample where there are only those."""
    common: dict[str, ndarray[Any, Any]] = {}
    samples: list[dict[str, ndarray[Any, Any]]] = []
    for one in loaded:
        if one.is_sample:
            samples.append(one.arrays)
        else:
            _require_new(one.arrays, common)
            common |= one.arrays
    for sample in samples:
        _require_new(common, sample)
    return [sample | common for sample in samples] or ([common] if common else [])


def _require_new(names: Iterable[str], known: Container[str]) -> None:
    for name in names:
        if name in known:
            raise click.UsageError(f"--input-data: input '{name}' is given twice in one sample.")


def _tolerance(given: dict[str, Any]) -> Tolerance:
    from .comparison.tolerance import Tolerance

    rtol, atol = (_by_output(given[option], f"--{option}") for option in ("rtol", "atol"))
    return Tolerance(rtol.pop(None, None), atol.pop(None, None), _named(rtol), _named(atol))


def _by_output(bounds: Iterable[tuple[str | None, float]], option: str) -> dict[str | None, float]:
    named: dict[str | None, float] = {}
    for name, bound in bounds:
        if name in named:
            raise click.UsageError(f"{option} is given twice for {'all outputs' if name is None else name}.")
        named[name] = bound
    return named


def _named(bounds: dict[str | None, float]) -> dict[str, float]:
    return {name: bound for name, bound in bounds.items() if name is not None}


def _declarations(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    types: dict[str, str] = {}
    for name, text in given:
        if name in types:
            raise click.UsageError(f"--declare: value '{name}' is given twice.")
        types[name] = text
    return types


def _by_name(shapes: Iterable[tuple[str | None, tuple[int, ...]]], option: str, source: _Path | None) -> dict[str, tuple[int, ...]]:
    named: dict[str, tuple[int, ...]] = {}
    for name, dims in shapes:
        name = _only_input(source, option) if name is None else name
        if name in named:
            raise click.UsageError(f"{option}: input '{name}' is given twice.")
        named[name] = dims
    return named


def _only_input(source: _Path | None, option: str) -> str:
    """The name of the one input of the model in the file `source`, None where there are many models."""
    if source is None:
        raise click.UsageError(f"{option}: put NAME: before the shape; each model has inputs of its own.")
    from .storage import read

    graph = read(source).proto.graph
    with_default = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in with_default]
    if len(names) != 1:
        raise click.UsageError(f"{option}: put NAME: before the shape; the inputs are {', '.join(names) or 'none'}.")
    return names[0]


def _print_report(report: Report, verbose: bool, stream: TextIO | None) -> None:
    """Print what is to be said of a success; warnings to standard error, all else to `stream`, by default standard output."""
    from .report.summary import avoided, details, grouped

    for warning in report.warnings:
        _say(f"warning: {_one_line(warning)}", sys.stderr)
    if verbose:
        for line in details(report):
            _say(_one_line(line), stream)
    elif report.reach is not None:
        for line in avoided(report):
            _say(_one_line(line), stream)
    for line in map(str, report.blockers) if verbose else grouped(report.blockers):
        _say(f"cannot be converted: {_one_line(line)}", sys.stderr)
    _say(str(report), stream)


def _one_line(text: str) -> str:
    """Names in a model may contain anything and have any length; a terminal gets what can be printed and read."""
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]}… ({len(text):,} characters)"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _say(text: str, stream: TextIO | None = None) -> None:
    """Print to `stream`, by default standard output. Raises: SplitRewriteError where it takes nothing."""
    chosen = sys.stdout if stream is None else stream
    try:
        click.echo(text, file=chosen)
    except BrokenPipeError:
        _discard(chosen)  # whoever read it has seen enough
    except OSError as error:
        _discard(chosen)
        name = "standard error" if chosen is sys.stderr else "standard output"
        raise SplitRewriteError(f"{name}: cannot be written: {error.strerror or error}") from error


def run(arguments: Sequence[str]) -> int:
    """Do what the command line `arguments` (without the program's name) asks for; its exit status."""
    context = None
    try:
        chosen, rest = (probe, arguments[1:]) if list(arguments[:1]) == [PROBE] else (command, arguments)
        with chosen.make_context(PROGRAM, list(rest)) as context:
            chosen.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (Exception, KeyboardInterrupt) as error:
        verbose = context is not None and context.params["verbose"]
        status, lines = _explain(error, verbose)
        with suppress(SplitRewriteError):  # the exit status says it, too
            for line in lines:
                _say(_one_line(line), sys.stderr)
        if status == INTERNAL_ERROR and not isinstance(error, SplitRewriteError) and verbose:
            traceback.print_exc()
        return status
    return 0


def _explain(error: BaseException, verbose: bool = False) -> tuple[int, list[str]]:
    """The exit status and the lines that `error` deserves."""
    if isinstance(error, UnconvertibleError):
        from .report.summary import grouped

        count = len(error.blockers)
        nodes = "1 node" if count == 1 else f"{count:,} nodes"
        blockers = map(str, error.blockers) if verbose else grouped(error.blockers)
        return error.exit_status, [f"error: {nodes} cannot be converted:", *(f"  {line}" for line in blockers)]
    if isinstance(error, click.ClickException):
        return UNUSABLE, [f"error: {error.format_message()} (--help shows the usage)"]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, ["interrupted"]
    status, line = status_and_line(error)
    if status == INTERNAL_ERROR and not isinstance(error, SplitRewriteError):
        return status, [f"internal error: {line}; please report it (-v shows where it is from)"]
    return status, [f"error: {line}"]


def _discard(stream: TextIO) -> None:
    """The interpreter flushes a standard stream once more when it ends, and must not fail then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """Where standard streams are closed, the next files to be opened would be taken for them, and messages end up in a model.

    Reading from or writing to what takes their place fails, as it would with a closed one, but for messages.
    """
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest number that is free: this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - until the end
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _unwind(number: int, _: FrameType | None) -> NoReturn:
    """A signal ends the program as any error does, so that temporary files go; further ones do not disturb that."""
    for name in _SIGNALS:
        signal.signal(name, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main() -> NoReturn:
    """The entry point of the `split-rewrite` command."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to fail
    completion = f"_{PROGRAM.upper().replace('-', '_')}_COMPLETE"
    if completion in os.environ:
        sys.exit(shell_complete(command, {}, PROGRAM, completion, os.environ[completion]))
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _unwind)
    _leave(run(sys.argv[1:]))


def _leave(status: int) -> NoReturn:
    """End at once: the interpreter takes a tenth of a start to take its modules apart."""
    if child_call := sys.modules.get(f"{__package__}.child_call"):
        child_call.close_children()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever wrote has heard of it
            stream.flush()
    os._exit(status)
