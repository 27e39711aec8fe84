"""Every operator in every version, with every pair of choices that its schema leaves, converted up and down and run.

    export PYTHONPATH=tests/benchmarks
    python tests/fuzz/exhaustive.py                                 # all operators
    python tests/fuzz/exhaustive.py --ops 'Reduce.*' --limit 200 --jobs 2
    python tests/fuzz/exhaustive.py --only Celu-12:17               # one model, and what is wrong with it

Each model of `enumeration` is converted to the opsets next to its version, to those before the versions above and below, and
to some far ones. Original and result run on the same inputs in onnxruntime and in onnx.reference. Where both run the original
and disagree, those elements are not judged. The table counts by operator: `converted` and found the same, `refused` with a
reason, `unjudged` (no runtime runs both, or the runtimes disagree about all elements), `wrong`, `internal` errors. Exit
status 1 where there is something wrong.
"""

from __future__ import annotations

import argparse
import functools
import logging
import multiprocessing
import os
import re
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import onnx
import summing
import unjudged
from conditioning import comparable, differs, elements
from engines import CannotRunError, default_opset, for_onnxruntime, newest_onnxruntime_opset
from enumeration import Case, cases, versions
from onnx import ModelProto
from trials import private_folder

from split_rewrite.rewriter import Report, UnconvertibleError, convert_version
from split_rewrite.rewriter.comparison.judging.differences import dtype_name
from split_rewrite.rewriter.comparison.judging.runtime_defects import known_defects, random_operator
from split_rewrite.rewriter.comparison.judging.tolerance import Bounds, Tolerance
from split_rewrite.rewriter.engine.registry import registry
from split_rewrite.rewriter.errors import CheckError, InvalidModelError
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Worker

LIMIT = 40
"""Models of each version of an operator."""
FAR = (6, 7, 9, 11, 13, 17, 20, 24)
FAR_EACH = 2
"""Of `FAR`, how many each model is converted to."""
OUTCOMES = ("converted", "refused", "unjudged", "wrong", "internal")
FINDINGS = ("wrong", "internal")
RUN_SECONDS = 10.0
ENGINES = ("onnxruntime", "onnx.reference")


class Finding(NamedTuple):
    """One conversion. `case` and `target` name it; `reason` says what is wrong, or why it was refused or not judged."""

    case: str
    target: int
    outcome: str
    reason: str = ""


@dataclass
class Original:
    """What each engine computes of a case, and which elements the engines agree about."""

    case: Case
    outputs: dict[str, list[np.ndarray]]
    settled: list[np.ndarray] | None
    """None where the engines give other types or shapes."""

    @property
    def is_sound(self) -> bool:
        """Whether it is a model that means something: onnx.reference takes much that the specifications forbid, and so does
        onnxruntime of opsets that it does not support.
        """
        return "onnxruntime" in self.outputs and self.settled is not None and self.case.version >= 7


@functools.cache
def worker() -> Worker:
    made = Worker()
    made.time_limit = RUN_SECONDS
    return made


def explore(op_type: str, version: int, seed: int, limit: int, only: int | None = None) -> list[Finding]:
    """Convert and judge `limit` models of this version of the operator, or the one of attempt `only`."""
    findings: list[Finding] = []
    with private_folder() as folder, np.errstate(all="ignore"):
        for case in cases(op_type, version, seed, limit):
            if only is None or case.name.endswith(f":{only}"):
                findings += judge_case(case, folder, seed)
    return findings


def judge_case(case: Case, folder: Path, seed: int) -> Iterator[Finding]:
    original = run_original(case, folder)
    for target in targets(case, seed):
        yield Finding(case.name, target, *_convert_and_judge(original, target, folder))


def _convert_and_judge(original: Original, target: int, folder: Path) -> tuple[str, str]:
    """Outcome and reason."""
    try:
        result = convert_version(original.case.model, target, compare="off")
    except UnconvertibleError as error:
        reason = "; ".join(dict.fromkeys(blocker.reason for blocker in error.blockers))
        return "refused", reason
    except (CheckError, InvalidModelError) as error:
        return ("internal" if original.is_sound else "unjudged"), str(error)
    except Exception:
        return "internal", traceback.format_exc()
    if reason := unjudged.left_open(original.case.model, original.case.feeds):
        return "unjudged", reason
    return conclude(result.report, *judge(original, result.model, tolerance_of(result.report), folder))


def tolerance_of(report: Report) -> Tolerance:
    """The tolerance of the rules that were applied."""
    sums = any(rule.sums and rule.name in report.inexact for rule in registry)
    return Tolerance(inexact=bool(report.inexact), sums=sums)


def conclude(report: Report, outcome: str, reason: str) -> tuple[str, str]:
    """Outcome and reason, in view of what the conversion reports."""
    if outcome == "wrong" and reason.endswith(LAST_BITS) and not report.changes:
        return "unjudged", f"another kernel: {reason}"
    if outcome == "wrong" and NOT_RUN in reason and report.warnings:
        return "unjudged", f"the report warns of it: {report.warnings[0]}"
    return outcome, reason


