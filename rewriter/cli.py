"""The command line: arguments become options, and what happened becomes text and an exit status.

Most of a start is the import of onnx, so onnx is imported by what needs it: --help, --version and a wrong option do not.
"""

from __future__ import annotations

import gc
import io
import math
import os
import signal
import sys
import traceback
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from .errors import SplitRewriteError, UnconvertibleError

if TYPE_CHECKING:
    from numpy import ndarray

    from .comparison.samples import Samples
    from .comparison.tolerance import Tolerance
    from .driver import Comparing, Options
    from .report.summary import Report

PROGRAM = "split-rewrite"
REPORT_FORMATS = (".json", ".html")
LONGEST_LINE = 2000
UNUSABLE, INTERNAL_ERROR, INTERRUPTED = 2, 3, 130

_HELP = """Convert the ONNX model INPUT to another opset and write it to OUTPUT.

OUTPUT appears only after the whole model was converted, passed onnx.checker and, where a runtime can run it, gave the
same numbers as INPUT. It may be INPUT itself. Without --target-opset the opset stays; sequences with known elements
dissolve and constant Splits fold in any case.
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
"""


PROBE = "probe"
"""The first argument that asks for `probe`; a model of this name is ./probe."""
_PROBE_HELP = """Find out what RUNTIME, installed here or in the environment of --python, takes and computes wrongly.

About a hundred models of a few nodes are run, each in a child process. RUNTIME is onnxruntime, openvino, opencv or mnn.
The profile that is printed can be given to --for.
"""


class _Opset(click.ParamType):
    name = "opset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "latest":
            return value
        return _number(value, self, param, ctx, "a number or 'latest'")


class _Bound(click.ParamType):
    """1e-3, or OUTPUT:1e-3, split at the last colon; without OUTPUT the name is None."""

    name = "tolerance"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, float]:
        name, colon, bound = value.rpartition(":")
        try:
            number = float(bound)
        except ValueError:
            number = math.nan
        if not (0 <= number < math.inf) or (colon and not name):
            self.fail(f"expected a number from 0 on, or OUTPUT:NUMBER, not '{value}'", param, ctx)
        return name or None, number


class _Shape(click.ParamType):
    """NAME:1,3,224,224, split at the last colon, or the bare list, which gets the name None."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, tuple[int, ...]]:
        name, colon, dims = value.rpartition(":")
        if not (colon or dims) or (colon and not name):
            self.fail(f"expected NAME:1,3,224,224, not '{value}'", param, ctx)
        sizes = [_number(size, self, param, ctx, "whole numbers as in 1,3,224,224") for size in dims.split(",") if dims]
        return name or None, tuple(sizes)


class _Arrays(click.ParamType):
    """NAME:FILE.npy or FILE.npz, loaded; says whether it is a sample of its own, which an .npz is."""

    name = "arrays"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[bool, dict[str, ndarray[Any, Any]]]:
        name, file = ("", value) if value.endswith(".npz") else value.rpartition(":")[::2]
        if not file.endswith(".npz") and not (name and file.endswith(".npy")):
            self.fail(f"expected NAME:FILE.npy or FILE.npz, not '{value}'", param, ctx)
        try:
            return file.endswith(".npz"), _load_arrays(name, file)
        except OSError as error:
            self.fail(f"{file} cannot be read: {error.strerror or error}", param, ctx)
        except (ValueError, EOFError) as error:
            self.fail(f"{file} cannot be read: {str(error).splitlines()[0]}", param, ctx)


def _number(value: Any, kind: click.ParamType, param: click.Parameter | None, ctx: click.Context | None, expected: str) -> int:
    try:
        return int(value)
    except ValueError:
        kind.fail(f"expected {expected}, not '{value}'", param, ctx)


def _load_arrays(name: str, file: str) -> dict[str, ndarray[Any, Any]]:
    """The arrays of an .npz file, or the one of an .npy file under `name`. Raises: OSError, ValueError, EOFError."""
    import zipfile
    import zlib

    import numpy as np

    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray) == file.endswith(".npz"):
            raise ValueError("the contents are not what the ending of the name says")
        return {name: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from error


class _ReportFile(click.ParamType[str]):
    """A file that a report can be written to, told before the work is done."""

    name = "report"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "-":
            return value
        folder = os.path.dirname(value) or "."
        if not value.endswith(REPORT_FORMATS):
            self.fail(f"'{value}' is neither - nor a name that ends with {' or '.join(REPORT_FORMATS)}.", param, ctx)
        if os.path.isdir(value):
            self.fail(f"{value}: is a folder; name the file to write", param, ctx)
        if not os.path.isdir(folder):
            self.fail(f"'{value}': there is no folder '{folder}'.", param, ctx)
        return value


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
@click.argument("source", metavar="INPUT")
@click.argument("destination", metavar="[OUTPUT]", required=False)
@click.option("-o", "--output", metavar="OUTPUT", help="The file to write, instead of a second argument.")
@click.option("-t", "--target-opset", "--opset", type=_Opset(), metavar="N|latest", help="Opset of the result; default: as INPUT.")
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
    type=_Shape(),
    multiple=True,
    metavar="NAME:1,3,224,224",
    help="Fix the shape of an input in the model; NAME may be left out if there is one input. Repeatable.",
)
@click.option("--only", multiple=True, metavar="RULE", help="Use only these rules or modules of rules. Repeatable.")
@click.option("--skip", multiple=True, metavar="RULE", help="Do not use these rules or modules of rules. Repeatable.")
@click.option("--list-rules", is_flag=True, is_eager=True, expose_value=False, callback=_list_rules, help="List all rules.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list what cannot be converted, and how far the model can go.")
@click.option(
    "--report",
    multiple=True,
    type=_ReportFile(),
    metavar="FILE.json|FILE.html|-",
    help="Also say what was done, or why not, as JSON (see docs/report.md) or as a page to look at; - is JSON on standard "
    "output. Repeatable.",
)
@click.option("--assume-opset", type=click.IntRange(min=1), metavar="N", help="Opset of INPUT, where the file says a wrong one.")
@click.option("--strict", is_flag=True, help="Treat warnings about nodes as errors.")
@click.option(
    "--external-data",
    default="auto",
    show_default=True,
    metavar="auto|keep|copy|inline|split[:BYTES]",
    help="""Where the weights go.

    \b
    auto    keep, if OUTPUT is in the folder of INPUT, else copy
    keep    external data stays in the files that it is in
    copy    external data goes to OUTPUT.data
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
    "--test-input-shape",
    type=_Shape(),
    multiple=True,
    metavar="NAME:1,3,224,224",
    help="Shape of an input in the comparison; NAME may be left out if there is one input. Repeatable.",
)
@click.option(
    "--input-data",
    type=_Arrays(),
    multiple=True,
    metavar="NAME:FILE.npy|FILE.npz",
    help="Inputs of the comparison, random where not given. Each .npz is a sample; an .npy belongs to all. Repeatable.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed of the random comparison inputs."
)
@click.option(
    "--rtol",
    type=_Bound(),
    multiple=True,
    metavar="[OUTPUT:]X",
    help="Relative tolerance, of all outputs or of one; default: 0. If a rule is not exact: 4096 eps of float64, 1024 of "
    "float32, 16 of float16, 8 of bfloat16. Repeatable.",
)
@click.option(
    "--atol",
    type=_Bound(),
    multiple=True,
    metavar="[OUTPUT:]X",
    help="Absolute tolerance, likewise; 512, 128, 4, 2 eps. Repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Print what each rule changed, and what was left and why.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the versions.")
