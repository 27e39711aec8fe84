"""Every operator on extreme values: what a rule writes has to treat them as the operator does that it replaces.

    export PYTHONPATH=tests/benchmarks
    python tests/fuzz/extremes.py                                # all operators
    python tests/fuzz/extremes.py --ops 'Clip|Reduce.*' --limit 20 --jobs 2
    python tests/fuzz/extremes.py --only Celu-12:17              # what is made of one model, and what is wrong with it

The models are those of `enumeration` with usual numbers. In each, one thing at a time becomes extreme, and is converted and
judged as `exhaustive` does:

- an input: one element, all elements, or some of all kinds (the model is converted once, and run on all of these);
- an initializer: one element, or all;
- an attribute that is a number or a list of numbers.

Extreme are infinities, NaN, -0.0, the smallest number, the smallest normal one, the largest ones and 0, and the limits of integers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import exhaustive
import numpy as np
import onnx
import unjudged
from conditioning import elements
from engines import CannotRunError, for_onnxruntime
from enumeration import Case, cases, versions
from exhaustive import ENGINES, FINDINGS, OUTCOMES, Finding, Original
from onnx import AttributeProto, ModelProto, numpy_helper
from trials import private_folder

from split_rewrite.rewriter import Report, UnconvertibleError, convert_version
from split_rewrite.rewriter.comparison.judging.runtime_defects import known_defects
from split_rewrite.rewriter.errors import CheckError, InvalidModelError
from split_rewrite.rewriter.execution.messages import Failure, Outputs

LIMIT = 12
"""Models of each version of an operator, before something in them becomes extreme."""
MADE_EACH = 6
"""How many of the models are tried that are made of one by its initializers and attributes."""
_USUAL = ("finite", "ties", "whole")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_FAR = frozenset(
    ("starts", "ends", "steps", "k", "start", "end", "limit", "delta", "min", "max", "low", "high", "value_int", "value_ints")
)
"""Parameters and attributes in which the limits of integers mean something; others are sizes, axes and modes."""
_FAR_INTEGERS = (2**63 - 1, -(2**63), 2**31, -(2**31))


def explore(op_type: str, version: int, seed: int, limit: int, only: int | None = None) -> list[Finding]:
    """Convert and judge what is made of `limit` models of this version of the operator, or of the one of attempt `only`."""
    findings: list[Finding] = []
    with private_folder() as folder, np.errstate(all="ignore"):
        usual = (case for case in cases(op_type, version, seed, 2 * limit) if case.choice["values"] in _USUAL)
        for _, case in zip(range(limit), usual, strict=False):
            if only is None or case.name.endswith(f":{only}"):
                findings += _explore_case(case, folder, seed)
    return findings


def _explore_case(case: Case, folder: Path, seed: int) -> Iterator[Finding]:
    random = Random(f"{seed} {case.name}")
    made = [*_with_constants(case, random), *_with_attributes(case, random)]
    for each in [case, *random.sample(made, min(len(made), MADE_EACH))]:
        runs = _run_originals(each, [each.feeds, *extreme_feeds(each, random)], folder)
        for target in exhaustive.targets(case, seed):
            yield Finding(each.name, target, *_convert_and_judge(runs, target, folder))


# Values.


def extremes(dtype: np.dtype) -> np.ndarray:
    """The extreme values of a type of numbers, as a vector of that type."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, limits.min + 1, limits.max - 1, 0], dtype)
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype)
    edges = [limits.smallest_subnormal, -limits.smallest_subnormal, limits.tiny, limits.max, limits.min]
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, *map(float, edges)]).astype(dtype)


def extreme_feeds(case: Case, random: Random) -> Iterator[dict[str, Any]]:
    """The inputs of the case, of which one is extreme, or all are."""
    names = [name for name, array in case.feeds.items() if _may_be_extreme(case, name, array)]
    for name in names:
        array = case.feeds[name]
        for changed in _made_extreme(array, random):
            yield {**case.feeds, name: changed}
    if len(names) > 1:
        yield from ({**case.feeds, **{name: _with_all(case.feeds[name], random) for name in names}} for _ in range(3))


def _made_extreme(array: np.ndarray, random: Random) -> Iterator[np.ndarray]:
    for value in extremes(array.dtype):
        yield np.full_like(array, value)
        if array.size > 1:
            yield _with_one(array, value, random)
    if array.size > 1:
        yield _with_all(array, random)