def targets(case: Case, seed: int) -> list[int]:
    """The opsets next to the case's version, those next to the operator's versions around it, and some far ones."""
    random = Random(f"{seed} {case.name}")
    own = versions()[case.op_type]
    around = [version for version in own if version > case.version][:1] + [
        version - 1 for version in own if version <= case.version
    ][-2:]
    newest = onnx.defs.onnx_opset_version()
    chosen = {*around, *random.sample((*FAR, newest), FAR_EACH)} - {case.version}
    return sorted(opset for opset in chosen if 1 <= opset <= newest)


# Numbers.

LAST_BITS = " (last bits)"
NOT_RUN = "ran the original, and not the result"
NOWHERE = "no runtime runs the original"


def run_original(case: Case, folder: Path) -> Original:
    found = run_all(case.model, case.feeds, folder)
    return Original(case, found, settled_elements(list(found.values())))


def run_all(model: ModelProto, feeds: Mapping[str, Any], folder: Path) -> dict[str, list[np.ndarray]]:
    """engine → all tensors that the model gives, of the engines that run it and can be believed."""
    answers = {engine: run_in(engine, model, feeds, folder) for engine in ENGINES}
    return {engine: arrays for engine, answer in answers.items() if (arrays := elements(answer)) is not None}


def run_in(engine: str, model: ModelProto, feeds: Mapping[str, Any], folder: Path) -> Outputs | Failure:
    if defect := known_defects(model).get(engine) or unjudged.distrusted(engine, model, feeds):
        return Failure("unsupported", defect)
    path = folder / "run.onnx"
    try:
        onnx.save(for_onnxruntime(model) if engine == "onnxruntime" else model, path)
    except CannotRunError as error:
        return Failure("unsupported", str(error))
    answer = worker().run(path, dict(feeds), engine)
    return answer if isinstance(answer, Outputs | Failure) else Failure("invalid", str(answer))


def settled_elements(results: list[list[np.ndarray]]) -> list[np.ndarray] | None:
    """For each output, the elements that all results agree about but for last bits."""
    if not results:
        return None
    first, *others = results
    settled = [np.ones(array.shape, bool) for array in first]
    for other in others:
        if not comparable(first, other):
            return None
        loose = Tolerance(inexact=True)
        settled = [mask & ~differs(a, b, _bounds(loose, a)) for mask, a, b in zip(settled, first, other, strict=True)]
    return settled


def _bounds(tolerance: Tolerance, expected: np.ndarray, kind: str = "") -> Bounds:
    """`kind`: the element type whose precision counts, if it is not that of the array."""
    bounds = tolerance.of("", kind or dtype_name(expected))
    if not bounds.of_largest:
        return Bounds(bounds.rtol, bounds.atol)
    sizes = np.abs(expected.astype(np.complex128))
    return Bounds(bounds.rtol, bounds.atol + bounds.of_largest * float(sizes[np.isfinite(sizes)].max(initial=0.0)))


Answer = Callable[[str], Outputs | Failure]
"""What an engine gives of the result."""


def judge(original: Original, result: ModelProto, tolerance: Tolerance, folder: Path) -> tuple[str, str]:
    """Outcome and reason, by the engines that run both models; by another one only where none does."""
    feeds = original.case.feeds
    return judge_answers(original, result, lambda engine: run_in(engine, result, feeds, folder), tolerance, folder)


def judge_answers(original: Original, result: ModelProto, answer: Answer, tolerance: Tolerance, folder: Path) -> tuple[str, str]:
    """As `judge`, of a result whose numbers are known."""
    if not original.outputs:
        return "unjudged", NOWHERE
    if original.settled is None:
        return "unjudged", "the runtimes give other types or shapes of the original"
    if not any(mask.any() or not mask.size for mask in original.settled):
        return "unjudged", "the runtimes disagree about the original"
    both = [engine for engine in ENGINES if engine in original.outputs]
    other = [engine for engine in ENGINES if engine not in original.outputs]
    for engines, allowed in ((both, tolerance), (other, Tolerance(inexact=True))):
        reasons = [_judge_by(engine, original, result, answer(engine), allowed, folder) for engine in engines]
        told = [reason for reason in reasons if reason is not None]
        if told:
            return ("wrong", next(filter(None, told))) if any(told) else ("converted", "")
    return "unjudged", "no runtime runs the result"


def _judge_by(
    engine: str, original: Original, result: ModelProto, answer: Outputs | Failure, tolerance: Tolerance, folder: Path
) -> str | None:
    """What is wrong by this engine; "" where nothing is, None where it does not tell."""
    if isinstance(answer, Failure):
        is_finding = engine in original.outputs and _is_broken(engine, answer, result)
        return f"{engine} {NOT_RUN}: {answer.kind}: {answer.message}" if is_finding else None
    got = elements(answer)
    if got is None:
        return None
    expected = original.outputs.get(engine) or next(iter(original.outputs.values()))
    reason = _difference(expected, got, original, tolerance, folder)
    return reason and f"{engine}: {reason}"


