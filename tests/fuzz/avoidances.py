"""Models of one node that have a form which a runtime gets wrong: what is written in its place computes the same.

    export PYTHONPATH=tests/benchmarks:tests/support
    python tests/fuzz/avoidances.py                                      # every form, every operator that can have it
    python tests/fuzz/avoidances.py --forms 'Pad.*|Reduce.*' --limit 100
    python tests/fuzz/avoidances.py --ops Conv --list refused
    python tests/fuzz/avoidances.py --only 'Pad by negative numbers/Pad-13:17' --ops Pad

The forms are those of the registered rules. For each of them, models of `enumeration` are converted to the opset that they have, the
oldest and the newest one with this version of the operator, for a runtime of which nothing is known but that it gets the form wrong.
Their shapes are those of `spaces` and others with a length of 0 or 1. Original and result run on the same inputs, and where
dimensions are open also on such of other lengths, 0 and 1 among them.

The table counts by form: `equal`, `refused` with a reason, `not applied` (the model does not have the form), `unjudged` (no runtime
runs the original, or the runtimes disagree), `wrong`, `internal` errors. Exit status 1 where there is something wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import exhaustive
import numpy as np
import onnx
import unjudged
from avoiding import for_a_runtime
from enumeration import Case, cases, versions
from odd_nodes import BELIED
from onnx import ModelProto, helper
from onnx.defs import OpSchema
from spaces import SPACES, Shape, Space, ints, scalar
from trials import private_folder

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version
from split_rewrite.rewriter.engine.registry import EVERY_OPERATOR, Rule, registry
from split_rewrite.rewriter.errors import CheckError, InvalidModelError

LIMIT = 30
"""Models of each version of an operator that have the form, or are refused."""
TRIES = 8
"""Models for each that is wanted: most do not have the form."""
OUTCOMES = ("equal", "refused", "not applied", "unjudged", "wrong", "internal")
FINDINGS = ("wrong", "internal")
_OLDEST = 7
"""The oldest opset that onnxruntime supports."""
_EXPORTER = "pytorch"
"""What the models say that made them: some forms are wrong in models of this exporter alone."""
_LARGE: tuple[tuple[Shape, ...], ...] = (((2, 3, 2, 4),), ((2, 1, 3, 2, 2),), ((1, 2, 0, 2),), ((2, 2, 1, 2, 1, 3),))
_MANY_AXES = ([0, 1, 2], [-1, 0, 2], [1, 2, 3], [0, 1, 2, 3], [-1, -2, -3, -4], [4, 3, 2, 1, 0], None, [], [0])
_CROPS = (
    *([-1, 1], [1, -1], [-4, 2], [2, -4], [-2, -1], [0, -1]),
    *([0, -1, 0, 2], [-1, 0, 0, -1], [0, -4, 0, 2], [0, 3, 1, -5], [-2, -1, 1, 1], [-3, 0, 3, 0]),
    *([0, 0, -2, 0, 0, 3], [0, -1, 1, 0, 2, -4]),
)
_MORE: dict[str, tuple[tuple[tuple[Shape | None, ...], ...], dict[str, Sequence[Any]]]] = {
    "GlobalAveragePool": (_LARGE, {}),
    "GlobalMaxPool": (_LARGE, {}),
    "HardSigmoid": ((), {"alpha": (1 / 6, None, 0.5), "beta": (0.5, None, 0.25)}),
    "Pad": ((((5,),), ((2, 4),), ((1, 3, 2),)), {"pads": _CROPS}),
    "Pow": (
        (((2, 3, 8), None), ((), None), ((0, 3), None), ((40,), None)),
        {"Y": (scalar(3), ints(3), np.full((1, 1), 3), scalar(2), np.full((1, 1, 1, 1), 3))},
    ),
    "Split": ((((4,),), ((5, 3),), ((3, 4),)), {"split": ([2, 2], [4, 0, 1], [1, 3], [3, 1, 0], [5], [1, 1, 1])}),
    **{name: (_LARGE, {"axes": _MANY_AXES}) for name in SPACES if name.startswith("Reduce")},
}
"""For some operators, sizes and candidates beside those of `spaces`, with which models have the forms of their rules."""
_RECURRENT = ("GRU", "LSTM", "RNN")
_DEFAULTS = ("half_pixel", "round_prefer_floor", "nearest")
"""Values of attributes of a Resize that need not be stated."""
_USUAL = ("finite", "ties", "whole")
"""The kinds of values on which rules that are not exact are tried: others overflow in another order."""


class Form(NamedTuple):
    """A form, as the profiles of runtimes name it, and an operator that can have it.

    `rules` are the names of the rules that avoid it; `exact` says that they all give the same to the last bit.
    """

    name: str
    op_type: str
    rules: frozenset[str]
    exact: bool


class Finding(NamedTuple):
    """What came of one model. `case` is "form/Pad-13:17 at 20": form, operator, version, attempt, opset."""

    case: str
    outcome: str
    reason: str = ""


def forms(names: str = ".*", operators: str = ".*") -> Iterator[Form]:
    """Every form of the registered rules, with each operator that can have it and that `enumeration` makes models of."""
    rules: dict[tuple[str, str], list[Rule]] = defaultdict(list)
    for rule in registry:
        if rule.form and re.fullmatch(names, rule.form):
            own = versions() if rule.op_type == EVERY_OPERATOR else [rule.op_type]
            for op_type in versions().keys() & own:
                rules[rule.form, op_type].append(rule)
    for form, op_type in sorted(rules):
        own_rules = rules[form, op_type]
        if re.fullmatch(operators, op_type):
            yield Form(form, op_type, frozenset(rule.name for rule in own_rules), all(rule.exact for rule in own_rules))


# The models.


def space_of(form: Form) -> Space:
    """The candidates of `spaces` and those of this module. Shapes of the first operand are there with a length of 0 and of 1, too."""
    op_type = form.op_type
    usual = SPACES.get(op_type, Space())
    sizes, by_name = _MORE.get(op_type, ((), {}))
    added = {name.lower(): candidates for name, candidates in by_name.items()}
    more = {name: (*usual.by_name.get(name, ()), *own) for name, own in added.items()}
    usual = replace(usual, by_name={**usual.by_name, **more, **_named_in(form)})
    given = [*usual.sizes, *sizes]
    changed = [(shape, *others) for first, *others in filter(None, given) if first for shape in _with_short_axis(first)]
    fits = _fits_directions if op_type in _RECURRENT else usual.fits
    return replace(usual, fits=fits, sizes=list(dict.fromkeys([*given, *changed])))


def _fits_directions(_version: int, choice: Mapping[str, Any]) -> bool:
    """Weights and first states are those of all directions; the last axes of the states are batch and size, 2 and 2."""
    ways, is_batch_first = choice["sizes"][1][0], choice.get("attribute layout") == 1
    state = (2, ways, 2) if is_batch_first else (ways, 2, 2)
    states = (choice.get(f"input {name}") for name in ("initial_h", "initial_c"))
    both = choice.get("attribute direction") == "bidirectional"
    return (
        both == (ways == 2) and all(each in (None, state) for each in states) and choice.get("attribute activation_alpha") is None
    )


def _named_in(form: Form) -> dict[str, Sequence[Any]]:
    """The attributes of a Resize that the name of its form states: "Resize to the nearest, half_pixel, floor"."""
    what, *stated = form.name.split(", ")
    if form.op_type != "Resize" or not stated:
        return {}
    names = ("coordinate_transformation_mode", "nearest_mode")
    values = {"mode": "cubic" if "cubic" in what else "nearest", **dict(zip(names, stated, strict=False))}
    return {name: [value, *[None] * (value in _DEFAULTS)] for name, value in values.items()}


def _with_short_axis(shape: Shape) -> Iterator[Shape]:
    for axis in range(len(shape)):
        for length in (0, 1):
            yield (*shape[:axis], length, *shape[axis + 1 :])


def cases_of(form: Form, version: int, seed: int, limit: int) -> Iterator[Case]:
    """Models of this version of the operator, at the oldest and the newest opset that has it."""
    own = versions()[form.op_type]
    newer = [other for other in own if other > version]
    newest = min([*newer, onnx.defs.onnx_opset_version() + 1]) - 1
    if newest < _OLDEST:
        return
    for case in cases(form.op_type, version, seed, limit, space_of(form)):
        if not form.exact and case.choice["values"] not in _USUAL:
            continue
        random = Random(case.name)
        chosen = _with_computed_operands(_with_fewer_outputs(case, random), random)
        for opset in sorted({max(version, _OLDEST), newest}):
            yield _at_opset(chosen, opset)


def _at_opset(case: Case, opset: int) -> Case:
    model = ModelProto()
    model.CopyFrom(case.model)
    model.opset_import[0].version = opset
    model.producer_name = _EXPORTER
    return replace(case, name=f"{case.name} at {opset}", version=opset, model=model)


def _with_fewer_outputs(case: Case, random: Random) -> Case:
    """The case, or of several outputs only some: those that may be absent are, and nothing reads the others."""
    node, schema = case.model.graph.node[-1], onnx.defs.get_schema(case.op_type, case.version, "")
    if len(node.output) < 2 or random.random() < 0.5:
        return case
    left_out = random.sample(range(len(node.output)), random.randrange(1, len(node.output)))
    model = ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    for index in left_out:
        formal = schema.outputs[min(index, len(schema.outputs) - 1)]
        if formal.option == OpSchema.FormalParameterOption.Optional:
            graph.node[-1].output[index] = ""
    kept = [value for index, value in enumerate(case.model.graph.output) if index not in left_out]
    del graph.output[:]
    graph.output.extend(kept)
    return replace(case, model=model)


def _with_computed_operands(case: Case, random: Random) -> Case:
    """The case, or one of three with its initializers behind an Identity: they are constant and not stored."""
    if not case.model.graph.initializer or random.random() < 2 / 3:
        return case
    model = ModelProto()
    model.CopyFrom(case.model)
    made = [helper.make_node("Identity", [f"{each.name}_stored"], [each.name]) for each in model.graph.initializer]
    for each in model.graph.initializer:
        each.name = f"{each.name}_stored"
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*made, *nodes])
    return replace(case, model=model)


def other_feeds(case: Case) -> Iterator[dict[str, Any]]:
    """The inputs of the case with other lengths of its open dimensions, 0 and 1 among them: one at a time."""
    dims = {value.name: list(value.type.tensor_type.shape.dim) for value in case.model.graph.input}
    symbols = {dim.dim_param for own in dims.values() for dim in own} - {""}
    for symbol in sorted(symbols):
        usual = int(symbol[1:])
        for length in sorted({0, 1, usual + 1} - {usual}):
            shapes = {name: [length if dim.dim_param == symbol else _size(dim) for dim in own] for name, own in dims.items()}
            if all(np.size(case.feeds[name]) or not np.prod(shape) for name, shape in shapes.items()):
                yield {name: np.resize(case.feeds[name], shape) for name, shape in shapes.items()}


def _size(dim: onnx.TensorShapeProto.Dimension) -> int:
    return int(dim.dim_param[1:]) if dim.dim_param else dim.dim_value


# What becomes of them.


def explore(form: Form, version: int, seed: int, limit: int, only: str = "") -> Iterator[Finding]:
    """What comes of models of this version of the operator, until `limit` of them had the form. `only` names one of them."""
    tried = 0
    with private_folder() as folder, np.errstate(all="ignore"):
        options = for_a_runtime(form.name, folder)
        for case in cases_of(form, version, seed, limit * TRIES):
            if only and only != f"{form.name}/{case.name}":
                continue
            outcome, reason = _convert_and_judge(form, case, options, folder)
            yield Finding(f"{form.name}/{case.name}", outcome, reason)
            tried += outcome != "not applied"
            if tried == limit:
                return


def _convert_and_judge(form: Form, case: Case, options: Options, folder: Path) -> tuple[str, str]:
    """Outcome and reason."""
    try:
        result = convert_version(case.model, case.version, compare="off", options=options)
    except UnconvertibleError as error:
        return "refused", "; ".join(dict.fromkeys(blocker.reason for blocker in error.blockers))
    except InvalidModelError as error:
        return "unjudged", str(error)
    except CheckError as error:
        return ("refused" if str(error).startswith(BELIED) else "internal"), str(error)
    except Exception:
        return "internal", traceback.format_exc()
    if not any(change.rule in form.rules for change in result.report.changes):
        return "not applied", ""
    return _worst([_judge(replace(case, feeds=feeds), result, folder) for feeds in [case.feeds, *other_feeds(case)]])


def _judge(case: Case, result: Any, folder: Path) -> tuple[str, str]:
    if reason := unjudged.left_open(case.model, case.feeds):
        return "unjudged", reason
    original = exhaustive.run_original(case, folder)
    outcome, reason = exhaustive.judge(original, result.model, exhaustive.tolerance_of(result.report), folder)
    if exhaustive.NOT_RUN in reason and any(remark.kind in ("warning", "empty") for remark in result.report.remarks):
        return "unjudged", "the report warns of it"
    if outcome == "wrong" and "onnxruntime" not in original.outputs and re.search("inf|nan", reason):
        return "unjudged", "onnx.reference alone tells, and its infinities are not those of onnxruntime's other types"
    shapes = {name: list(np.shape(value)) for name, value in case.feeds.items()}
    return outcome.replace("converted", "equal"), f"{reason} with {shapes}" if outcome == "wrong" else reason


def _worst(found: Sequence[tuple[str, str]]) -> tuple[str, str]:
    return max(found, key=lambda each: ("unjudged", "equal", "wrong").index(each[0]))


# Many.


def table(counts: Mapping[str, Counter[str]]) -> str:
    lines = [f"{'form':64}" + "".join(f"{name:>12}" for name in OUTCOMES)]
    total: Counter[str] = Counter()
    for form, found in sorted(counts.items()):
        total += found
        lines.append(f"{form:64}" + "".join(f"{found[name]:>12,}" for name in OUTCOMES))
    return "\n".join([*lines, f"{'all':64}" + "".join(f"{total[name]:>12,}" for name in OUTCOMES)])


def gist(finding: Finding) -> str:
    lines = finding.reason.strip().splitlines() or [""]
    return lines[-1] if finding.reason.startswith("Traceback") else lines[0]


def main() -> int:
    options = _parse()
    exhaustive.be_quiet()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.monotonic()
    todo = [(form, version) for form in forms(options.forms, options.ops) for version in versions()[form.op_type]]
    for form, version in todo[options.part :: options.parts]:
        for finding in explore(form, version, options.seed, options.limit, options.only):
            counts[form.name][finding.outcome] += 1
            if finding.outcome in FINDINGS or finding.outcome in options.list or options.only:
                print(f"{finding.outcome}: {finding.case}: {gist(finding)}", flush=True)
    print(table(counts))
    print(f"onnx {onnx.__version__}, seed {options.seed}, {time.monotonic() - started:.0f} s")
    return int(any(found[name] for found in counts.values() for name in FINDINGS))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", default=".*", metavar="REGEX", help="only forms that match entirely")
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only operators that match entirely")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=LIMIT, help="models of each version of an operator that have the form")
    parser.add_argument("--part", type=int, default=0, help="of --parts: which part this process does")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--only", default="", metavar="FORM/OP-VERSION:N at OPSET", help="one model")
    parser.add_argument("--list", choices=OUTCOMES, action="append", default=[], help="print these outcomes too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
