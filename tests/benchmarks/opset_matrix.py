"""The opset matrix: ONNX's own node tests, each converted from its own opset to every target, and judged.

    python tests/benchmarks/opset_matrix.py                       # the whole matrix, inputs as given
    python tests/benchmarks/opset_matrix.py --variant constant    # axes, shapes, sizes, ... as initializers
    python tests/benchmarks/opset_matrix.py --variant aged        # old forms, which ONNX no longer tests, to the newest
    python tests/benchmarks/opset_matrix.py --peer onnx --peer onnxscript --peer stamp
    python tests/benchmarks/opset_matrix.py --ops 'Reduce.*' --targets 11 13 --list refused

Classes: `ok`; `wrong` (valid, other numbers); `invalid` (not a model of the target opset, or another interface);
`refused` (the tool said no, with reasons); `selfcheck` (the tool's own check caught its own result: a bug); `crash` (a
signal, the time limit, or an exception that is no refusal); `broken` (right by onnx.reference, but onnxruntime, which ran
the original, fails on it, and not for want of a kernel); `unrun` (valid, but no engine can run it); `impossible` (refused,
and a graph input or output has a type that no operator of the target takes or gives: no converter can keep the interface).
"possible" counts the pairs without such types, and "ok %" is the share among them.

ONNX's tests use each operator's newest version, so that the upward half says little about old forms. The variant `aged`
does: its sources are our own downgrades of the constant variant that the judge found right, one for each older target, and
the target is the newest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
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
from dataclasses import asdict, dataclass, replace
from functools import cache
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
import onnx
from engines import Value, all_nodes, default_opset, newest_onnxruntime_opset
from judge import Original, admitted_types, judge
from onnx import ModelProto, TensorProto, ValueInfoProto, numpy_helper
from validity import type_string

TARGETS = tuple(opset for opset in (7, 9, 11, 13, 15, 18, 21, 24, 28) if opset <= onnx.defs.onnx_opset_version())
VARIANTS = ("as-given", "constant", "aged")
PEERS = ("onnx", "onnxscript", "stamp")
OURS = "split-rewrite"
OUTCOMES = ("ok", "wrong", "invalid", "refused", "selfcheck", "crash", "broken", "unrun", "impossible")
SKIPPED = "skipped"
READY = "ready"
SECONDS_PER_PAIR = 60


# Cases.


@dataclass(frozen=True)
class Case:
    """A node test. `operator` is what it tests, also where the model is that operator's expansion into others."""

    name: str
    operator: str
    model: ModelProto
    feeds: dict[str, Value]
    expected: list[Value]
    rtol: float
    atol: float

    @property
    def opset(self) -> int:
        return default_opset(self.model)


@dataclass(frozen=True)
class Pair:
    """One case converted to one target by one tool, and what came of it."""

    case: str
    operator: str
    source: int
    target: int
    variant: str
    tool: str
    outcome: str = ""
    reasons: tuple[str, ...] = ()
    engine: str = ""
    possible: bool = True

    @property
    def direction(self) -> str:
        return "up" if self.target > self.source else "down"


def collect_cases(operators: str = ".*") -> list[Case]:
    """The installed onnx's node tests that use the default domain and whose operator matches the regular expression."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests: list[Any] = collect_testcases(None)
    found = [test for test in tests if default_opset(test.model)]
    single: dict[str, str] = {test.name: test.model.graph.node[0].op_type for test in found if "_expanded" not in test.name}
    cases = [_case(test, single) for test in found]
    return [case for case in cases if re.fullmatch(operators, case.operator)]


def _case(test: Any, single: dict[str, str]) -> Case:
    inputs, outputs = test.data_sets[0]
    names = [entry.name for entry in test.model.graph.input]
    operator = single[test.name.split("_expanded")[0]]
    feeds = dict(zip(names, map(_plain, inputs), strict=False))
    return Case(test.name, operator, test.model, feeds, [_plain(value) for value in outputs], test.rtol, test.atol)


def _plain(value: Any) -> Value:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if value is None else np.asarray(value)


# The variant "constant".

PARAMETERS: dict[str, tuple[int, ...]] = {
    **{f"Reduce{name}": (1,) for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum")},
    "ReduceSumSquare": (1,),
    "AffineGrid": (1,),
    "CenterCropPad": (1,),
    "Clip": (1, 2),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "CumProd": (1,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "MaxUnpool": (2,),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 2, 3),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""Operator to the inputs that say how, not what (axes, shapes, sizes, pads, bounds): exporters make them constants.

Not STFT: with constant sizes, onnx's shape inference contradicts the shapes that its own tests declare.
"""