def command(source: str, destination: str | None, **given: Any) -> None:
    if given["quiet"] and given["verbose"]:
        raise click.UsageError("-q and -v exclude each other.")
    output = _only_destination(destination, given["output"], given["dry_run"])
    options, target = _options(source, given)
    try:
        with _progress_bar(hidden=given["quiet"]):
            report = _run_job(source, output, target, given["compare"], options)
    except Exception as error:
        _write_reports(given["report"], source, output, None, error)
        raise
    _write_reports(given["report"], source, output, report, None)
    if not given["quiet"] and "-" not in given["report"]:
        _print_report(report, given["verbose"])
    if report.blockers:
        raise click.exceptions.Exit(UnconvertibleError.exit_status)


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


@contextmanager
def _progress_bar(hidden: bool) -> Iterator[None]:
    """Shows what takes long, on a terminal."""
    if hidden or not sys.stderr.isatty():
        yield
        return
    from .progress import listening
    from .progress_bar import Bar

    with Bar(sys.stderr) as bar, listening(bar.update):
        yield


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


def _options(source: str, given: dict[str, Any]) -> tuple[Options, int | None]:
    """The options of the job, and the target opset."""
    from . import child_call

    child_call.prepare()  # it gets ready while this process imports onnx
    with _lean_imports():
        from .comparison.loadable import latest_opset
        from .driver import Options

    compares = given["compare"] != "off" and not given["dry_run"]
    options = Options(
        assume_opset=given["assume_opset"],
        ir_version=given["ir_version"],
        only=frozenset(given["only"]),
        skip=frozenset(given["skip"]),
        strict=given["strict"],
        overwrite_input_shapes=_by_name(given["overwrite_input_shape"], "--overwrite-input-shape", source),
        runtime=given["runtime"],
        samples=_samples(source, given) if compares else None,
        tolerance=_tolerance(given),
        external_data=given["external_data"],
        for_runtimes=given["for_runtimes"],
    )
    target = given["target_opset"]
    return options, latest_opset() if target == "latest" else target


def _run_job(source: str, output: str | None, target: int | None, compare: Comparing, options: Options) -> Report:
    from .driver import check_convertible, convert_file

    if output is None:
        return check_convertible(source, target, options=options)
    return convert_file(source, output, target, compare=compare, options=options)


