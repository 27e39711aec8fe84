"""The judges examined: what onnxruntime and onnx.reference compute of the same node, beside each other and beside what ONNX stores.

    export PYTHONPATH=tests/benchmarks
    python tests/fuzz/judges.py                          # ONNX's node tests, at every version of their operators
    python tests/fuzz/judges.py --limit 20 --jobs 2      # and 20 enumerated models of each version
    python tests/fuzz/judges.py --ops 'Resize' --all     # also the disagreements that are named

A node test is run at its own opset, and at each other version of its operator at which the same node is valid. What ONNX stores
with it counts at other versions too if the operator's text is the same there. A runtime that computes something else than the
stored outputs, or, where these do not count, than the other runtime, must be named: as a defect (`runtime_defects`), as a node of
two meanings, or as something that `unjudged` excludes. The comparison asks no runtime about a model that has a named defect, so
that onnx.reference judges alone only what has passed here. Exit status 1 where a disagreement has no name.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import unjudged
from engines import CannotRunError, for_onnxruntime, unchanged
from enumeration import cases, versions
from onnx import ModelProto
from opset_matrix import Case, collect_cases
from trials import private_folder

from split_rewrite.rewriter.comparison.judging.differences import compare_values, dtype_name
from split_rewrite.rewriter.comparison.judging.runtime_defects import (
    disputed_node,
    doubt,
    known_defects,
    lax_operator,
    random_operator,
)
from split_rewrite.rewriter.comparison.judging.tolerance import INEXACT_BOUNDS, Tolerance
from split_rewrite.rewriter.execution.messages import Outputs
from split_rewrite.rewriter.execution.model_client import Worker

ENGINES = ("onnxruntime", "onnx.reference")
STORED = "ONNX's stored outputs"
RUN_SECONDS = 10.0
FIRST_OPSET = 7
"""The oldest opset that onnxruntime supports."""
LAST_BITS = Tolerance(inexact=True, sums=True)


class Examined(NamedTuple):
    """A model of one node with its inputs; `expected` are stored outputs that hold for it, or None."""

    name: str
    op_type: str
    opset: int
    model: ModelProto
    feeds: Mapping[str, Any]
    expected: Sequence[Any] | None = None
    tolerance: Tolerance = LAST_BITS


class Disagreement(NamedTuple):
    """`engine` computes something else than `other` of the model `name`; `named` says where this is known, or is empty."""

    op_type: str
    version: int
    name: str
    engine: str
    other: str
    note: str
    named: str = ""


@cache
def worker() -> Worker:
    made = Worker()
    made.time_limit = RUN_SECONDS
    return made


# What is examined.


def node_tests(operators: str = ".*") -> Iterator[Examined]:
    """ONNX's node tests, each at its own opset and at every other version of its operator at which it is valid."""
    for case in collect_cases(operators):
        if not _versions(case.operator) or set(case.feeds) != {value.name for value in case.model.graph.input}:
            continue
        yield _at(case, case.opset)
        if len(case.model.graph.node) == 1:
            yield from (_at(case, opset) for opset in _other_opsets(case) if _is_valid(_stamped(case.model, opset)))


def _other_opsets(case: Case) -> list[int]:
    """One opset for each version of the operator but that of the case."""
    own = onnx.defs.get_schema(case.operator, case.opset, "").since_version
    return [max(version, FIRST_OPSET) for version in _versions(case.operator) if version != own]


@cache
def _versions(op_type: str) -> list[int]:
    """The versions of the operator that some opset from FIRST_OPSET on has."""
    schemas = onnx.defs.get_all_schemas_with_history()
    found = sorted(schema.since_version for schema in schemas if (schema.name, schema.domain) == (op_type, ""))
    old = [version for version in found if version <= FIRST_OPSET]
    return old[-1:] + found[len(old) :]


def _at(case: Case, opset: int) -> Examined:
    holds = opset == case.opset or unchanged(case.operator, case.opset, opset)
    loose = Tolerance(max(case.rtol, 1.3e-4), max(case.atol, 1.6e-5), inexact=True, sums=True)
    name = case.name if opset == case.opset else f"{case.name} at {opset}"
    model = _stamped(case.model, opset)
    return Examined(name, case.operator, opset, model, case.feeds, case.expected if holds else None, loose)


def _stamped(model: ModelProto, opset: int) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    for entry in copy.opset_import:
        entry.version = opset if entry.domain in ("", "ai.onnx") else entry.version
    return copy