def with_constants(case: Case) -> Case:
    """The case whose parameter inputs (see PARAMETERS) hold the test's own values as initializers."""
    names = {
        node.input[index]
        for node in all_nodes(case.model)
        for index in PARAMETERS.get(node.op_type, ())
        if index < len(node.input) and isinstance(case.feeds.get(node.input[index]), np.ndarray)
    }
    kept = [entry for entry in case.model.graph.input if entry.name not in names]
    if not names or not kept:
        return case
    model = _copy(case.model)
    model.ir_version = max(model.ir_version, 4)  # below, an initializer has to be an input
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for entry in case.model.graph.input:
        if entry.name in names:
            model.graph.initializer.append(numpy_helper.from_array(case.feeds[entry.name], entry.name))
    return replace(case, model=model, feeds={name: v for name, v in case.feeds.items() if name not in names})


# Tools.


class Refused(Exception):
    """The tool said no; the arguments are its reasons."""


class SelfCheckFailed(Refused):
    """The tool's own check refused the tool's own result."""


def convert_ours(model: ModelProto, target: int) -> ModelProto:
    from split_rewrite.rewriter import convert_version
    from split_rewrite.rewriter.errors import CheckError, InvalidModelError, UnconvertibleError

    try:
        return convert_version(model, target, compare="off").model
    except UnconvertibleError as error:
        texts = (f"{blocker.op_type} {blocker.transition}: {blocker.reason}" for blocker in error.blockers)
        raise Refused(*dict.fromkeys(texts)) from error
    except InvalidModelError as error:
        raise Refused(f"invalid input: {_one_line(error)}") from error
    except CheckError as error:
        raise SelfCheckFailed(_one_line(error)) from error


def convert_onnx(model: ModelProto, target: int) -> ModelProto:
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, target)
    except (version_converter.ConvertError, RuntimeError) as error:  # a failed C++ assertion is a RuntimeError
        raise Refused(_one_line(error)) from error


def convert_onnxscript(model: ModelProto, target: int) -> ModelProto:
    from onnxscript import ir, version_converter

    as_ir = ir.serde.deserialize_model(model)
    version_converter.convert_version(as_ir, target, fallback=True)
    return ir.serde.serialize_model(as_ir)


def convert_by_stamp(model: ModelProto, target: int) -> ModelProto:
    """What people do by hand: write another number."""
    stamped = _copy(model)
    for entry in stamped.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = target
    return stamped


Tool = Callable[[ModelProto, int], ModelProto]

TOOLS: dict[str, Tool] = {
    OURS: convert_ours,
    "onnx": convert_onnx,
    "onnxscript": convert_onnxscript,
    "stamp": convert_by_stamp,
}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400]


# One pair.


def decide(case: Case, original: Original, pair: Pair, tool: Tool) -> Pair:
    """`pair` with its outcome; SKIPPED where there is no model of its source opset."""
    source = _aged(case, original, pair.source) if pair.variant == "aged" else _copy(case.model)
    if source is None:
        return replace(pair, outcome=SKIPPED)
    try:
        result = tool(source, pair.target)
    except SelfCheckFailed as error:
        return replace(pair, outcome="selfcheck", reasons=error.args)
    except Refused as error:
        return replace(pair, outcome="refused" if pair.possible else "impossible", reasons=error.args)
    except Exception as error:
        return replace(pair, outcome="crash", reasons=(f"{type(error).__name__}: {_one_line(error)}",))
    verdict = judge(original, result, pair.target)
    reasons = (verdict.reason,) if verdict.reason else ()
    return replace(pair, outcome=verdict.outcome, reasons=reasons, engine=verdict.engine)


def _aged(case: Case, original: Original, opset: int) -> ModelProto | None:
    """Our downgrade of the case to `opset`; None unless the judge finds it right."""
    try:
        result = convert_ours(_copy(case.model), opset)
    except Exception:  # the other variants report it
        return None
    return result if judge(original, result, opset).outcome == "ok" else None


