"""The mutation score of the comparison: how many wrong results does it call different?

    python tests/benchmarks/mutation.py                  # all kinds
    python tests/benchmarks/mutation.py --kinds regional --list

Right results are made by converting ONNX's node tests and the models in models/. Each is damaged in one place (see `mutants`;
`PAIRS` are written by hand), and the comparison is asked. Three columns: `caught` (different), `missed` (equal) and
`unjudged` (not compared). A mutant counts only where a *witness* is known, inputs that the original takes and on which it and
the mutant give other outputs: the inputs of the node test, or random changes of them under which the original makes the shapes
that it declares; the search for one shares nothing with the comparison. Mutants without a witness are counted apart: they may be the same function, or differ where no inputs reach.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import onnx
from mutants import REGIONAL_OPSET, Mutant, regional, shaped, structural
from onnx import ModelProto
from opset_matrix import collect_cases
from pairs import PAIRS

from split_rewrite.rewriter import Samples, SplitRewriteError, convert_version
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.judging.differences import compare_values, dtype_name
from split_rewrite.rewriter.comparison.judging.tolerance import EXACT, Tolerance
from split_rewrite.rewriter.execution.messages import Outputs
from split_rewrite.rewriter.execution.model_client import Worker

MODELS = Path(__file__).parents[2] / "models"
TARGETS = (9, 11, 13, 17)
_TRIES = 40
"""Random inputs that are looked through for a witness."""
_SECONDS = 20.0


class Right(NamedTuple):
    """A model and what it was converted to; `feeds` are inputs that it takes."""

    name: str
    original: ModelProto
    result: ModelProto
    feeds: dict[str, Any]
    tolerance: Tolerance


class Trial(NamedTuple):
    """`outcome`: caught, missed, unjudged, invalid (the checker refuses it) or no witness."""

    form: str
    kind: str
    outcome: str
    text: str


class Bench:
    """Two files and a child process that runs them."""

    def __init__(self, folder: Path, worker: Worker, seed: int) -> None:
        self._paths = folder / "original.onnx", folder / "mutant.onnx"
        self._worker = worker
        self._seed = seed

    def trial(self, form: str, right: Right, mutant: Mutant) -> Trial:
        text = f"{right.name}: {mutant.kind}, {mutant.what}"
        return Trial(form, mutant.kind, self._outcome(right, mutant), text)

    def is_equal(self, right: Right) -> bool:
        return self._verdict(right, right.result) == "equal"

    def _outcome(self, right: Right, mutant: Mutant) -> str:
        if not _is_valid(mutant.model):
            return "invalid"
        verdict = self._verdict(right, mutant.model)
        if verdict == "different":
            return "caught"
        if not self._has_witness(right, mutant):
            return "no witness"
        return "missed" if verdict == "equal" else "unjudged"

    def _verdict(self, right: Right, result: ModelProto) -> str:
        for path, model in zip(self._paths, (right.original, result), strict=True):
            path.write_bytes(model.SerializeToString())
        samples = Samples(seed=self._seed)
        return compare(*self._paths, samples=samples, tolerance=right.tolerance, worker=self._worker, thorough=True).status

    def _has_witness(self, right: Right, mutant: Mutant) -> bool:
        """Whether inputs are found on which the mutant differs; those of a region, where it differs in one alone."""
        random = np.random.default_rng(self._seed)
        feeds = [right.feeds, *(_changed(random, right.feeds, mutant) for _ in range(_TRIES))]
        answers = []
        for path in self._paths:
            with self._worker.open(path) as session:
                answers.append([session.run(feed) for feed in feeds])
        shapes = _declared_shapes(right.original)
        return any(_holds(pair[0], shapes) and _differ(*pair, right.tolerance) for pair in zip(*answers, strict=True))


def _is_valid(model: ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return False
    return True


def _declared_shapes(model: ModelProto) -> list[tuple[int, ...] | None]:
    """The shapes of the outputs that are declared in numbers; None for others."""
    shapes = []
    for value in model.graph.output:
        dims = value.type.tensor_type.shape.dim
        shapes.append(tuple(dim.dim_value for dim in dims) if dims and all(dim.HasField("dim_value") for dim in dims) else None)
    return shapes


def _holds(answer: Any, shapes: list[tuple[int, ...] | None]) -> bool:
    """Whether the original makes the shapes that it declares: rules go by them."""
    if not isinstance(answer, Outputs):
        return False
    return all(shape is None or np.shape(value) == shape for shape, value in zip(shapes, answer.values, strict=True))


def _changed(random: np.random.Generator, feeds: dict[str, Any], mutant: Mutant) -> dict[str, Any]:
    if mutant.region is None:
        return {name: _shuffled(random, value) for name, value in feeds.items()}
    name, fill = mutant.region
    return {**feeds, name: fill(random, feeds[name])}


def _shuffled(random: np.random.Generator, value: Any) -> Any:
    """The same elements elsewhere, and floats moved a little."""
    if not isinstance(value, np.ndarray):
        return value
    shuffled = random.permutation(value.reshape(-1)).reshape(value.shape)
    return (shuffled * random.normal(1, 0.5)).astype(value.dtype) if value.dtype.kind == "f" else shuffled


def _differ(before: Any, after: Any, tolerance: Tolerance) -> bool:
    if not isinstance(before, Outputs):
        return False
    if not isinstance(after, Outputs):
        return True
    for name, expected, got in zip(before.names, before.values, after.values, strict=True):
        if not compare_values(name, expected, got, *tolerance.of(name, dtype_name(expected))).equal:
            return True
    return False


# --- right results ----------------------------------------------------------------------------------------------------


def right_results(random: Random, per_operator: int) -> Iterator[Right]:
    """Node tests, `per_operator` of each, and the small models in models/, converted down."""
    by_operator: dict[str, list[Any]] = {}
    for case in collect_cases():
        if "_expanded" not in case.name:
            by_operator.setdefault(case.operator, []).append(case)
    for cases in by_operator.values():
        for case in random.sample(cases, min(per_operator, len(cases))):
            yield from _converted(case.name, case.model, random.choice(TARGETS), case.feeds)
    for path in sorted(MODELS.glob("*.onnx")):
        model = onnx.load(path)
        data = path.with_suffix(".npz")
        if data.exists():
            yield from _converted(path.stem, model, random.choice(TARGETS[1:]), dict(np.load(data)))


def _converted(name: str, model: ModelProto, target: int, feeds: dict[str, Any]) -> Iterator[Right]:
    try:
        found = convert_version(model, target, compare="off")
    except SplitRewriteError:
        return
    tolerance = Tolerance(inexact=True, sums=True) if found.report.inexact else EXACT
    known = {value.name for value in model.graph.input}
    yield Right(f"{name}→{target}", model, found.model, {n: v for n, v in feeds.items() if n in known}, tolerance)


def trials(bench: Bench, seed: int, forms: list[str], per_operator: int, per_model: int) -> Iterator[Trial]:
    random = Random(seed)
    if "pairs" in forms:
        for name, (one, other, feeds) in PAIRS.items():
            right = Right(name, one, one, feeds, EXACT)
            yield bench.trial("regional", right, Mutant("by hand", "", other))
    if not {"structural", "shapes", "regional"} & set(forms):
        return
    for right in right_results(random, per_operator):
        if not bench.is_equal(right):
            continue
        if "structural" in forms:
            for mutant in structural(random, right.result, per_model):
                yield bench.trial("structural", right, mutant)
        if "shapes" in forms:
            for mutant in shaped(random, right.result, per_model):
                yield bench.trial("shapes", right, mutant)
        raised = next(_converted(right.name, right.original, REGIONAL_OPSET, right.feeds), None)
        if "regional" in forms and raised is not None:
            for mutant in regional(random, raised.result, per_model, raised.original):
                yield bench.trial("regional", raised, mutant)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forms", nargs="+", default=["structural", "shapes", "regional", "pairs"])
    parser.add_argument("--per-operator", type=int, default=1, help="node tests of each operator")
    parser.add_argument("--per-model", type=int, default=4, help="mutants of each form, of each model")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, Worker(time_limit=_SECONDS) as worker:
        bench = Bench(Path(folder), worker, given.seed)
        found = []
        for trial in trials(bench, given.seed, given.forms, given.per_operator, given.per_model):
            found.append(trial)
            if trial.outcome in ("missed", "unjudged"):
                print(f"{trial.outcome:8} {trial.text}", flush=True)
    _print(found)
    return 0


def _print(found: list[Trial]) -> None:
    columns = ("caught", "missed", "unjudged", "no witness", "invalid")
    print(f"\n{'form':10} {'kind':20} {'score':>7} " + " ".join(f"{column:>10}" for column in columns))
    rows = sorted({(trial.form, trial.kind) for trial in found} | {(trial.form, "") for trial in found})
    for form, kind in rows:
        count = Counter(trial.outcome for trial in found if trial.form == form and kind in ("", trial.kind))
        judged = count["caught"] + count["missed"] + count["unjudged"]
        score = f"{100 * count['caught'] / judged:.1f} %" if judged else "-"
        print(f"{form:10} {kind or 'all':20} {score:>7} " + " ".join(f"{count[column]:>10}" for column in columns))


if __name__ == "__main__":
    sys.exit(main())
