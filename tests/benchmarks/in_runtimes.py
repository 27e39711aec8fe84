"""Models in real runtimes, as exported, at the best single opset and with --for: right, silently wrong, or refused or crashed.

    python tests/benchmarks/exports.py exports/             # in an environment with torch
    python tests/benchmarks/in_runtimes.py exports/ models/ --runtime openvino=/venvs/ov/bin/python mnn=/venvs/mnn/bin/python

A runtime is an adapter's name and the interpreter of the environment that has it. Each model is run in a child process, on inputs
from the .npz file beside it, or random ones, beside the original in the onnxruntime of this environment. A table is printed in the
form of docs/runtimes.md, and to standard error each model that is not right, and why. What --for refuses counts as refused.
`--only` and a part of a name chooses models.

The best single opset of a runtime is the one of `--opsets` to which to convert all models so that most of them are right there and
fewest wrong, which is the best that a user can do who names an opset; what cannot be converted to it counts as refused.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx

from split_rewrite.rewriter import Options, Samples, SplitRewriteError, UnconvertibleError, convert_version
from split_rewrite.rewriter.comparison.by_model import run_usual
from split_rewrite.rewriter.execution.agreement import disagreement
from split_rewrite.rewriter.execution.model_client import Worker
from split_rewrite.rewriter.execution.other_runtimes import Target, interface, run_model
from split_rewrite.rewriter.runtimes.naming import find_profile

RIGHT, WRONG, REFUSED = "right", "wrong", "refused"


class Case(NamedTuple):
    """A model, inputs, and what the installed onnxruntime gives for them."""

    name: str
    model: onnx.ModelProto
    inputs: list[np.ndarray]
    expected: list[np.ndarray]


class Verdict(NamedTuple):
    verdict: str
    reason: str = ""


def cases(paths: Sequence[Path], only: str) -> Iterator[Case]:
    files = [file for path in paths for file in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])]
    with Worker() as worker:
        for file in (file for file in files if only in file.name):
            data = file.with_suffix(".npz")
            samples = Samples(data=[dict(np.load(data))]) if data.exists() else Samples()
            runs = run_usual(file, file, samples, worker, thorough=False)
            if isinstance(runs, str):
                print(f"{file.stem}: left out: {runs}", file=sys.stderr)
                continue
            model = onnx.load(file)
            yield Case(file.stem, model, [runs[0].inputs[name] for name in interface(model).inputs], list(runs[0].outputs.values))


def release_of(target: Target) -> str:
    """The release that is installed there."""
    probe = onnx.parser.parse_model(
        '<ir_version: 7, opset_import: ["" : 11]> agraph (float[2] x) => (float[2] y) { y = Add(x, x) }'
    )
    return run_model(target, probe, [np.zeros(2, np.float32)]).version


def verdict_of(target: Target, model: onnx.ModelProto, case: Case) -> Verdict:
    ran = run_model(target, model, case.inputs)
    if ran.status != "ran":
        return Verdict(REFUSED, f"{ran.status}: {ran.reason}")
    difference = disagreement(case.expected, ran.outputs)
    return Verdict(WRONG, difference) if difference else Verdict(RIGHT)


def verdicts(target: Target, profile: str, case: Case) -> tuple[Verdict, Verdict]:
    """As exported, and with --for. Prints what is of interest."""
    pair = before, after = _verdicts(target, profile, case)
    if after.verdict != RIGHT or before.verdict == WRONG:
        reasons = f"{before.reason} → {after.reason}".replace("\n", " ")
        print(f"{profile} {case.name}: {before.verdict} → {after.verdict}: {reasons}", file=sys.stderr, flush=True)
    return pair


def _verdicts(target: Target, profile: str, case: Case) -> tuple[Verdict, Verdict]:
    before = verdict_of(target, case.model, case)
    try:
        result = convert_version(case.model, compare="off", options=Options(for_runtimes=[profile])).model
    except UnconvertibleError as error:
        return before, Verdict(REFUSED, "; ".join(map(str, error.blockers)))
    return before, before if result == case.model else verdict_of(target, result, case)


def best_opset(target: Target, chosen: Sequence[Case], opsets: Sequence[int]) -> tuple[int, Counter[str]]:
    """The one of `opsets` at which most of `chosen` are right in `target`, and fewest wrong, and how many there are of each."""
    counts: dict[int, Counter[str]] = {}
    for opset in opsets:
        with ThreadPoolExecutor(2) as pool:
            counts[opset] = Counter(pool.map(verdict_at, [target] * len(chosen), chosen, [opset] * len(chosen)))
        print(f"{target.adapter} at opset {opset}: {shown(counts[opset])}", file=sys.stderr, flush=True)
    best = max(counts, key=lambda opset: (counts[opset][RIGHT], -counts[opset][WRONG], opset))
    return best, counts[best]


def verdict_at(target: Target, case: Case, opset: int) -> str:
    result = at_opset(case.name, case.model.SerializeToString(), opset)
    return REFUSED if result is None else verdict_of(target, onnx.load_from_string(result), case).verdict


@cache
def at_opset(_: str, model: bytes, opset: int) -> bytes | None:
    """The model at `opset`; None where it cannot be expressed there."""
    try:
        return convert_version(onnx.load_from_string(model), opset, compare="off").model.SerializeToString()
    except SplitRewriteError:
        return None


def shown(counts: Counter[str]) -> str:
    return " / ".join(str(counts[verdict]) for verdict in (RIGHT, WRONG, REFUSED))


def span(text: str) -> range:
    """The opsets of "7-21"."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--runtime", nargs="+", required=True, metavar="ADAPTER=PYTHON")
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", type=span, default=span("7-21"), metavar="FIRST-LAST")
    given = parser.parse_args()
    chosen = list(cases(given.models, given.only))
    rows = ["| runtime | as exported | best single opset | with `--for` |", "|---|---|---|---|"]
    for text in given.runtime:
        adapter, _, python = text.partition("=")
        target = Target(adapter, python)
        profile = find_profile(f"{adapter}-{'.'.join(release_of(target).split('.')[:3])}")
        with ThreadPoolExecutor(2) as pool:
            pairs = list(pool.map(verdicts, [target] * len(chosen), [profile.name] * len(chosen), chosen))
        before, after = (shown(Counter(pair[side].verdict for pair in pairs)) for side in (0, 1))
        opset, at_best = best_opset(target, chosen, given.opsets)
        rows.append(f"| {profile.runtime.title} {release_of(target)} | {before} | {shown(at_best)} (opset {opset}) | {after} |")
        print(rows[-1], file=sys.stderr, flush=True)
    print("\n".join([f"{len(chosen)} models, right / silently wrong / refused or crashed:", "", *rows]))


if __name__ == "__main__":
    main()
