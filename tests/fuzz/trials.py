"""One trial: a random model through the conversion, or a damaged file through the command line, and what may come of it.

A trial answers with a `Verdict`. What is allowed: converted and equal; converted, but no runtime can run it; refused for a
reason. Everything else is a finding.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
from conditioning import is_amplified
from mutations import mutated
from random_models import Case, random_case

from split_rewrite.rewriter import UnconvertibleError, check_convertible, convert_file
from split_rewrite.rewriter.checks.validity import checker_failure
from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.inputs.samples import Samples
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.comparison.verdicts import Comparison
from split_rewrite.rewriter.errors import CheckError, CompareError, InvalidModelError
from split_rewrite.rewriter.execution import model_client
from split_rewrite.rewriter.execution.model_client import Worker

FINDINGS = (
    "WRONG",
    "LAST BITS",
    "INVALID",
    "CALLED INVALID",
    "DRY RUN",
    "TRACEBACK",
    "UNCLEAR",
    "SIGNAL",
    "STRAY FILE",
    "HANG",
    "FALSE ALARM",
)
DRY_RUNS = 0.2
"""The share of the models that convert which get a dry run too; of those that are refused, all do. It takes as long as the rest."""
ALARMS = 0.1
"""The share of the models that convert and are equal which are converted with the default comparison too: it has to let them pass."""
STOPPED = ("stopped by the check", "stopped by the comparison")
"""What may come of a damaged file that onnx takes for a model: nothing was written, and a person should see why."""
OPTIONS = (
    *(("-q",), ("-v",), ("--strict",), ("--external-data", "split:2000"), ("--compare", "nodes"), ("--runtime", "both")),
    *(
        ("--dry-run",),
        ("--report", "r.json"),
        ("--report", "r.html", "--assume-opset", "13"),
        ("--overwrite-input-shape", "x1:2,3"),
    ),
)
"""What a damaged file is converted with."""
REPORTS = {"r.json", "r.html"}
RUN_SECONDS = 10.0
"""What one model may take in a comparison; a model whose loop does not end is not compared."""


@dataclass
class Verdict:
    """`kind`: "equal", "not compared", "refused", "discarded" (the checker refuses the model as it was made) or one of FINDINGS."""

    kind: str
    reason: str = ""
    back: str = ""
    """As `kind`, for the way back to where the model came from; "" where there was none."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Of a finding: the model."""
    command: str = ""
    """Of a finding: how to see it by the command line."""


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A folder of the trial's own, in memory where the system has such a place; its name would show in messages."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def try_model(seed: object) -> Verdict:
    """A random model, to a random opset and back."""
    return judge_case(random_case(Random(repr(seed))))


def judge_case(case: Case) -> Verdict:
    data = case.model.SerializeToString()
    with private_folder() as folder:
        verdict = _judge(case, data, folder)
    if verdict.kind == "CALLED INVALID" and (failure := checker_failure(data, full=True)):
        return Verdict("discarded", failure)
    if verdict.kind in FINDINGS or verdict.back in FINDINGS:
        verdict.files = {"model.onnx": data, "inputs.npz": _npz(case.inputs())}
        verdict.command = f"split-rewrite -v -t {case.target} model.onnx out.onnx --input-data inputs.npz"
    return verdict


def _judge(case: Case, data: bytes, folder: Path) -> Verdict:
    source, there, back = folder / "model.onnx", folder / "there.onnx", folder / "back.onnx"
    source.write_bytes(data)
    verdict = _convert(source, there, case.target)
    if verdict.kind == "refused" or case.random.random() < DRY_RUNS:
        problem = _dry_run_differs(source, case.target, verdict)
        if problem:
            return Verdict("DRY RUN", problem)
    if verdict.kind != "equal":
        return verdict
    inexact = verdict.reason != ""
    _compare(case, source, there, verdict, inexact)
    if verdict.kind == "equal" and case.random.random() < ALARMS and (alarm := _false_alarm(source, there, case.target)):
        return Verdict("FALSE ALARM", alarm)
    if verdict.kind in FINDINGS:
        return verdict
    way_back = _convert(there, back, case.opset)
    if way_back.kind == "equal":
        _compare(case, source, back, way_back, inexact or way_back.reason != "")
    if way_back.kind in FINDINGS:
        verdict.reason = f"back: {way_back.reason}"
    verdict.back = way_back.kind
    return verdict


def _convert(source: Path, destination: Path, target: int) -> Verdict:
    """ "equal" stands for converted so far; its reason names the rules that are not exact."""
    try:
        report = convert_file(source, destination, target, compare="off")
    except UnconvertibleError as error:
        verdict = Verdict("refused", "\n".join(map(str, error.blockers)))
    except InvalidModelError as error:
        verdict = Verdict("CALLED INVALID", str(error))
    except CheckError as error:
        verdict = Verdict("INVALID", str(error))
    except Exception:
        verdict = Verdict("TRACEBACK", traceback.format_exc())
    else:
        return Verdict("equal", " ".join(sorted(report.inexact)))
    extra = {path.name for path in source.parent.iterdir()} - {"model.onnx", "there.onnx"}
    if extra or destination.exists():
        return Verdict("STRAY FILE", f"{sorted(extra)} after: {verdict.reason}")
    return verdict