def _with_one(array: np.ndarray, value: Any, random: Random) -> np.ndarray:
    changed = array.copy()
    changed.reshape(-1)[random.randrange(changed.size)] = value
    return changed


def _with_all(array: np.ndarray, random: Random) -> np.ndarray:
    """All extremes in any order, and usual numbers between them."""
    pool = [*extremes(array.dtype), *array.reshape(-1)[:4]]
    picked = np.array(random.sample(pool, len(pool))).astype(array.dtype)
    return np.resize(picked, array.shape) if array.size else array


def _may_be_extreme(case: Case, name: str, array: Any) -> bool:
    """Whether operand `name`, "x1" for the second one, is data, or a parameter that may be any number."""
    if not isinstance(array, np.ndarray) or not re.fullmatch(r"x\d+", name):
        return False
    if str(array.dtype) in _FLOATS:
        return True
    schema, index = onnx.defs.get_schema(case.op_type, case.version, ""), int(name[1:])
    formal, sizes = schema.inputs[min(index, len(schema.inputs) - 1)].name, case.choice["sizes"]
    is_data = (index < len(sizes) and sizes[index] is not None) or isinstance(case.choice.get(f"input {formal}"), tuple)
    return str(array.dtype) in _INTEGERS and (is_data or formal.lower() in _FAR)