def _is_broken(engine: str, failure: Failure, model: ModelProto) -> bool:
    """Whether a failure of the result is a finding: onnx.reference lacks much, and onnxruntime supports no opset below 7."""
    is_trusted = engine == "onnxruntime" and default_opset(model) >= 7
    return is_trusted and failure.kind not in ("unsupported", "memory", "timeout")


def _difference(expected: list[np.ndarray], got: list[np.ndarray], original: Original, tolerance: Tolerance, folder: Path) -> str:
    if not comparable(expected, got):
        kinds = [[f"{array.dtype}{list(array.shape)}" for array in arrays] for arrays in (got, expected)]
        return f"{kinds[0]} instead of {kinds[1]}"
    if random_operator(original.case.model):
        return ""
    model, feeds = original.case.model, original.case.feeds
    is_extreme, coarse = bool(unjudged.overflowing(model, feeds)), unjudged.working_types(model, feeds)
    for index, (a, b, settled) in enumerate(zip(expected, got, original.settled or (), strict=True)):
        wrong = differs(a, b, _bounds(tolerance, a)) & settled
        if is_extreme:
            wrong &= np.isfinite(a.astype(np.float64)) & np.isfinite(b.astype(np.float64))
        if tolerance.inexact and coarse:
            wrong &= differs(a, b, _bounds(tolerance, a, coarse[0]))
        loose = wrong & differs(a, b, _bounds(Tolerance(inexact=True), a))
        if loose.any() and (totals := summing.sizes(model, feeds, folder, worker())):
            is_rounding = loose & summing.may_be_rounding(a, b, totals[index])
            wrong, loose = wrong & ~is_rounding, loose & ~is_rounding
        if wrong.any():
            where = np.unravel_index(int(np.argmax(loose if loose.any() else wrong)), a.shape)
            count = f"{int(wrong.sum())} of {wrong.size}"
            place = [int(number) for number in where]
            return f"output {index}: {b[where]!r} instead of {a[where]!r} at {place} ({count})" + ("" if loose.any() else LAST_BITS)
    return ""


# Many.


def explore_quietly(op_type: str, version: int, seed: int, limit: int) -> list[Finding]:
    be_quiet()
    return explore(op_type, version, seed, limit)


def explore_all(todo: Sequence[tuple[str, int]], seed: int, limit: int, jobs: int) -> Iterator[tuple[str, list[Finding]]]:
    """operator, findings of one of its versions, in the order in which they are done."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=be_silent) as pool:
        futures = {pool.submit(explore_quietly, *entry, seed, limit): entry for entry in todo}
        for future in as_completed(futures):
            op_type, version = futures[future]
            try:
                yield op_type, future.result()
            except Exception as error:
                yield op_type, [Finding(f"{op_type}-{version}", 0, "internal", f"the harness: {error!r}")]


def be_quiet() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    newest_onnxruntime_opset()


def be_silent() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # runtimes complain at length about odd values


def table(counts: Mapping[str, Counter[str]]) -> str:
    lines = [f"{'operator':28}" + "".join(f"{name:>11}" for name in OUTCOMES)]
    total: Counter[str] = Counter()
    for op_type, found in sorted(counts.items()):
        total += found
        lines.append(f"{op_type:28}" + "".join(f"{found[name]:>11,}" for name in OUTCOMES))
    return "\n".join([*lines, f"{'all':28}" + "".join(f"{total[name]:>11,}" for name in OUTCOMES)])


def gist(finding: Finding) -> str:
    lines = finding.reason.strip().splitlines() or [""]
    return lines[-1] if finding.reason.startswith("Traceback") else lines[0]


def main() -> int:
    options = _parse()
    if options.only:
        return _show(options)
    todo = [(name, version) for name, own in versions().items() if re.fullmatch(options.ops, name) for version in own]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.monotonic()
    for op_type, findings in explore_all(todo, options.seed, options.limit, options.jobs):
        for finding in findings:
            counts[op_type][finding.outcome] += 1
            if finding.outcome in FINDINGS or finding.outcome in options.list:
                again = f"--seed {options.seed} --limit {options.limit} --only {finding.case}"
                print(f"{finding.outcome}: {finding.case} → {finding.target}: {gist(finding)}\n    {again}", flush=True)
    print(table(counts))
    print(f"onnx {onnx.__version__}, seed {options.seed}, {time.monotonic() - started:.0f} s")
    return int(any(found[name] for found in counts.values() for name in FINDINGS))


def _show(options: argparse.Namespace) -> int:
    name, _, attempt = options.only.partition(":")
    op_type, _, version = name.partition("-")
    for case in cases(op_type, int(version), options.seed, options.limit):
        if case.name == options.only:
            print(onnx.printer.to_text(case.model))
            for key, array in case.feeds.items():
                print(f"{key} = {array!r}")
    findings = explore(op_type, int(version), options.seed, options.limit, int(attempt))
    for finding in findings:
        print(f"{finding.outcome}: → {finding.target}: {finding.reason}")
    return int(any(finding.outcome in FINDINGS for finding in findings))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only operators that match entirely")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=LIMIT, help="models of each version of an operator")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", metavar="OP-VERSION:N", help="one model, in full")
    parser.add_argument("--list", choices=OUTCOMES, action="append", default=[], help="print these outcomes too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
