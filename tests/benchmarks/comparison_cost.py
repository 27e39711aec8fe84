"""What the comparison costs, beside what onnxruntime takes to load and run original and result once.

    python tests/benchmarks/comparison_cost.py            # all groups
    python tests/benchmarks/comparison_cost.py --groups pools loops --list

Seconds of a comparison: those of a conversion with it, less those of one without. `share` is what that is of the budget, the larger of one
second and five times loading and running both models once (docs/comparison.md): 1.0 uses it up. Groups: `nodes` are ONNX's node
tests with the largest inputs, to the opsets beside theirs; `light` the networks in onnx, without weights; `pools`, `loops` and `normalized`
operators of which one element costs much, or whose cost an input decides.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import numpy as np
import onnx
from engines import CannotRunError, default_opset, run
from onnx import ModelProto, helper, parser
from opset_matrix import collect_cases

from split_rewrite import SplitRewriteError, convert_version

LARGEST = 120
"""Node tests that are taken, those with most elements."""
LEAST = 1.0
TIMES = 5
"""The budget: seconds, and times loading and running both models once."""


class Case(NamedTuple):
    """A model and the opset to convert it to; `feeds` are inputs that it takes, None where random ones do."""

    name: str
    model: ModelProto
    target: int
    feeds: dict[str, Any] | None = None


class Cost(NamedTuple):
    """Seconds of the comparison and of loading and running both models once, and the verdict."""

    name: str
    seconds: float
    once: float
    verdict: str

    @property
    def share(self) -> float:
        return self.seconds / max(LEAST, TIMES * self.once)


def _nodes() -> Iterator[Case]:
    def size(case: Any) -> int:
        return sum(value.size for value in case.feeds.values() if isinstance(value, np.ndarray))

    cases = [case for case in collect_cases() if "_expanded" not in case.name]
    for case in sorted(cases, key=size, reverse=True)[:LARGEST]:
        for target in (case.opset - 4, case.opset + 2):
            yield Case(f"{case.name}→{target}", case.model, target, case.feeds)


def _light() -> Iterator[Case]:
    for path in sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx")):
        for target in (8, 13, 18):
            yield Case(f"{path.stem}→{target}", onnx.load(path), target)


POOLS = {
    "MaxPool, dilated": (12, (9, 13), "g (float[1,8,160,160] x) => (float[1,8,156,156] y) "
                         "{ y = MaxPool <kernel_shape = [3,3], dilations = [2,2]> (x) }"),
    "MaxPool 5-D": (18, (9, 22), "g (float[1,4,16,48,48] x) => (float[1,4,14,46,46] y) { y = MaxPool <kernel_shape = [3,3,3]> (x) }"),
    "AveragePool 5-D": (18, (9, 22), "g (float[1,8,16,56,56] x) => (float[1,8,16,56,56] y) "
                        "{ y = AveragePool <kernel_shape = [3,3,3], pads = [1,1,1,1,1,1], ceil_mode = 1> (x) }"),
    "LpPool": (18, (11, 22), "g (float[1,8,96,96] x) => (float[1,8,94,94] y) { y = LpPool <kernel_shape = [3,3]> (x) }"),
    "GridSample": (20, (16, 22), 'g (float[1,3,512,512] x, float[1,512,512,2] p) => (float[1,3,512,512] y) '
                   '{ y = GridSample <mode = "linear"> (x, p) }'),
    "Resize": (19, (11, 13), 'g (float[1,8,96,96] x) => (float[1,8,192,192] y) <float[4] s = {1,1,2,2}> '
               '{ y = Resize <mode = "linear"> (x, , s) }'),
}  # fmt: skip
"""By name: the opset, the targets, and the graph."""
NORMALIZED = {
    "BatchNormalization 5-D": (9, (8, 13), "g (float[2,16,16,32,32] x, float[16] s, float[16] b, float[16] m, float[16] v) => "
                               "(float[2,16,16,32,32] y) { y = BatchNormalization (x, s, b, m, v) }"),
    "InstanceNormalization 5-D": (21, (8, 22), "g (float[2,16,16,32,32] x, float[16] s, float[16] b) => "
                                  "(float[2,16,16,32,32] y) { y = InstanceNormalization (x, s, b) }"),
    "LayerNormalization": (17, (11, 18), "g (float[8,512,768] x, float[768] s) => (float[8,512,768] y) { y = LayerNormalization (x, s) }"),
    "Softmax": (13, (11, 18), "g (float[8,12,256,256] x) => (float[8,12,256,256] y) { y = Softmax (x) }"),
}  # fmt: skip
_BODY = "body = b (int64 i, bool go, float[{n}] a) => (bool on, float[{m}] c, float[{m}] z) {{ on = Identity (go) {text} z = Identity (c) }}"
LOOPS = {
    "trip count and state": (18, (11, 22), "g (int64 n, bool going, float[N] s) => (float[N] y, float[K,N] z) { y, z = Loop (n, going, s) <"
                             + _BODY.format(n="N", m="N", text="c = Add (a, a)") + "> }"),
    "state that doubles": (18, (12, 22), "g (int64 n, bool going, float[N] s) => (float[M] y) { y = Loop (n, going, s) <"
                           "body = b (int64 i, bool go, float[P] a) => (bool on, float[Q] c) "
                           "{ on = Identity (go) c = Concat <axis = 0> (a, a) }> }"),
    "trip count as int64 vector": (18, (11, 22), "g (int64[1] n, bool going, float[N] s) => (float[M] y) { y = Loop (n, going, s) <"
                                   "body = b (int64 i, bool go, float[P] a) => (bool on, float[Q] c) "
                                   "{ on = Identity (go) c = Concat <axis = 0> (a, a) }> }"),
    "repeats": (18, (11, 22), "g (float[3,4] x, int64[2] r) => (float[A,B] y) { y = Tile (x, r) }"),
    "depth": (18, (10, 22), "g (int64[4] i, int64[1] d, float[2] v) => (float[4,D] y) { y = OneHot (i, d, v) }"),
    "k": (18, (9, 24), "g (float[6,8] x, int64[1] k) => (float[6,K] y, int64[6,K] i) { y, i = TopK (x, k) }"),
}  # fmt: skip


def _written(table: dict[str, tuple[int, tuple[int, ...], str]]) -> Iterator[Case]:
    for name, (opset, targets, graph) in table.items():
        model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}')
        for target in targets:
            yield Case(f"{name} {opset}→{target}", model, target)


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "nodes": _nodes,
    "light": _light,
    "pools": lambda: _written(POOLS),
    "normalized": lambda: _written(NORMALIZED),
    "loops": lambda: _written(LOOPS),
}


def cost(case: Case) -> Cost | None:
    """What the comparison of one case costs; None where it is not converted."""
    begun = time.perf_counter()
    try:
        result = convert_version(case.model, case.target, compare="off").model
    except SplitRewriteError:
        return None
    without = time.perf_counter() - begun
    begun = time.perf_counter()
    try:
        found = convert_version(case.model, case.target).report.comparison
        verdict = "off" if found is None else found.status
    except SplitRewriteError as error:
        verdict = f"error: {error}"
    seconds = time.perf_counter() - begun - without
    return Cost(case.name, max(seconds, 0.0), _once(case, result), verdict)


def _once(case: Case, result: ModelProto) -> float:
    """Seconds to load and run both models once; 0 where onnxruntime does not, or no inputs are known."""
    feeds = case.feeds or _random_feeds(case.model)
    begun = time.perf_counter()
    try:
        for model in (case.model, result):
            run("onnxruntime", model, feeds)
    except CannotRunError:
        return 0.0
    return time.perf_counter() - begun


def _random_feeds(model: ModelProto) -> dict[str, Any]:
    """Random numbers for all inputs without initializers; dimensions that are open are 3."""
    stored = {tensor.name for tensor in model.graph.initializer}
    feeds: dict[str, Any] = {}
    for value in model.graph.input:
        if value.name not in stored:
            shape = [dim.dim_value or 3 for dim in value.type.tensor_type.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            feeds[value.name] = np.abs(np.random.default_rng(0).standard_normal(shape)).astype(dtype)
    return feeds


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    arguments.add_argument("--list", action="store_true", help="each case, too")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    convert_version(next(_written(LOOPS)).model, 17)  # starts the child, which is kept
    print(f"{'group':12}{'cases':>6}{'p50':>9}{'p90':>9}{'p99':>9}{'worst':>9}{'share':>8}  verdicts; the worst case")
    everything: list[Cost] = []
    for name in given.groups:
        costs = []
        for case in GROUPS[name]():
            found = cost(case) if default_opset(case.model) != case.target else None
            costs += [found] if found else []
            if found and given.list:
                print(f"    {found.seconds:8.3f} s, {found.once:7.3f} s once, {found.verdict}: {found.name}", flush=True)
        _print(name, costs)
        everything += costs
    _print("all", everything)


def _print(name: str, costs: list[Cost]) -> None:
    if not costs:
        return
    seconds = sorted(found.seconds for found in costs)
    cuts = quantiles(seconds, n=100, method="inclusive") if len(seconds) > 1 else seconds * 99
    figures = "".join(f"{figure * 1000:6.0f} ms" for figure in (cuts[49], cuts[89], cuts[98], seconds[-1]))
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(cost.verdict.split(":")[0] for cost in costs).items())
    share = max(cost.share for cost in costs)
    worst = max(costs, key=lambda found: found.seconds).name
    print(f"{name:12}{len(costs):6}{figures}{share:8.2f}  {verdicts}; {worst}", flush=True)


if __name__ == "__main__":
    main()
