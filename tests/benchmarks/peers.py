"""What this program and its peers make of the models in models/: the table in README.md.

    pip install onnxsim onnxslim && python tests/benchmarks/peers.py
    python tests/benchmarks/peers.py -v          # also what each tool said of each model

The converters take each model to the opsets of `TARGETS`; the simplifiers keep its opset. A result counts as right if it declares
the opset that was asked for, `onnx.checker` passes it with `full_check`, and onnxruntime computes the same outputs as of the
original, within a relative 1e-4, on the inputs beside the model or on random ones. Every call has a process of its own and 120 s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
from onnx import ModelProto

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before onnxruntime is imported, also by children

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.onnx"))
TARGETS = (9, 11, 13, 17, 22)
SECONDS = 120
RTOL, ATOL = 1e-4, 1e-5
OUTCOMES = ("right", "refused or failed", "other opset", "not valid", "does not run", "other numbers")
Convert = Callable[[ModelProto, int], ModelProto]


def by_split_rewrite(model: ModelProto, target: int) -> ModelProto:
    from split_rewrite.rewriter import convert_version, simplify

    result = simplify(model) if target == 0 else convert_version(model, target)
    return result.model


def by_onnx(model: ModelProto, target: int) -> ModelProto:
    return onnx.version_converter.convert_version(model, target)


def by_onnxscript(model: ModelProto, target: int) -> ModelProto:
    import onnxscript.ir as ir
    from onnxscript import version_converter

    converted = ir.from_proto(model)
    version_converter.convert_version(converted, target, fallback=True)
    return ir.to_proto(converted)


def by_onnxsim(model: ModelProto, target: int) -> ModelProto:
    import onnxsim

    return onnxsim.simplify(model)[0]


def by_onnxslim(model: ModelProto, target: int) -> ModelProto:
    import onnxslim

    return onnxslim.slim(model)


CONVERTERS: dict[str, Convert] = {"split-rewrite": by_split_rewrite, "onnx": by_onnx, "onnxscript": by_onnxscript}
SIMPLIFIERS: dict[str, Convert] = {"split-rewrite": by_split_rewrite, "onnxsim": by_onnxsim, "onnxslim": by_onnxslim}


def opset(model: ModelProto) -> int:
    return next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))


def sequence_nodes(model: ModelProto) -> int:
    """How many nodes of the main graph make or read sequences."""
    return sum("Sequence" in node.op_type for node in model.graph.node)


def judged(path: Path, convert: Convert, target: int) -> tuple[str, str, int]:
    """One of `OUTCOMES`, what was said, and how many nodes with sequences are left (-1 where there is no result)."""
    model = onnx.load(path)
    try:
        result = convert(model, target)
    except Exception as error:
        return "refused or failed", str(error), -1
    if opset(result) != (target or opset(model)):
        return "other opset", f"{opset(result)}", -1
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as error:
        return "not valid", str(error), -1
    return *compared(path, onnx.load(path), result), sequence_nodes(result)


def compared(path: Path, model: ModelProto, result: ModelProto) -> tuple[str, str]:
    """Run both on the same inputs."""
    feeds = inputs_of(path, model)
    expected = outputs(model, feeds)
    try:
        got = outputs(result, feeds)
    except Exception as error:
        return "does not run", str(error)
    same = all(np.allclose(one, other, rtol=RTOL, atol=ATOL, equal_nan=True) for one, other in zip(expected, got, strict=True))
    return ("right" if same else "other numbers"), ""


def inputs_of(path: Path, model: ModelProto) -> dict[str, np.ndarray]:
    """The inputs beside the model, or random ones, 4 for each dimension without a number."""
    recorded = path.with_suffix(".npz")
    if recorded.exists():
        return dict(np.load(recorded))
    generator = np.random.default_rng(0)
    stored = {tensor.name for tensor in model.graph.initializer}
    feeds: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        if value.name not in stored:
            kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            shape = [dim.dim_value or 4 for dim in value.type.tensor_type.shape.dim]
            feeds[value.name] = np.asarray(generator.standard_normal(shape)).astype(kind)
    return feeds


def outputs(model: ModelProto, feeds: dict[str, np.ndarray]) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def in_a_process(path: Path, convert: Convert, target: int) -> tuple[str, str, int]:
    """`judged` in a process of its own, as some tools crash."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_answer, args=(theirs, path, convert, target))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(SECONDS) else ("refused or failed", "ran out of time", -1)
    except EOFError:
        return "refused or failed", "crashed", -1
    finally:
        process.kill()
        process.join()


def _answer(pipe: Connection, path: Path, convert: Convert, target: int) -> None:
    pipe.send(judged(path, convert, target))


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def table(tools: dict[str, Convert], targets: tuple[int, ...], verbose: bool) -> None:
    """Print how often each tool came to each outcome, and how many models are without sequences after it."""
    shown = {name: tool for name, tool in tools.items() if installed(name)}
    counts = {name: Counter[str]() for name in shown}
    holds_sequences = [path for path in MODELS if sequence_nodes(onnx.load(path))]
    for name, tool in shown.items():
        for path in MODELS:
            for target in targets:
                outcome, said, left = in_a_process(path, tool, target)
                counts[name][outcome] += 1
                counts[name]["without sequences"] += path in holds_sequences and left == 0 and outcome == "right"
                if verbose:
                    print(
                        f"{name} {path.stem} {target or ''}: {outcome} {said.strip().splitlines()[0][:120] if said.strip() else ''}"
                    )
    print("|", *(f"| {name} {installed(name)}" for name in shown), "|")
    print("|---" * (len(shown) + 1) + "|")
    for outcome in (*OUTCOMES, *(["without sequences"] if targets == (0,) else [])):
        total = len(holds_sequences) if outcome == "without sequences" else len(MODELS) * len(targets)
        print(f"| {outcome}, of {total} |", " | ".join(str(counts[name][outcome]) for name in shown), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what each tool made of each model")
    verbose = parser.parse_args().verbose
    print(f"To opset {', '.join(map(str, TARGETS))}:")
    table(CONVERTERS, TARGETS, verbose)
    print("\nAt their own opset:")
    table(SIMPLIFIERS, (0,), verbose)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()
