"""Writes down what conversions give, byte by byte, and finds what a change to the program makes different.

    python tests/benchmarks/same_results.py write before.jsonl         # on the old state
    python tests/benchmarks/same_results.py write after.jsonl          # on the new one
    python tests/benchmarks/same_results.py compare before.jsonl after.jsonl

Converted without comparison are `models/`, ONNX's node tests as they are and with constant axes, shapes and sizes, and random
models, each to several opsets. A line has the name of a conversion, the digest of its result or the refusal, and the number of
nodes. `--sample 10` takes each tenth conversion. Exit status 1 where two files differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from random import Random

import onnx
from engines import all_nodes

MODELS = Path(__file__).resolve().parents[2] / "models"
TARGETS = (7, 9, 11, 13, 17, 18, 21, 24, 28)
RANDOM_MODELS = 1500
CHUNK = 40

Named = tuple[str, onnx.ModelProto, int]
"""The name of a conversion, its model, and the target."""


def conversions() -> Iterator[Named]:
    """All conversions, always in the same order."""
    targets = [target for target in TARGETS if target <= onnx.defs.onnx_opset_version()]
    for name, model in chain(_exports(), _node_tests()):
        yield from ((f"{name} → {target}", model, target) for target in targets)
    yield from _random_models()


def _exports() -> Iterator[tuple[str, onnx.ModelProto]]:
    for path in sorted(MODELS.glob("*.onnx")):
        yield f"models/{path.name}", onnx.load(path)


def _node_tests() -> Iterator[tuple[str, onnx.ModelProto]]:
    from opset_matrix import collect_cases, with_constants

    for case in collect_cases():
        yield f"node test {case.name}", case.model
        constant = with_constants(case)
        if constant is not case:
            yield f"node test {case.name}, constant", constant.model


def _random_models() -> Iterator[Named]:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
    from random_models import random_case

    for number in range(RANDOM_MODELS):
        case = random_case(Random(f"same results {number}"))
        yield f"random model {number} → {case.target}", case.model, case.target


@cache
def _all(step: int) -> list[Named]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(conversions())[::step]


def _written(step: int, start: int) -> list[str]:
    """The lines of `CHUNK` conversions from `start` on; an empty list where there are none left."""
    logging.disable(logging.CRITICAL)
    return [json.dumps(_outcome(*named), ensure_ascii=False) for named in _all(step)[start : start + CHUNK]]


def _outcome(name: str, model: onnx.ModelProto, target: int) -> tuple[str, str, int]:
    from split_rewrite.rewriter import convert_version

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    try:
        result = convert_version(copy, target, compare="off").model
    except Exception as error:  # a refusal, or a finding
        return name, f"{type(error).__name__}: {error}", 0
    return name, hashlib.sha256(result.SerializeToString(deterministic=True)).hexdigest(), sum(1 for _ in all_nodes(result))


def write(path: Path, step: int, jobs: int) -> None:
    """Convert everything in `jobs` processes, and write a line for each conversion to `path`."""
    starts = range(0, len(_all(step)), CHUNK)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool, path.open("w", encoding="utf-8") as file:
        for lines in pool.map(_written, [step] * len(starts), starts):
            file.writelines(f"{line}\n" for line in lines)


def compare(before: Path, after: Path) -> int:
    """Print what differs, and return how many conversions do."""
    old, new = ({name: rest for name, *rest in map(json.loads, path.open(encoding="utf-8"))} for path in (before, after))
    differing = [name for name in old if name in new and old[name] != new[name]]
    for name in differing:
        (was, nodes), (now, now_nodes) = old[name], new[name]
        print(
            f"{name}: {was} ({nodes}) → {now} ({now_nodes})"
            if not nodes or not now_nodes
            else f"{name}: {nodes} → {now_nodes} nodes"
        )
    print(
        f"{len(old.keys() & new.keys())} conversions in both, {len(differing)} differ, {len(old.keys() ^ new.keys())} in one only"
    )
    return len(differing)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="only each Nth conversion")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    if given.action == "compare":
        return bool(compare(*given.files))
    write(given.files[0], given.sample, given.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
