"""Convert models to several opsets, run both in onnxruntime, and count what is left of their sequences.

    python models/count_sequences.py FOLDER [TARGET ...] [--only TEXT] [--semantics onnxruntime]

Without targets, each model keeps its opset. Reads what `make_lists.py` writes. One line for each model and target that is not
converted, still has a sequence operator, or computes something else; then the totals.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from split_rewrite.rewriter import Options, SplitRewriteError, UnconvertibleError, convert_version

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported
import onnxruntime

TOLERANCE = 1e-5


def sequence_operators(graph: onnx.GraphProto | onnx.FunctionProto) -> Counter[str]:
    """How often each operator that makes or reads a sequence is in `graph` and its subgraphs."""
    counts = Counter(node.op_type for node in graph.node if "Sequence" in node.op_type)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                counts += sequence_operators(attribute.g)
    return counts


def feeds(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """The inputs of each size that were saved with the model."""
    saved = np.load(path.with_suffix(".npz"))
    for suffix in ("", "2"):
        found = {name: saved[name + suffix] for name in ("x", "y") if name + suffix in saved}
        if found:
            yield found


def outputs(model: onnx.ModelProto, path: Path) -> list[list[Any]]:
    """What onnxruntime computes for each of the saved inputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [list(session.run(None, given)) for given in feeds(path)]


def verdict(path: Path, target: int | None, options: Options) -> tuple[str, str]:
    """What comes of the model: a word, and what there is to be said of it."""
    original = onnx.load(path)
    try:
        converted = convert_version(original, target, options=options).model
    except UnconvertibleError as error:
        return "refused", str(error.blockers[0])
    except SplitRewriteError as error:
        return "failed", str(error)
    try:
        expected = outputs(original, path)
    except Exception as error:  # onnxruntime has many kinds
        return "original does not run", str(error)
    try:
        found = outputs(converted, path)
    except Exception as error:
        return "result does not run", str(error)
    for before, after in zip(expected, found, strict=True):
        for one, other in zip(before, after, strict=True):
            if one.shape != other.shape or not np.allclose(one, other, TOLERANCE, TOLERANCE):
                return "wrong", f"{one.shape} became {other.shape}"
    left = sum((sequence_operators(graph) for graph in (converted.graph, *converted.functions)), Counter[str]())
    return ("sequence left", ", ".join(f"{count} {name}" for name, count in left.items())) if left else ("ok", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", type=int, nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--semantics", choices=["specification", "onnxruntime"])
    given = parser.parse_args()
    options = Options(semantics=given.semantics)
    totals: Counter[str] = Counter()
    for path in sorted(given.folder.glob("*.onnx")):
        for target in (given.targets or [None]) if given.only in path.name else ():
            word, why = verdict(path, target, options)
            totals[word] += 1
            if word != "ok":
                print(f"{path.stem} to {target or 'its opset'}: {word}: {why[:200]}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in totals.most_common()))


if __name__ == "__main__":
    main()