def _write_reports(paths: Sequence[str], source: str, output: str | None, report: Report | None, failure: Exception | None) -> None:
    if not paths:
        return
    from .report.json_document import dump, make_document, without_unprintable, write
    from .report.page import make_page

    report = report and without_unprintable(report)
    status = _explain(failure)[0] if failure else UnconvertibleError.exit_status if report and report.blockers else 0
    what = (source, output, report, failure, status)
    for path in paths:
        text = make_page(*what) if path.endswith(".html") else dump(make_document(*what))
        if path == "-":
            _say(text)
        else:
            write(text, path)


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


def _samples(source: str, given: dict[str, Any]) -> Samples:
    from .comparison.samples import Samples

    return Samples(
        shapes=_by_name(given["test_input_shape"], "--test-input-shape", source),
        data=_samples_of(given["input_data"]),
        seed=given["seed"],
    )


def _samples_of(
    loaded: Iterable[tuple[bool, dict[str, ndarray[Any, Any]]]],
) -> list[dict[str, ndarray[Any, Any]]]:
    """Each .npz file with the .npy files, which belong to all; one sample where there are only those."""
    common: dict[str, ndarray[Any, Any]] = {}
    samples: list[dict[str, ndarray[Any, Any]]] = []
    for is_sample, arrays in loaded:
        if is_sample:
            samples.append(arrays)
        else:
            _require_new(arrays, common)
            common |= arrays
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


def _by_name(shapes: Iterable[tuple[str | None, tuple[int, ...]]], option: str, source: str) -> dict[str, tuple[int, ...]]:
    named: dict[str, tuple[int, ...]] = {}
    for name, dims in shapes:
        name = _only_input(source, option) if name is None else name
        if name in named:
            raise click.UsageError(f"{option}: input '{name}' is given twice.")
        named[name] = dims
    return named


def _only_input(source: str, option: str) -> str:
    """The name of the one input of the model in the file `source`."""
    from .storage import read

    graph = read(source).proto.graph
    with_default = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in with_default]
    if len(names) != 1:
        raise click.UsageError(f"{option}: put NAME: before the shape; the inputs are {', '.join(names) or 'none'}.")
    return names[0]


def _print_report(report: Report, verbose: bool) -> None:
    from .report.summary import avoided, details, grouped

    for warning in report.warnings:
        _say(f"warning: {_one_line(warning)}", sys.stderr)
    if verbose:
        for line in details(report):
            _say(_one_line(line))
    elif report.reach is not None:
        for line in avoided(report):
            _say(_one_line(line))
    for line in map(str, report.blockers) if verbose else grouped(report.blockers):
        _say(f"cannot be converted: {_one_line(line)}", sys.stderr)
    _say(str(report))


def _one_line(text: str) -> str:
    """Names in a model may contain anything and have any length; a terminal gets what can be printed and read."""
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]}… ({len(text):,} characters)"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _say(text: str, stream: TextIO | None = None) -> None:
    click.echo(text, file=stream)


def run(arguments: Sequence[str]) -> int:
    """Do what the command line `arguments` (without the program's name) asks for; its exit status."""
    context = None
    try:
        chosen, rest = (probe, arguments[1:]) if list(arguments[:1]) == [PROBE] else (command, arguments)
        with chosen.make_context(PROGRAM, list(rest)) as context:
            chosen.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        _discard_stdout()  # whoever read it has seen enough; the work is done
    except (Exception, KeyboardInterrupt) as error:
        verbose = context is not None and context.params["verbose"]
        status, lines = _explain(error, verbose)
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
    if isinstance(error, SplitRewriteError):
        return error.exit_status, [f"error: {error}"]
    if isinstance(error, click.ClickException):
        return UNUSABLE, [f"error: {error.format_message()} (--help shows the usage)"]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, ["interrupted"]
    if isinstance(error, MemoryError):
        return UNUSABLE, ["error: out of memory"]
    if isinstance(error, RecursionError):
        return UNUSABLE, ["error: the model is nested too deeply"]
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return UNUSABLE, [f"error: {where}{error.strerror or error}"]
    return INTERNAL_ERROR, [f"internal error: {type(error).__name__}: {error}; please report it (-v shows where it is from)"]


def _discard_stdout() -> None:
    """The interpreter flushes stdout once more when it ends, and must not fail then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> NoReturn:
    """The entry point of the `split-rewrite` command."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to fail
    # A termination unwinds like any other end, so that temporary files go.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    _leave(run(sys.argv[1:]))


def _open_closed_streams() -> None:
    """Where a shell closed standard input, output or error (`2>&-`), the next file that is opened would take its place.

    What is opened here instead fails as a closed one does, but for errors: of those, nobody wants to hear more errors.
    """
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number, which is this one
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _leave(status: int) -> NoReturn:
    """End at once: the interpreter takes a tenth of a start to take its modules apart."""
    if child_call := sys.modules.get(f"{__package__}.child_call"):
        child_call.close_children()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever wrote has heard of it
            stream.flush()
    os._exit(status)