def _dry_run_differs(source: Path, target: int, verdict: Verdict) -> str:
    try:
        blockers = "\n".join(map(str, check_convertible(source, target).blockers))
    except Exception:
        return "" if verdict.kind in FINDINGS else traceback.format_exc()
    refused = verdict.reason if verdict.kind == "refused" else ""
    return "" if blockers == refused or verdict.kind in FINDINGS else f"dry run: {blockers!r}; conversion: {refused!r}"


def _false_alarm(source: Path, destination: Path, target: int) -> str:
    runner()
    try:
        convert_file(source, destination, target)
    except (CheckError, CompareError) as error:
        return str(error)
    return ""


def _compare(case: Case, original: Path, result: Path, verdict: Verdict, inexact: bool) -> None:
    """Put into `verdict` what comparing the two shows, at the sizes the model was built for, and at others that it accepts."""
    tolerance = Tolerance(inexact=inexact)
    inputs, other = case.inputs(), case.other_inputs()
    found = compare(original, result, samples=Samples(data=[inputs]), tolerance=tolerance, worker=runner())
    if found.status == "equal" and other is not None:
        # onnx.reference takes sizes that the specification forbids, and says nothing.
        samples = Samples(data=[other])
        again = compare(original, result, runtime="onnxruntime", samples=samples, tolerance=tolerance, worker=runner())
        found, inputs = (again, other) if again.status == "different" else (found, inputs)
    verdict.kind, verdict.reason = found.status, found.reason
    if found.status == "different":
        verdict.kind = _difference(found)
    runtime = found.runtime.partition(" ")[0]
    if verdict.kind == "WRONG" and inexact and is_amplified(original, result, inputs, tolerance, runtime, runner(), case.random):
        verdict.kind, verdict.reason = "not compared", f"the model makes much of its last bits: {found.reason}"


def _difference(found: Comparison) -> str:
    """Which kind of difference: a node that no rule touched may run by another kernel of the runtime at another opset."""
    if not found.last_bits:
        return "WRONG"
    return "equal but for another kernel" if found.stayed else "LAST BITS"


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@functools.cache
def runner() -> Worker:
    """What runs models, those of the command line too: there, a loop that does not end may take 5 minutes."""
    worker = Worker(RUN_SECONDS)
    model_client._idle[:] = [worker]
    return worker


def try_file(seed: object) -> Verdict:
    """The command line on a damaged model."""
    random = Random(repr(seed))
    data = mutated(random, random_case(random).model.SerializeToString())
    target = random.choice(("latest", "7", "11", "13", "18", str(random.randint(1, 25))))
    options = random.choice(OPTIONS)
    arguments = ["-t", target, "m.onnx", *([] if "--dry-run" in options else ["o.onnx"]), *options]
    verdict = judge_file(data, arguments)
    if verdict.kind in (*FINDINGS, *STOPPED):
        verdict.files = {"m.onnx": data}
    return verdict


def judge_file(data: bytes, arguments: list[str]) -> Verdict:
    """What the command line makes of a file `m.onnx` with `data` in it."""
    runner()
    with private_folder() as folder, _inside(folder):
        Path("m.onnx").write_bytes(data)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = command.run(arguments)
        written = {path.name for path in folder.iterdir()} - {"m.onnx", *REPORTS.intersection(arguments)}
        verdict = _judge_run(status, err.getvalue(), written, "o.onnx" in arguments)
        if Path("m.onnx").read_bytes() != data:
            verdict = Verdict("STRAY FILE", "the input was changed")
    verdict.command = f"split-rewrite {' '.join(arguments)}"
    return verdict


def _judge_run(status: int, errors: str, files: set[str], writes: bool) -> Verdict:
    lines = errors.splitlines()
    if "Traceback" in errors or "internal error" in errors:
        return Verdict("TRACEBACK", errors)
    if status == 3:
        return Verdict(STOPPED["failed onnx.checker" not in errors], errors)
    beside = files - {"o.onnx.data"} if status == 0 else files
    if beside != ({"o.onnx"} if status == 0 and writes else set()):
        return Verdict("STRAY FILE", f"status {status}, files {sorted(files)}: {errors}")
    if status == 0:
        return Verdict("converted", errors)
    is_clear = lines and lines[0].startswith("error: ") and all(line.startswith("  ") for line in lines[1:])
    is_clear = is_clear or (
        status == 1 and not writes and all(line.startswith(("cannot be converted: ", "warning: ")) for line in lines)
    )
    if status not in (1, 2) or not is_clear or (status == 2 and len(lines) > 1):
        return Verdict("UNCLEAR", f"status {status}: {errors}")
    return Verdict("refused" if status == 1 else "unusable", errors)


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()