def _is_valid(model: ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:  # the checker and inference raise errors of several kinds
        return False
    return True


def enumerated(op_type: str, version: int, seed: int, limit: int) -> Iterator[Examined]:
    """Models that cover what the schema of this version accepts."""
    for case in cases(op_type, version, seed, limit):
        yield Examined(case.name, op_type, version, case.model, case.feeds)


# How it is examined.


def examine(found: Examined, folder: Path) -> list[Disagreement]:
    """What the runtimes compute otherwise than the stored outputs, or, where there are none, than each other."""
    if random_operator(found.model):
        return []
    answers = {engine: answer for engine in ENGINES if (answer := _run(engine, found, folder)) is not None}
    if found.expected is not None:
        pairs = [(engine, STORED, found.expected) for engine in answers]
    elif len(answers) == len(ENGINES):
        pairs = [("onnx.reference", "onnxruntime", answers["onnxruntime"])]
    else:
        return []
    version = onnx.defs.get_schema(found.op_type, found.opset, "").since_version
    return [
        Disagreement(found.op_type, version, found.name, engine, other, note, _name(engine, other, found))
        for engine, other, expected in pairs
        if (note := _difference(expected, answers[engine], _allowed(found)))
    ]


def _allowed(found: Examined) -> Tolerance:
    """The tolerance of the model, wider where runtimes may compute in a narrower type than the outputs have."""
    working = unjudged.working_types(found.model, found.feeds)
    if found.expected is not None or not working:
        return found.tolerance
    bounds = INEXACT_BOUNDS[working[0]]
    return Tolerance(bounds.rtol, bounds.atol)


def _run(engine: str, found: Examined, folder: Path) -> Sequence[Any] | None:
    path = folder / "examined.onnx"
    try:
        onnx.save(for_onnxruntime(found.model) if engine == "onnxruntime" else found.model, path)
    except CannotRunError:
        return None
    answer = worker().run(path, dict(found.feeds), engine)
    return answer.values if isinstance(answer, Outputs) else None


def _difference(expected: Sequence[Any], got: Sequence[Any], tolerance: Tolerance) -> str:
    """The first difference that is more than last bits; "" where there is none."""
    pairs = ((_plain(a), _plain(b)) for a, b in zip(expected, got, strict=True))
    notes = (compare_values("", a, b, *tolerance.of("", dtype_name(a))).note for a, b in pairs)
    return next(filter(None, notes), "")


def _plain(value: Any) -> Any:
    """Strings, which numpy has in several types, as objects."""
    return value.astype(object) if isinstance(value, np.ndarray) and value.dtype.kind in "US" else value


def _name(engine: str, other: str, found: Examined) -> str:
    """Where it is known that the engines, or one of them, compute this model otherwise; "" where it is not."""
    model, feeds = found.model, found.feeds
    judges = (engine,) if other == STORED else ENGINES
    doubted = doubt(model)
    texts = [text for judge in judges for text in (known_defects(model).get(judge, ""), unjudged.distrusted(judge, model, feeds))]
    if "onnxruntime" in judges:
        texts += [disputed_node(model), lax_operator(model), doubted.reason if doubted else ""]
    texts += [] if found.expected is not None else [unjudged.left_open(model, feeds), unjudged.overflowing(model, feeds)]
    return next(filter(None, texts), "")


def examine_all(found: Iterable[Examined]) -> list[Disagreement]:
    with private_folder() as folder, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [entry for one in found for entry in examine(one, folder)]


# All.


def _examine_operator(op_type: str, seed: int, limit: int, with_tests: bool) -> list[Disagreement]:
    found = examine_all(node_tests(re.escape(op_type))) if with_tests else []
    for version in versions().get(op_type, ()) if limit else ():
        found += examine_all(enumerated(op_type, version, seed, limit))
    return found


def _be_silent() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # runtimes complain at length about odd values


def report(found: Sequence[Disagreement]) -> str:
    """The disagreements, those of one operator, version and cause together, with the first as an example."""
    groups: dict[tuple[Any, ...], list[Disagreement]] = defaultdict(list)
    for entry in found:
        groups[entry.op_type, entry.version, entry.engine, entry.other, entry.named].append(entry)
    lines = []
    for (op_type, version, engine, other, named), entries in sorted(groups.items()):
        lines.append(f"{op_type}-{version}: {engine} beside {other}: {len(entries)}, {named or 'WITHOUT A NAME'}")
        lines += [f"    {entry.name}: {entry.note}" for entry in (entries[:1] if named else entries)]
    return "\n".join(lines)


def main() -> int:
    options = _parse()
    names = [
        name for name in sorted({*versions(), *(case.operator for case in collect_cases())}) if re.fullmatch(options.ops, name)
    ]
    context = multiprocessing.get_context("spawn")
    found: list[Disagreement] = []
    with ProcessPoolExecutor(options.jobs, mp_context=context, initializer=_be_silent) as pool:
        jobs = [pool.submit(_examine_operator, name, options.seed, options.limit, not options.enumerated) for name in names]
        for job in jobs:
            found += job.result()
    unnamed = [entry for entry in found if not entry.named]
    print(report(found if options.all else unnamed))
    print(f"{len(found):,} disagreements, {len(unnamed):,} without a name; onnx {onnx.__version__}")
    return 1 if unnamed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ops", default=".*", help="a regular expression for names of operators")
    parser.add_argument("--limit", type=int, default=0, help="enumerated models of each version of an operator; by default none")
    parser.add_argument("--enumerated", action="store_true", help="no node tests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="show named disagreements too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
