"""Every operator that combines several elements of its input, alone in a model: does the comparison find a right result equal?

    export PYTHONPATH=tests/benchmarks
    python tests/fuzz/neighbours.py                                 # all operators, and Resizes of all attributes
    python tests/fuzz/neighbours.py --ops 'Resize|.*Pool' --limit 40
    python tests/fuzz/neighbours.py --only Resize-13:17             # one model, and what is wrong with it

A weight of 0, and terms that cancel out, make of NaN, of infinities and of integers that overflow what no specification says, and a
result that computes the same of all numbers may differ there. Each model of `enumeration`, and each of `resizes`, is converted up
and down past the next versions of its operator, with the comparison. Where that says "different", both models run on usual numbers:
if they agree there, it was a false `alarm`, else the conversion is `wrong`. Exit status 1 where there is either.
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
from typing import Any

import exhaustive
import numpy as np
import onnx
from enumeration import Case, cases, versions
from exhaustive import Finding
from onnx import TensorProto, helper
from trials import private_folder

from split_rewrite.rewriter import CompareError, UnconvertibleError, convert_version
from split_rewrite.rewriter.errors import CheckError, InvalidModelError
from split_rewrite.rewriter.opsets import facts
from split_rewrite.rewriter.opsets.facts import Kind

LIMIT = 8
"""Models of each version of an operator."""
RESIZES = 256
"""Models of each of the versions of Resize that have the most attributes."""
OUTCOMES = ("equal", "uncompared", "refused", "alarm", "wrong", "unclear", "internal")
FINDINGS = ("alarm", "wrong", "unclear", "internal")
_KINDS = (Kind.REDUCES, Kind.ACCUMULATES, Kind.NORMALIZES, Kind.POOLS, Kind.CONTRACTS, Kind.RESAMPLES)
_VALUES = ("finite", "ties", "whole")
_SAMPLES = 6
"""Samples of usual numbers on which both models run after a difference."""
_RESIZED = {13: (10,), 18: (17,)}
"""The versions of Resize of which many models are made, with the opsets to which they are converted."""
_RESIZE: dict[str, Sequence[Any]] = {
    "mode": ("nearest", "linear", "cubic"),
    "coordinate_transformation_mode": ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "exclude_outside": (0, 1),
    "cubic_coeff_a": (-0.75, -0.5),
    "extrapolation_value": (0.0, 2.5),
    "antialias": (0, 1),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "axes": (None, [2, 3], [3, 2]),
}
_SHAPE = (2, 2, 5, 6)
_SIZES = ((7, 9), (5, 6), (3, 4), (10, 3), (1, 12), (10, 12), (4, 9), (15, 2))
_TYPES = (TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32)


def operators() -> list[str]:
    """The operators that combine elements of their inputs."""
    combining = {name for kind in _KINDS for name in facts.of_kind(kind)} | facts.multiplying()
    return [name for name in versions() if name in combining]


def models(op_type: str, version: int, seed: int, limit: int) -> Iterator[Case]:
    """At most `limit` models of this version of the operator, with usual numbers as constants."""
    usual = (case for case in cases(op_type, version, seed, 3 * limit) if case.choice["values"] in _VALUES)
    for _, case in zip(range(limit), usual, strict=False):
        yield replace(case, feeds=_usual_feeds(case, np.random.default_rng(seed)))


def resizes(version: int, seed: int, limit: int) -> Iterator[Case]:
    """At most `limit` models of a Resize of a tensor of shape [2, 2, 5, 6], with any attributes of the version."""
    schema = onnx.defs.get_schema("Resize", version, "")
    random = Random(f"{seed} Resize {version}")
    found = attempt = 0
    while found < limit:
        attempt += 1
        chosen = {name: random.choice(values) for name, values in _RESIZE.items() if name in schema.attributes}
        try:
            model, feeds = _resize(version, chosen, random)
            onnx.checker.check_model(model, full_check=True)
        except Exception:  # what the checker refuses is no model
            continue
        found += 1
        yield Case(f"Resize-{version}x:{attempt}", "Resize", version, model, feeds, {})


def _resize(version: int, chosen: Mapping[str, Any], random: Random) -> tuple[onnx.ModelProto, dict[str, Any]]:
    stored = _stored(chosen, random)
    by_name = {tensor.name for tensor in stored}
    inputs = ["x", *(name if name in by_name else "" for name in ("roi", "scales", "sizes"))]
    inputs = inputs if "sizes" in by_name else inputs[:3]
    node = helper.make_node("Resize", inputs, ["y"], **{name: value for name, value in chosen.items() if value is not None})
    elem_type = random.choice(_TYPES)
    value, output = (helper.make_tensor_value_info(name, elem_type, shape) for name, shape in (("x", _SHAPE), ("y", None)))
    opset = helper.make_opsetid("", version)
    graph = helper.make_graph([node], "g", [value], [output], stored)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=helper.find_min_ir_version_for([opset], True))
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    model.graph.output[0].CopyFrom(inferred.graph.output[0])
    return model, {"x": _usual(np.random.default_rng(version), helper.tensor_dtype_to_np_dtype(elem_type), _SHAPE)}


def _stored(chosen: Mapping[str, Any], random: Random) -> list[TensorProto]:
    """The region, if there is one, and the sizes or scales, of all axes or of those that are chosen."""
    axes, lengths, sizes = chosen.get("axes"), _SHAPE[2:], random.choice(_SIZES)
    if axes == [3, 2]:
        lengths, sizes = lengths[::-1], sizes[::-1]
    front = () if axes else _SHAPE[:2]
    count = len(front) + 2
    found = []
    is_by_sizes = bool(random.randrange(2)) or chosen.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    if chosen["coordinate_transformation_mode"] == "tf_crop_and_resize":
        region = [*(0.0 for _ in front), 0.1, 0.25, *(1.0 for _ in front), 0.8, 1.0]
        found.append(helper.make_tensor("roi", TensorProto.FLOAT, [2 * count], region))
    if is_by_sizes:
        return [*found, helper.make_tensor("sizes", TensorProto.INT64, [count], [*front, *sizes])]
    scales = [*(1.0 for _ in front), *(size / length for size, length in zip(sizes, lengths, strict=True))]
    return [*found, helper.make_tensor("scales", TensorProto.FLOAT, [count], scales)]


def _usual(source: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if dtype.kind in "iu":
        return source.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    return np.asarray(source.standard_normal(shape)).astype(dtype)


def _usual_feeds(case: Case, source: np.random.Generator) -> dict[str, Any]:
    """The inputs of the case, with usual numbers in those that are data."""
    sizes = case.choice.get("sizes", ((),))
    found = dict(case.feeds)
    for name, array in case.feeds.items():
        is_data = not name[1:].isdigit() or (int(name[1:]) < len(sizes) and sizes[int(name[1:])] is not None)
        if is_data and isinstance(array, np.ndarray) and array.dtype.kind in "iufV":
            found[name] = _usual(source, array.dtype, array.shape)
    return found


def targets(case: Case) -> list[int]:
    """The opsets past the next versions of the operator, above and below."""
    if not case.choice:
        return list(_RESIZED[case.version])
    own = versions()[case.op_type]
    around = [*[version for version in own if version > case.version][:1], case.version - 1]
    return [opset for opset in around if 7 <= opset <= onnx.defs.onnx_opset_version()]


def explore(case: Case, folder: Path) -> Iterator[Finding]:
    """What comes of the conversions of one model."""
    for target in targets(case):
        yield Finding(case.name, target, *_convert(case, target, folder))


def _convert(case: Case, target: int, folder: Path) -> tuple[str, str]:
    """Outcome and reason."""
    try:
        comparison = convert_version(case.model, target).report.comparison
    except UnconvertibleError as error:
        return "refused", "; ".join(dict.fromkeys(blocker.reason for blocker in error.blockers))
    except CompareError as error:
        outcome, reason = _on_usual_numbers(case, target, folder)
        return outcome, " ".join(f"{error} | {reason}".split())
    except (CheckError, InvalidModelError) as error:
        return "uncompared", str(error)
    except Exception:
        return "internal", traceback.format_exc()
    return ("equal", "") if comparison is None or comparison.status == "equal" else ("uncompared", comparison.reason)


def _on_usual_numbers(case: Case, target: int, folder: Path) -> tuple[str, str]:
    """What a difference was: an alarm if both models agree on usual numbers."""
    result = convert_version(case.model, target, compare="off")
    told = []
    for seed in range(_SAMPLES):
        source = np.random.default_rng(seed)
        feeds = _usual_feeds(case, source) if case.choice else {"x": _usual(source, case.feeds["x"].dtype, _SHAPE)}
        original = exhaustive.run_original(replace(case, feeds=feeds), folder)
        told.append(exhaustive.judge(original, result.model, exhaustive.tolerance_of(result.report), folder))
    outcomes = {outcome for outcome, _ in told}
    if "wrong" in outcomes:
        return "wrong", next(reason for outcome, reason in told if outcome == "wrong")
    return ("alarm", "") if "converted" in outcomes else ("unclear", told[0][1])


def chosen(ops: str, seed: int, limit: int, resized: int) -> Iterator[Case]:
    """The models of the operators that match."""
    for op_type in operators():
        for version in versions()[op_type] if re.fullmatch(ops, op_type) else ():
            if version >= 7:
                yield from models(op_type, version, seed, limit)
    for version in _RESIZED if re.fullmatch(ops, "Resize") else ():
        yield from resizes(version, seed, resized)


def table(counts: Mapping[str, Counter[str]]) -> str:
    lines = [f"{'operator':28}" + "".join(f"{name:>11}" for name in OUTCOMES)]
    total: Counter[str] = Counter()
    for name, found in sorted(counts.items()):
        total += found
        lines.append(f"{name:28}" + "".join(f"{found[outcome]:>11,}" for outcome in OUTCOMES))
    return "\n".join([*lines, f"{'all':28}" + "".join(f"{total[outcome]:>11,}" for outcome in OUTCOMES)])


def main() -> int:
    options = _parse()
    exhaustive.be_quiet()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    started = time.monotonic()
    with private_folder() as folder, np.errstate(all="ignore"):
        for case in chosen(options.ops, options.seed, options.limit, options.resizes):
            if options.only not in ("", case.name):
                continue
            if options.only:
                print(onnx.printer.to_text(case.model))
            for finding in explore(case, folder):
                counts[case.name.partition(":")[0]][finding.outcome] += 1
                if finding.outcome in (*FINDINGS, *options.list):
                    print(f"{finding.outcome}: {finding.case} → {finding.target}: {exhaustive.gist(finding)}", flush=True)
    print(table(counts))
    print(f"onnx {onnx.__version__}, seed {options.seed}, {time.monotonic() - started:.0f} s")
    return int(any(found[outcome] for found in counts.values() for outcome in FINDINGS))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=".*", metavar="REGEX", help="only operators that match entirely")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=LIMIT, help="models of each version of an operator")
    parser.add_argument("--resizes", type=int, default=RESIZES, help="models more of two versions of Resize")
    parser.add_argument("--only", default="", metavar="OP-VERSION:N", help="one model, in full")
    parser.add_argument("--list", choices=OUTCOMES, action="append", default=[], help="print these outcomes too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