def _copy(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def foreign_types(model: ModelProto, target: int) -> list[str]:
    """Types of graph inputs that no operator of the target takes, and of outputs that none gives."""
    taken, given = _admitted(target)
    inputs = [type_string(entry.type) for entry in model.graph.input if not _is_initializer(model, entry)]
    outputs = [type_string(entry.type) for entry in model.graph.output]
    missing = {kind for kind in inputs if kind not in taken} | {kind for kind in outputs if kind not in given}
    return sorted(kind for kind in missing if kind)


def _is_initializer(model: ModelProto, entry: ValueInfoProto) -> bool:
    return any(tensor.name == entry.name for tensor in model.graph.initializer)


@cache
def _admitted(opset: int) -> tuple[set[str], set[str]]:
    return admitted_types(opset)


# Many pairs: a worker takes one case with all its pairs, so that the original runs once. A crash costs one pair. Workers are
# spawned and get one case at a time: the converter forks, and a fork of a process that holds all cases takes 11 ms, not 2.

Job = tuple[Case, list[Pair]]


def jobs_for(cases: Sequence[Case], tools: Sequence[str], targets: Sequence[int], variant: str) -> list[Job]:
    """All pairs, by case."""
    chosen = cases if variant == "as-given" else [with_constants(case) for case in cases]
    return [(case, [pair for tool in tools for pair in _pairs(case, tool, targets, variant)]) for case in chosen]


def _pairs(case: Case, tool: str, targets: Sequence[int], variant: str) -> Iterator[Pair]:
    for target in targets:
        possible = not foreign_types(case.model, target)
        if variant != "aged" and target != case.opset:
            yield Pair(case.name, case.operator, case.opset, target, variant, tool, possible=possible)
        elif variant == "aged" and target < case.opset and possible:
            yield Pair(case.name, case.operator, target, max(targets), variant, tool)


def sample(jobs: Sequence[Job], count: int) -> list[Job]:
    """`count` pairs chosen by the hash of their names, one of each operator before a second of any."""

    def by_hash(pair: Pair) -> str:
        return hashlib.sha256(f"{pair.case} {pair.target} {pair.variant}".encode()).hexdigest()

    by_operator: dict[str, list[Pair]] = defaultdict(list)
    for _, pairs in jobs:
        for pair in pairs:
            by_operator[pair.operator].append(pair)
    ranked = [(rank, by_hash(pair), pair) for pairs in by_operator.values() for rank, pair in enumerate(sorted(pairs, key=by_hash))]
    chosen = {pair for _, _, pair in sorted(ranked, key=lambda entry: entry[:2])[:count]}
    picked = ((case, [pair for pair in pairs if pair in chosen]) for case, pairs in jobs)
    return [(case, pairs) for case, pairs in picked if pairs]


def run_jobs(
    jobs: Sequence[Job],
    workers: int = 2,
    seconds_per_pair: float = SECONDS_PER_PAIR,
    tools: Mapping[str, Tool] = TOOLS,
) -> list[Pair]:
    """Every pair with its outcome, in the order of the jobs, without those that were skipped."""
    todo = [(index, list(pairs)) for index, (_, pairs) in enumerate(jobs) if pairs][::-1]
    done: dict[int, list[Pair]] = defaultdict(list)
    pool = [_Worker(tools) for _ in range(min(workers, len(todo)))]
    busy: dict[Any, _Worker] = {}
    try:
        while todo or busy:
            for worker in pool:
                if worker.pipe not in busy and todo:
                    index, pairs = todo.pop()
                    worker.start(index, jobs[index][0], pairs)
                    busy[worker.pipe] = worker
            for pipe in wait(list(busy), timeout=1.0) or []:
                _take_answer(busy[pipe], done)
            for worker in [worker for worker in busy.values() if worker.overdue(seconds_per_pair)]:
                worker.process.kill()
            for pipe, worker in list(busy.items()):
                if worker.idle or worker.dead:
                    del busy[pipe]
                if worker.dead:
                    todo += _bury(worker, done)
                    worker.revive()
    finally:
        for worker in pool:
            worker.process.kill()
    return [pair for index in sorted(done) for pair in done[index] if pair.outcome != SKIPPED]


class _Worker:
    """A child process that decides the pairs of one job after the other."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self.tools = dict(tools)
        self.revive()

    def revive(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(self.tools, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.index, self.waiting, self.dead, self.ready, self.since = -1, [], False, False, 0.0

    @property
    def idle(self) -> bool:
        return not self.waiting

    def overdue(self, seconds: float) -> bool:
        counting = self.ready and not self.dead and not self.idle
        return counting and time.monotonic() - self.since > seconds

    def start(self, index: int, case: Case, pairs: list[Pair]) -> None:
        if not self.process.is_alive():  # died after its last answer
            self.revive()
        self.index, self.waiting, self.since = index, pairs, time.monotonic()
        self.pipe.send((case, pairs))


def _take_answer(worker: _Worker, done: dict[int, list[Pair]]) -> None:
    try:
        answer = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        worker.dead = True
        return
    worker.since = time.monotonic()
    if answer == READY:
        worker.ready = True
        return
    if isinstance(answer, str):
        raise RuntimeError(f"the judge itself failed on {worker.waiting[0]}:\n{answer}")
    done[worker.index].append(answer)
    worker.waiting = worker.waiting[1:]


def _bury(worker: _Worker, done: dict[int, list[Pair]]) -> Iterator[tuple[int, list[Pair]]]:
    """The pair that killed the worker is a crash; what is left of its job goes back."""
    worker.process.join()
    victim, *rest = worker.waiting
    done[worker.index].append(replace(victim, outcome="crash", reasons=(f"exit status {worker.process.exitcode}",)))
    if rest:
        yield worker.index, rest


def _work(tools: Mapping[str, Tool], pipe: Connection) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C++ and numpy complain at length about the odd values of the tests
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    newest_onnxruntime_opset()  # a slow import, and no pair shall pay for it
    pipe.send(READY)
    while True:
        try:
            case, pairs = pipe.recv()
        except EOFError:
            return
        original = Original(case.model, case.feeds, case.expected, case.rtol, case.atol)
        for pair in pairs:
            try:
                with np.errstate(all="ignore"):
                    pipe.send(decide(case, original, pair, tools[pair.tool]))
            except Exception:
                pipe.send(traceback.format_exc())
                return


# Report.


def table(pairs: Sequence[Pair]) -> str:
    """One row per direction, variant and tool: counts, and the share of ok among the pairs that are not impossible."""
    rows: dict[tuple[str, str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        rows[pair.direction, pair.variant, pair.tool].append(pair)
    heads = ("pairs", "possible", *OUTCOMES)
    lines = [f"{'':5}{'variant':10}{'tool':14}" + "".join(f"{name:>11}" for name in heads) + f"{'ok %':>8}"]
    for (direction, variant, tool), members in sorted(rows.items(), reverse=True):
        counts = Counter(pair.outcome for pair in members)
        possible = [pair for pair in members if pair.possible]
        share = 100 * sum(pair.outcome == "ok" for pair in possible) / max(len(possible), 1)
        numbers = (len(members), len(possible), *(counts[name] for name in OUTCOMES))
        lines.append(f"{direction:5}{variant:10}{tool:14}" + "".join(f"{n:>11}" for n in numbers) + f"{share:>8.2f}")
    return "\n".join(lines)


def groups(pairs: Sequence[Pair], outcome: str) -> str:
    """The pairs of one outcome by reason, most frequent first, each with its steps and an example."""
    found: dict[tuple[str, str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.outcome == outcome:
            for reason in pair.reasons:
                found[pair.tool, pair.operator, _general(reason)].append(pair)
    lines = []
    for (tool, operator, reason), members in sorted(found.items(), key=lambda entry: -len(entry[1])):
        steps = Counter(f"{pair.source}→{pair.target}" for pair in members)
        shown = ", ".join(f"{step} ×{count}" for step, count in steps.most_common(4))
        lines.append(f"{len(members):>6}  {tool}  {operator}: {reason}\n        {shown}, e.g. {members[0].case}")
    return "\n".join(lines)


def _general(reason: str) -> str:
    """A reason without the names of this model's values."""
    return re.sub(r"'[^']*'", "'…'", reason)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    tools = [*([] if options.only_peers else [OURS]), *options.peer]
    jobs = jobs_for(collect_cases(options.ops), tools, options.targets, options.variant)
    if options.sample:
        jobs = sample(jobs, options.sample)
    started = time.monotonic()
    pairs = run_jobs(jobs, options.jobs)
    print(table(pairs))
    print(f"{len(pairs)} pairs, onnx {onnx.__version__}, {time.monotonic() - started:.0f} s")
    for outcome in options.list:
        print(f"\n{outcome}\n{groups(pairs, outcome)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([asdict(pair) for pair in pairs], file, indent=0)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    parser.add_argument("--variant", choices=VARIANTS, default=VARIANTS[0])
    parser.add_argument("--peer", choices=PEERS, action="append", default=[], help="a tool beside ours; repeatable")
    parser.add_argument("--only-peers", action="store_true", help="leave ours out")
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only tests of operators that match entirely")
    parser.add_argument("--sample", type=int, metavar="N", help="a fixed choice of N pairs over all operators")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="worker processes")
    parser.add_argument("--json", metavar="FILE", help="write every pair with its outcome")
    parser.add_argument("--list", choices=OUTCOMES[1:], action="append", default=[], help="group one class by reason")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