def _with_constants(case: Case, random: Random) -> Iterator[Case]:
    """The case with each of its initializers extreme."""
    for index, tensor in enumerate(case.model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        if not _may_be_extreme(case, tensor.name, array):
            continue
        for changed in _made_extreme(array, random):
            model = _copied(case.model)
            model.graph.initializer[index].CopyFrom(numpy_helper.from_array(changed, tensor.name))
            yield replace(case, name=f"{case.name} {tensor.name}={_gist(changed)}", model=model)


def _with_attributes(case: Case, random: Random) -> Iterator[Case]:
    """The case with each of its attributes that are numbers extreme, whether they were given or not."""
    schema = onnx.defs.get_schema(case.op_type, case.version, "")
    for name, attribute in schema.attributes.items():
        given = case.choice.get(f"attribute {name}")
        for value in _extreme_attributes(name, attribute.type.value, given, random):
            model = _copied(case.model)
            node = model.graph.node[-1]
            kept = [other for other in node.attribute if other.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
            if _is_valid(model):
                yield replace(case, name=f"{case.name} {name}={value}", model=model)


def _extreme_attributes(name: str, kind: int, given: Any, random: Random) -> list[Any]:
    floats = extremes(np.dtype(np.float32)).tolist()
    if kind == AttributeProto.FLOAT:
        return floats
    if kind == AttributeProto.INT and name in _FAR:
        return list(_FAR_INTEGERS)
    if kind not in (AttributeProto.FLOATS, AttributeProto.INTS) or not given or (kind == AttributeProto.INTS and name not in _FAR):
        return []
    place = random.randrange(len(given))
    numbers = floats if kind == AttributeProto.FLOATS else _FAR_INTEGERS
    return [[*given[:place], number, *given[place + 1 :]] for number in numbers]


def _is_valid(model: ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return False
    return True


def _copied(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def _gist(array: np.ndarray) -> str:
    return str(array.reshape(-1)[:4].tolist()).replace(" ", "")


# Runs.


class _Runs(NamedTuple):
    """A model, and what it gives for each of several inputs."""

    case: Case
    originals: list[Original]


def _run_originals(case: Case, feeds: Sequence[dict[str, Any]], folder: Path) -> _Runs:
    answers = {engine: _run_all(engine, case.model, feeds, folder) for engine in ENGINES}
    originals = []
    for index, each in enumerate(feeds):
        found = {engine: arrays for engine in ENGINES if (arrays := elements(answers[engine][index])) is not None}
        originals.append(Original(replace(case, feeds=each), found, exhaustive.settled_elements(list(found.values()))))
    return _Runs(case, originals)


def _run_all(engine: str, model: ModelProto, feeds: Sequence[Mapping[str, Any]], folder: Path) -> list[Outputs | Failure]:
    """What `exhaustive.run_in` gives for each of the inputs; the model is loaded once."""
    if defect := known_defects(model).get(engine):
        return [Failure("unsupported", defect)] * len(feeds)
    path = folder / "run.onnx"
    try:
        onnx.save(for_onnxruntime(model) if engine == "onnxruntime" else model, path)
    except CannotRunError as error:
        return [Failure("unsupported", str(error))] * len(feeds)
    with exhaustive.worker().open(path, engine) as session:
        answers = [answer for _, answer in session.run_all(dict(each) for each in feeds)]
    reasons = [unjudged.distrusted(engine, model, each) for each in feeds]
    return [Failure("unsupported", reason) if reason else answer for answer, reason in zip(answers, reasons, strict=True)]


def _convert_and_judge(runs: _Runs, target: int, folder: Path) -> tuple[str, str]:
    """Outcome and reason: of all inputs, the worst."""
    try:
        result = convert_version(runs.case.model, target, compare="off")
    except UnconvertibleError as error:
        return "refused", "; ".join(dict.fromkeys(blocker.reason for blocker in error.blockers))
    except (CheckError, InvalidModelError) as error:
        return ("internal" if runs.originals[0].is_sound else "unjudged"), str(error)
    except Exception:
        return "internal", traceback.format_exc()
    feeds = [original.case.feeds for original in runs.originals]
    answers = {engine: _run_all(engine, result.model, feeds, folder) for engine in ENGINES}
    told = [
        _judge(original, result.model, {engine: answers[engine][index] for engine in ENGINES}, result.report, folder)
        for index, original in enumerate(runs.originals)
    ]
    return next((each for outcome in ("wrong", "converted") for each in told if each[0] == outcome), told[0])


def _judge(
    original: Original, result: ModelProto, answers: Mapping[str, Outputs | Failure], report: Report, folder: Path
) -> tuple[str, str]:
    model, feeds = original.case.model, original.case.feeds
    if reason := unjudged.left_open(model, feeds):
        return "unjudged", reason
    judged = exhaustive.judge_answers(original, result, answers.__getitem__, exhaustive.tolerance_of(report), folder)
    outcome, reason = exhaustive.conclude(report, *judged)
    values = " ".join(f"{name}={_gist(array)}" for name, array in feeds.items() if isinstance(array, np.ndarray))
    return outcome, f"{reason} ({values})" if outcome in FINDINGS else reason


# Many.


def explore_all(todo: Sequence[tuple[str, int]], seed: int, limit: int, jobs: int) -> Iterator[tuple[str, list[Finding]]]:
    """operator, findings of one of its versions, in the order in which they are done."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=exhaustive.be_silent) as pool:
        futures = {pool.submit(explore_quietly, *entry, seed, limit): entry for entry in todo}
        for future in as_completed(futures):
            op_type, version = futures[future]
            try:
                yield op_type, future.result()
            except Exception as error:
                yield op_type, [Finding(f"{op_type}-{version}", 0, "internal", f"the harness: {error!r}")]


def explore_quietly(op_type: str, version: int, seed: int, limit: int) -> list[Finding]:
    exhaustive.be_quiet()
    return explore(op_type, version, seed, limit)


def main() -> int:
    options = _parse()
    if options.only:
        op_type, version, attempt = re.fullmatch(r"(\w+)-(\d+):(\d+)", options.only).groups()  # type: ignore[union-attr]
        findings = explore(op_type, int(version), options.seed, options.limit, int(attempt))
        print(*(f"{each.outcome}: {each.case} → {each.target}: {each.reason}" for each in findings), sep="\n")
        return int(any(finding.outcome in FINDINGS for finding in findings))
    todo = [(name, version) for name, own in versions().items() if re.fullmatch(options.ops, name) for version in own]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.monotonic()
    for op_type, findings in explore_all(todo, options.seed, options.limit, options.jobs):
        for finding in findings:
            counts[op_type][finding.outcome] += 1
            if finding.outcome in (*FINDINGS, *options.list):
                print(f"{finding.outcome}: {finding.case} → {finding.target}: {exhaustive.gist(finding)}", flush=True)
    print(exhaustive.table(counts))
    print(f"onnx {onnx.__version__}, seed {options.seed}, {time.monotonic() - started:.0f} s")
    return int(any(counts[op_type][outcome] for op_type in counts for outcome in FINDINGS))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only operators that match entirely")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=LIMIT, help="models of each version of an operator")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", metavar="OP-VERSION:N", help="what is made of one model, in full")
    parser.add_argument("--list", choices=OUTCOMES, action="append", default=[], help="print these outcomes too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
